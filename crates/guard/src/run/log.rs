//! What guard says while it runs: what it sees and does, a line for each decision that changes something.
//!
//! Words only; it writes nothing. What does not change is not said again.

use crate::{
    bounds::{Bounds, Placement},
    decide::{Condition, Decision, Outcome},
    status::words::{bounds_words, condition_words, placement_words},
};

/// What was said last.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) dry_run: bool,
    condition: Option<Condition>,
    bounds: Vec<Bounds>,
    placement: Placement,
    outcome: Outcome,
}

impl Log {
    /// One that has said nothing.
    pub(super) fn new(dry_run: bool) -> Self {
        Self { dry_run, ..Self::default() }
    }

    /// The lines of one tick; `names` are the policy's applications, in its order.
    pub(super) fn lines(
        &mut self,
        decision: &Decision,
        outcome: &Outcome,
        names: &[&str],
    ) -> Vec<String> {
        let mut lines: Vec<String> = self.decided(decision, names).into_iter().collect();
        let refused = outcome.refused.iter().filter(|one| !self.outcome.refused.contains(one));
        lines.extend(refused.map(|(who, _, why)| format!("{who}: {why}")));
        let overruled = outcome.overruled.iter();
        lines.extend(overruled.filter(|one| !self.outcome.overruled.contains(one)).cloned());
        // A tick that decides nothing leaves what is known.
        self.condition = concern(decision.condition).or(self.condition);
        self.bounds.clone_from(&decision.bounds);
        self.placement.clone_from(&decision.placement);
        self.outcome.clone_from(outcome);
        lines
    }

    /// What is seen and done; nothing where both are as before.
    fn decided(&self, decision: &Decision, names: &[&str]) -> Option<String> {
        let changes = self.changes(decision, names);
        let concern = concern(decision.condition);
        if changes.is_empty() && (concern.is_none() || concern == self.condition) {
            return None;
        }
        let condition = format!("Wi-Fi is {}", condition_words(decision.condition));
        let would = if self.dry_run { "would change: " } else { "" };
        let done = format!("{would}{}", changes.join("; "));
        let parts =
            [condition.as_str(), &decision.reason, if changes.is_empty() { "" } else { &done }];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Some(parts.join(": "))
    }

    /// Every setting that is another one now: `backup: weight 512 of 1024 → none`.
    fn changes(&self, decision: &Decision, names: &[&str]) -> Vec<String> {
        let none = Bounds::default();
        let before = |at: usize| self.bounds.get(at).unwrap_or(&none);
        let changed = decision.bounds.iter().enumerate().filter(|(at, now)| before(*at) != *now);
        let mut changes: Vec<String> = changed
            .map(|(at, now)| {
                let name = names.get(at).copied().unwrap_or("?");
                format!("{name}: {} → {}", bounds_words(before(at)), bounds_words(now))
            })
            .collect();
        if self.placement != decision.placement {
            let [before, now] = [&self.placement, &decision.placement].map(placement_words);
            changes.push(format!("Wi-Fi's own work: {before} → {now}"));
        }
        changes
    }
}

/// A line with the time of day (UTC) before it: `14:03:27Z Wi-Fi is …`.
pub(super) fn stamped(wall_ns: i64, line: &str) -> String {
    let seconds = wall_ns.div_euclid(1_000_000_000).rem_euclid(86_400);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}Z {line}", seconds % 60)
}

/// What a condition says of Wi-Fi; traffic that begins and ends, and a tick that decides nothing, are no news.
const fn concern(condition: Condition) -> Option<Condition> {
    match condition {
        Condition::Unknown => None,
        Condition::Idle | Condition::Served => Some(Condition::Served),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Lever;

    fn decision(condition: Condition, weight: u32, reason: &str) -> Decision {
        let bounds = vec![Bounds { weight, ..Bounds::default() }];
        Decision { condition, bounds, reason: reason.to_owned(), ..Decision::default() }
    }

    #[test]
    fn each_decision_has_a_line_and_what_does_not_change_has_none() {
        let mut log = Log::new(false);
        let mut said =
            |decision: &Decision| log.lines(decision, &Outcome::default(), &["backup"]).join("\n");
        let served = decision(Condition::Served, 1024, "Wi-Fi got all that it asked for");
        assert_eq!(said(&served), "Wi-Fi is served as it comes: Wi-Fi got all that it asked for");
        assert_eq!(said(&served), "");
        let starved = decision(Condition::Starved, 512, "backup took 90 % of what it lost");
        assert_eq!(
            said(&starved),
            "Wi-Fi is starved by applications: backup took 90 % of what it lost: backup: none → weight 512 of 1024"
        );
        assert!(said(&served).ends_with("backup: weight 512 of 1024 → none"));
    }

    #[test]
    fn a_line_begins_with_the_time_of_day() {
        // 2026-11-24 14:03:27.9 UTC, and the last second before 1970.
        assert_eq!(stamped(1_795_529_007_900_000_000, "Wi-Fi"), "14:03:27Z Wi-Fi");
        assert_eq!(stamped(-1, ""), "23:59:59Z ");
    }

    #[test]
    fn a_dry_run_says_what_it_would_do() {
        let mut log = Log::new(true);
        let lines =
            log.lines(&decision(Condition::Starved, 2, ""), &Outcome::default(), &["backup"]);
        assert_eq!(
            lines,
            ["Wi-Fi is starved by applications: would change: backup: none → weight 2 of 1024"]
        );
    }

    #[test]
    fn a_refusal_is_said_once() {
        let mut log = Log::new(false);
        let refused = vec![("backup".to_owned(), Lever::Packing, "it has one CPU".to_owned())];
        let outcome = Outcome { refused, ..Outcome::default() };
        let decision = decision(Condition::Served, 1024, "");
        assert_eq!(log.lines(&decision, &outcome, &["backup"])[1], "backup: it has one CPU");
        assert!(log.lines(&decision, &outcome, &["backup"]).is_empty());
    }
}
