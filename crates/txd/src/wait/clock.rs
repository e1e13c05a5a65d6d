//! The clocks and the sleep that the driver's thread has: `clock_gettime`, `clock_nanosleep`, and its timer slack.

use std::{io, num::NonZeroU64};

use rustix::{
    fs::Timespec,
    thread::{clock_nanosleep_absolute, set_current_timer_slack},
    time::{ClockId, clock_gettime},
};

fn ns_of(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

pub fn monotonic_ns() -> u64 {
    ns_of(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread, ns.
pub fn thread_cpu_ns() -> u64 {
    ns_of(clock_gettime(ClockId::ThreadCPUTime))
}

/// Sleeps until a moment of the monotonic clock.
pub fn sleep_until_ns(until_ns: u64) {
    // A signal ends it early; the caller looks at the clock again.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(until_ns));
}

/// Lets the calling thread's sleeps end as exactly as the kernel can: without it up to 50 µs late (`PR_SET_TIMERSLACK`).
pub fn end_sleeps_exactly() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}
