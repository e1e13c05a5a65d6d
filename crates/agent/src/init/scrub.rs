//! Free memory filled with zeros, so that a snapshot holds what is in use and nothing else.
//!
//! The kernel frees the archive that the root was unpacked from, and much more of the boot, without
//! wiping it; QEMU keeps every page that is not zero. Wiping on each free (`init_on_free=1`) would do
//! the same at the price of every later measurement.

use std::{fs, hint};

use super::error::{Doing, Error};

/// Left alone, so that nothing has to be reclaimed for this; with 16 MB a guest of 1 GiB ran dry.
const SPARE: usize = 48 << 20;
const PAGE: usize = 4096;

/// Takes nearly all free memory, which the kernel hands out wiped, and gives it back.
pub(super) fn free_memory() -> Result<(), Error> {
    let text = fs::read_to_string("/proc/meminfo").doing(|| "read /proc/meminfo".into())?;
    let mut taken = vec![0_u8; free_bytes(&text).saturating_sub(SPARE)];
    // The first write to a page is what makes the kernel hand it out.
    for page in hint::black_box(&mut taken).iter_mut().step_by(PAGE) {
        *page = 0;
    }
    hint::black_box(&taken);
    Ok(())
}

/// `MemFree` of `/proc/meminfo`, bytes; 0 where it does not say.
fn free_bytes(text: &str) -> usize {
    let line = text.lines().find_map(|line| line.strip_prefix("MemFree:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_memory_is_read_where_the_kernel_says_it() {
        assert_eq!(free_bytes("MemTotal:  100 kB\nMemFree:   7 kB\nBuffers: 1 kB\n"), 7 << 10);
        assert_eq!(free_bytes("MemFree: lots"), 0);
        assert_eq!(free_bytes(""), 0);
    }
}
