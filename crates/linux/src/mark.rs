//! Marks in the stream of executed instructions, for a model that watches them from below.
//!
//! A mark is one instruction that does nothing and holds a magic number: on x86-64 a `nop` with an unused displacement, on
//! arm64 a `movz` whose result goes nowhere. It costs one instruction, and means nothing to a CPU; the emulator's plugin (`crates/lab/plugin/cache.c`) sees it in
//! the code and writes its counters down whenever it is executed. So a window that opens and closes in the
//! guest is cut at that very instruction, whatever the host is doing. Where no model watches, and on other
//! processors, nothing happens.

/// Opens the window: what was executed before does not count.
#[inline]
pub fn open() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `nopl 0x…(%rax,%rax,1)` (Intel SDM, NOP, `0F 1F /0`) computes no address and touches neither
    // memory nor registers nor flags. Left without `nomem`, so that no access is moved across it.
    unsafe {
        std::arch::asm!(
            ".byte 0x0f, 0x1f, 0x84, 0x00, 0x48, 0x44, 0x52, 0x01",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `movz xzr, #0x4801` (Arm ARM, MOVZ) writes to the register that is always zero, and touches neither
    // memory nor flags. Left without `nomem`, as above.
    unsafe {
        std::arch::asm!("movz xzr, #0x4801", options(nostack, preserves_flags));
    }
}

/// Closes the window: what is executed afterwards does not count.
#[inline]
pub fn close() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `open`.
    unsafe {
        std::arch::asm!(
            ".byte 0x0f, 0x1f, 0x84, 0x00, 0x48, 0x44, 0x52, 0x02",
            options(nostack, preserves_flags)
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as in `open`.
    unsafe {
        std::arch::asm!("movz xzr, #0x4802", options(nostack, preserves_flags));
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// As `crates/lab/plugin/cache.c` looks for it, but for the last byte.
    const MARK: [u8; 7] = [0x0f, 0x1f, 0x84, 0x00, b'H', b'D', b'R'];

    fn marks_in(function: fn()) -> Vec<u8> {
        // SAFETY: code may be read as long as the program runs, and this test's own code, which is more than
        // 48 bytes, lies in the same mapping as the function.
        let code = unsafe { std::slice::from_raw_parts(function as *const u8, 48) };
        let marks = code.windows(8).filter(|window| window.starts_with(&MARK));
        marks.map(|mark| mark[7]).collect()
    }

    #[test]
    fn a_mark_is_in_the_code_and_does_nothing() {
        assert_eq!(marks_in(open).first(), Some(&1));
        assert_eq!(marks_in(close).first(), Some(&2));
        open();
        close();
    }
}
