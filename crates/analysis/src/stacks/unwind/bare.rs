//! What can be read from the instructions themselves, where no unwind information is: calls, the return
//! from a signal's handler, the end of a thread, and what a function did to its stack before an instruction.
//!
//! Compilers' prologues are plain: they push or store what they must preserve, and make room. What is not understood
//! ends the reading; then less is known, never more.

use super::{Architecture, REGISTERS, Stack, State};
use crate::stacks::profile::Cause;

/// An instruction that leaves a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Direct(u64),
    /// Of what a register or memory says.
    Indirect,
}

/// The call that ends at `address`; `before` are the eight bytes before it.
pub fn call_before(cpu: Architecture, before: &[u8; 8], address: u64) -> Option<Call> {
    match cpu {
        Architecture::X86_64 => x86_call(before, address),
        Architecture::Aarch64 => {
            let word = u32::from_le_bytes(*before.last_chunk()?);
            // bl: 26 bits of words with a sign. blr: any register.
            if word & 0xfc00_0000 == 0x9400_0000 {
                let distance = i64::from((word << 6) as i32 >> 6) * 4;
                return Some(Call::Direct(address.wrapping_sub(4).wrapping_add_signed(distance)));
            }
            (word & 0xffff_fc1f == 0xd63f_0000).then_some(Call::Indirect)
        }
        Architecture::Arm | Architecture::Other => None,
    }
}

/// `e8 DISTANCE`, or `ff /2` with whatever operand.
fn x86_call(before: &[u8; 8], address: u64) -> Option<Call> {
    let [_, _, _, direct, distance @ ..] = before;
    if *direct == 0xe8 {
        let distance = i64::from(i32::from_le_bytes(*distance));
        return Some(Call::Direct(address.wrapping_add_signed(distance)));
    }
    // Intel's manual, volume 2, tables 2-2 and 2-3: how long an operand is.
    let indirect = (2..=7).any(|length| {
        let Some([0xff, operand, ..]) = before.get(8 - length..) else { return false };
        let (form, what, which) = (operand >> 6, operand >> 3 & 7, operand & 7);
        let sib = usize::from(form != 3 && which == 4);
        let displacement = match (form, which) {
            (0, 5) | (2, _) => 4,
            (1, _) => 1,
            _ => 0,
        };
        what == 2 && length == 2 + sib + displacement
    });
    indirect.then_some(Call::Indirect)
}

/// Whether the code returns from a signal's handler.
///
/// x86-64: `mov $15, %rax` or `%eax`, `syscall` (`__NR_rt_sigreturn`). AArch64: `mov x8, #139`, `svc 0`.
pub fn is_trampoline(cpu: Architecture, code: &[u8]) -> bool {
    match cpu {
        Architecture::X86_64 => {
            code.starts_with(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05])
                || code.starts_with(&[0xb8, 15, 0, 0, 0, 0x0f, 0x05])
        }
        Architecture::Aarch64 => code.starts_with(&[0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4]),
        _ => false,
    }
}

/// Whether a thread ends here as soon as its function returns: the system call `exit` follows.
///
/// x86-64: 60 goes into `%eax`, then `syscall`. AArch64: `mov x8, #93`, `svc 0`.
pub fn is_thread_end(cpu: Architecture, code: &[u8]) -> bool {
    let near = code.get(..16).unwrap_or(code);
    match cpu {
        Architecture::X86_64 => {
            let call = near.windows(2).position(|two| two == [0x0f, 0x05]);
            let before = call.and_then(|call| near.get(..call)).unwrap_or_default();
            before.contains(&60)
        }
        Architecture::Aarch64 => {
            near.windows(8).any(|eight| eight == [0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4])
        }
        _ => false,
    }
}

/// Whether code jumps to an address, as a function does whose last call is made in its own place.
/// `address` is the code's own.
pub fn jumps_to(cpu: Architecture, code: &[u8], address: u64, target: u64) -> bool {
    let distance = target.wrapping_sub(address) as i64;
    match cpu {
        // jmp with 32 bits, from behind its five bytes.
        Architecture::X86_64 => code.windows(5).enumerate().any(|(at, five)| {
            let [0xe9, to @ ..] = five else { return false };
            let to = to.first_chunk().map_or(0, |four| i32::from_le_bytes(*four));
            i64::from(to) == distance.wrapping_sub(at as i64 + 5)
        }),
        Architecture::Aarch64 => code.chunks_exact(4).enumerate().any(|(at, four)| {
            let word = four.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
            word & 0xfc00_0000 == 0x1400_0000
                && i64::from((word << 6) as i32 >> 6) * 4 == distance.wrapping_sub(at as i64 * 4)
        }),
        _ => false,
    }
}

/// Where `struct sigcontext` is above the stack pointer of a trampoline.
///
/// x86-64: `struct ucontext` begins there, and 40 bytes into it the registers
/// (`arch/x86/include/uapi/asm/sigcontext.h`). AArch64: behind `siginfo` (128 bytes), `ucontext`'s head
/// (176) and the fault's address (8) (`arch/arm64/include/uapi/asm/sigcontext.h`).
const X86_64_CONTEXT: u64 = 40;
const AARCH64_CONTEXT: u64 = 128 + 176 + 8;

/// r8 to r15, di, si, bp, bx, dx, ax, cx, sp: in DWARF's numbers; behind them ip.
const X86_64_ORDER: [u8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7];

/// What a signal interrupted, from the frame that the kernel made.
pub fn interrupted(cpu: Architecture, state: &State, stack: &Stack<'_>) -> Result<State, Cause> {
    let base = state.get(cpu.stack_pointer()).ok_or(Cause::Broken)?;
    let mut found = *state;
    let at = |context: u64, place: u64| {
        stack.word(cpu, base.wrapping_add(context).wrapping_add(place * 8))
    };
    match cpu {
        Architecture::X86_64 => {
            for (place, number) in X86_64_ORDER.iter().enumerate() {
                found.set(usize::from(*number), Some(at(X86_64_CONTEXT, place as u64)?));
            }
            found.pc = at(X86_64_CONTEXT, X86_64_ORDER.len() as u64)?;
        }
        Architecture::Aarch64 => {
            for number in 0..32 {
                found.set(number as usize, Some(at(AARCH64_CONTEXT, number)?));
            }
            found.pc = cpu.code_address(at(AARCH64_CONTEXT, 32)?);
        }
        _ => return Err(Cause::NoUnwindInfo),
    }
    found.exact = true;
    Ok(found)
}

/// Callee-saved registers of x86-64 in DWARF's numbers: rbx, rbp, r12 to r15.
const X86_64_PRESERVED: [usize; 6] = [3, 6, 12, 13, 14, 15];

/// `push`'s register numbers (ax, cx, dx, bx, sp, bp, si, di) in DWARF's.
const X86_64_NUMBERS: [usize; 8] = [0, 2, 1, 3, 7, 6, 4, 5];

/// Longer code is not searched for what it preserves.
const LONGEST: usize = 1 << 16;

/// What a function of x86-64 preserved, seen from behind its return address, which is at `slot`. `code` is the function's up
/// to the instruction at hand.
pub fn preserved(state: &State, stack: &Stack<'_>, slot: u64, code: &[u8]) -> State {
    let mut caller = *state;
    caller.known = 0;
    caller.lack = Cause::NoUnwindInfo;
    let (pushed, rest) = pushes(code.get(..LONGEST).unwrap_or(code));
    for number in X86_64_PRESERVED {
        let value = match pushed.iter().position(|each| *each == number) {
            Some(place) => {
                let below = 8 * (place as u64 + 1);
                stack.word(Architecture::X86_64, slot.wrapping_sub(below)).ok()
            }
            // What does not push it does not change it. A byte that only looks like a push forbids no more than to
            // know it.
            None if !has_push(rest, number) => state.get(number),
            None => None,
        };
        caller.set(number, value);
    }
    caller
}

/// The registers that are pushed first, and the code behind.
fn pushes(mut code: &[u8]) -> (Vec<usize>, &[u8]) {
    let mut pushed = Vec::with_capacity(6);
    loop {
        let length = match *code {
            // endbr64
            [0xf3, 0x0f, 0x1e, 0xfa, ..] => 4,
            [first @ 0x50..=0x57, ..] => {
                pushed.extend(X86_64_NUMBERS.get(usize::from(first & 7)));
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

fn has_push(code: &[u8], number: usize) -> bool {
    let plain = X86_64_NUMBERS.iter().position(|each| *each == number);
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

    #[test]
    fn calls_are_distinguished_from_other_instructions() {
        let call = |bytes: [u8; 8]| call_before(Architecture::X86_64, &bytes, 0x1000);
        assert_eq!(call([0, 0, 0, 0xe8, 0xf0, 0xff, 0xff, 0xff]), Some(Call::Direct(0xff0)));
        // call *%rax; call *%r12; call *0x10(%rbx); call *0x2fe2(%rip); call *(%r12)
        assert_eq!(call([0, 0, 0, 0, 0, 0, 0xff, 0xd0]), Some(Call::Indirect));
        assert_eq!(call([0, 0, 0, 0, 0, 0x41, 0xff, 0xd4]), Some(Call::Indirect));
        assert_eq!(call([0, 0, 0, 0, 0, 0xff, 0x53, 0x10]), Some(Call::Indirect));
        assert_eq!(call([0, 0, 0xff, 0x15, 0xe2, 0x2f, 0, 0]), Some(Call::Indirect));
        assert_eq!(call([0, 0, 0, 0, 0x41, 0xff, 0x14, 0x24]), Some(Call::Indirect));
        assert_eq!(call([0x90; 8]), None);
        let bl = |word: u32| {
            let mut bytes = [0; 8];
            bytes[4..].copy_from_slice(&word.to_le_bytes());
            call_before(Architecture::Aarch64, &bytes, 0x1000)
        };
        assert_eq!(bl(0x97ff_ffff), Some(Call::Direct(0xff8)));
        assert_eq!(bl(0xd63f_0060), Some(Call::Indirect));
        assert_eq!(bl(0xd65f_03c0), None);
    }

    #[test]
    fn what_a_signal_interrupted_is_read_from_the_kernels_frame() {
        let mut bytes = vec![0; 400];
        for (place, _) in X86_64_ORDER.iter().enumerate() {
            bytes[40 + place * 8] = place as u8 + 1;
        }
        bytes[40 + 16 * 8] = 0x77;
        let mut state = State { exact: false, ..State::default() };
        state.set(7, Some(0x5000));
        let stack = Stack { base: 0x5000, bytes: &bytes, cut: true };
        let found = interrupted(Architecture::X86_64, &state, &stack).expect("a frame");
        assert_eq!((found.pc, found.exact), (0x77, true));
        assert_eq!((found.get(8), found.get(6), found.get(7)), (Some(1), Some(11), Some(16)));
        let short = Stack { base: 0x5000, bytes: &bytes[..100], cut: true };
        assert_eq!(interrupted(Architecture::X86_64, &state, &short), Err(Cause::ShortCopy));
    }

    fn code(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn pushes_are_followed_until_something_else_comes() {
        // endbr64; push r12; mov %rdi,%r12; push rbp; push rbx; sub $16,%rsp
        let code = [
            0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x54, 0x49, 0x89, 0xfc, 0x55, 0x53, 0x48, 0x83, 0xec, 16,
        ];
        let (pushed, rest) = pushes(&code);
        assert_eq!(pushed, [12, 6, 3]);
        assert_eq!(rest.len(), 4);
        let pushes_r15 = |code| has_push(code, 15);
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
