//! The gate before what is measured in real time: was the machine idle just now? What to make of one that was not
//! is the caller's.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

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
        let before = Ticks::now();
        thread::sleep(LOOK);
        cancel.check()?;
        let idle = before.zip(Ticks::now()).and_then(|(before, after)| after.idle_since(before));
        let Some(idle) = idle else { return Ok(None) };
        if idle >= least || since.elapsed() >= patience {
            return Ok(Some(idle));
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Ticks {
    idle: u64,
    all: u64,
}

impl Ticks {
    fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Idle is the fourth and waiting for IO the fifth; guest time, behind the eighth, is in user's already
    /// (proc_stat(5)).
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> =
            line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
        let idle = fields.get(3)? + fields.get(4).copied().unwrap_or_default();
        Some(Self { idle, all: fields.iter().take(8).sum() })
    }

    fn idle_since(self, before: Self) -> Option<Share> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        // The kernel's count of waiting may go back by a tick.
        Some(Share::of(self.idle.saturating_sub(before.idle) as f64 / all as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_what_waits_and_guests_are_not_counted_twice() {
        let before = Ticks::parse("cpu  100 0 50 800 50 0 0 0 90 0\ncpu0 1 1 1 1\n").unwrap();
        let after = Ticks::parse("cpu  110 0 50 880 60 0 0 0 99 0\n").unwrap();
        assert_eq!(after.idle_since(before), Some(Share::of(0.9)));
        assert_eq!(before.idle_since(before), None);
        assert!(Ticks::parse("intr 1 2 3\n").is_none());
    }
}
