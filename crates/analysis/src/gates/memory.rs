//! Is the subject's memory bounded: over clients, and over time?
//!
//! Proportional memory where every trial has it, else resident memory.

use model::{study::Variant, trial::Purpose};

use super::{Bound, CellId, Evidence, Part, nothing, together};
use crate::{
    figures::TrialFigures,
    quantity::Unit,
    stats::{Estimate, Line},
    verdicts::Gate,
};

/// What a client costs.
pub(super) fn per_client(evidence: &Evidence, most: f64) -> Gate {
    each("memory-per-client", evidence, |variant, counts, kind| {
        if counts.len() < 2 {
            return Part::invalid(format!("`{variant}` has one client count; a slope needs two"));
        }
        let slopes = slopes(evidence, variant, kind);
        let Some(estimate) = Estimate::of(&slopes) else {
            return Part::invalid(format!("`{variant}` has no memory figures"));
        };
        let words = format!(
            "each client costs `{variant}` {} KiB of {} memory",
            Unit::ONE.with_interval(&estimate),
            kind.name()
        );
        Bound::at_most(most).decide(&estimate, &words, &format!("{most} KiB"))
    })
}

/// By how much it grows in a minute.
pub(super) fn growth(evidence: &Evidence, most: f64) -> Gate {
    each("memory-growth", evidence, |variant, counts, kind| {
        let in_cell = |clients: &u32| {
            let cell = CellId { variant, clients: *clients };
            let grown = evidence.values(cell, |trial| {
                let grown = kind.end(trial)? as f64 - kind.start(trial)? as f64;
                Some(grown / trial.window_s * 60.0)
            });
            let Some(estimate) = Estimate::of(&grown) else {
                return Part::invalid(format!("{cell} has no memory figures"));
            };
            let words = format!(
                "{cell} grows by {} KiB of {} memory a minute",
                Unit::ONE.with_interval(&estimate),
                kind.name()
            );
            Bound::at_most(most).decide(&estimate, &words, &format!("{most} KiB"))
        };
        let parts: Vec<Part> = counts.iter().map(in_cell).collect();
        worst(parts)
    })
}

/// The part that decides for a variant: what fails before what cannot be judged, and else the fullest.
fn worst(parts: Vec<Part>) -> Part {
    let heavier = |a: &Part, b: &Part| a.verdict.cmp(&b.verdict).then(a.used.total_cmp(&b.used));
    let none = || Part::invalid("there are no memory figures".to_owned());
    parts.into_iter().max_by(heavier).unwrap_or_else(none)
}

/// Judges every variant with CPU trials, all of which it needs.
fn each(name: &str, evidence: &Evidence, of: impl Fn(&str, &[u32], Kind) -> Part) -> Gate {
    let part = |variant: &Variant| {
        let ids = evidence.planned(Purpose::Cpu, &variant.name);
        if ids.is_empty() {
            return None;
        }
        if let Some(fault) = evidence.fault(&ids) {
            return Some(Part::invalid(fault));
        }
        let counts: Vec<u32> = Evidence::counts(&ids).into_iter().collect();
        let trials =
            evidence.analysis.trials.iter().filter(|trial| trial.id.variant == variant.name);
        let trials: Vec<&TrialFigures> = trials.collect();
        if trials.iter().any(|trial| trial.memory.is_none()) {
            return Some(Part::invalid(format!(
                "`{}` has trials without memory figures",
                variant.name
            )));
        }
        Some(of(&variant.name, &counts, Kind::of(&trials)))
    };
    let parts: Vec<Part> = evidence.variants().into_iter().filter_map(part).collect();
    if parts.is_empty() {
        return nothing(name, "the run has no CPU trials");
    }
    together(name, "variant", parts)
}

/// One line through each repetition, KiB a client; see [`crate::curve`] for why.
fn slopes(evidence: &Evidence, variant: &str, kind: Kind) -> Vec<f64> {
    let trials = || evidence.analysis.trials.iter().filter(|trial| trial.id.variant == variant);
    let mut repetitions: Vec<u32> = trials().map(|trial| trial.id.repetition).collect();
    repetitions.sort_unstable();
    repetitions.dedup();
    let line = |repetition: u32| {
        let points: Vec<(f64, f64)> = trials()
            .filter(|trial| trial.id.repetition == repetition)
            .filter_map(|trial| Some((f64::from(trial.id.clients), kind.end(trial)? as f64)))
            .collect();
        Line::through(&points).map(|line| line.slope)
    };
    repetitions.into_iter().filter_map(line).collect()
}

/// Which memory.
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

    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Resident => "resident",
            Kind::Proportional => "proportional",
        }
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
