//! The world as Linux has it: the monotonic clock, exact sleeps, and a descriptor that signals.
//!
//! Talks to `clock_gettime`, `clock_nanosleep` and `ppoll`. [`Clock::precise`] is for the thread that waits: without
//! it, the kernel may let its sleeps end up to 50 µs late (`PR_SET_TIMERSLACK`).

use std::{num::NonZeroU64, os::fd::OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::Timespec,
    thread::{clock_nanosleep_absolute, set_current_timer_slack},
    time::{ClockId, clock_gettime},
};

use super::Host;

pub(crate) fn ns_of(time: Timespec) -> u64 {
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
    // A signal ends it early; anyone who asked looks again at the clock.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(until_ns));
}

/// The calling thread's world.
#[derive(Debug, Default)]
pub struct Clock {
    signal: Option<OwnedFd>,
}

impl Clock {
    /// With a descriptor that becomes readable when the other side signals; its reader clears it.
    pub fn with_signal(signal: OwnedFd) -> Self {
        Self { signal: Some(signal) }
    }

    /// Lets the calling thread's sleeps end as exactly as the kernel can: without the call up to 50 µs late.
    pub fn precise() -> std::io::Result<()> {
        Ok(set_current_timer_slack(NonZeroU64::new(1))?)
    }
}

impl Host for Clock {
    fn now(&mut self) -> u64 {
        monotonic_ns()
    }

    fn sleep_until(&mut self, until_ns: u64) {
        sleep_until_ns(until_ns);
    }

    fn await_signal(&mut self, until_ns: u64) -> bool {
        let Some(signal) = &self.signal else {
            // No one can signal: it is looked at again after a moment of the bound's.
            sleep_until_ns(until_ns);
            return false;
        };
        let left = timespec(until_ns.saturating_sub(monotonic_ns()));
        let mut signals = [PollFd::new(signal, PollFlags::IN)];
        poll(&mut signals, Some(&left)).is_ok_and(|ready| ready > 0)
    }
}
