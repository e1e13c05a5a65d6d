//! Fuzzes what reads files of code: headers, unwind information, symbols, stubs, kernel symbols and names are read to a value.
//!
//! Whatever the bytes are, there is no panic, and no more memory than the file accounts for. How to build and run is in
//! `netlink.rs`.

#![no_main]

use analysis::stacks::{
    changed,
    kernel::Kernel,
    names::readable,
    object::Elf,
    symbols::{Functions, Symbols},
    unwind::{REGISTERS, Stack, State, Step, Unwinding},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| { read(input) });

fn read(bytes: &[u8]) {
    let _ = Kernel::parse(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert!(readable(text).len() <= 4096);
    }
    let Ok(elf) = Elf::parse(bytes.into()) else { return };
    let symbols = Symbols::of(&elf, Some(&elf));
    for symbol in symbols.all() {
        assert!(symbols.at(symbol.address).is_some() || symbol.end <= symbol.address);
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
    unwind(&elf);
}

fn unwind(elf: &Elf) {
    let mut unwinding = Unwinding::of(elf, None);
    let entries = unwinding.entries().to_vec();
    let bytes: Vec<u8> = (0..64_u64).flat_map(|word| (0x1000 + word * 8).to_le_bytes()).collect();
    let stack = Stack { base: 0x1000, bytes: &bytes, cut: true };
    let cpu = elf.architecture;
    for address in entries.iter().flat_map(|entry| [entry.start, entry.end - 1]) {
        let Ok(row) = unwinding.row(address) else { continue };
        let mut state = State { pc: address, ..State::default() };
        (0..REGISTERS).for_each(|number| state.set(number, Some(0x1000)));
        if let Ok(caller) = unwinding.caller(&row, &state, Step { cpu, stack: &stack, bias: 0 }) {
            assert!(caller.pc != 0);
        }
    }
}
