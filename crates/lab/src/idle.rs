//! The gate before what is measured in real time: was the machine idle just now? What to make of one that was not
//! is the caller's.

use std::{
    thread,
    time::{Duration, Instant},
};

use linux::proc::{self, CpuTimes};
use model::share::Share;

use crate::{Cancel, Error};

/// What is looked at: the second before.
const LOOK: Duration = Duration::from_secs(1);

/// Waits until the machine was idle for this share of a second, but no longer than patience allows, and answers
/// for how much of the last one it was. `None` where the kernel does not say.
pub(crate) fn gate(
    least: Share,
    patience: Duration,
    cancel: &Cancel,
) -> Result<Option<Share>, Error> {
    let since = Instant::now();
    loop {
        let before = now();
        thread::sleep(LOOK);
        cancel.check()?;
        let idle = before.zip(now()).and_then(|(before, after)| idle_share(before, after));
        let Some(idle) = idle else { return Ok(None) };
        if idle >= least || since.elapsed() >= patience {
            return Ok(Some(idle));
        }
    }
}

fn now() -> Option<CpuTimes> {
    proc::cpu_times(&proc::read("/proc/stat").ok()?)
}

fn idle_share(before: CpuTimes, after: CpuTimes) -> Option<Share> {
    // The kernel's count of waiting may go back by a tick.
    let idle = after.idle.saturating_sub(before.idle);
    let all = idle + after.busy.saturating_sub(before.busy);
    (all > 0).then(|| Share::of(idle as f64 / all as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_a_share_of_what_passed() {
        let at = |busy, idle| CpuTimes { busy, idle, softirq: 0, steal: 0 };
        assert_eq!(idle_share(at(100, 850), at(110, 940)), Some(Share::of(0.9)));
        assert_eq!(idle_share(at(100, 850), at(100, 849)), None);
    }
}
