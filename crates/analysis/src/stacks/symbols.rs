//! Which function an address is in: by symbols of the file, and of a separate file of the same build.

mod companion;
mod plt;
mod starts;
mod tables;

pub(super) use self::plt::cells;
pub use self::{
    companion::{debug_file, debug_keys},
    starts::{Functions, Place},
};
use super::object::Elf;

/// A longer name of a function is not used, bytes.
pub(super) const LONGEST_NAME: usize = 1 << 14;

/// How far back an enclosing function is looked for.
const NESTING: usize = 16;

#[derive(Clone, Debug, Default)]
pub struct Symbols {
    symbols: Vec<Symbol>,
    /// Every name that can be called from elsewhere, by address.
    names: Vec<(u64, Box<str>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// First address, before relocation.
    pub address: u64,
    /// Behind its last one.
    pub end: u64,
    /// Its name, mangled.
    pub name: Box<str>,
    pub kind: Kind,
    /// Whether it says how long it is.
    pub sized: bool,
    /// `STB_LOCAL`
    pub(super) local: bool,
    /// `STB_WEAK`
    pub(super) weak: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `STT_FUNC`
    Function,
    /// `STT_GNU_IFUNC`: code that chooses the function.
    Chooser,
    /// A stub of the procedure linkage table, named after the function that it jumps to.
    Stub,
    /// `STT_NOTYPE`: a label in hand-written code.
    Label,
}

impl Symbols {
    /// Reads the symbols of a file and of its debug file.
    pub fn of(elf: &Elf, debug: Option<&Elf>) -> Self {
        let mut all = Vec::new();
        for source in [Some(elf), debug].into_iter().flatten() {
            tables::read(source, elf, &mut all);
        }
        plt::read(elf, &mut all);
        Symbols::from_all(elf, all)
    }

    /// Functions, by address.
    pub fn all(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The function that an address is in.
    pub fn at(&self, address: u64) -> Option<&Symbol> {
        let behind = self.symbols.partition_point(|symbol| symbol.address <= address);
        // A function within another one (a label, an entry of its own) may end before the address.
        let near = self.symbols.get(behind.saturating_sub(NESTING)..behind)?;
        near.iter().rev().find(|symbol| address < symbol.end)
    }

    /// Whether a function begins at an address that has this name among others.
    pub fn has_name(&self, address: u64, name: &str) -> bool {
        let first = self.names.partition_point(|(start, _)| *start < address);
        let here = self.names.get(first..).unwrap_or_default();
        here.iter().take_while(|(start, _)| *start == address).any(|(_, other)| **other == *name)
    }

    /// First address and end of a function that can be called from elsewhere, by one of its names.
    pub fn named(&self, name: &str) -> Option<(u64, u64)> {
        let (address, _) = self.names.iter().find(|(_, other)| **other == *name)?;
        self.at(*address).map(|symbol| (symbol.address, symbol.end))
    }

    fn from_all(elf: &Elf, mut all: Vec<Symbol>) -> Self {
        all.sort_by(|one, other| rank(one).cmp(&rank(other)));
        let names = shared_names(&all);
        all.dedup_by_key(|symbol| symbol.address);
        let mut symbols: Vec<Symbol> = Vec::with_capacity(all.len());
        // The furthest end of a function with a size so far: a label within it names nothing.
        let mut covered = 0;
        for symbol in all {
            if symbol.kind == Kind::Label && symbol.address < covered {
                continue;
            }
            if symbol.sized {
                covered = covered.max(symbol.end);
            }
            symbols.push(symbol);
        }
        let starts: Vec<u64> = symbols.iter().skip(1).map(|symbol| symbol.address).collect();
        for (place, symbol) in symbols.iter_mut().enumerate() {
            if !symbol.sized {
                let next = starts.get(place).copied().unwrap_or(u64::MAX);
                symbol.end = next.min(end_of_code(elf, symbol.address));
            }
        }
        Symbols { symbols, names }
    }
}

/// All names that can be called from elsewhere, by address.
fn shared_names(all: &[Symbol]) -> Vec<(u64, Box<str>)> {
    let shared = all.iter().filter(|symbol| !symbol.local && symbol.kind != Kind::Stub);
    shared.map(|symbol| (symbol.address, symbol.name.clone())).collect()
}

/// The order of names for one address; the first one is used.
///
/// What can be called from elsewhere is what people know; of `write` and `__write` they write the former,
/// though that is the weak one. The rest makes it the same every time.
fn rank(symbol: &Symbol) -> impl Ord {
    let name = &symbol.name;
    let underscores = name.len() - name.trim_start_matches('_').len();
    // Mangled names begin with an underscore that says nothing.
    let underscores = if super::names::is_mangled(name) { 0 } else { underscores };
    (
        (symbol.address, symbol.kind, !symbol.sized),
        (symbol.local, underscores, symbol.weak),
        (name.len(), name.clone()),
    )
}

/// Where the section or the segment ends that an address is in.
fn end_of_code(elf: &Elf, address: u64) -> u64 {
    if let Some(section) = elf.section_at(address) {
        return section.address.saturating_add(section.size);
    }
    address.saturating_add(elf.at(address).len() as u64)
}
