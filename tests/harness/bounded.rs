//! Executions that must end soon and with little memory, whatever they are given.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use super::{
    ended::Ended,
    headroom::{Headroom, Running},
};

/// No hostile input takes more CPU time (ticks of 10 ms), more time whatever else the machine does, or more memory.
const MOST_TICKS: u64 = 500;
const LONGEST: Duration = Duration::from_secs(30);
const LARGEST_KIB: u64 = 256 * 1024;

/// How often its memory is looked at. The kernel keeps the peak; only what it grows at its very end is not seen.
const LOOK: Duration = Duration::from_millis(1);

impl Headroom {
    /// Runs it to its end, and asserts that it took no more time and memory than a hostile input may cost.
    pub(crate) fn run_bounded(self) -> Ended {
        let (ended, fault) = self.start().end_bounded();
        assert_eq!(fault, None, "{ended}");
        ended
    }
}

impl Running {
    /// Waits for its end, and answers what it took too much of. One that takes twice as much is ended, so that a failing
    /// test neither hangs nor fills the machine.
    pub(crate) fn end_bounded(mut self) -> (Ended, Option<String>) {
        let (began, mut ticks, mut peak_kib) = (Instant::now(), 0, 0);
        while !self.has_ended() {
            if began.elapsed() > 2 * LONGEST || peak_kib > 2 * LARGEST_KIB {
                self.kill();
            }
            let of =
                |name: &str| fs::read(format!("/proc/{}/{name}", self.pid())).unwrap_or_default();
            ticks = linux::proc::stat(&of("stat")).map_or(ticks, |stat| stat.utime + stat.stime);
            let status = String::from_utf8_lossy(&of("status")).into_owned();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let peak = peak.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
            peak_kib = peak_kib.max(peak.unwrap_or(0));
            thread::sleep(LOOK);
        }
        let took = began.elapsed();
        let is_fine = took <= LONGEST && ticks <= MOST_TICKS && peak_kib <= LARGEST_KIB;
        let fault = format!("it took {took:?}, {ticks} ticks of CPU and {peak_kib} KiB");
        (self.end(), (!is_fine).then_some(fault))
    }
}
