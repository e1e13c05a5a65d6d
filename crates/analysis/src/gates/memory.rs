//! Which memory of a subject is judged, and what a client costs of it.
//!
//! Proportional memory where every trial has it: a shared page is then counted once. Resident memory else.

use super::Evidence;
use crate::{figures::TrialFigures, stats::Line};

/// What each client costs, repetition by repetition.
pub(super) struct Slopes {
    /// KiB a client.
    pub(super) values: Vec<f64>,
    pub(super) kind: Kind,
}

/// The valid CPU trials of a variant.
pub(super) fn trials<'a>(evidence: &Evidence<'a>, variant: &str) -> Vec<&'a TrialFigures> {
    evidence.analysis.trials.iter().filter(|trial| trial.id.variant == variant).collect()
}

/// One line through each repetition; see [`crate::curve`] for why.
pub(super) fn slopes(evidence: &Evidence, variant: &str) -> Result<Slopes, String> {
    let trials = trials(evidence, variant);
    let kind = Kind::of(&trials);
    let of = |name: fn(&TrialFigures) -> u32| {
        let mut numbers: Vec<u32> = trials.iter().map(|trial| name(trial)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    if of(|trial| trial.id.clients).len() < 2 {
        return Err(format!("`{variant}` has one client count; a slope needs two"));
    }
    let line = |repetition: u32| {
        let of_one = trials.iter().filter(|trial| trial.id.repetition == repetition);
        let points: Option<Vec<(f64, f64)>> = of_one
            .map(|trial| Some((f64::from(trial.id.clients), kind.end(trial)? as f64)))
            .collect();
        Line::through(&points?).map(|line| line.slope)
    };
    let lines: Option<Vec<f64>> = of(|trial| trial.id.repetition).into_iter().map(line).collect();
    let values = lines.ok_or_else(|| format!("`{variant}` has trials without memory figures"))?;
    Ok(Slopes { values, kind })
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Resident,
    Proportional,
}

impl Kind {
    pub(super) fn of(trials: &[&TrialFigures]) -> Self {
        let has = |trial: &&TrialFigures| {
            trial.memory.is_some_and(|it| it.pss_start_kib.is_some() && it.pss_end_kib.is_some())
        };
        if trials.iter().all(has) { Kind::Proportional } else { Kind::Resident }
    }

    pub(super) fn words(self) -> String {
        let name = match self {
            Kind::Resident => "resident",
            Kind::Proportional => "proportional",
        };
        format!("{name} memory")
    }

    /// By how much it grew in the window, KiB a minute.
    pub(super) fn growth_a_minute(self, trial: &TrialFigures) -> Option<f64> {
        let grown = self.end(trial)? as f64 - self.start(trial)? as f64;
        Some(grown / trial.window_s * 60.0)
    }

    fn start(self, trial: &TrialFigures) -> Option<u64> {
        match self {
            Kind::Resident => Some(trial.memory?.rss_start_kib),
            Kind::Proportional => trial.memory?.pss_start_kib,
        }
    }

    pub(super) fn end(self, trial: &TrialFigures) -> Option<u64> {
        match self {
            Kind::Resident => Some(trial.memory?.rss_end_kib),
            Kind::Proportional => trial.memory?.pss_end_kib,
        }
    }
}
