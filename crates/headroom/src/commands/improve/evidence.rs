//! What a comparison's run says of a candidate, as the judge of tries reads it.
//!
//! Reads a run that was recorded; decides nothing.

use std::{fs, path::Path};

use analysis::{Analysis, NANOSECONDS_PER_INSTRUCTION, analyse, verdicts::Judgement};
use improve::{
    Built,
    judge::{self, Evidence, Rule},
    outcome::{Finding, Outcome as Ended, Reason},
};
use lab::run_folder::Recorded;
use model::trial::{Outcome, Purpose, Trial};

/// What was measured in one cell.
pub(super) struct Measured {
    judgement: Option<Judgement>,
    broken: Option<String>,
    memory_kib: [Option<f64>; 2],
    bytes: [u64; 2],
    warnings: u32,
    outside_us: [Option<f64>; 2],
    floor_us: Option<f64>,
    /// Time that passed on access points, s.
    pub(super) device_s: f64,
}

/// Of a run.
pub(super) fn of(
    recorded: &Recorded,
    base: &Path,
    built: Option<&Built>,
    floor_us: Option<f64>,
) -> Measured {
    let analysis = analyse(&recorded.run, &recorded.trials);
    let bytes = fs::metadata(base).map_or(0, |file| file.len());
    let judgement = analysis.judgements.first().cloned();
    let memory = |variant: &str| {
        let clients = judgement.as_ref().map_or(0, |judgement| judgement.clients);
        analysis.cell(variant, clients).and_then(|cell| cell.beyond.rss_end_kib)
    };
    let memory_kib = match &judgement {
        Some(judgement) => [memory(&judgement.base), memory(&judgement.variant)],
        None => [None, None],
    };
    Measured {
        broken: broken(&analysis, judgement.as_ref()),
        memory_kib,
        bytes: [bytes, built.map_or(bytes, |built| built.bytes)],
        warnings: built.map_or(0, |built| built.warnings),
        device_s: analysis.ledger.device_s,
        outside_us: match &judgement {
            Some(judgement) => {
                [&judgement.base, &judgement.variant].map(|name| outside_us(recorded, name))
            }
            None => [None, None],
        },
        judgement,
        floor_us,
    }
}

/// What the whole machine executed in a variant's windows as QEMU counted it, mean, µs a second; `None` where it did not
/// count in each.
fn outside_us(recorded: &Recorded, variant: &str) -> Option<f64> {
    let trials = recorded.trials.iter().filter(|trial| {
        let id = &trial.planned.id;
        id.variant == *variant && id.purpose == Purpose::Cpu
    });
    let us = |trial: &Trial| {
        let Outcome::Measured(recording) = &trial.outcome else { return None };
        let ns = recording.executed?.total() as f64 * NANOSECONDS_PER_INSTRUCTION;
        Some(ns / 1e3 / trial.planned.measure.window.as_secs_f64())
    };
    let all: Vec<f64> = trials.map(us).collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Why trials of the candidate came to no end, where the base's did.
fn broken(analysis: &Analysis, judgement: Option<&Judgement>) -> Option<String> {
    let judgement = judgement?;
    let of = |name: &str| analysis.invalid.iter().find(|trial| trial.id.variant == *name);
    match (of(&judgement.base), of(&judgement.variant)) {
        (None, Some(trial)) => Some(trial.why.clone()),
        _ => None,
    }
}

impl Measured {
    /// Decides.
    pub(super) fn judge(&self, rule: &Rule) -> Finding {
        let Some(judgement) = &self.judgement else {
            let sentence = "The run holds no comparison.";
            return Finding::of(Ended::Invalid, Reason::Unmeasured, sentence);
        };
        let Self { broken, memory_kib, bytes, warnings, .. } = self;
        let evidence = Evidence {
            judgement,
            broken: broken.clone(),
            floor_us: self.floor_us,
            memory_kib: *memory_kib,
            bytes: *bytes,
            warnings: *warnings,
            outside_us: self.outside_us,
        };
        judge::judge(rule, &evidence)
    }
}
