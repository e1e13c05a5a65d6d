//! What a comparison's run says of a candidate, as the judge of tries reads it.
//!
//! Reads a run that was recorded; decides nothing.

use std::{collections::BTreeMap, fs, path::Path};

use analysis::{Estimate, NANOSECONDS_PER_INSTRUCTION, analyse, verdicts::Judgement};
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
    outside: Option<Estimate>,
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
        broken: judgement.as_ref().and_then(|judgement| broken(recorded, judgement)),
        memory_kib,
        bytes: [bytes, built.map_or(bytes, |built| built.bytes)],
        warnings: built.map_or(0, |built| built.warnings),
        device_s: analysis.ledger.device_s,
        outside: judgement.as_ref().and_then(|judgement| outside(recorded, judgement)),
        judgement,
        floor_us,
    }
}

/// What the whole machine executed more in the variant's windows than in the base's, pair by pair, µs a second, as QEMU
/// counted it; `None` where it did not count in each.
fn outside(recorded: &Recorded, judgement: &Judgement) -> Option<Estimate> {
    let of = |name: &str| -> Option<BTreeMap<u32, f64>> {
        let trials = recorded.trials.iter().map(|trial| (&trial.planned.id, trial));
        let own = trials.filter(|(id, _)| id.variant == *name && id.purpose == Purpose::Cpu);
        own.map(|(id, trial)| Some((id.repetition, executed_us(trial)?))).collect()
    };
    let (base, variant) = (of(&judgement.base)?, of(&judgement.variant)?);
    let differences: Option<Vec<f64>> =
        variant.iter().map(|(repetition, us)| Some(us - base.get(repetition)?)).collect();
    Estimate::of(&differences?)
}

/// In one window, µs a second.
fn executed_us(trial: &Trial) -> Option<f64> {
    let Outcome::Measured(recording) = &trial.outcome else { return None };
    let ns = recording.executed?.total() as f64 * NANOSECONDS_PER_INSTRUCTION;
    Some(ns / 1e3 / trial.planned.measure.window.as_secs_f64())
}

/// Why the candidate's trials came to no end, or its load's rounds to none, where all of the base's did.
fn broken(recorded: &Recorded, judgement: &Judgement) -> Option<String> {
    let of = |name: &str| {
        let mut trials = recorded.trials.iter().filter(|trial| trial.planned.id.variant == *name);
        trials.find_map(why_broken)
    };
    of(&judgement.variant).filter(|_| of(&judgement.base).is_none())
}

/// Why a trial holds no answer to every question of its load.
fn why_broken(trial: &Trial) -> Option<String> {
    let recording = match &trial.outcome {
        Outcome::Measured(recording) => recording,
        Outcome::Invalid { why, .. } => return Some(why.clone()),
    };
    let (first, last) = (recording.samples.first()?.rounds, recording.samples.last()?.rounds);
    let (failed, skipped) = (last.failed - first.failed, last.skipped - first.skipped);
    let said = recording.load_failure.as_ref().map(|failure| format!(" ({})", failure.why));
    let said = said.unwrap_or_default();
    (failed + skipped > 0).then(|| {
        format!(
            "in one window {failed} of the load's commands failed, and {skipped} of its rounds had no turn{said}"
        )
    })
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
            outside: self.outside,
        };
        judge::judge(rule, &evidence)
    }
}
