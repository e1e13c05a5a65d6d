//! Where a function begins, for anyone who counts calls: a probe in the middle of an instruction would break
//! the program, so only proven starts are reported.

use std::collections::BTreeMap;

use object::{Object, ObjectSymbol};

use super::{Kind, Symbol, tables};
use crate::stacks::{names::readable, object::Elf, unwind::Unwinding};

/// So many names are listed where several fit.
const MOST_LISTED: usize = 8;

/// So many similar names are reported where none fits.
const MOST_NEAR: usize = 5;

/// The functions of a file that can be counted.
#[derive(Clone, Debug)]
pub struct Functions {
    symbols: Vec<NamedSymbol>,
    /// Proven by unwind information, with or without a symbol.
    starts: Vec<u64>,
    imported: Vec<String>,
    elf: Elf,
}

#[derive(Clone, Debug)]
struct NamedSymbol {
    symbol: Symbol,
    readable: String,
}

/// Where a function begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its address before relocation.
    pub vaddr: u64,
    /// Its offset in the file, bytes: what a uprobe is placed by.
    pub file_offset: u64,
    /// Its readable name; without a symbol `fun_` and its address.
    pub symbol: String,
}

impl Functions {
    /// Reads the functions of a file, with the names of its unstripped twin or debug file.
    pub fn of(elf: &Elf, debug: Option<&Elf>) -> Self {
        let mut all = Vec::new();
        for source in [Some(elf), debug].into_iter().flatten() {
            tables::read(source, elf, &mut all);
        }
        all.sort_by(|one, other| (one.address, &one.name).cmp(&(other.address, &other.name)));
        all.dedup_by(|one, other| one.address == other.address && one.name == other.name);
        let named = |symbol: Symbol| NamedSymbol { readable: readable(&symbol.name), symbol };
        let unwinding = Unwinding::of(elf, debug);
        Functions {
            symbols: all.into_iter().map(named).collect(),
            starts: unwinding.entries().iter().map(|entry| entry.start).collect(),
            imported: imported(elf),
            elf: elf.clone(),
        }
    }

    /// Where a function begins: by its mangled name, its path, the path's last parts, or `0x` and an
    /// address before relocation.
    /// Fails with why there is no such place, or more than one.
    pub fn function_start(&self, asked: &str) -> Result<Place, String> {
        if let Some(digits) = asked.strip_prefix("0x") {
            let address = u64::from_str_radix(digits, 16);
            return self.by_address(address.map_err(|_| format!("no function `{asked}`"))?);
        }
        let fits: [&dyn Fn(&NamedSymbol) -> bool; 4] = [
            &|one| &*one.symbol.name == asked,
            &|one| one.readable == asked,
            &|one| plain(&one.readable) == asked,
            &|one| ends_with_path(plain(&one.readable), asked),
        ];
        for fit in fits {
            let found: Vec<&NamedSymbol> = self.symbols.iter().filter(|one| fit(one)).collect();
            if !found.is_empty() {
                return self.one_of(asked, &found);
            }
        }
        Err(self.unknown(asked))
    }

    fn by_address(&self, address: u64) -> Result<Place, String> {
        let mut here = self.symbols.iter().filter(|one| one.symbol.address == address);
        let proven = here.clone().find(|one| is_start(&one.symbol));
        if let Some(one) = proven {
            return self.place(address, one.readable.clone());
        }
        if here.any(|one| one.symbol.kind == Kind::Chooser) {
            return Err(chooser(&format!("{address:#x}")));
        }
        if self.starts.binary_search(&address).is_ok() {
            return self.place(address, format!("fun_{address:x}"));
        }
        Err(format!(
            "{address:#x} is not proven to be a function's start: no symbol and no unwind information begins there"
        ))
    }

    fn one_of(&self, asked: &str, found: &[&NamedSymbol]) -> Result<Place, String> {
        let mut starts: BTreeMap<u64, &NamedSymbol> = BTreeMap::new();
        for one in found.iter().filter(|one| self.is_proven(&one.symbol)) {
            starts.entry(one.symbol.address).or_insert(one);
        }
        if let (1, Some((address, one))) = (starts.len(), starts.first_key_value()) {
            return self.place(*address, one.readable.clone());
        }
        let Some(first) = found.first().filter(|_| starts.is_empty()) else {
            let reported =
                |(address, one): (&u64, &&NamedSymbol)| format!("{} ({address:#x})", one.readable);
            let mut listed: Vec<_> = starts.iter().take(MOST_LISTED).map(reported).collect();
            let more = starts.len() - listed.len();
            if let (1.., Some(last)) = (more, listed.last_mut()) {
                *last += &format!(" and {more} more");
            }
            return Err(format!(
                "`{asked}` fits several functions: {}; write more of the path, or an address",
                listed.join(", ")
            ));
        };
        let name = &first.readable;
        Err(match first.symbol.kind {
            Kind::Chooser => chooser(name),
            _ if is_part(&first.symbol.name) => format!(
                "`{name}` is a part of a function that the compiler moved away, not a start"
            ),
            _ => format!(
                "`{name}` is a label without a size: nothing proves that a function starts there"
            ),
        })
    }

    fn is_proven(&self, symbol: &Symbol) -> bool {
        is_start(symbol)
            || (matches!(symbol.kind, Kind::Function | Kind::Label)
                && !is_part(&symbol.name)
                && self.starts.binary_search(&symbol.address).is_ok())
    }

    fn place(&self, vaddr: u64, symbol: String) -> Result<Place, String> {
        let in_code = self.elf.is_code(vaddr);
        let file_offset = self.elf.offset_of(vaddr).filter(|_| in_code);
        let file_offset =
            file_offset.ok_or_else(|| format!("{vaddr:#x} is not in the file's code"))?;
        Ok(Place { vaddr, file_offset, symbol })
    }

    fn unknown(&self, asked: &str) -> String {
        if self.imported.iter().any(|name| name == asked) {
            return format!("`{asked}` is imported: count it in the library that has it");
        }
        if self.symbols.is_empty() {
            return format!(
                "no function `{asked}`: the file has no symbols; give its unstripped file, or an address"
            );
        }
        let last = asked.rsplit("::").next().unwrap_or(asked);
        let names =
            || self.symbols.iter().filter(|one| is_start(&one.symbol)).map(|one| &one.readable);
        let mut near: Vec<String> = Vec::new();
        let fits: [&dyn Fn(&str) -> bool; 3] =
            [&|name| name.starts_with(asked), &|name| name.contains(asked), &|name| {
                !last.is_empty() && name.contains(last)
            }];
        for fit in fits {
            for name in names().filter(|name| fit(name)) {
                if near.len() < MOST_NEAR && !near.contains(name) {
                    near.push(name.clone());
                }
            }
        }
        let near = near.join(", ");
        let near = if near.is_empty() { near } else { format!("; near it: {near}") };
        format!("no function `{asked}`{near}")
    }
}

fn chooser(name: &str) -> String {
    format!("`{name}` is a choice among functions (STT_GNU_IFUNC): its calls go to the one chosen")
}

fn is_start(symbol: &Symbol) -> bool {
    symbol.kind == Kind::Function && symbol.sized && !is_part(&symbol.name)
}

/// `foo.cold` and `foo.part.0` are jumped to; the latter is called, and is a function of its own.
fn is_part(name: &str) -> bool {
    name.contains(".cold")
}

/// C++ without its parameters.
fn plain(readable: &str) -> &str {
    let before = |at: usize| readable.get(..at).unwrap_or_default();
    let mut depth = 0_u32;
    for (at, byte) in readable.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            // `operator()` and `(anonymous namespace)` are parts of a path.
            b'(' if depth == 0
                && at > 0
                && !before(at).ends_with("operator")
                && !before(at).ends_with("::") =>
            {
                return readable.get(..at).unwrap_or(readable);
            }
            _ => {}
        }
    }
    readable
}

fn ends_with_path(name: &str, asked: &str) -> bool {
    name.strip_suffix(asked).is_some_and(|before| before.ends_with("::"))
}

fn imported(elf: &Elf) -> Vec<String> {
    let Ok(file) = object::File::parse(&*elf.bytes) else { return Vec::new() };
    let undefined = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
    undefined.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
}
