//! Which performance events this machine gives, found out by asking for each.
//!
//! Talks to `perf_event_open` and closes every descriptor at once. It counts and samples nothing.
//!
//! Formats: `perf_event_open(2)`, `include/uapi/linux/perf_event.h`.

use std::{
    io,
    os::fd::{FromRawFd, OwnedFd},
};

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;

/// `PERF_ATTR_SIZE_VER0`: the oldest form of the attributes, which every kernel takes.
const ATTR_SIZE: usize = 64;

/// Bits of the attributes' flag word: `disabled`, `exclude_kernel`, `exclude_hv`.
const DISABLED: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;

/// The hardware events that are asked for, by perf's names, with the kernel's numbers.
const EVENTS: [(&str, u64); 6] = [
    ("cycles", 0),
    ("instructions", 1),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branches", 4),
    ("branch-misses", 5),
];

/// What the machine gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Hardware events that can be opened.
    pub present: Vec<&'static str>,
    /// Hardware events that were refused.
    pub absent: Vec<&'static str>,
    /// Whether the software event `cpu-clock` can be opened for sampling.
    pub cpu_clock: bool,
}

/// Asks for every event in turn, for the calling process in user mode, which needs the least right.
pub fn events() -> Events {
    let (present, absent) = EVENTS
        .iter()
        .partition::<Vec<_>, _>(|(_, number)| open(attributes(HARDWARE, *number, 0)).is_ok());
    let names =
        |events: Vec<&(&'static str, u64)>| events.into_iter().map(|event| event.0).collect();
    Events {
        present: names(present),
        absent: names(absent),
        // A period of 1 ms; the event never runs.
        cpu_clock: open(attributes(SOFTWARE, CPU_CLOCK, 1_000_000)).is_ok(),
    }
}

/// `struct perf_event_attr`, version 0: type, size, config, period, sample type, read format, flags …
fn attributes(kind: u32, config: u64, period: u64) -> [u64; ATTR_SIZE / 8] {
    let mut attributes = [0_u64; ATTR_SIZE / 8];
    let mut first = [0_u8; 8];
    first[..4].copy_from_slice(&kind.to_ne_bytes());
    first[4..].copy_from_slice(&(ATTR_SIZE as u32).to_ne_bytes());
    attributes[0] = u64::from_ne_bytes(first);
    attributes[1] = config;
    attributes[2] = period;
    // The kernel reads the flags as a bit field, whose first bit is the lowest on little-endian
    // machines and the highest on big-endian ones.
    let flags = DISABLED | EXCLUDE_KERNEL | EXCLUDE_HV;
    attributes[5] = if cfg!(target_endian = "big") { flags.reverse_bits() } else { flags };
    attributes
}

fn open(mut attributes: [u64; ATTR_SIZE / 8]) -> io::Result<OwnedFd> {
    let (this_process, any_cpu, no_group, flags) = (0, -1, -1, 0_u64);
    // SAFETY: the attributes are `size` bytes long as their second field says, initialised, and
    // outlive the call; the kernel writes at most to the size field.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_mut_ptr(),
            this_process,
            any_cpu,
            no_group,
            flags,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` has just been opened by the kernel and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_either_present_or_absent() {
        let events = events();
        assert_eq!(events.present.len() + events.absent.len(), EVENTS.len());
        assert!(events.present.iter().all(|name| !events.absent.contains(name)));
    }

    #[test]
    fn the_attributes_have_the_kernels_layout() {
        let bytes: Vec<u8> = attributes(1, 7, 9).iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(bytes.len(), ATTR_SIZE);
        assert_eq!(bytes[0..4], 1_u32.to_ne_bytes());
        assert_eq!(bytes[4..8], 64_u32.to_ne_bytes());
        assert_eq!(bytes[8..16], 7_u64.to_ne_bytes());
        assert_eq!(bytes[16..24], 9_u64.to_ne_bytes());
    }
}
