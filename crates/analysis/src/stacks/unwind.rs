//! Finds callers: from the registers and the copied stack of one sample to the registers of the caller.
//!
//! By call frame information (`.eh_frame`, `.debug_frame`: DWARF 5, §6.4), with all registers that perf
//! recorded, so that rules by expression work too. Processors are x86-64, AArch64, and 32-bit ARM
//! where it has such information. Which file an address is in, and what its functions are called, other modules know.

pub mod bare;
mod step;
mod table;

pub use self::{
    step::Step,
    table::{Entry, Row, Unwinding},
};
use super::{
    happening::{Architecture, Registers},
    profile::Cause,
};

/// Registers by DWARF's numbers: AArch64's 33 are the most.
pub const REGISTERS: usize = 33;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The outermost frame was reached.
    Whole,
    /// The caller cannot be found.
    Lost(Cause),
}

/// perf's order of the general registers (`arch/x86/include/uapi/asm/perf_regs.h`: AX, BX, CX, DX, SI, DI,
/// BP, SP, IP, then 16 to 23 are R8 to R15), at DWARF's places. The rule of a PLT's stubs asks for the
/// instruction's address, DWARF's 16.
const X86_64_FROM_PERF: [u8; 17] = [0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8];

/// AArch64's and ARM's numbers are DWARF's.
const ARM_FROM_PERF: [u8; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    26, 27, 28, 29, 30, 31,
];

/// `PERF_REG_ARM64_PC`
const AARCH64_PC: usize = 32;

/// What a processor's registers are, by DWARF's numbers.
struct Numbers {
    from_perf: &'static [u8],
    /// perf's number of the instruction's address.
    pc: usize,
    stack_pointer: usize,
    link: Option<usize>,
    /// Bytes of an address.
    word: u64,
    /// The bits of an address of code.
    code: u64,
}

/// Registers by the numbers of DWARF: System V ABI for AMD64, figure 3.36; DWARF for the Arm 64-bit architecture
/// (AADWARF64), §4.1, and for the Arm architecture (AADWARF32), §3.1.
impl Architecture {
    #[inline]
    const fn numbers(self) -> Numbers {
        let (from_perf, pc, stack_pointer, link, word, code): (&[u8], _, _, _, _, _) = match self {
            Architecture::X86_64 | Architecture::Other => {
                (&X86_64_FROM_PERF, 8, 7, None, 8, u64::MAX)
            }
            // Return addresses are signed in the bits above the 48 of user addresses.
            Architecture::Aarch64 => (&ARM_FROM_PERF, AARCH64_PC, 31, Some(30), 8, (1 << 48) - 1),
            // The lowest bit says whether the code is Thumb.
            Architecture::Arm => (ARM_FROM_PERF.split_at(16).0, 15, 13, Some(14), 4, 0xffff_fffe),
        };
        Numbers { from_perf, pc, stack_pointer, link, word, code }
    }

    pub const fn stack_pointer(self) -> usize {
        self.numbers().stack_pointer
    }

    /// The number of the register that a call leaves its return address in; x86 has none.
    pub const fn link(self) -> Option<usize> {
        self.numbers().link
    }

    pub const fn word(self) -> u64 {
        self.numbers().word
    }

    const fn mask(self) -> u64 {
        if self.word() == 8 { u64::MAX } else { u32::MAX as u64 }
    }

    /// An address of code out of a register or the stack.
    pub const fn code_address(self, value: u64) -> u64 {
        value & self.numbers().code
    }
}

/// What is known of one frame's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// By DWARF's numbers.
    pub values: [u64; REGISTERS],
    /// A bit for each that is known.
    pub known: u64,
    /// Where the code is.
    pub pc: u64,
    /// Whether the instruction at `pc` is the one that runs: in the innermost frame, and below a signal.
    /// Everywhere else it is the one behind the call.
    pub exact: bool,
    /// Why a register is unknown, where one is.
    pub lack: Cause,
}

impl Default for State {
    fn default() -> Self {
        State { values: [0; REGISTERS], known: 0, pc: 0, exact: true, lack: Cause::Broken }
    }
}

impl State {
    /// The innermost frame of a sample; `None`: we do not unwind there.
    pub fn of(registers: &Registers) -> Option<Self> {
        let cpu = registers.architecture;
        if cpu == Architecture::Other {
            return None;
        }
        let mut state = State::default();
        let take = |place: usize| {
            let has = registers.mask.checked_shr(place as u32).unwrap_or(0) & 1;
            (registers.values.get(place).copied().unwrap_or(0), has)
        };
        let Numbers { from_perf, pc, .. } = cpu.numbers();
        for (number, place) in from_perf.iter().enumerate() {
            let (recorded, has) = take(usize::from(*place));
            state.values[number] = recorded;
            state.known |= has << number;
        }
        // A 64-bit kernel tells a 32-bit program's address by its own number.
        let is_narrow = cpu == Architecture::Arm && take(AARCH64_PC).1 == 1;
        let pc = if is_narrow { AARCH64_PC } else { pc };
        state.pc = cpu.code_address(take(pc).0);
        Some(state)
    }

    /// A register's value, where it is known.
    pub fn get(&self, number: usize) -> Option<u64> {
        let known = self.known.checked_shr(number as u32).unwrap_or(0) & 1 == 1;
        self.values.get(number).copied().filter(|_| known)
    }

    pub fn set(&mut self, number: usize, value: Option<u64>) {
        let Some(place) = self.values.get_mut(number) else { return };
        let bit = 1 << number;
        if let Some(value) = value {
            *place = value;
            self.known |= bit;
        } else {
            self.known &= !bit;
        }
    }

    /// The address that says in which function the frame is: a call may be its function's last
    /// instruction, and then what is behind it is another function.
    pub const fn looked_up(&self) -> u64 {
        if self.exact { self.pc } else { self.pc.wrapping_sub(1) }
    }
}

/// The copied part of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    pub base: u64,
    pub bytes: &'a [u8],
    /// Whether the stack goes on behind them.
    pub cut: bool,
}

impl Stack<'_> {
    /// A word of the processor's.
    #[inline]
    pub fn word(&self, cpu: Architecture, address: u64) -> Result<u64, Cause> {
        self.bytes_at(address, cpu.word() as usize)
    }

    /// The number in this many bytes, at most eight.
    #[inline]
    pub(crate) fn bytes_at(&self, address: u64, count: usize) -> Result<u64, Cause> {
        let read = || {
            let at = usize::try_from(address.checked_sub(self.base)?).ok()?;
            let mut word = [0; 8];
            word.get_mut(..count)?.copy_from_slice(self.bytes.get(at..at.checked_add(count)?)?);
            Some(u64::from_le_bytes(word))
        };
        read().ok_or_else(|| self.lack(address))
    }

    fn lack(&self, address: u64) -> Cause {
        match self.cut && address >= self.base {
            // A process that gives its memory back, in exit or to become another program, has a stack
            // pointer and no stack: no longer copy would hold more.
            true if self.bytes.is_empty() => Cause::NoMapping,
            true => Cause::ShortCopy,
            false => Cause::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_is_gone_is_no_short_copy() {
        let stack = |bytes| Stack { base: 0x1000, bytes, cut: true };
        let lack = |bytes, address| stack(bytes).word(Architecture::X86_64, address).unwrap_err();
        assert_eq!(lack(&[], 0x1000), Cause::NoMapping);
        assert_eq!(lack(&[0; 16], 0x1010), Cause::ShortCopy);
        assert_eq!(lack(&[0; 16], 0xff8), Cause::Broken);
    }
}
