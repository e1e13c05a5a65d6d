//! A data centre's rule (a sideloader's): each second the application gets what it used and what was idle, less the
//! share that is to stay idle, and never less than a floor.

use linux::{load, proc, system};
use model::{share::Share, wire::Refusal};

use crate::contention::group::Group;

/// How often the rule decides, ns.
const EVERY_NS: u64 = 1_000_000_000;

/// The least that the rule leaves the application, as a share of all CPUs.
const FLOOR: f64 = 0.05;

/// The rule at work.
#[derive(Debug)]
pub(super) struct Headroom {
    share: Share,
    next_ns: u64,
    before: Option<Seen>,
}

/// What the rule looks at.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at_ns: u64,
    idle_ns: u64,
    used_ns: u64,
}

impl Headroom {
    /// Begins with no bound.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] where the group takes no quota.
    pub(super) fn begin(share: Share, group: &Group, now: u64) -> Result<Self, Refusal> {
        group.set_quota(Some(Share::of(1.0)))?;
        Ok(Self { share, next_ns: now, before: None })
    }

    /// When it decides next.
    pub(super) fn due_ns(&self) -> u64 {
        self.next_ns
    }

    /// Decides where that is due.
    pub(super) fn advance(&mut self, group: &Group, now: u64) -> Result<(), Refusal> {
        if now < self.next_ns {
            return Ok(());
        }
        self.next_ns += EVERY_NS;
        let seen =
            Seen { at_ns: now, idle_ns: idle_ns(), used_ns: group.used_ns().unwrap_or_default() };
        let Some(before) = self.before.replace(seen) else { return Ok(()) };
        let all_ns = (now - before.at_ns).max(1) * system::cpus_online().max(1);
        group.set_quota(Some(allowed(self.share, all_ns, before, seen)))
    }
}

/// What the application may use, as a share of all CPUs.
fn allowed(headroom: Share, all_ns: u64, before: Seen, now: Seen) -> Share {
    let share = |later: u64, earlier: u64| later.saturating_sub(earlier) as f64 / all_ns as f64;
    let free = share(now.used_ns, before.used_ns) + share(now.idle_ns, before.idle_ns);
    Share::of((free - headroom.get()).clamp(FLOOR, 1.0))
}

/// Idle time of all CPUs, ns.
fn idle_ns() -> u64 {
    let tick_ns = 1_000_000_000 / system::ticks_per_second().max(1);
    let mut idle = 0;
    if let Ok(text) = proc::read("/proc/stat") {
        load::cpus(&text, |cpu| idle += (cpu.idle + cpu.wait) * tick_ns);
    }
    idle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_gives_what_is_free_less_the_headroom_and_never_nothing() {
        let before = Seen { at_ns: 0, idle_ns: 0, used_ns: 0 };
        let seen = |idle_ns, used_ns| Seen { at_ns: 1000, idle_ns, used_ns };
        let share = |seen| allowed(Share::of(0.2), 2000, before, seen).get();
        assert!((share(seen(1000, 1000)) - 0.8).abs() < 1e-9);
        assert!((share(seen(0, 1000)) - 0.3).abs() < 1e-9);
        assert!((share(seen(0, 100)) - FLOOR).abs() < 1e-9);
    }
}
