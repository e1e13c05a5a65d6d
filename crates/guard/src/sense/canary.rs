//! Canaries: one thread on each CPU that sleeps for 20 ms and notes how late it wakes.
//!
//! For kernels without PSI and schedstat: what a canary waits, a thread of Wi-Fi at nice 0 would wait about
//! as long. Schedulers let who slept go first, so that it is late less often than a thread that always has
//! work; it can show that a CPU is crowded, not that it is not. Fifty wakings a second of a few µs each are
//! less than 0.1 % of a CPU.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use linux::system::monotonic_ns;
use rustix::{
    thread::{CpuSet, clock_nanosleep_absolute, sched_setaffinity},
    time::{ClockId, Timespec},
};

/// From one waking to the next, ns.
const PERIOD_NS: u64 = 20_000_000;
/// A canary calls little and keeps nothing.
const STACK: usize = 64 * 1024;

/// What a canary tells; times of `CLOCK_MONOTONIC`, ns.
#[derive(Debug, Default)]
struct Song {
    /// The worst lateness since it was asked last.
    worst_ns: AtomicU64,
    /// When it wants to wake next: one that has not woken yet is late by now.
    due_ns: AtomicU64,
}

#[derive(Debug)]
struct Canary {
    cpu: u32,
    song: Arc<Song>,
    thread: Option<JoinHandle<()>>,
}

/// All canaries; dropping them stops them, within one period.
#[derive(Debug, Default)]
pub(crate) struct Canaries {
    stop: Arc<AtomicBool>,
    all: Vec<Canary>,
}

impl Canaries {
    /// Starts one on each of these CPUs.
    /// Fails where the kernel gives no thread; those that were started are stopped again.
    pub(crate) fn start(cpus: &[u32]) -> io::Result<Self> {
        let mut canaries = Self::default();
        for &cpu in cpus {
            let song = Arc::new(Song::default());
            let (stop, sings) = (Arc::clone(&canaries.stop), Arc::clone(&song));
            let thread = std::thread::Builder::new()
                .name(format!("canary/{cpu}"))
                .stack_size(STACK)
                .spawn(move || sing(cpu, &sings, &stop))?;
            canaries.all.push(Canary { cpu, song, thread: Some(thread) });
        }
        Ok(canaries)
    }

    /// How late the canary of this CPU woke in the worst case since it was asked last, ns; `None` where none
    /// lives, or none has woken.
    pub(crate) fn late_ns(&self, cpu: u32) -> Option<u64> {
        let canary = self.all.iter().find(|canary| canary.cpu == cpu)?;
        if canary.thread.as_ref().is_none_or(JoinHandle::is_finished) {
            return None;
        }
        let due_ns = canary.song.due_ns.load(Ordering::Acquire);
        if due_ns == 0 {
            return None;
        }
        let still = monotonic_ns().saturating_sub(due_ns);
        let late_ns = canary.song.worst_ns.swap(0, Ordering::AcqRel).max(still);
        // Asked twice within a period, it has not woken meanwhile, and nothing is known.
        (late_ns > 0).then_some(late_ns)
    }
}

impl Drop for Canaries {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for canary in &mut self.all {
            // A canary that panicked has stopped, too.
            let _ = canary.thread.take().map(JoinHandle::join);
        }
    }
}

/// The life of a canary.
fn sing(cpu: u32, song: &Song, stop: &AtomicBool) {
    let mut set = CpuSet::new();
    let Ok(place) = usize::try_from(cpu) else { return };
    if place >= CpuSet::MAX_CPU {
        return;
    }
    set.set(place);
    // One that cannot sit on its CPU would sing of another; guard may itself be nicer or less nice than 0.
    if sched_setaffinity(None, &set).is_err() {
        return;
    }
    let _ = rustix::process::setpriority_process(None, 0);
    let mut due_ns = monotonic_ns() + PERIOD_NS;
    while !stop.load(Ordering::Acquire) {
        song.due_ns.store(due_ns, Ordering::Release);
        let due = Timespec {
            tv_sec: (due_ns / 1_000_000_000) as i64,
            tv_nsec: (due_ns % 1_000_000_000) as i64,
        };
        if clock_nanosleep_absolute(ClockId::Monotonic, &due).is_err() {
            // A signal that was meant for others: the rest of the sleep comes next.
            continue;
        }
        let now_ns = monotonic_ns();
        song.worst_ns.fetch_max(now_ns.saturating_sub(due_ns).max(1), Ordering::AcqRel);
        // Beats that were slept through are not made up for.
        due_ns = (due_ns + PERIOD_NS).max(now_ns + PERIOD_NS / 2);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_canary_sings_where_it_sits_and_stops_when_asked() {
        let canaries = Canaries::start(&linux::system::cpus()).unwrap();
        let heard = (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            canaries.late_ns(linux::system::cpus()[0])
        });
        assert!(heard.is_some_and(|late| late > 0), "{heard:?}");
        assert_eq!(canaries.late_ns(9999), None);
        let stop = Arc::clone(&canaries.stop);
        drop(canaries);
        assert_eq!(Arc::strong_count(&stop), 1, "no thread holds on to it");
    }

    #[test]
    fn a_canary_without_its_cpu_is_silent() {
        let canaries = Canaries::start(&[1000]).unwrap();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(canaries.late_ns(1000), None);
    }
}
