//! Executions that must end soon, in one line, with little memory, whatever they are given.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use super::{ended::Ended, headroom::Headroom};

/// No hostile input takes longer.
const LONGEST: Duration = Duration::from_secs(5);

/// The most memory that one may take, KiB.
const LARGEST_KIB: u64 = 256 * 1024;

/// How often its memory is looked at; the kernel keeps the peak in between.
const LOOK: Duration = Duration::from_millis(5);

impl Headroom {
    /// Runs it to its end, and asserts that it took no more time and memory than a hostile input may cost.
    pub(crate) fn run_bounded(self) -> Ended {
        let began = Instant::now();
        let running = self.start();
        let pid = running.pid();
        let watch = thread::spawn(move || {
            let mut peak = 0;
            while let Some(kib) = peak_kib(pid).filter(|_| began.elapsed() < LONGEST * 4) {
                peak = peak.max(kib);
                thread::sleep(LOOK);
            }
            peak
        });
        let ended = running.end();
        let took = began.elapsed();
        let peak = watch.join().unwrap();
        assert!(took < LONGEST, "it took {took:?}:\n{ended}");
        assert!(peak < LARGEST_KIB, "it took {peak} KiB:\n{ended}");
        ended
    }
}

/// The most memory that a process has held so far, KiB; `None` once it has ended.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
