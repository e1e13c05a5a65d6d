//! Instructions of AArch64 and of 32-bit ARM (not Thumb): all have four bytes, the lowest first.
//!
//! Encodings: Arm ARM (A-profile) C4.1 and F4.1.

use super::{Flow, Instruction};

/// Of AArch64: `yield`, and `isb sy`, which Rust's `spin_loop` is there.
const YIELD: u32 = 0xd503_203f;
const BARRIER: u32 = 0xd503_3fdf;
/// Of ARM: `yield` in any condition.
const ARM_YIELD: u32 = 0x0320_f001;

/// A barrier so shortly before a read of the counter orders that read, and is no hint.
const SHORTLY: usize = 4;

/// Where a word at an address leads; the words behind it decide what some are for.
type Flows = fn(word: u32, address: u64, behind: &[u8]) -> Flow;

pub(super) fn instructions(code: &[u8], start: u64, flows: Flows) -> Vec<Instruction> {
    let words = code.chunks_exact(4).enumerate();
    let instruction = |(place, four): (usize, &[u8])| {
        let address = start.saturating_add(4 * place as u64);
        let behind = code.get(4 * place + 4..).unwrap_or_default();
        Instruction { address, length: 4, flow: flows(word(four), address, behind) }
    };
    words.map(instruction).collect()
}

fn word(four: &[u8]) -> u32 {
    four.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// A distance in words, of so many bits from so many on.
fn distance(word: u32, first: u32, bits: u32) -> i64 {
    i64::from((word << (32 - first - bits)) as i32 >> (32 - bits)) * 4
}

pub(super) fn aarch64(word: u32, address: u64, behind: &[u8]) -> Flow {
    let to = |distance| address.wrapping_add_signed(distance);
    match word {
        YIELD => Flow::Hint,
        BARRIER if !reads_counter(behind) => Flow::Hint,
        _ if word & 0xfc00_0000 == 0x1400_0000 => Flow::Jump(to(distance(word, 0, 26))),
        // b.cond, cbz and cbnz, tbz and tbnz.
        _ if word & 0xff00_0000 == 0x5400_0000 => Flow::Branch(to(distance(word, 5, 19))),
        _ if word & 0x7e00_0000 == 0x3400_0000 => Flow::Branch(to(distance(word, 5, 19))),
        _ if word & 0x7e00_0000 == 0x3600_0000 => Flow::Branch(to(distance(word, 5, 14))),
        // br, ret and eret; blr, the same with bit 21, comes back.
        _ if word & 0xfe00_0000 == 0xd600_0000 && word & 0x0060_0000 != 0x0020_0000 => Flow::End,
        // brk and udf.
        _ if word & 0xffe0_001f == 0xd420_0000 || word >> 16 == 0 => Flow::End,
        _ => Flow::Next,
    }
}

/// `mrs` of `CNTVCT_EL0`, `CNTPCT_EL0` or one of their self-synchronising forms.
fn reads_counter(behind: &[u8]) -> bool {
    let is =
        |four: &[u8]| matches!(word(four) >> 5, 0x6a9_df01 | 0x6a9_df02 | 0x6a9_df05 | 0x6a9_df06);
    behind.chunks_exact(4).take(SHORTLY).any(is)
}

pub(super) fn arm(word: u32, address: u64, _: &[u8]) -> Flow {
    let (always, condition) = (word >> 28 == 0xe, word >> 28);
    // The program counter is two instructions ahead.
    let to = || address.wrapping_add(8).wrapping_add_signed(distance(word, 0, 24));
    // One that may not be carried out has a next one.
    let ends = if always { Flow::End } else { Flow::Next };
    match word & 0x0fff_ffff {
        // Without a condition these are other instructions.
        _ if condition == 0xf => Flow::Next,
        ARM_YIELD => Flow::Hint,
        _ if word & 0x0f00_0000 == 0x0a00_0000 && always => Flow::Jump(to()),
        _ if word & 0x0f00_0000 == 0x0a00_0000 => Flow::Branch(to()),
        // bx; pop and ldm with the program counter among the registers; ldr to it; mov to it.
        rest if rest & 0x0fff_fff0 == 0x012f_ff10 => ends,
        rest if rest & 0x0e10_8000 == 0x0810_8000 => ends,
        rest if rest & 0x0c10_f000 == 0x0410_f000 => ends,
        rest if rest & 0x0def_f000 == 0x01a0_f000 => ends,
        _ => Flow::Next,
    }
}
