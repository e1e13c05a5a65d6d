//! What the loop knows about itself from tick to tick, kept as the status that others ask for.
//!
//! Fed with what each tick read, decided and did; asks no clock of its own: a tick's time is the reading's.

use std::collections::VecDeque;

use crate::{
    decide::{Decision, Outcome},
    policy::Policy,
    reading::Reading,
    status::{Application, Interface, Status, words},
};

/// A mark of what guard itself had cost is taken so often, ns.
const MARK_EVERY_NS: u64 = 5_000_000_000;
/// Marks are kept so long, ns: a minute is what the status tells.
const MARKS_NS: u64 = 60_000_000_000;
/// Refusals and overruled values that are told; more of them say nothing new.
const MOST_LISTED: usize = 32;

/// What guard itself had cost at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at_ns: u64,
    own_ns: u64,
    writes: u64,
}

/// When the bounds of an application came, and why.
#[derive(Clone, Debug, Default)]
struct Bounded {
    since_ns: Option<u64>,
    why: String,
}

#[derive(Debug, Default)]
pub struct Account {
    status: Status,
    began_ns: u64,
    now: Mark,
    marks: VecDeque<Mark>,
    bounded: Vec<Bounded>,
    reason_ns: Option<u64>,
}

impl Account {
    /// An empty one, begun now (ns of the boot's clock). What does not change is in `status`.
    pub fn new(status: Status, now_ns: u64) -> Self {
        let now = Mark { at_ns: now_ns, ..Mark::default() };
        Self { status, began_ns: now_ns, now, marks: VecDeque::from([now]), ..Self::default() }
    }

    /// Another policy holds from now on: applications begin anew.
    pub fn policy_is(&mut self, policy: &Policy) {
        self.status.aggressiveness = policy.aggressiveness;
        self.status.floors = words::floors(policy);
        self.status.policy_refused = None;
        let same = |one: &Application| policy.applications.iter().any(|rule| rule.name == one.name);
        if self.status.applications.len() != policy.applications.len()
            || !self.status.applications.iter().all(same)
        {
            self.status.applications.clear();
            self.bounded.clear();
        }
    }

    /// The file as it is now is refused, and the policy before holds.
    pub fn policy_refused(&mut self, why: String) {
        self.status.policy_refused = Some(why);
    }

    /// What this device does not have or tell.
    pub fn absent_is(&mut self, absent: Vec<String>) {
        self.status.absent = absent;
    }

    pub fn tick(&mut self, reading: &Reading, decision: &Decision, outcome: &Outcome) {
        let status = &mut self.status;
        status.condition = decision.condition;
        status.kept = decision.kept;
        status.target = decision.target;
        status.placement = decision.placement.clone();
        status.offenders.clone_from(&decision.offenders);
        status.now.clone_from(&decision.reason);
        if decision.changed {
            status.reason = Some(decision.reason.clone());
            self.reason_ns = Some(reading.at_ns);
        }
        self.interfaces(reading);
        self.applications(reading, decision);
        self.shown(outcome);
        self.now.at_ns = reading.at_ns;
        self.now.own_ns += reading.own_ns;
        self.now.writes += u64::from(outcome.writes);
        self.status.own.ticks += 1;
        self.mark();
    }

    fn interfaces(&mut self, reading: &Reading) {
        let before = std::mem::take(&mut self.status.interfaces);
        let rate = |bytes: u64| bytes as f64 * 8e9 / reading.span_ns.max(1) as f64;
        let shown = reading.interfaces.iter().map(|one| {
            let dropped = before.iter().find(|before| before.name == one.name);
            Interface {
                name: one.name.clone(),
                rx_bps: rate(one.rx_bytes),
                tx_bps: rate(one.tx_bytes),
                drops: dropped.map_or(0, |before| before.drops)
                    + one.drops
                    + one.queue_drops.unwrap_or(0),
                link_limited: one.link_limited,
            }
        });
        self.status.interfaces = shown.collect();
    }

    fn applications(&mut self, reading: &Reading, decision: &Decision) {
        self.bounded.resize_with(reading.applications.len(), Bounded::default);
        self.status.applications.resize_with(reading.applications.len(), Application::default);
        for (nth, seen) in reading.applications.iter().enumerate() {
            let bounds = decision.bounds.get(nth).cloned().unwrap_or_default();
            let (shown, bounded) = (&mut self.status.applications[nth], &mut self.bounded[nth]);
            if bounds.are_none() {
                *bounded = Bounded::default();
            } else if shown.bounds != bounds {
                *bounded = Bounded { since_ns: Some(reading.at_ns), why: decision.reason.clone() };
            }
            shown.name.clone_from(&seen.name);
            shown.runs = seen.runs;
            shown.bounds = bounds;
            shown.cpus = seen.ran_ns as f64 / reading.span_ns.max(1) as f64;
            shown.cpu_s += seen.ran_ns as f64 / 1e9;
            shown.memory_kib = seen.memory_kib;
        }
    }

    fn shown(&mut self, outcome: &Outcome) {
        let refused = outcome.refused.iter().take(MOST_LISTED);
        let refused = refused.map(|(whose, lever, why)| {
            format!("{whose}: {}: {why}", format!("{lever:?}").to_lowercase())
        });
        self.status.refused = refused.collect();
        self.status.overruled = outcome.overruled.iter().take(MOST_LISTED).cloned().collect();
    }

    fn mark(&mut self) {
        let latest = self.marks.back().map_or(0, |mark| mark.at_ns);
        if self.now.at_ns.saturating_sub(latest) < MARK_EVERY_NS {
            return;
        }
        self.marks.push_back(self.now);
        while self.marks.len() > 1
            && self.marks.front().is_some_and(|mark| self.now.at_ns - mark.at_ns > MARKS_NS)
        {
            self.marks.pop_front();
        }
    }

    /// Whether a tick was taken in yet.
    pub fn is_empty(&self) -> bool {
        self.status.own.ticks == 0
    }

    /// The status now (ns of the boot's clock), with the memory that guard holds.
    pub fn status(&self, now_ns: u64, rss_kib: Option<u64>) -> Status {
        let age = |since: u64| now_ns.saturating_sub(since) as f64 / 1e9;
        let mut status = self.status.clone();
        status.uptime_s = age(self.began_ns);
        status.reason_age_s = self.reason_ns.map(age);
        for (shown, bounded) in status.applications.iter_mut().zip(&self.bounded) {
            shown.bounded_for_s = bounded.since_ns.map(age);
            shown.why = bounded.since_ns.is_some().then(|| bounded.why.clone());
        }
        let first = self.marks.front().copied().unwrap_or_default();
        let span = self.now.at_ns.saturating_sub(first.at_ns).max(1) as f64;
        status.own.cpu_s = self.now.own_ns as f64 / 1e9;
        status.own.cpu_share = self.now.own_ns.saturating_sub(first.own_ns) as f64 / span;
        status.own.rss_kib = rss_kib;
        status.own.writes = self.now.writes;
        status.own.writes_last_minute =
            u32::try_from(self.now.writes - first.writes).unwrap_or(u32::MAX);
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bounds::Bounds, decide::Lever, reading};

    const SECOND: u64 = 1_000_000_000;

    fn reading(at_s: u64) -> Reading {
        let application = reading::Application {
            name: "backup".to_owned(),
            runs: true,
            ran_ns: SECOND / 2,
            ..reading::Application::default()
        };
        let interface = reading::Interface {
            name: "wlan0".to_owned(),
            rx_bytes: 125_000,
            drops: 2,
            queue_drops: Some(1),
            ..reading::Interface::default()
        };
        Reading {
            at_ns: at_s * SECOND,
            span_ns: SECOND,
            interfaces: vec![interface],
            cpus: vec![reading::Cpu::default()],
            applications: vec![application],
            own_ns: SECOND / 1000,
            ..Reading::default()
        }
    }

    fn bounded(weight: u32, changed: bool, reason: &str) -> Decision {
        Decision {
            bounds: vec![Bounds { weight, ..Bounds::default() }],
            changed,
            reason: reason.to_owned(),
            ..Decision::default()
        }
    }

    #[test]
    fn an_application_is_bounded_since_its_bounds_changed_and_why() {
        let mut account = Account::new(Status::default(), 0);
        account.tick(&reading(1), &bounded(512, true, "it took half"), &Outcome::default());
        account.tick(&reading(2), &bounded(512, false, "as it is"), &Outcome::default());
        let status = account.status(5 * SECOND, None);
        let shown = &status.applications[0];
        assert_eq!(shown.bounded_for_s, Some(4.0));
        assert_eq!(shown.why.as_deref(), Some("it took half"));
        assert_eq!((status.now.as_str(), status.reason_age_s), ("as it is", Some(4.0)));
        account.tick(&reading(6), &bounded(1024, true, "Wi-Fi rests"), &Outcome::default());
        assert_eq!(account.status(7 * SECOND, None).applications[0].bounded_for_s, None);
    }

    #[test]
    fn guards_own_cost_is_that_of_the_last_minute() {
        let mut account = Account::new(Status::default(), 0);
        let outcome = Outcome { writes: 1, ..Outcome::default() };
        for second in 1..=200 {
            account.tick(&reading(second), &bounded(512, false, ""), &outcome);
        }
        let own = account.status(200 * SECOND, Some(2000)).own;
        assert!((own.cpu_share - 0.001).abs() < 1e-6, "{own:?}");
        assert!((60..=65).contains(&own.writes_last_minute) && own.writes == 200, "{own:?}");
        assert_eq!((own.ticks, own.rss_kib), (200, Some(2000)));
    }

    #[test]
    fn a_refusal_is_reported_as_long_as_it_stands() {
        let mut account = Account::new(Status::default(), 0);
        let refused = ("backup".to_owned(), Lever::Quota, "EINVAL".to_owned());
        let outcome = Outcome { refused: vec![refused], ..Outcome::default() };
        for second in 1..4 {
            account.tick(&reading(second), &bounded(512, false, ""), &outcome);
        }
        let status = account.status(4 * SECOND, None);
        assert_eq!(status.refused, ["backup: quota: EINVAL"]);
        assert_eq!(status.interfaces[0].drops, 9);
        account.tick(&reading(4), &bounded(512, false, ""), &Outcome::default());
        assert_eq!(account.status(4 * SECOND, None).refused, [""; 0]);
    }
}
