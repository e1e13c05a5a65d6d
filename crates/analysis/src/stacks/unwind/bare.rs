//! What can be read from the instructions themselves, where no unwind information is: calls, the return
//! from a signal's handler, the end of a thread.

use super::{Cpu, Stack, State};
use crate::stacks::profile::Cause;

/// An instruction that leaves a return address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Direct(u64),
    /// Of what a register or memory says.
    Indirect,
}

/// The call that ends at `address`; `before` are the eight bytes before it.
pub fn call_before(cpu: Cpu, before: &[u8; 8], address: u64) -> Option<Call> {
    match cpu {
        Cpu::X86_64 | Cpu::I386 => x86_call(before, address),
        Cpu::Aarch64 => {
            let word = u32::from_le_bytes(*before.last_chunk()?);
            // bl: 26 bits of words with a sign. blr: any register.
            if word & 0xfc00_0000 == 0x9400_0000 {
                let distance = i64::from((word << 6) as i32 >> 6) * 4;
                return Some(Call::Direct(address.wrapping_sub(4).wrapping_add_signed(distance)));
            }
            (word & 0xffff_fc1f == 0xd63f_0000).then_some(Call::Indirect)
        }
        Cpu::Arm => None,
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
pub fn is_trampoline(cpu: Cpu, code: &[u8]) -> bool {
    match cpu {
        Cpu::X86_64 => {
            code.starts_with(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05])
                || code.starts_with(&[0xb8, 15, 0, 0, 0, 0x0f, 0x05])
        }
        Cpu::Aarch64 => code.starts_with(&[0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4]),
        Cpu::Arm | Cpu::I386 => false,
    }
}

/// Whether a thread ends here as soon as its function returns: the system call `exit` follows.
///
/// x86-64: 60 goes into `%eax`, then `syscall`. AArch64: `mov x8, #93`, `svc 0`.
pub fn is_thread_end(cpu: Cpu, code: &[u8]) -> bool {
    let near = code.get(..16).unwrap_or(code);
    match cpu {
        Cpu::X86_64 => {
            let call = near.windows(2).position(|two| two == [0x0f, 0x05]);
            let before = call.and_then(|call| near.get(..call)).unwrap_or_default();
            before.contains(&60)
        }
        Cpu::Aarch64 => {
            near.windows(8).any(|eight| eight == [0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4])
        }
        Cpu::Arm | Cpu::I386 => false,
    }
}

/// Whether code jumps to an address, as a function does whose last call is made in its own place.
/// `address` is the code's own.
pub fn jumps_to(cpu: Cpu, code: &[u8], address: u64, target: u64) -> bool {
    let distance = target.wrapping_sub(address) as i64;
    match cpu {
        // jmp with 32 bits, from behind its five bytes.
        Cpu::X86_64 | Cpu::I386 => code.windows(5).enumerate().any(|(at, five)| {
            let [0xe9, to @ ..] = five else { return false };
            let to = to.first_chunk().map_or(0, |four| i32::from_le_bytes(*four));
            i64::from(to) == distance.wrapping_sub(at as i64 + 5)
        }),
        Cpu::Aarch64 => code.chunks_exact(4).enumerate().any(|(at, four)| {
            let word = four.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
            word & 0xfc00_0000 == 0x1400_0000
                && i64::from((word << 6) as i32 >> 6) * 4 == distance.wrapping_sub(at as i64 * 4)
        }),
        Cpu::Arm => false,
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
pub fn interrupted(cpu: Cpu, state: &State, stack: &Stack<'_>) -> Result<State, Cause> {
    let base = state.get(cpu.stack_pointer()).ok_or(Cause::Broken)?;
    let mut found = *state;
    let at = |context: u64, place: u64| {
        stack.word(cpu, base.wrapping_add(context).wrapping_add(place * 8))
    };
    match cpu {
        Cpu::X86_64 => {
            for (place, number) in X86_64_ORDER.iter().enumerate() {
                found.set(usize::from(*number), Some(at(X86_64_CONTEXT, place as u64)?));
            }
            found.pc = at(X86_64_CONTEXT, X86_64_ORDER.len() as u64)?;
        }
        Cpu::Aarch64 => {
            for number in 0..32 {
                found.set(number as usize, Some(at(AARCH64_CONTEXT, number)?));
            }
            found.pc = cpu.code_address(at(AARCH64_CONTEXT, 32)?);
        }
        Cpu::Arm | Cpu::I386 => return Err(Cause::NoUnwindInfo),
    }
    found.exact = true;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_distinguished_from_other_instructions() {
        let call = |bytes: [u8; 8]| call_before(Cpu::X86_64, &bytes, 0x1000);
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
            call_before(Cpu::Aarch64, &bytes, 0x1000)
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
        let found = interrupted(Cpu::X86_64, &state, &stack).expect("a frame");
        assert_eq!((found.pc, found.exact), (0x77, true));
        assert_eq!((found.get(8), found.get(6), found.get(7)), (Some(1), Some(11), Some(16)));
        let short = Stack { base: 0x5000, bytes: &bytes[..100], cut: true };
        assert_eq!(interrupted(Cpu::X86_64, &state, &short), Err(Cause::ShortCopy));
    }
}
