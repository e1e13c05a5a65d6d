//! A recorded run as figures, intervals, doubts and an answer.
//!
//! Pure: the same run gives the same [`Analysis`], on any machine, at any time. `clippy.toml` forbids
//! files, clocks, threads, processes, printing, and collections with a random order.
//!
//! ```text
//! Run + Trials ─► measured ─► figures (one trial)   counters, census
//!                    │
//!                    ├─► cells   (variant × clients)   mean, interval, minus idle
//!                    ├─► curve   (variant)             slope, segments, core full at
//!                    ├─► compare (variant × variant)   difference, ratio, paired
//!                    ├─► stages  (working variants)    side by side at the largest count
//!                    ├─► lab     (the measurement itself)
//!                    ├─► calls   (trials for counts)   rates, ratios, census
//!                    └─► validity → doubt              what weakens all of it
//!                              └─► answer              in words
//! stacks ─► profiling (variant × clients)               paths, functions, differences, doubts
//! ```
//!
//! # Design constraints
//!
//! - **Everything that a page or a table shows is in [`Analysis`]**; a reader of it does no arithmetic.
//! - A run may be partial: whatever is absent is `None`, never 0 and never NaN.
//! - An invalid trial is in no figure, and is listed with its reason.

pub mod agreement;
mod answer;
pub mod bisect;
mod calls;
mod cells;
mod census;
pub mod comparability;
mod compare;
pub mod completion;
pub mod contention;
mod counters;
mod cures;
mod curve;
mod doubt;
pub mod draws;
pub mod false_alarms;
mod figures;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod gates;
pub mod headline;
pub mod in_cells;
pub mod judge;
mod lab;
mod ledger;
pub mod limited;
mod measured;
pub mod metrics;
pub mod paired;
mod pausing;
pub mod power;
pub mod profiles;
pub mod profiling;
mod programs;
pub mod quantity;
pub mod stacks;
mod stages;
mod stats;
mod steady;
mod validity;
pub mod verdicts;
pub mod witness;

use std::collections::BTreeMap;

use model::{
    facts::Facts,
    run::Run,
    topology::Correction,
    trial::{Trial, TrialId},
};
use serde::Serialize;

pub use crate::{
    answer::{core_of, host_load_name},
    cells::{Cell, Other, Parts, Series, Thread},
    compare::{Comparison, Contrast},
    counters::Source,
    cures::Cures,
    curve::{Curve, Full, Point, Segment, Slope},
    doubt::{Doubt, Level},
    figures::{
        Cpu, InvalidTrial, IoFigures, MemoryFigures, NANOSECONDS_PER_INSTRUCTION, OtherFigures,
        Part, Ran, Readings, RoundFigures, Step, ThreadFigures, TrialFigures,
    },
    lab::{Lab, Row},
    programs::UsedProgram,
    stages::{Elsewhere, Stage, Stages},
    stats::{CONFIDENCE, Estimate, Interval, Line},
};

/// Everything that a run says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    pub question: String,
    pub headline: headline::Headline,
    pub answer: Vec<String>,
    pub planned: u32,
    /// Valid trials: what all figures rest on.
    pub valid: u32,
    /// Every process alongside subject and load that some variant counts, each once.
    pub others: Vec<String>,
    /// One variant at one client count, each.
    pub cells: Vec<Cell>,
    /// One variant over all client counts, each.
    pub curves: Vec<Curve>,
    pub comparisons: Vec<Comparison>,
    /// The variants that work, side by side at the largest client count.
    pub stages: Stages,
    pub lab: Lab,
    /// What the access point said of itself in the first valid trial.
    pub machine: Option<Facts>,
    pub programs: Vec<UsedProgram>,
    /// Valid trials of the state as the study has it, by variant, clients and repetition. What was measured in
    /// perturbed states is in the judgements.
    pub trials: Vec<TrialFigures>,
    /// Invalid trials of every state, and why.
    pub invalid: Vec<InvalidTrial>,
    /// Where the CPU goes, by variant and clients.
    pub profiles: Vec<profiles::ProfileFigures>,
    pub differences: Vec<profiles::Difference>,
    pub counts: Vec<profiles::CountFigures>,
    /// Comparisons, decided: the run's own where it is a comparison, else each variant against its bases at
    /// the largest client count.
    pub judgements: Vec<verdicts::Judgement>,
    pub pauses: Vec<verdicts::PauseFigures>,
    /// Every figure, as limits read it.
    pub table: Vec<metrics::Metric>,
    pub gates: Vec<verdicts::Gate>,
    /// What had to be repaired on the access point.
    pub corrections: Vec<verdicts::Corrected>,
    pub ledger: verdicts::Ledger,
    /// What weakens the answer: what happened first, what frames it after.
    pub doubts: Vec<Doubt>,
}

impl Analysis {
    /// One variant at one client count.
    pub fn cell(&self, variant: &str, clients: u32) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.variant == variant && cell.clients == clients)
    }

    /// Whether the plan has trials for CPU figures; a run of stacks or counts alone has none, and says
    /// nothing about them.
    pub fn asks_for_cpu(&self) -> bool {
        self.cells.iter().any(|cell| cell.planned > 0)
    }

    /// The smallest and the largest number of valid repetitions in a cell that has any.
    pub fn repetitions(&self) -> (u32, u32) {
        let valid = || self.cells.iter().map(|cell| cell.valid).filter(|valid| *valid > 0);
        (valid().min().unwrap_or(0), valid().max().unwrap_or(0))
    }
}

/// Analyses a run, whole or partial. Trials may come in any order; of two with one identity the later
/// one counts.
pub fn analyse(run: &Run, trials: &[Trial]) -> Analysis {
    let mut analysis = unjudged(run, trials);
    analysis.table = gates::table(&analysis, run, trials);
    analysis
}

/// The same without its table, for [`gates::judge`], which adds it.
pub fn unjudged(run: &Run, trials: &[Trial]) -> Analysis {
    let measured = measured::Measured::of(run, trials);
    let cells = cells::all(&measured);
    let curves = curve::all(&measured);
    let comparisons = compare::all(&measured);
    let lab = lab::of(&measured);
    let perturbed = measured::elsewhere(trials);
    let mut analysis = Analysis {
        question: run.study.question.clone(),
        headline: headline::Headline::default(),
        answer: Vec::new(),
        planned: run.plan.len() as u32,
        valid: measured.valid() + perturbed.valid,
        stages: stages::of(&measured, &cells, &comparisons, lab.asked),
        comparisons,
        lab,
        doubts: validity::doubts(&measured, &cells, &curves),
        profiles: Vec::new(),
        differences: Vec::new(),
        counts: calls::counts(&measured),
        judgements: judge::perturbed::judgements(&measured, trials),
        pauses: pausing::all(&measured),
        table: Vec::new(),
        gates: Vec::new(),
        corrections: corrections(trials),
        ledger: ledger::of(run, trials),
        others: cells::others_of(&cells),
        machine: measured.machine(),
        programs: programs::of(&measured),
        cells,
        curves,
        trials: measured.figures,
        invalid: measured.invalid.into_iter().chain(perturbed.invalid).collect(),
    };
    analysis.answer = answer::of(run, &analysis);
    analysis.headline = headline::of(run, &analysis);
    analysis
}

/// What had to be repaired, before valid trials and others, by trial.
fn corrections(trials: &[Trial]) -> Vec<verdicts::Corrected> {
    let latest: BTreeMap<_, _> = trials.iter().map(|trial| (&trial.planned.id, trial)).collect();
    let of = |(id, trial): (&TrialId, &Trial)| {
        let corrected = |correction: &Correction| verdicts::Corrected {
            trial: id.clone(),
            correction: correction.clone(),
        };
        let corrections = trial.reading().map(|recording| &recording.corrections);
        corrections.into_iter().flatten().map(corrected).collect::<Vec<_>>()
    };
    latest.into_iter().flat_map(of).collect()
}
