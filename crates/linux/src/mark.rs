//! Marks in the stream of executed instructions, for an emulator that counts them from below.
//!
//! A mark is four instructions that do nothing, each of which holds 16 bits of a number: on x86-64 a `nop` with an
//! unused displacement, on arm64 a `movz` whose result goes nowhere. They mean nothing to a CPU; the emulator's plugin
//! (`crates/lab/plugin/cache.c`) writes its counters down when all four of a number that it was given have been
//! executed. So a window that opens and closes in the guest is cut at that very instruction, whatever the host is
//! doing.
//!
//! The numbers are drawn for one window, and their code is written then, so no file and no other process has it. Every
//! number takes the same instructions. Where no plugin watches, and on other processors, nothing happens.

use std::io;

use crate::{error::checked, mapping::Mapping};

const LENGTH: usize = 8;

/// Where the closing mark's code begins, behind that of the opening one.
const CLOSE: usize = 64;

#[derive(Debug)]
pub struct Marks(Mapping);

impl Marks {
    pub fn new(open: [u8; LENGTH], close: [u8; LENGTH]) -> io::Result<Self> {
        let mapping = Mapping::private(2 * CLOSE)?;
        for (at, number) in [(0, open), (CLOSE, close)] {
            let code = code(number);
            assert!(code.len() <= CLOSE, "a mark is shorter than its place");
            // SAFETY: `at` and the code behind it lie within the mapping, which is for writing and which nobody else has.
            unsafe {
                mapping.base.as_ptr().add(at).copy_from_nonoverlapping(code.as_ptr(), code.len())
            };
        }
        let access = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: the whole mapping, which nothing refers to. It is no longer for writing from here on; the kernel makes
        // instruction caches see what was written as it lets the pages be executed (arm64: `__sync_icache_dcache`).
        checked(unsafe { libc::mprotect(mapping.base.as_ptr().cast(), mapping.length, access) })?;
        Ok(Self(mapping))
    }

    /// Opens the window: what was executed before does not count.
    pub fn open(&self) {
        self.execute(0);
    }

    /// Closes the window: what is executed afterwards does not count.
    pub fn close(&self) {
        self.execute(CLOSE);
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn execute(&self, at: usize) {
        // SAFETY: `new` has written a function there that returns and touches neither memory nor registers nor flags; the
        // mapping may be executed, and lives as long as `self`.
        let mark: extern "C" fn() =
            unsafe { std::mem::transmute(self.0.base.as_ptr().add(at).cast_const()) };
        mark();
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn execute(&self, _: usize) {}
}

/// `nopl 0x…(%rax,%rax,1)` (Intel SDM, NOP, `0F 1F /0`), whose displacement is `HD` and two bytes of the number, four times;
/// `ret`.
#[cfg(target_arch = "x86_64")]
fn code(number: [u8; LENGTH]) -> Vec<u8> {
    let nop = |part: &[u8]| [&[0x0f, 0x1f, 0x84, 0x00, b'H', b'D'], part].concat();
    number.chunks(2).flat_map(nop).chain([0xc3]).collect()
}

/// `movz xzr, #…` (Arm ARM, MOVZ), four times; `ret`.
#[cfg(target_arch = "aarch64")]
fn code(number: [u8; LENGTH]) -> Vec<u8> {
    let part = |two: &[u8]| u32::from(two[0]) | u32::from(two[1]) << 8;
    let moves = number.chunks(2).map(|two| 0xd280_001f_u32 | part(two) << 5);
    moves.chain([0xd65f_03c0]).flat_map(u32::to_le_bytes).collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn code(_: [u8; LENGTH]) -> Vec<u8> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_executed_and_every_number_takes_as_many_instructions() {
        let marks = Marks::new(*b"open it!", [0xff; LENGTH]).unwrap();
        marks.open();
        marks.close();
        assert_eq!(code([0; LENGTH]).len(), code([0xff; LENGTH]).len());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_number_is_in_its_code_and_nowhere_else() {
        let marks = Marks::new([1, 2, 3, 4, 5, 6, 7, 8], [9; LENGTH]).unwrap();
        // SAFETY: the mapping may be read, is that long, and lives until the end of this function.
        let all = unsafe { std::slice::from_raw_parts(marks.0.base.as_ptr(), 2 * CLOSE) };
        // As `crates/lab/plugin/cache.c` looks for it, but for the last two bytes.
        let part =
            |at: usize| all[8 * at..][..8].strip_prefix(&[0x0f, 0x1f, 0x84, 0x00, b'H', b'D']);
        let number: Vec<u8> = (0..4).flat_map(|at| part(at).unwrap()).copied().collect();
        assert_eq!(number, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(
            (all[32], &all[CLOSE..][..8]),
            (0xc3, &[0x0f, 0x1f, 0x84, 0x00, b'H', b'D', 9, 9][..])
        );
    }
}
