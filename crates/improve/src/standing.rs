//! Reads from a ledger what was tried, what is best so far, and what is left to spend.

use model::name::Sha256Hex;
use serde::Serialize;

use crate::{
    folder::Error,
    ledger::{Cost, Entry, Kind, Ledger, What},
    outcome::{Finding, Outcome},
    task::Budget,
};

/// A try or an acceptance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    pub id: u32,
    pub kind: Kind,
    pub diff: Sha256Hex,
    /// When it began, seconds since 1970.
    pub began: u64,
    /// What became of it; `None` while it is under way.
    pub finding: Option<Finding>,
    pub cost: Cost,
}

/// Where a task stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Standing {
    pub attempts: Vec<Attempt>,
    /// The number of the cheapest try that was kept.
    pub best: Option<u32>,
    /// What the floor costs in the cell of tries, µs of CPU a second, where the task has one.
    pub floor_us: Option<f64>,
    /// The number of the acceptance that was passed last.
    pub accepted: Option<u32>,
    pub is_closed: bool,
}

impl Standing {
    /// By these lines.
    pub fn of(entries: &[Entry]) -> Self {
        let mut standing = Self::default();
        entries.iter().for_each(|entry| standing.take(entry));
        standing
    }

    fn take(&mut self, entry: &Entry) {
        match &entry.what {
            What::Opened(_) => {}
            What::Least { us } => self.floor_us = Some(*us),
            What::Closed { .. } => self.is_closed = true,
            What::Began { id, kind, diff } => {
                let (id, kind, diff, began) = (*id, *kind, diff.clone(), entry.at);
                let (finding, cost) = Default::default();
                self.attempts.push(Attempt { id, kind, diff, began, finding, cost });
            }
            What::Ended { id, finding, cost } => {
                let place = self.attempts.iter().position(|attempt| attempt.id == *id);
                let Some(attempt) = place.map(|place| &mut self.attempts[place]) else { return };
                (attempt.finding, attempt.cost) = (Some(finding.clone()), *cost);
                let kind = attempt.kind;
                self.weigh(*id, kind, finding.outcome);
            }
        }
    }

    fn weigh(&mut self, id: u32, kind: Kind, outcome: Outcome) {
        if outcome != Outcome::Win {
            return;
        }
        match kind {
            Kind::Acceptance => self.accepted = Some(id),
            Kind::Try if self.change(id) < self.best.map_or(0.0, |best| self.change(best)) => {
                self.best = Some(id);
            }
            Kind::Try => {}
        }
    }

    /// What an attempt costs more than the base, share of it; 0 where nothing was measured.
    fn change(&self, id: u32) -> f64 {
        let change = self.attempt(id).and_then(|attempt| attempt.finding.as_ref()?.change);
        change.map_or(0.0, |change| change.mean)
    }

    pub fn attempt(&self, id: u32) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.id == id)
    }

    /// The number of the next attempt.
    pub fn next(&self) -> u32 {
        self.attempts.last().map_or(1, |attempt| attempt.id + 1)
    }

    pub fn count(&self, kind: Kind) -> u32 {
        self.attempts.iter().filter(|attempt| attempt.kind == kind).count() as u32
    }

    /// Time that passed on access points, s.
    pub fn device_s(&self) -> f64 {
        self.attempts.iter().map(|attempt| attempt.cost.device_s).sum()
    }

    /// Why no more of a kind may be begun; `None` where it may.
    pub fn refusal(&self, kind: Kind, budget: &Budget) -> Option<String> {
        let spent = |what: &str, most: u32| {
            Some(format!(
                "all {most} {what} of the task's budget are spent; `headroom improve close` ends it"
            ))
        };
        let seconds = budget.device.as_secs_f64();
        match kind {
            _ if self.is_closed => Some("the task is closed; begin another one".to_owned()),
            _ if self.device_s() >= seconds => Some(format!(
                "{:.0} s of {seconds:.0} s on access points are spent; `headroom improve close` ends the task",
                self.device_s()
            )),
            Kind::Try if self.count(kind) >= budget.tries => spent("tries", budget.tries),
            Kind::Acceptance if self.count(kind) >= budget.acceptances => {
                spent("acceptances", budget.acceptances)
            }
            Kind::Try | Kind::Acceptance => None,
        }
    }
}

/// Writes down that what has begun and not ended was interrupted.
pub(crate) fn close_interrupted(ledger: &mut Ledger, now: u64) -> Result<(), Error> {
    let standing = Standing::of(ledger.entries());
    let open = standing.attempts.iter().filter(|attempt| attempt.finding.is_none());
    for Attempt { id, .. } in open {
        let sentence = "headroom ended before it did.".to_owned();
        let finding =
            Finding { outcome: Outcome::Interrupted, reason: None, sentence, change: None };
        ledger.append(now, What::Ended { id: *id, finding, cost: Cost::default() })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{content, outcome::Reason};

    fn entries(findings: &[(Kind, Outcome, f64)]) -> Vec<Entry> {
        let of = |(place, (kind, outcome, mean)): (usize, &(Kind, Outcome, f64))| {
            let id = place as u32 + 1;
            let change = analysis::Estimate::of(&[mean - 0.001, mean + 0.001]);
            let finding = Finding::of(*outcome, Reason::Dearer, "").with(change);
            let cost = Cost { device_s: 100.0, ..Cost::default() };
            let diff = content::sum(b"");
            [What::Began { id, kind: *kind, diff }, What::Ended { id, finding, cost }]
        };
        let entry = |what| Entry { n: 0, before: None, at: 0, what };
        findings.iter().enumerate().flat_map(of).map(entry).collect()
    }

    #[test]
    fn the_cheapest_that_was_kept_is_the_best() {
        let standing = Standing::of(&entries(&[
            (Kind::Try, Outcome::Win, -0.05),
            (Kind::Try, Outcome::Suspect, -0.50),
            (Kind::Try, Outcome::Win, -0.10),
            (Kind::Try, Outcome::Win, -0.07),
        ]));
        assert_eq!((standing.best, standing.next(), standing.accepted), (Some(3), 5, None));
        assert_eq!(standing.device_s(), 400.0);
    }

    #[test]
    fn what_is_spent_ends_it() {
        let budget = Budget { tries: 1, acceptances: 1, ..Budget::default() };
        let tried = Standing::of(&entries(&[(Kind::Try, Outcome::Reverted, 0.1)]));
        assert!(tried.refusal(Kind::Try, &budget).unwrap().contains("all 1 tries"));
        assert_eq!(tried.refusal(Kind::Acceptance, &budget), None);
        let slow = Budget { device: model::span::Span::from_secs(100), ..budget };
        assert!(tried.refusal(Kind::Acceptance, &slow).unwrap().contains("100 s of 100 s"));
    }
}
