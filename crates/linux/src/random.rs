//! The kernel's random numbers: mixing something into them.
//!
//! Talks to `/dev/urandom` (`random(4)`). It draws nothing; what is mixed in and why is the caller's.
//! Minimum kernel: 4.14 (`RNDRESEEDCRNG`).

use std::{fs::OpenOptions, io, os::fd::AsRawFd};

use rustix::ioctl::{Opcode, opcode};

use crate::error::checked;

/// As many bytes make a generator that has not begun ready (`POOL_READY_BITS` of `drivers/char/random.c`).
pub const WHOLE: usize = 32;

/// `RNDADDENTROPY` of `include/uapi/linux/random.h`: mix in, and count as entropy.
const ADD_ENTROPY: Opcode = opcode::write::<[i32; 2]>(b'R', 3);
/// `RNDRESEEDCRNG`: what is drawn from now on depends on what was mixed in.
const RESEED: Opcode = opcode::none(b'R', 7);

/// `struct rand_pool_info` with its bytes.
#[repr(C)]
struct Pool {
    entropy_bits: i32,
    bytes: i32,
    pool: [u8; WHOLE],
}

/// Mixes bytes into the kernel's random numbers, counts them as entropy, and makes the kernel begin anew
/// with them: every number that is drawn from now on depends on them.
/// Fails with `EPERM` without `CAP_SYS_ADMIN`; `ENOTTY` before Linux 4.14, which mixes in and does not begin anew.
pub fn mix(bytes: [u8; WHOLE]) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/urandom")?;
    let pool = Pool { entropy_bits: 8 * WHOLE as i32, bytes: WHOLE as i32, pool: bytes };
    // SAFETY: `RNDADDENTROPY` reads a `rand_pool_info` and as many bytes behind it as that says, which is
    // what `Pool` is; it outlives the call and is not written to.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), ADD_ENTROPY as _, &raw const pool) })?;
    // SAFETY: `RNDRESEEDCRNG` takes no argument and touches no memory of ours.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), RESEED as _) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_the_calls_are_the_kernels() {
        // Of `asm-generic`, which all but a few architectures have.
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")) {
            assert_eq!((ADD_ENTROPY as u64, RESEED as u64), (0x4008_5203, 0x5207));
        }
        assert_eq!(std::mem::offset_of!(Pool, pool), 8);
    }

    #[test]
    fn bytes_are_mixed_in_or_the_right_to_is_missing() {
        let Err(error) = mix([7; WHOLE]) else { return };
        assert!(error.raw_os_error().is_some(), "{error}");
    }
}
