//! What is done about the application, but for guard: settings that stay, and rules that look again and again.
//!
//! A study may ask for several together. What holds the application back is taken away before it is asked to end;
//! [`crate::undo`] restores the nice values of packet threads.

use linux::{load, proc, system};
use model::{share::Share, traffic::Control, wire::Refusal};

use super::{group::Group, renice};

/// How often the share of the application is decided, ns.
const SECOND_NS: u64 = 1_000_000_000;

/// The least that the rule of the headroom leaves the application, as a share of all CPUs.
const FLOOR: f64 = 0.05;

const GLANCE_NS: u64 = 100_000_000;

#[derive(Debug, Default)]
pub(super) struct Rule {
    looks: Vec<Look>,
    has_quota: bool,
}

/// A rule that looks again and again.
#[derive(Debug)]
struct Look {
    next_ns: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A data centre's rule (a sideloader's): each second the application gets what it used and what was idle, less the
    /// share that is to stay idle, and never less than a floor.
    Headroom { share: Share, before: Option<Times> },
    /// What people script first: the application is frozen while softirqs take more packets a second
    /// (`/proc/net/softnet_stat`), whichever way they are carried. At any rate above the line nothing is left of it.
    Freezer { above: u32, before: Option<Packets>, is_frozen: bool },
}

#[derive(Clone, Copy, Debug)]
struct Times {
    at_ns: u64,
    idle_ns: u64,
    used_ns: u64,
}

/// The packets of each CPU since boot: counters of 32 bits, which wrap.
#[derive(Clone, Debug)]
struct Packets {
    at_ns: u64,
    each: Vec<u32>,
}

impl Rule {
    /// Sets what stays, and begins the rules.
    pub(super) fn begin(control: &Control, group: &Group, now: u64) -> Result<Self, Refusal> {
        let mut rule = Self::default();
        control.parts().iter().try_for_each(|part| rule.take(part, group, now))?;
        Ok(rule)
    }

    fn take(&mut self, part: &Control, group: &Group, now: u64) -> Result<(), Refusal> {
        match part {
            Control::None | Control::Guard(_) | Control::Together(_) => {}
            Control::Weight(shares) => group.set_weight(*shares)?,
            Control::Idle => group.set_idle()?,
            Control::Quota(share) => {
                group.set_quota(Some(*share))?;
                self.has_quota = true;
            }
            Control::Headroom(share) => {
                group.set_quota(Some(Share::of(1.0)))?;
                let kind = Kind::Headroom { share: *share, before: None };
                self.looks.push(Look { next_ns: now, kind });
                self.has_quota = true;
            }
            Control::PacketNice(nice) => renice::set_all(i32::from(*nice))?,
            Control::FreezeAbove(packets) => {
                let kind = Kind::Freezer { above: *packets, before: None, is_frozen: false };
                self.looks.push(Look { next_ns: now, kind });
            }
        }
        Ok(())
    }

    /// When one of the rules decides next.
    pub(super) fn due_ns(&self) -> u64 {
        self.looks.iter().map(|look| look.next_ns).min().unwrap_or(u64::MAX)
    }

    /// Decides where that is due.
    pub(super) fn advance(&mut self, group: &Group, now: u64) -> Result<(), Refusal> {
        let mut due = self.looks.iter_mut().filter(|look| now >= look.next_ns);
        due.try_for_each(|look| look.decide(group, now))
    }

    /// Lets the application go, so that it can end when it is asked to.
    pub(super) fn let_go(&mut self, group: &Group) -> Result<(), Refusal> {
        let is_frozen = |look: Look| matches!(look.kind, Kind::Freezer { is_frozen: true, .. });
        if self.looks.drain(..).any(is_frozen) {
            group.set_frozen(false)?;
        }
        if std::mem::take(&mut self.has_quota) { group.set_quota(None) } else { Ok(()) }
    }
}

impl Look {
    fn decide(&mut self, group: &Group, now: u64) -> Result<(), Refusal> {
        match &mut self.kind {
            Kind::Headroom { share, before } => {
                self.next_ns += SECOND_NS;
                let used_ns = group.used_ns().unwrap_or_default();
                let seen = Times { at_ns: now, idle_ns: idle_ns(), used_ns };
                let Some(before) = before.replace(seen) else { return Ok(()) };
                let all_ns = (now - before.at_ns).max(1) * system::cpus_online().max(1);
                group.set_quota(Some(allowed(*share, all_ns, before, seen)))
            }
            Kind::Freezer { above, before, is_frozen } => {
                self.next_ns = now + GLANCE_NS;
                let seen = Packets { at_ns: now, each: packets() };
                let Some(before) = before.replace(seen.clone()) else { return Ok(()) };
                let is_busy = rate(&before, &seen) > f64::from(*above);
                if is_busy != *is_frozen {
                    group.set_frozen(is_busy)?;
                    *is_frozen = is_busy;
                }
                Ok(())
            }
        }
    }
}

/// What the application may use, as a share of all CPUs.
fn allowed(headroom: Share, all_ns: u64, before: Times, now: Times) -> Share {
    let share = |later: u64, earlier: u64| later.saturating_sub(earlier) as f64 / all_ns as f64;
    let free = share(now.used_ns, before.used_ns) + share(now.idle_ns, before.idle_ns);
    Share::of((free - headroom.get()).clamp(FLOOR, 1.0))
}

fn idle_ns() -> u64 {
    let tick_ns = 1_000_000_000 / system::ticks_per_second().max(1);
    let mut idle = 0;
    if let Ok(text) = proc::read("/proc/stat") {
        load::cpus(&text, |cpu| idle += (cpu.idle + cpu.wait) * tick_ns);
    }
    idle
}

fn rate(before: &Packets, now: &Packets) -> f64 {
    let pairs = now.each.iter().zip(&before.each);
    let packets: u64 = pairs.map(|(now, before)| u64::from(now.wrapping_sub(*before))).sum();
    packets as f64 * 1e9 / now.at_ns.saturating_sub(before.at_ns).max(1) as f64
}

fn packets() -> Vec<u32> {
    let mut packets = Vec::new();
    if let Ok(text) = proc::read("/proc/net/softnet_stat") {
        load::softnet(&text, |row| packets.push(row.processed));
    }
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_of_all_cpus_and_counters_may_wrap() {
        let before = Packets { at_ns: 0, each: vec![u32::MAX, 10] };
        let now = Packets { at_ns: 100_000_000, each: vec![9, 50] };
        assert!((rate(&before, &now) - 500.0).abs() < 1e-9);
    }

    #[test]
    fn the_rule_gives_what_is_free_less_the_headroom_and_never_nothing() {
        let before = Times { at_ns: 0, idle_ns: 0, used_ns: 0 };
        let seen = |idle_ns, used_ns| Times { at_ns: 1000, idle_ns, used_ns };
        let share = |seen| allowed(Share::of(0.2), 2000, before, seen).get();
        assert!((share(seen(1000, 1000)) - 0.8).abs() < 1e-9);
        assert!((share(seen(0, 1000)) - 0.3).abs() < 1e-9);
        assert!((share(seen(0, 100)) - FLOOR).abs() < 1e-9);
    }
}
