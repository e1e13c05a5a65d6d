//! Instructions of x86-64, as far as finding the next one and where jumps lead asks.
//!
//! Lengths by the opcode maps of the Intel SDM 2D, appendix A, with VEX and EVEX (2A, §2.3 and §2.7). What is
//! not in them ends the reading: less is known then, and nothing wrong.

use super::{Flow, Instruction};

/// The hint: a `nop` that older processors take for one.
pub(super) const PAUSE: [u8; 2] = [0xf3, 0x90];

/// No instruction is longer.
const LONGEST: usize = 15;

/// Instructions from a function's start to its end, or to one that is not known.
pub(super) fn instructions(code: &[u8], start: u64) -> Vec<Instruction> {
    let (mut found, mut at) = (Vec::new(), 0_usize);
    while let Some(rest) = code.get(at..).filter(|rest| !rest.is_empty()) {
        let address = start.saturating_add(at as u64);
        let Some(instruction) = one(rest, address) else { break };
        at += usize::from(instruction.length);
        found.push(instruction);
    }
    found
}

/// How an opcode goes on.
#[derive(Clone, Copy)]
struct Rest {
    modrm: bool,
    /// Bytes of what follows: a constant or a distance.
    constant: usize,
}

const NONE: Option<Rest> = Some(Rest { modrm: false, constant: 0 });
const MODRM: Option<Rest> = Some(Rest { modrm: true, constant: 0 });
const MODRM_BYTE: Option<Rest> = Some(Rest { modrm: true, constant: 1 });

const fn constant(bytes: usize) -> Option<Rest> {
    Some(Rest { modrm: false, constant: bytes })
}

/// What stands before an opcode.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    /// 0x66
    word: bool,
    /// 0x67
    address: bool,
    /// 0xf3
    repeat: bool,
    rex: u8,
}

impl Prefixes {
    fn wide(self) -> bool {
        self.rex & 8 != 0
    }

    /// A constant that is no longer than 32 bits.
    fn usual(self) -> usize {
        if self.word && !self.wide() { 2 } else { 4 }
    }
}

/// The instruction at the beginning of `code`.
fn one(code: &[u8], address: u64) -> Option<Instruction> {
    let code = code.get(..LONGEST).unwrap_or(code);
    let (prefixes, mut at) = prefixes(code);
    let opcode = *code.get(at)?;
    at += 1;
    let second = code.get(at).copied();
    let (rest, flow) = match opcode {
        0x0f => {
            let (rest, far) = two_bytes(code, &mut at)?;
            (rest, if far { Kind::Branch } else { Kind::of_two(second?) })
        }
        0xc4 | 0xc5 | 0x62 => (vector(opcode, code, &mut at)?, Kind::Next),
        _ => (one_byte(opcode, second, prefixes)?, Kind::of_one(opcode, second, prefixes)),
    };
    if rest.modrm {
        at += operand(code.get(at..)?)?;
    }
    let constant = code.get(at..at.checked_add(rest.constant)?)?;
    let length = at + rest.constant;
    let target = || {
        let next = address.checked_add(length as u64)?;
        Some(next.wrapping_add_signed(signed(constant)))
    };
    let flow = match flow {
        Kind::Next => Flow::Next,
        Kind::Hint => Flow::Hint,
        Kind::Jump => Flow::Jump(target()?),
        Kind::Branch => Flow::Branch(target()?),
        Kind::End => Flow::End,
    };
    Some(Instruction { address, length: length as u8, flow })
}

fn prefixes(code: &[u8]) -> (Prefixes, usize) {
    let mut found = Prefixes::default();
    for (at, byte) in code.iter().enumerate() {
        match byte {
            0x66 => found.word = true,
            0x67 => found.address = true,
            0xf3 => found.repeat = true,
            0xf2 | 0xf0 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 => {}
            0x40..=0x4f => {
                found.rex = *byte;
                return (found, at + 1);
            }
            _ => return (found, at),
        }
    }
    (found, code.len())
}

/// What an instruction does to the flow, without where to.
enum Kind {
    Next,
    Hint,
    Jump,
    Branch,
    End,
}

impl Kind {
    fn of_one(opcode: u8, second: Option<u8>, prefixes: Prefixes) -> Self {
        let group = second.unwrap_or(0) >> 3 & 7;
        match opcode {
            0x90 if prefixes.repeat && prefixes.rex & 1 == 0 => Kind::Hint,
            0x70..=0x7f | 0xe0..=0xe3 => Kind::Branch,
            0xe9 | 0xeb => Kind::Jump,
            // Returns, a breakpoint between functions, hlt, and jumps by register or memory.
            0xc2 | 0xc3 | 0xca | 0xcb | 0xcc | 0xcf | 0xf4 => Kind::End,
            0xff if group == 4 || group == 5 => Kind::End,
            _ => Kind::Next,
        }
    }

    /// `ud2`, `ud1`, `ud0`
    fn of_two(second: u8) -> Self {
        if matches!(second, 0x0b | 0xb9 | 0xff) { Kind::End } else { Kind::Next }
    }
}

fn one_byte(opcode: u8, second: Option<u8>, prefixes: Prefixes) -> Option<Rest> {
    let group = second.unwrap_or(0) >> 3 & 7;
    match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => MODRM,
            4 => constant(1),
            5 => constant(prefixes.usual()),
            _ => None,
        },
        0x50..=0x5f => NONE,
        0x63 => MODRM,
        0x68 => constant(prefixes.usual()),
        0x69 | 0x81 | 0xc7 => Some(Rest { modrm: true, constant: prefixes.usual() }),
        0x6a | 0x70..=0x7f => constant(1),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => MODRM_BYTE,
        0x6c..=0x6f => NONE,
        0x84..=0x8e => MODRM,
        // Another meaning of 0x8f is AMD's XOP.
        0x8f if group == 0 => MODRM,
        0x90..=0x99 | 0x9b..=0x9f => NONE,
        0xa0..=0xa3 => constant(if prefixes.address { 4 } else { 8 }),
        0xa8 | 0xb0..=0xb7 => constant(1),
        0xa9 => constant(prefixes.usual()),
        0xa4..=0xa7 | 0xaa..=0xaf => NONE,
        0xb8..=0xbf => constant(if prefixes.wide() { 8 } else { prefixes.usual() }),
        0xc2 | 0xca => constant(2),
        0xc3 | 0xc9 | 0xcb | 0xcc | 0xcf => NONE,
        0xc8 => constant(3),
        0xcd | 0xe0..=0xe7 | 0xeb => constant(1),
        0xd0..=0xd3 | 0xd8..=0xdf => MODRM,
        0xd7 | 0xec..=0xef | 0xf1 | 0xf4 | 0xf5 | 0xf8..=0xfd => NONE,
        // Compilers put 0x66 before a call for its length alone; Intel's distance has four bytes all the same.
        0xe8 | 0xe9 => constant(4),
        // `test` has a constant, and its neighbours in the group have none.
        0xf6 if group < 2 => MODRM_BYTE,
        0xf7 if group < 2 => Some(Rest { modrm: true, constant: prefixes.usual() }),
        0xf6 | 0xf7 | 0xfe | 0xff => MODRM,
        _ => None,
    }
}

/// Behind 0x0f; also whether it is a branch.
fn two_bytes(code: &[u8], at: &mut usize) -> Option<(Rest, bool)> {
    let opcode = *code.get(*at)?;
    *at += 1;
    let rest = match opcode {
        0x38 | 0x3a => {
            *at += 1;
            if opcode == 0x38 { MODRM } else { MODRM_BYTE }
        }
        0x80..=0x8f => return Some((constant(4)?, true)),
        0x05..=0x09 | 0x0b | 0x0e | 0x30..=0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa => NONE,
        0xc8..=0xcf => NONE,
        0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => MODRM_BYTE,
        0x04 | 0x0a | 0x0c | 0x24..=0x27 | 0x39 | 0x3b..=0x3f => None,
        _ => MODRM,
    };
    rest.map(|rest| (rest, false))
}

/// Behind the first byte of a VEX or EVEX prefix.
fn vector(first: u8, code: &[u8], at: &mut usize) -> Option<Rest> {
    let map = match first {
        0xc5 => 1,
        0xc4 => *code.get(*at)? & 31,
        _ => *code.get(*at)? & 7,
    };
    *at += match first {
        0xc5 => 1,
        0xc4 => 2,
        _ => 3,
    };
    let opcode = *code.get(*at)?;
    *at += 1;
    match (map, opcode) {
        (1, 0x77) if first != 0x62 => NONE,
        (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6) | (3, _) | (5, 0xc2) => MODRM_BYTE,
        (1 | 2 | 5 | 6, _) => MODRM,
        _ => None,
    }
}

/// Bytes of ModRM, SIB and displacement.
fn operand(code: &[u8]) -> Option<usize> {
    let modrm = *code.first()?;
    let (mode, place) = (modrm >> 6, modrm & 7);
    let sib = usize::from(mode != 3 && place == 4);
    let base = if sib == 1 { *code.get(1)? & 7 } else { place };
    let displacement = match mode {
        0 if base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    Some(1 + sib + displacement)
}

fn signed(bytes: &[u8]) -> i64 {
    match *bytes {
        [one] => i64::from(one as i8),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(code: &[u8]) -> Option<u8> {
        one(code, 0).map(|one| one.length)
    }

    #[test]
    fn lengths_are_those_of_the_manual() {
        let known: [&[u8]; 23] = [
            &[0x90],
            &[0xf3, 0x90],
            &[0xf3, 0x0f, 0x1e, 0xfa],                      // endbr64
            &[0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0],          // mov rax,[0]
            &[0x48, 0x8d, 0x05, 0, 0, 0, 0],                // lea rax,[rip]
            &[0x48, 0x89, 0x5c, 0x24, 0x08],                // mov [rsp+8],rbx
            &[0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0],          // movabs
            &[0x66, 0xb8, 0, 0],                            // mov ax,0
            &[0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0],          // a call of __tls_get_addr
            &[0xf6, 0x47, 0x08, 0x01],                      // test byte [rdi+8],1
            &[0xf7, 0xd8],                                  // neg eax
            &[0xf7, 0xc7, 0, 0, 0, 0],                      // test edi,0
            &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0], // a long nop
            &[0x0f, 0xba, 0xe0, 0x03],                      // bt eax,3
            &[0xf3, 0x0f, 0xb8, 0xc0],                      // popcnt
            &[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x08],          // palignr
            &[0xf0, 0x0f, 0xb1, 0x17],                      // lock cmpxchg
            &[0xc5, 0xf8, 0x77],                            // vzeroupper
            &[0xc5, 0xfd, 0xd7, 0xc0],                      // vpmovmskb
            &[0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01],          // vextracti128
            &[0xc4, 0xe2, 0x7d, 0x78, 0xc0],                // vpbroadcastb
            &[0x62, 0xf1, 0xfe, 0x48, 0x6f, 0x46, 0x01],    // vmovdqu64 [rsi+64]
            &[0x62, 0xf3, 0x75, 0x40, 0x3f, 0x04, 0x25, 0, 0, 0, 0, 0], // vpcmpub [0]
        ];
        for code in known {
            let behind = [code, &[0xcc; 8]].concat();
            assert_eq!(length(&behind).map(usize::from), Some(code.len()), "{code:02x?}");
            assert_eq!(length(&code[..code.len() - 1]), None, "cut: {code:02x?}");
        }
    }

    #[test]
    fn what_is_no_instruction_of_64_bits_is_none() {
        for code in [[0x06, 0, 0], [0x82, 0xc0, 0], [0xea, 0, 0], [0xd4, 0x0a, 0], [0x0f, 0x04, 0]]
        {
            assert_eq!(length(&code), None, "{code:02x?}");
        }
        assert_eq!(length(&[0x66; 20]), None, "prefixes without an end");
    }

    /// This test's own program: a function that is read wrong does not end where its symbol says.
    #[test]
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[expect(clippy::disallowed_methods, reason = "the test reads its own program")]
    fn every_function_of_a_real_program_is_read_to_its_end() {
        use crate::stacks::{object::Elf, symbols::Symbols};

        let program = std::env::current_exe().expect("a path");
        let elf = Elf::parse(std::fs::read(program).expect("read").into()).expect("an ELF file");
        let (mut read, mut wrong) = (0, Vec::new());
        for symbol in Symbols::of(&elf, None, None).all().iter().filter(|symbol| symbol.sized) {
            let length = (symbol.end - symbol.address) as usize;
            let Some(code) = elf.at(symbol.address).get(..length) else { continue };
            let last = instructions(code, symbol.address).last().map(Instruction::end);
            read += 1;
            if last != Some(symbol.end) {
                wrong.push(symbol.name.clone());
            }
        }
        assert!(read > 1000 && wrong.is_empty(), "{} of {read}: {wrong:?}", wrong.len());
    }
}
