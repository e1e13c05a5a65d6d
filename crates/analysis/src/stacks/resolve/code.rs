//! One file with everything that is read from it.

mod spins;

use self::spins::Spins;
use super::{
    inlined::Inlined,
    interned::Interned,
    sites::{Key, Rules, Site, Sites},
};
use crate::stacks::{
    names::readable,
    object::Elf,
    profile::{Cause, Frame, Naming},
    symbols::{Symbols, packed},
    unwind::{Cpu, Rows, Table, Unusable, bare::is_trampoline},
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

/// A loaded file.
pub(super) struct Code {
    pub(super) elf: Elf,
    pub(super) table: Table,
    pub(super) rows: Rows,
    pub(super) symbols: Symbols,
    inlined: Option<Inlined>,
    pub(super) cpu: Cpu,
    /// A place in the list of modules.
    pub(super) module: u32,
    pub(super) spins: Spins,
}

impl Code {
    pub(super) fn new(elf: Elf, debug: Option<&Elf>, cpu: Cpu, module: u32) -> Self {
        let table = Table::of(&elf, debug);
        let within = packed(&elf).or_else(|| debug.and_then(packed));
        let symbols = Symbols::of(&elf, within.as_ref(), debug);
        let inlined = Inlined::of(&elf).or_else(|| debug.and_then(Inlined::of));
        let (rows, spins) = (Rows::default(), Spins::default());
        Code { elf, table, rows, symbols, inlined, cpu, module, spins }
    }

    /// What is at an address, found anew.
    pub(super) fn site(&mut self, key: Key, interned: &mut Interned, sites: &mut Sites) -> Site {
        let mut frames = self.frames(key.address);
        self.mark_loop(key.address, &mut frames);
        let frames: Vec<u32> = frames.into_iter().map(|frame| interned.frame(frame)).collect();
        let rules = self.rules(key.address);
        sites.keep(key, &frames, rules)
    }

    /// First address of the function that an address is in, as far as somebody says.
    pub(super) fn function(&self, address: u64) -> Option<u64> {
        self.bounds(address).map(|(start, _)| start)
    }

    /// First address and end of the function that an address is in.
    pub(super) fn bounds(&self, address: u64) -> Option<(u64, u64)> {
        let symbol = self.symbols.at(address).map(|symbol| (symbol.address, symbol.end));
        symbol.or_else(|| self.table.entry(address).map(|entry| (entry.start, entry.end)))
    }

    fn rules(&mut self, address: u64) -> Rules {
        match self.rows.find(&self.table, address) {
            _ if self.is_outermost(address) => Rules::Outermost,
            Ok(row) => Rules::Row(row),
            Err(Unusable::None) => Rules::Bare,
            Err(Unusable::Broken) => Rules::Broken,
        }
    }

    /// Where a program or a thread begins. glibc says it by an undefined return address, but only since
    /// 2.34 for every processor; musl says nothing.
    fn is_outermost(&self, address: u64) -> bool {
        let entry = self.elf.entry();
        if let Some(symbol) = self.symbols.at(address) {
            return (entry != 0 && symbol.address == entry) || OUTERMOST.contains(&&*symbol.name);
        }
        if let Some(function) = self.table.entry(address) {
            return entry != 0 && function.start == entry;
        }
        entry != 0 && address.checked_sub(entry).is_some_and(|past| past < ENTRY_BYTES)
    }

    /// The frames at an address, innermost first.
    pub(super) fn frames(&self, address: u64) -> Vec<Frame> {
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
        } else if is_trampoline(self.cpu, self.elf.at(address.wrapping_add(1))) {
            // musl's symbol begins one byte behind the address that unwinders ask for.
            (RESTORE.to_owned(), Naming::Named)
        } else if let Some(function) = self.table.entry(address) {
            (format!("fun_{:x}", function.start), Naming::Synthesised)
        } else {
            (Cause::NoSymbol.name().to_owned(), Naming::Unknown(Cause::NoSymbol))
        };
        frames.push(frame(name, naming, false));
        frames
    }
}
