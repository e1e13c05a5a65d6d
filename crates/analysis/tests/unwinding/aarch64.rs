//! AArch64, on stacks made by hand: rules of a file that is written here byte by byte.

use analysis::stacks::{
    happening::{Architecture, Registers},
    object::Elf,
    profile::Cause,
    unwind::{End, Stack, State, Step, Unwinding},
};

const TEXT: u64 = 0x1_0000;

/// Numbers of so many bytes each.
fn numbers<const BYTES: usize>(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(BYTES)).collect()
}

/// An ELF file of one page of code at `TEXT`, with this call frame information.
fn elf(eh_frame: &[u8]) -> Elf {
    let names = b"\0.eh_frame\0.shstrtab\0";
    let (frame_at, names_at) = (0x2000, 0x2000 + eh_frame.len() as u64);
    let headers_at = (names_at + names.len() as u64).next_multiple_of(8);
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    // ET_DYN, EM_AARCH64; one program header, three sections, names in the last.
    file.extend([numbers::<2>(&[3, 183]), numbers::<4>(&[1])].concat());
    file.extend([numbers::<8>(&[0, 64, headers_at]), numbers::<4>(&[0])].concat());
    file.extend(numbers::<2>(&[64, 56, 1, 64, 3, 2]));
    // PT_LOAD, readable and executable, at another address than offset.
    file.extend(numbers::<4>(&[1, 5]));
    file.extend(numbers::<8>(&[0x1000, TEXT, TEXT, 0x1000, 0x1000, 0x1000]));
    file.resize(0x2000, 0);
    file.extend(eh_frame);
    file.extend(names);
    file.resize(headers_at as usize, 0);
    let sections = [
        [0, 0, 0, 0, 0, 0],
        [1, 1, 2, 0x9_0000, frame_at, eh_frame.len() as u64],
        [11, 3, 0, 0, names_at, names.len() as u64],
    ];
    for [name, kind, flags, address, offset, size] in sections {
        file.extend(numbers::<4>(&[name, kind]));
        file.extend(numbers::<8>(&[flags, address, offset, size, 0, 1, 0]));
    }
    Elf::parse(file.into()).expect("an ELF file")
}

/// One function of 0x100 bytes: a frame of 32 bytes from its second instruction on, and signed returns.
fn signed_function() -> Vec<u8> {
    // CIE: version 1, "zR", code 4, data -8, returns by x30, absolute pointers of 8 bytes; CFA is sp.
    let mut cie = vec![0, 0, 0, 0, 1, b'z', b'R', 0, 4, 0x78, 30, 1, 0, 0x0c, 31, 0];
    cie.resize(cie.len().next_multiple_of(4), 0);
    let mut out = (cie.len() as u32).to_le_bytes().to_vec();
    out.extend(&cie);
    let mut fde = (out.len() as u32 + 4).to_le_bytes().to_vec();
    fde.extend(&TEXT.to_le_bytes());
    fde.extend(&0x100_u64.to_le_bytes());
    // No augmentation data; negate_ra_state; behind 4 bytes: CFA is sp + 32, x29 at -32, x30 at -24.
    fde.extend(&[0, 0x2d, 0x41, 0x0e, 32, 0x80 | 29, 4, 0x80 | 30, 3]);
    fde.resize(fde.len().next_multiple_of(4), 0);
    out.extend(&(fde.len() as u32).to_le_bytes());
    out.extend(&fde);
    out.extend(&[0; 4]);
    out
}

fn state(pc: u64, link: u64, pointer: u64) -> State {
    let (values, mask) = ([0; 64], (1 << 33) - 1);
    let mut registers = Registers { values, mask, architecture: Architecture::Aarch64 };
    registers.values[30] = link;
    registers.values[31] = pointer;
    registers.values[32] = pc;
    State::of(&registers).expect("a processor")
}

fn caller(pc: u64, words: &[u64], cut: bool) -> Result<State, End> {
    let elf = elf(&signed_function());
    let mut unwinding = Unwinding::of(&elf, None);
    let row = unwinding.row(pc).expect("a row");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let stack = Stack { base: 0x7000, bytes: &bytes, cut };
    let step = Step { cpu: Architecture::Aarch64, stack: &stack, bias: 0 };
    unwinding.caller(&row, &state(pc, 0x00ab_0000_0001_0080, 0x7000), step)
}

#[test]
fn a_leaf_returns_by_its_register_without_the_signature() {
    let found = caller(TEXT, &[], false).expect("a caller");
    assert_eq!((found.pc, found.get(31), found.exact), (0x1_0080, Some(0x7000), false));
}

#[test]
fn a_frame_is_taken_down_and_the_signature_too() {
    let found = caller(TEXT + 4, &[0x7020, 0x0077_0000_0001_0040, 0, 0], false).expect("a caller");
    assert_eq!((found.pc, found.get(31), found.get(29)), (0x1_0040, Some(0x7020), Some(0x7020)));
}

#[test]
fn the_end_and_what_is_missing_are_distinguished() {
    assert_eq!(caller(TEXT + 4, &[0, 0], false), Err(End::Whole));
    assert_eq!(caller(TEXT + 4, &[0x7020], true), Err(End::Lost(Cause::ShortCopy)));
    assert_eq!(caller(TEXT + 4, &[0x7020], false), Err(End::Lost(Cause::Broken)));
}

#[test]
fn behind_the_last_function_is_nobodys() {
    let elf = elf(&signed_function());
    let mut unwinding = Unwinding::of(&elf, None);
    for address in [TEXT + 0x100, TEXT - 1] {
        assert_eq!(unwinding.row(address).map(|_| ()), Err(Cause::NoUnwindInfo));
    }
    assert_eq!(elf.address_of(0x1004), Some(TEXT + 4));
    assert_eq!(elf.offset_of(TEXT + 4), Some(0x1004));
}
