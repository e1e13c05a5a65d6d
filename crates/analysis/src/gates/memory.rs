//! Which memory of a subject is judged, and what a client costs of it.

use std::collections::BTreeSet;

use super::Evidence;
use crate::{figures::TrialFigures, stats::Line};

/// The memory of a variant: proportional where every trial has it, as a shared page is then counted once; else resident.
pub(super) struct Memory<'a> {
    trials: Vec<&'a TrialFigures>,
    is_proportional: bool,
}

impl<'a> Memory<'a> {
    pub(super) fn of(evidence: &Evidence<'a>, variant: &str) -> Self {
        let all = evidence.analysis.trials.iter();
        let trials: Vec<_> = all.filter(|trial| trial.id.variant == variant).collect();
        let has = |trial: &&TrialFigures| {
            trial.memory.is_some_and(|it| it.pss_start_kib.is_some() && it.pss_end_kib.is_some())
        };
        Self { is_proportional: trials.iter().all(has), trials }
    }

    pub(super) fn words(&self) -> String {
        let name = if self.is_proportional { "proportional" } else { "resident" };
        format!("{name} memory")
    }

    /// At the window's start and end, KiB.
    fn ends(&self, trial: &TrialFigures) -> Option<[f64; 2]> {
        let memory = trial.memory?;
        let ends = match self.is_proportional {
            true => [memory.pss_start_kib?, memory.pss_end_kib?],
            false => [memory.rss_start_kib, memory.rss_end_kib],
        };
        Some(ends.map(|kib| kib as f64))
    }

    pub(super) fn end(&self, trial: &TrialFigures) -> Option<f64> {
        self.ends(trial).map(|[_, end]| end)
    }

    /// By how much it grew in the window, KiB a minute.
    pub(super) fn growth_a_minute(&self, trial: &TrialFigures) -> Option<f64> {
        let [start, end] = self.ends(trial)?;
        Some((end - start) / trial.window_s * 60.0)
    }

    /// What each client costs, KiB: one line through each repetition; see [`crate::curve`] for why.
    pub(super) fn slopes(&self, variant: &str) -> Result<Vec<f64>, String> {
        let of = |name: fn(&TrialFigures) -> u32| -> BTreeSet<u32> {
            self.trials.iter().map(|trial| name(trial)).collect()
        };
        if of(|trial| trial.id.clients).len() < 2 {
            return Err(format!("`{variant}` has one client count; a slope needs two"));
        }
        let line = |repetition: u32| {
            let of_one = self.trials.iter().filter(|trial| trial.id.repetition == repetition);
            let point =
                |trial: &&TrialFigures| Some((f64::from(trial.id.clients), self.end(trial)?));
            let points: Option<Vec<(f64, f64)>> = of_one.map(point).collect();
            Line::through(&points?).map(|line| line.slope)
        };
        let lines: Option<Vec<f64>> =
            of(|trial| trial.id.repetition).into_iter().map(line).collect();
        lines.ok_or_else(|| format!("`{variant}` has trials without memory figures"))
    }
}
