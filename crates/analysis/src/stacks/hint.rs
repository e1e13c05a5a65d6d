//! Loops in machine code that tell the CPU that they wait: those with its spin-wait hint.
//!
//! Authors of such loops are advised to put the hint into them (`pause`, `yield`; Rust's `spin_loop` and C's
//! `cpu_relax` are nothing else), and no one puts it anywhere else: so a busy wait is known by its code,
//! whatever it is called. This part finds the hints of one function and the instructions that are run again
//! with each of them. Samples are counted by others; no byte of the code is run.
//!
//! # Sources
//!
//! `PAUSE`: Intel SDM 2B. `YIELD`, `ISB`: Arm ARM (A-profile) C6.2, and A8.8 of the ARMv7 edition. RISC-V's and
//! MIPS's stacks are not unwound, so their hints are not looked for; nor is Thumb's, because nothing that we
//! read says which code of ARM is Thumb; nor 32-bit x86's, whose instructions have other lengths.

mod arm;
mod graph;
mod x86_64;

use std::ops::Range;

use super::unwind::Cpu;

pub use super::spin::Spin;

/// Of a longer function the rest is not read: it would be time for one that is made up to take it.
const LONGEST: usize = 1 << 16;

/// The loop of one hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintLoop {
    /// The hint's address.
    pub hint: u64,
    /// Where the loop begins again: the jump's address.
    pub jump: u64,
    /// Everything that runs again with the hint, by address.
    round: Vec<Range<u64>>,
    /// The part of it that runs only once the hint has: from there to the loop's beginning.
    past: Vec<Range<u64>>,
}

impl HintLoop {
    /// Where an address is.
    pub fn at(&self, address: u64) -> Spin {
        let within = |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&address));
        if within(&self.past) {
            Spin::Past
        } else if within(&self.round) {
            Spin::Round
        } else {
            Spin::None
        }
    }
}

/// The loops with a hint in a function that begins at `start`; none where its code cannot be followed.
pub fn loops(cpu: Cpu, code: &[u8], start: u64) -> Vec<HintLoop> {
    let code = code.get(..LONGEST).unwrap_or(code);
    let instructions = match cpu {
        // Most functions have no such bytes, and need not be taken apart.
        Cpu::X86_64 if !code.windows(2).any(|two| two == x86_64::PAUSE) => return Vec::new(),
        Cpu::X86_64 => x86_64::instructions(code, start),
        Cpu::Aarch64 => arm::instructions(code, start, arm::aarch64),
        Cpu::Arm => arm::instructions(code, start, arm::arm),
        Cpu::I386 => return Vec::new(),
    };
    graph::loops(&instructions)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    address: u64,
    length: u8,
    flow: Flow,
}

impl Instruction {
    fn end(&self) -> u64 {
        self.address.saturating_add(u64::from(self.length))
    }
}

/// What runs after an instruction. A call is like any other one: it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    /// The next one; and this is the hint.
    Hint,
    Jump(u64),
    /// The next or another one.
    Branch(u64),
    /// No one knows, or nothing here.
    End,
}

#[cfg(test)]
mod tests;
