//! What a function did to its stack before an instruction, read from the instructions themselves.
//!
//! For code without unwind information. Compilers' prologues are plain: they push or store what they must
//! preserve, and make room. What is not understood ends the reading; then less is known, never more.

use super::{Cpu, REGISTERS, Stack, State};
use crate::stacks::profile::Cause;

/// Callee-saved registers of x86-64 in DWARF's numbers: rbx, rbp, r12 to r15.
const X86_64_PRESERVED: [usize; 6] = [3, 6, 12, 13, 14, 15];

/// `push`'s register numbers (ax, cx, dx, bx, sp, bp, si, di) in DWARF's.
const X86_64_NUMBERS: [usize; 8] = [0, 2, 1, 3, 7, 6, 4, 5];

/// The same of 32-bit x86: ebx, ebp, esi, edi; its numbers are `push`'s.
const I386_PRESERVED: [usize; 4] = [3, 5, 6, 7];
const I386_NUMBERS: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Longer code is not searched for what it preserves.
const LONGEST: usize = 1 << 16;

/// A function of x86 that is about to return.
#[derive(Clone, Copy, Debug)]
pub struct Returning<'a> {
    pub cpu: Cpu,
    pub stack: &'a Stack<'a>,
    /// Where its return address is.
    pub slot: u64,
    /// Its code up to the instruction at hand.
    pub code: &'a [u8],
}

impl Returning<'_> {
    /// The registers that it preserves.
    pub fn preserved(&self, state: &State) -> State {
        let (numbers, preserved): (_, &[usize]) = match self.cpu {
            Cpu::I386 => (&I386_NUMBERS, &I386_PRESERVED),
            _ => (&X86_64_NUMBERS, &X86_64_PRESERVED),
        };
        let mut caller = *state;
        caller.known = 0;
        caller.lack = Cause::NoUnwindInfo;
        let (pushed, rest) = pushes(self.code.get(..LONGEST).unwrap_or(self.code), numbers);
        for &number in preserved {
            let value = match pushed.iter().position(|each| *each == number) {
                Some(place) => {
                    let below = self.cpu.word() * (place as u64 + 1);
                    self.stack.word(self.cpu, self.slot.wrapping_sub(below)).ok()
                }
                // Anyone who does not push it does not change it. A byte that only looks like a push forbids no
                // more than to know it.
                None if !has_push(rest, numbers, number) => state.get(number),
                None => None,
            };
            caller.set(number, value);
        }
        caller
    }
}

/// The registers that are pushed first, and the code behind.
fn pushes<'a>(mut code: &'a [u8], numbers: &[usize; 8]) -> (Vec<usize>, &'a [u8]) {
    let mut pushed = Vec::with_capacity(6);
    loop {
        let length = match *code {
            // endbr64, endbr32
            [0xf3, 0x0f, 0x1e, 0xfa | 0xfb, ..] => 4,
            [first @ 0x50..=0x57, ..] => {
                pushed.extend(numbers.get(usize::from(first & 7)));
                1
            }
            [0x41, second @ 0x50..=0x57, ..] => {
                pushed.push(8 + usize::from(second & 7));
                2
            }
            // mov and xor between registers, of 64 and of 32 bits.
            [0x48..=0x4f | 0x41 | 0x44 | 0x45, 0x89 | 0x8b | 0x31, 0xc0..=0xff, ..] => 3,
            [0x89 | 0x8b | 0x31, 0xc0..=0xff, ..] => 2,
            _ => return (pushed, code),
        };
        let Some(rest) = code.get(length..) else { return (pushed, &[]) };
        code = rest;
    }
}

fn has_push(code: &[u8], numbers: &[usize; 8], number: usize) -> bool {
    let plain = numbers.iter().position(|each| *each == number);
    match plain {
        Some(low) => code.contains(&(0x50 + low as u8)),
        None => code.windows(2).any(|two| two == [0x41, 0x50 + (number - 8) as u8]),
    }
}

/// The frame of a function of AArch64 after some of its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// How far the stack pointer is below the caller's.
    pub size: i64,
    /// Where registers were stored: below the caller's stack pointer, and 0 for those that were not.
    pub stored: [i64; REGISTERS],
}

/// Follows the instructions of a function of AArch64 up to the one at hand.
///
/// Encodings are those of the Arm Architecture Reference Manual for A-profile, C6.2.
pub fn aarch64_frame(code: &[u8]) -> Frame {
    let empty = Frame { size: 0, stored: [0; REGISTERS] };
    let (mut frame, mut before_end) = (empty, None);
    let code = code.get(..LONGEST).unwrap_or(code);
    for four in code.chunks_exact(4) {
        let word = four.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        if aarch64_ends(word) {
            // What follows an end was reached by a jump, from before the frame was taken down.
            frame = before_end.take().unwrap_or(frame);
            continue;
        }
        let before = frame;
        aarch64_step(&mut frame, word);
        if frame.size < before.size && before_end.is_none() {
            before_end = Some(before);
        }
    }
    frame
}

/// `ret`, `br`, `b`
fn aarch64_ends(word: u32) -> bool {
    word & 0xffff_fc1f == 0xd65f_0000
        || word & 0xffff_fc1f == 0xd61f_0000
        || word & 0xfc00_0000 == 0x1400_0000
}

fn aarch64_step(frame: &mut Frame, word: u32) {
    const SP: u32 = 31;
    let (first, base, second) = (word & 31, word >> 5 & 31, word >> 10 & 31);
    if base != SP {
        return;
    }
    let pair = i64::from((word << 10) as i32 >> 25) * 8;
    let single = i64::from((word << 11) as i32 >> 23);
    let unsigned = i64::from(word >> 10 & 0xfff);
    match word {
        // sub sp, sp, #; add sp, sp, #: by 1, or by 4096.
        _ if word & 0xff80_001f == 0xd100_001f => frame.size += unsigned << ((word >> 22 & 1) * 12),
        _ if word & 0xff80_001f == 0x9100_001f => frame.size -= unsigned << ((word >> 22 & 1) * 12),
        // stp with the pointer changed before; stp; ldp with it changed after.
        _ if word & 0xffc0_0000 == 0xa980_0000 => {
            frame.size -= pair;
            frame.store(first, 0);
            frame.store(second, 8);
        }
        _ if word & 0xffc0_0000 == 0xa900_0000 => {
            frame.store(first, pair);
            frame.store(second, pair + 8);
        }
        _ if word & 0xffc0_0000 == 0xa8c0_0000 => frame.size -= pair,
        // str with the pointer changed before; str; ldr with it changed after.
        _ if word & 0xffe0_0c00 == 0xf800_0c00 => {
            frame.size -= single;
            frame.store(first, 0);
        }
        _ if word & 0xffc0_0000 == 0xf900_0000 => frame.store(first, unsigned * 8),
        _ if word & 0xffe0_0c00 == 0xf840_0400 => frame.size -= single,
        _ => {}
    }
}

impl Frame {
    /// A register's first store preserves it; later ones are the function's own business.
    fn store(&mut self, register: u32, above: i64) {
        // x19 to x30 are the callee's to preserve (AAPCS64, §6.1.1).
        if !(19..=30).contains(&register) {
            return;
        }
        if let Some(place) = self.stored.get_mut(register as usize)
            && *place == 0
        {
            *place = self.size - above;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn pushes_are_followed_until_something_else_comes() {
        // endbr64; push r12; mov %rdi,%r12; push rbp; push rbx; sub $16,%rsp
        let code = [
            0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54, 0x49, 0x89, 0xfc, 0x55, 0x53, 0x48, 0x83, 0xec, 16,
        ];
        let (pushed, rest) = pushes(&code, &X86_64_NUMBERS);
        assert_eq!(pushed, [12, 6, 3]);
        assert_eq!(rest.len(), 4);
        let pushes_r15 = |code| has_push(code, &X86_64_NUMBERS, 15);
        assert!(pushes_r15(&[0x90, 0x41, 0x57]) && !pushes_r15(&[0x57]));
    }

    #[test]
    fn a_frame_of_aarch64_is_read_from_its_prologue() {
        // stp x29, x30, [sp, #-32]!; mov x29, sp; str x19, [sp, #16]; bl …
        let frame = aarch64_frame(&code(&[0xa9be_7bfd, 0x9100_03fd, 0xf900_0bf3, 0x9400_0000]));
        assert_eq!(frame.size, 32);
        assert_eq!((frame.stored[29], frame.stored[30], frame.stored[19]), (32, 24, 16));
        // sub sp, sp, #48; stp x29, x30, [sp, #32]
        let frame = aarch64_frame(&code(&[0xd100_c3ff, 0xa902_7bfd]));
        assert_eq!((frame.size, frame.stored[29], frame.stored[30]), (48, 16, 8));
        // str x30, [sp, #-16]!
        let frame = aarch64_frame(&code(&[0xf81f_0ffe]));
        assert_eq!((frame.size, frame.stored[30]), (16, 16));
    }

    #[test]
    fn what_follows_a_return_has_the_frame_again() {
        // stp x29, x30, [sp, #-32]!; ldp x29, x30, [sp], #32; ret; nop
        let words = [0xa9be_7bfd, 0xa8c2_7bfd, 0xd65f_03c0, 0xd503_201f];
        assert_eq!(aarch64_frame(&code(&words)).size, 32);
        assert_eq!(aarch64_frame(&code(&words[..2])).size, 0);
        assert_eq!(aarch64_frame(&[1, 2, 3]).size, 0);
    }
}
