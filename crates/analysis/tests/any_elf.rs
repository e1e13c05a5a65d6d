//! Files of code come from devices: whatever their bytes are, the answer is a value.
//!
//! Every input that the fuzz target `elf` keeps is read here too, whole, cut, and with bits turned over.
#![expect(
    clippy::disallowed_methods,
    reason = "the corpus is in files, and nothing of it is in a result"
)]

use std::path::Path;

use analysis::stacks::{
    changed, hint,
    kernel::Kernel,
    names::readable,
    object::Elf,
    symbols::{Functions, Symbols, packed},
    unwind::{Cpu, REGISTERS, Rows, Stack, State, Step, Table},
};
use proptest::prelude::*;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/elf");
    let files = std::fs::read_dir(folder).expect("the corpus");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("read")).collect()
}

#[derive(Default)]
struct Found {
    /// Functions with unwind information.
    functions: usize,
    /// Loops with a spin-wait hint.
    loops: usize,
}

/// Reads everything that can be read.
fn read(bytes: &[u8]) -> Found {
    let _ = Kernel::parse(bytes);
    let mut all = Found::default();
    let Ok(elf) = Elf::parse(bytes.into()) else { return all };
    let within = packed(&elf);
    let symbols = Symbols::of(&elf, within.as_ref(), Some(&elf));
    for symbol in symbols.all() {
        assert!(symbols.at(symbol.address).is_some() || symbol.end <= symbol.address);
        let Some(cpu) = Cpu::of(elf.class().architecture) else { continue };
        for found in hint::loops(cpu, elf.at(symbol.address), symbol.address) {
            assert!(found.hint >= symbol.address && found.at(found.hint) == hint::Spin::Past);
            all.loops += 1;
        }
    }
    assert!(changed::functions(&elf, &elf).unwrap_or_default().is_empty());
    for symbol in symbols.all() {
        for part in changed::pages(&elf, &(symbol.address..symbol.end)) {
            let known = part.from..=part.from + part.content.len() as u16;
            assert!(part.code.start < part.code.end && *known.end() <= 4096);
            assert!(known.contains(&part.code.start) && known.contains(&part.code.end));
        }
    }
    let functions = Functions::of(&elf, None);
    for asked in ["main", "called", "0x1000", ""] {
        if let Ok(place) = functions.function_start(asked) {
            assert_eq!(elf.offset_of(place.vaddr), Some(place.file_offset));
        }
    }
    let table = Table::of(&elf, None);
    unwind(&elf, &table);
    all.functions = table.entries().len();
    all
}

fn unwind(elf: &Elf, table: &Table) {
    let mut rows = Rows::default();
    let bytes: Vec<u8> = (0..64_u64).flat_map(|word| (0x1000 + word * 8).to_le_bytes()).collect();
    let stack = Stack { base: 0x1000, bytes: &bytes, cut: true };
    let Some(cpu) = Cpu::of(elf.class().architecture) else { return };
    for address in table.entries().iter().flat_map(|entry| [entry.start, entry.end - 1]) {
        let Ok(row) = rows.find(table, address) else { continue };
        let mut state = State { pc: address, ..State::default() };
        (0..REGISTERS).for_each(|number| state.set(number, Some(0x1000)));
        let step = Step { cpu, table, rows: &rows, stack: &stack, bias: 0 };
        if let Ok(caller) = step.caller(row, &state) {
            assert!(caller.pc != 0);
        }
    }
}

#[test]
fn every_kept_input_is_read() {
    let corpus = corpus();
    assert!(corpus.len() >= 6);
    let found: Vec<Found> = corpus.iter().map(|bytes| read(bytes)).collect();
    assert!(found.iter().map(|one| one.functions).sum::<usize>() > 6, "functions are found");
    let spin = found.iter().filter(|one| one.loops > 0).count();
    assert_eq!(spin, 3, "one of each processor whose hints are known");
}

#[test]
fn a_file_that_is_cut_anywhere_is_read() {
    for bytes in corpus() {
        for end in (0..bytes.len()).step_by(61) {
            read(&bytes[..end]);
        }
    }
}

proptest! {
    #[test]
    fn a_damaged_file_is_read(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let corpus = corpus();
        let mut bytes = corpus[which.index(corpus.len())].clone();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read(&bytes);
    }

    #[test]
    fn any_name_is_readable(name in "(_ZN|_R|_Z)?[a-zA-Z0-9_$.@]{0,200}") {
        prop_assert!(readable(&name).len() <= 4096);
    }
}
