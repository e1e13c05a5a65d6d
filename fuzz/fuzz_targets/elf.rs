//! Fuzzes what reads files of code: headers, unwind information, symbols, stubs, packed tables.
//!
//! Whatever the bytes are, the answer is a value: no panic, and no more memory than the file accounts for.
//! The kernel's symbols and the names of functions are read from the same bytes, and code is followed for its loops
//! with a spin-wait hint, and held against itself. How to build and run is in `netlink.rs`. `cargo test -p analysis` reads every kept input.

#![no_main]

use analysis::stacks::{
    changed, hint,
    kernel::Kernel,
    names::readable,
    object::Elf,
    symbols::{Functions, Symbols, packed},
    unwind::{Cpu, REGISTERS, Rows, Stack, State, Step, Table},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = Kernel::parse(input);
    if let Ok(text) = std::str::from_utf8(input) {
        assert!(readable(text).len() <= 4096);
    }
    let Ok(elf) = Elf::parse(input.into()) else { return };
    let within = packed(&elf);
    let symbols = Symbols::of(&elf, within.as_ref(), Some(&elf));
    for symbol in symbols.all() {
        let _ = symbols.at(symbol.address);
        let Some(cpu) = Cpu::of(elf.class().architecture) else { continue };
        spins(cpu, elf.at(symbol.address), symbol.address);
    }
    assert!(changed::functions(&elf, &elf).unwrap_or_default().is_empty());
    for symbol in symbols.all().iter().take(64) {
        for part in changed::pages(&elf, &(symbol.address..symbol.end)) {
            let end = part.from + part.content.len() as u16;
            assert!(part.from <= part.code.start && part.code.start < part.code.end);
            assert!(part.code.end <= end && end <= 4096);
        }
    }
    let functions = Functions::of(&elf, None);
    for asked in ["main", "called", "0x1000", ""] {
        if let Ok(place) = functions.function_start(asked) {
            assert_eq!(elf.offset_of(place.vaddr), Some(place.file_offset));
        }
    }
    unwind(&elf);
});

/// Every loop with a hint has its hint behind its beginning, and whoever is at the hint does wait.
fn spins(cpu: Cpu, code: &[u8], start: u64) {
    for found in hint::loops(cpu, code, start) {
        assert!(found.hint >= start && found.jump >= start);
        assert_eq!(found.at(found.hint), hint::Spin::Past);
    }
}

/// Every function once, on a made-up stack that leads upwards.
fn unwind(elf: &Elf) {
    let table = Table::of(elf, None);
    let mut rows = Rows::default();
    let bytes: Vec<u8> = (0..64_u64).flat_map(|word| (0x1000 + word * 8).to_le_bytes()).collect();
    let stack = Stack { base: 0x1000, bytes: &bytes, cut: true };
    let Some(cpu) = Cpu::of(elf.class().architecture) else { return };
    for entry in table.entries() {
        for address in [entry.start, entry.end.wrapping_sub(1)] {
            let Ok(row) = rows.find(&table, address) else { continue };
            let mut state = State { pc: address, ..State::default() };
            (0..REGISTERS).for_each(|number| state.set(number, Some(0x1000)));
            let step = Step { cpu, table: &table, rows: &rows, stack: &stack, bias: 0 };
            if let Ok(caller) = step.caller(row, &state) {
                assert!(caller.pc != 0);
            }
        }
    }
}
