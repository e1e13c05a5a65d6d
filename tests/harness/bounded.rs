//! Executions that must end soon and with little memory, whatever they are given.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use super::{
    ended::Ended,
    headroom::{Headroom, Running},
};

/// No hostile input takes more CPU time, ticks of 10 ms.
const MOST_TICKS: u64 = 500;

/// None takes longer, whatever else the machine does meanwhile.
const LONGEST: Duration = Duration::from_secs(30);

/// The most memory that one may take, KiB.
const LARGEST_KIB: u64 = 256 * 1024;

/// One that takes so many times more is ended, so that a failing test neither hangs nor fills the machine.
const GIVEN_UP: u32 = 2;

/// How often its memory is looked at. The kernel keeps the peak; only what it grows at its very end is not seen.
const LOOK: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    took: Duration,
    ticks: u64,
    peak_kib: u64,
}

impl Cost {
    /// What is too much, if anything is.
    pub(crate) fn fault(self) -> Option<String> {
        let Self { took, ticks, peak_kib } = self;
        let is_fine = took <= LONGEST && ticks <= MOST_TICKS && peak_kib <= LARGEST_KIB;
        (!is_fine).then(|| format!("it took {took:?}, {ticks} ticks of CPU and {peak_kib} KiB"))
    }

    fn is_hopeless(self) -> bool {
        self.took > LONGEST * GIVEN_UP || self.peak_kib > LARGEST_KIB * u64::from(GIVEN_UP)
    }
}

impl Headroom {
    /// Runs it to its end, and asserts that it took no more time and memory than a hostile input may cost.
    pub(crate) fn run_bounded(self) -> Ended {
        let (ended, cost) = self.start().end_measured();
        assert_eq!(cost.fault(), None, "{ended}");
        ended
    }
}

impl Running {
    /// Waits for its end, and answers what it took.
    pub(crate) fn end_measured(mut self) -> (Ended, Cost) {
        let began = Instant::now();
        let mut cost = Cost::default();
        while !self.has_ended() && !cost.is_hopeless() {
            let peak = peak_kib(self.pid()).unwrap_or(cost.peak_kib);
            let ticks = ticks(self.pid()).unwrap_or(cost.ticks);
            let peak_kib = cost.peak_kib.max(peak);
            cost = Cost { took: began.elapsed(), ticks, peak_kib };
            thread::sleep(LOOK);
        }
        if cost.is_hopeless() {
            self.kill();
        }
        (self.end(), cost)
    }
}

/// The CPU time of a process so far, ticks; `None` once it is gone.
fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    linux::proc::stat(&stat).map(|stat| stat.utime + stat.stime)
}

/// The most memory that a process has held so far, KiB; `None` once it has ended.
fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
