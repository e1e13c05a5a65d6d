//! One file with everything that is read from it.

use std::collections::BTreeMap;

use super::{Names, inlined::InlinedFunctions};
use crate::stacks::{
    names::readable,
    object::Elf,
    profile::{Cause, Frame, Naming},
    symbols::Symbols,
    unwind::{End, Row, Unwinding, bare::is_trampoline},
};

/// Functions that nothing called, by name: glibc's, musl's, the kernel's interface to signals aside.
const OUTERMOST: [&str; 8] = [
    "_start",
    "_start_c",
    "__clone",
    "clone",
    "__clone3",
    "clone3",
    "thread_start",
    "_dl_start_user",
];

/// The code at a program's entry is a few instructions long where no one says how long it is.
const ENTRY_BYTES: u64 = 48;

/// What returns from a signal's handler: glibc's and musl's name for it.
const RESTORE: &str = "__restore_rt";

pub(super) struct Code {
    pub(super) elf: Elf,
    pub(super) unwind: Unwinding,
    pub(super) symbols: Symbols,
    inlined: Option<InlinedFunctions>,
    /// A place in the list of modules.
    pub(super) module: u32,
    /// Whether it is the kernel's own code in every process.
    pub(super) is_vdso: bool,
    /// What is known of an address: found once, and then looked up.
    pub(super) sites: BTreeMap<u64, Site>,
}

/// What is known of an address.
pub(super) struct Site {
    /// Its frames, innermost first.
    pub(super) frames: Box<[u32]>,
    /// The row that a caller is found by; or why there is none.
    pub(super) row: Result<Row, End>,
}

impl Code {
    pub(super) fn new(elf: Elf, debug: Option<&Elf>, module: u32, is_vdso: bool) -> Self {
        let unwind = Unwinding::of(&elf, debug);
        let symbols = Symbols::of(&elf, debug);
        let inlined = InlinedFunctions::of(&elf).or_else(|| debug.and_then(InlinedFunctions::of));
        Code { elf, unwind, symbols, inlined, module, is_vdso, sites: BTreeMap::new() }
    }

    pub(super) fn site(&mut self, address: u64, names: &mut Names) -> &Site {
        if !self.sites.contains_key(&address) {
            let frames = self.frames_at(address).into_iter().map(|frame| names.frame(frame));
            let site = Site { frames: frames.collect(), row: self.row(address) };
            self.sites.insert(address, site);
        }
        &self.sites[&address]
    }

    /// First address of the function that an address is in, as far as somebody says.
    pub(super) fn function(&self, address: u64) -> Option<u64> {
        let symbol = self.symbols.at(address).map(|symbol| symbol.address);
        symbol.or_else(|| self.unwind.entry(address).map(|entry| entry.start))
    }

    fn row(&mut self, address: u64) -> Result<Row, End> {
        if self.is_outermost(address) {
            return Err(End::Whole);
        }
        self.unwind.row(address).map_err(End::Lost)
    }

    /// Where a program or a thread begins. glibc says it by an undefined return address, but only since
    /// 2.34 for every processor; musl says nothing.
    fn is_outermost(&self, address: u64) -> bool {
        let entry = self.elf.entry;
        if let Some(symbol) = self.symbols.at(address) {
            return (entry != 0 && symbol.address == entry) || OUTERMOST.contains(&&*symbol.name);
        }
        if let Some(function) = self.unwind.entry(address) {
            return entry != 0 && function.start == entry;
        }
        entry != 0 && address.checked_sub(entry).is_some_and(|past| past < ENTRY_BYTES)
    }

    /// The frames at an address, innermost first.
    fn frames_at(&self, address: u64) -> Vec<Frame> {
        let inlined = self.inlined.as_ref().map(|inlined| inlined.at(address)).unwrap_or_default();
        let frame = |name: String, naming: Naming, inlined: bool| Frame {
            inlined,
            ..Frame::of(name, naming, self.module)
        };
        let mut frames = Vec::with_capacity(inlined.len().max(1));
        if let Some((_, inner)) = inlined.split_last() {
            let named = inner.iter().filter(|name| !name.is_empty());
            frames.extend(named.map(|name| frame(readable(name), Naming::Named, true)));
        }
        // The function that has the address is called what its symbol says; debug information may lack
        // what the compiler appended.
        let last = inlined.last().filter(|name| !name.is_empty());
        let (name, naming) = if let Some(symbol) = self.symbols.at(address) {
            (readable(&symbol.name), Naming::Named)
        } else if let Some(name) = last {
            (readable(name), Naming::Named)
        } else if is_trampoline(self.elf.architecture, self.elf.at(address.wrapping_add(1))) {
            // musl's symbol begins one byte behind the address that unwinders ask for.
            (RESTORE.to_owned(), Naming::Named)
        } else if let Some(function) = self.unwind.entry(address) {
            (format!("fun_{:x}", function.start), Naming::Synthesised)
        } else {
            (Cause::NoSymbol.name().to_owned(), Naming::Unknown(Cause::NoSymbol))
        };
        frames.push(frame(name, naming, false));
        frames
    }
}
