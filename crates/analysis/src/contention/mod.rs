//! Contention: what an application takes from Wi-Fi, and what each control gives back. Pure.
//!
//! A cell is one traffic alongside one application at one place. Its trials come in blocks, and every figure is a
//! ratio inside a block, so that what drifts between blocks is in none of them. Intervals are Student's over
//! blocks; claims use the interval's bound. Wi-Fi kept is capped at 1: more than alone is no win.
//!
//! ```text
//! Trial ──(blocks)──► ratios of each block ──(arms)──► kept, work, round trips of each arm
//!        ──(versus)──► one control against another, second by second
//!        ──(harm)──► Gate 0 and the mechanism ──(frontier)──► contest, oracle, regret ──(table)──► limits, verdicts
//! ```

mod arms;
mod blocks;
mod cases;
mod frontier;
mod harm;
mod seconds;
mod table;
#[cfg(test)]
mod tests;
mod versus;
mod words;

use model::{
    cell::{Cell as Shape, Role},
    limit::{Asked, Known, Limit},
    plural::count,
    run::Run,
    study::Study,
    trial::Trial,
};
use serde::Serialize;

pub use self::{
    cases::{Case, CpuShare, PUBLISHED, Published},
    harm::KEPT,
};
use crate::{
    Analysis,
    headline::Headline,
    in_cells,
    metrics::{
        self, Asks, Metric, Target,
        baseline::{Baselines, Earlier},
    },
    stats::Estimate,
    verdicts::Judgement,
};

/// Everything that a contention run says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contention {
    pub question: String,
    pub headline: Headline,
    /// The answer, in sentences: harm first, then the cure, then what it cost.
    pub answer: Vec<String>,
    /// The cells, in the study's order; those without a trial too.
    pub cells: Vec<Cell>,
    /// The four cases, of each cell that asks for them.
    pub cases: Vec<FourCases>,
    pub table: Vec<Metric>,
    pub targets: Vec<Target>,
    /// Trials that could not be trials or do not count, and why.
    pub left_out: Vec<LeftOut>,
    pub counted: u32,
    /// What the study's subject costs in the same windows, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<Analysis>>,
    /// The one question of a comparison, decided; none in a whole study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Judgement>,
}

/// One traffic alongside one application at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Its place in the study, from 0.
    pub number: u32,
    /// `saturated with stream ×4, virtual`.
    pub name: String,
    pub place: String,
    pub traffic: Option<String>,
    pub application: Option<String>,
    pub role: Role,
    pub blocks: u32,
    pub alone: Option<Level>,
    /// The application alone, operations in a second.
    pub application_alone: Option<Estimate>,
    /// Every control, in the study's order; `none` first.
    pub arms: Vec<Arm>,
    /// Controls against each other, second by second: each against none, or the two of a comparison.
    pub versus: Vec<Judgement>,
    pub harm: Option<Harm>,
    /// The best other control that keeps as much Wi-Fi as guard did; `None` where no measured one does.
    pub oracle: Option<Oracle>,
    /// guard against every other control, where it keeps as much Wi-Fi.
    pub contests: Vec<Contest>,
    /// Controls that no other one beats in both, Wi-Fi and work, from the least to the most Wi-Fi.
    pub front: Vec<String>,
    /// Of these the one farthest beyond the straight way between the ends; `None` where none is.
    pub knee: Option<String>,
}

impl Cell {
    /// guard, as the page speaks of it.
    pub fn cure(&self) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.is_cure)
    }

    /// The control that was reported from the field.
    pub fn reported(&self) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.reported)
    }

    pub fn arm(&self, control: &str) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.control == control)
    }

    /// Whether Gate 0 can say neither that there is harm nor that there is none.
    pub fn is_undecided(&self) -> bool {
        self.harm.as_ref().is_none_or(|harm| harm.shown.is_none())
    }

    /// Whether Gate 0 says that there is harm.
    pub fn is_harmed(&self) -> bool {
        self.harm.as_ref().is_some_and(|harm| harm.shown == Some(true))
    }
}

/// Traffic alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    pub megabits: Estimate,
    pub packets: Estimate,
    /// Median round trip, µs.
    pub p50_us: Option<Estimate>,
    pub p99_us: Option<Estimate>,
    /// Share of all CPUs that was in use.
    pub cpu: Estimate,
}

/// What became of both under one control. Shares are of the same block's `alone` and `application`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arm {
    pub control: String,
    /// Whether it is a fixed setting, a candidate of the oracle.
    pub fixed: bool,
    /// Whether it is the control that was reported from the field.
    pub reported: bool,
    pub is_guard: bool,
    /// Whether it is the first of the study's controls that are guard: the one that the page speaks of.
    pub is_cure: bool,
    pub megabits: Option<Estimate>,
    /// Wi-Fi kept, each block capped at 1.
    pub kept: Option<Estimate>,
    /// Wi-Fi kept as it was, above 1 too.
    pub kept_uncapped: Option<Estimate>,
    /// Wi-Fi kept in the first percentile of all seconds of all blocks, uncapped.
    pub kept_p01: Option<f64>,
    /// Every second's share, in order of blocks and time: for pictures.
    pub seconds: Vec<f64>,
    /// The share of the loss without control that it restored; `None` where nothing was lost.
    pub restored: Option<Estimate>,
    /// Median round trip, µs.
    pub p50_us: Option<Estimate>,
    pub p99_us: Option<Estimate>,
    /// The 99th percentile against alone.
    pub p99_ratio: Option<Estimate>,
    /// Application work kept, against the application alone.
    pub work: Option<Estimate>,
    /// Share of all CPUs that was in use.
    pub cpu: Option<Estimate>,
    pub guard: Option<Guarding>,
}

/// guard's own figures over the trials of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guarding {
    /// Its CPU time, a share of one core.
    pub core: Estimate,
    /// Its resident memory, the most, KiB.
    pub resident_kib: u64,
    pub writes_a_minute: Estimate,
    /// From the beginning of contention until the target was held, ms, each trial; those in which it never was
    /// are `None`.
    pub protect_ms: Vec<Option<u64>>,
    /// Its decisions in the first block, in its words, with ms from the application's start.
    pub decisions: Vec<(i64, String)>,
    /// Trials after which everything was as before.
    pub restored: u32,
    pub trials: u32,
}

/// Gate 0 of one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Harm {
    /// Whether there is harm, by bounds: Wi-Fi kept ≤ 75 %, or p99 ≥ 1.5 × alone, and endpoints that cannot have
    /// starved. `None` where neither harm nor its absence is shown.
    pub shown: Option<bool>,
    /// The sender's time runnable and not running without control, of the window.
    pub endpoints_waited: Option<f64>,
    pub endpoints_waited_alone: Option<f64>,
    /// Offered packets without control against alone. It sinks with what is forwarded: a sender feels the road.
    pub offered: Option<f64>,
    /// Which mechanism starves Wi-Fi, in a sentence with figures.
    pub mechanism: String,
    pub why: String,
}

/// The best other control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oracle {
    pub control: String,
    pub kept: Estimate,
    pub work: Estimate,
    /// The Wi-Fi that it had to keep: what guard kept.
    pub asked: f64,
    /// How much less application work guard left, of the oracle's: `1 − guard / oracle`; below 0 where guard
    /// left more.
    pub regret: Option<Estimate>,
}

/// guard against another control, at that setting of guard's own that keeps as much Wi-Fi and leaves most work. Both
/// are measured points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contest {
    pub against: String,
    /// The Wi-Fi that the other keeps, and guard's setting at least.
    pub kept: f64,
    /// The other's application work.
    pub work: f64,
    /// The setting of guard's; `None` where no measured one keeps as much.
    pub setting: Option<String>,
    /// guard's work there, against the other's: 1.25 is a quarter more. `None` too where the other leaves none.
    pub ratio: Option<Estimate>,
}

/// The four cases of the field report for one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FourCases {
    /// The cell's place in the study.
    pub cell: u32,
    pub name: String,
    /// Application alone, Wi-Fi alone, both, both under control (the field report's), both under guard.
    pub cases: Vec<Case>,
    /// Whether the modelled shares move as the field report's do, a sentence for each pair of cases; empty
    /// without a model.
    pub movements: Vec<Movement>,
    /// Whether trials with the cache model counted the same CPU as those without, in a sentence.
    pub model_check: Option<String>,
}

/// Whether a modelled share moves from one case to the next as the field report's does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Movement {
    /// `L1d load misses: Wi-Fi alone → both`.
    pub what: String,
    /// The field report's two values, per cent.
    pub published: (f64, f64),
    /// Ours, per cent.
    pub modelled: (f64, f64),
    /// Whether both go the same way.
    pub agrees: bool,
}

/// A trial that does not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    pub cell: String,
    pub arm: String,
    pub block: u32,
    pub why: String,
}

/// Analyses a run, whole or partial. Trials may come in any order; `baselines` are those that its limits name.
pub fn analyse(run: &Run, trials: &[Trial], baselines: &Baselines) -> Contention {
    let shapes = run.study.cells();
    let (cells, left_out): (Vec<_>, Vec<_>) =
        (0..).zip(&shapes).map(|(number, shape)| cell(run, trials, number, shape)).unzip();
    let left_out: Vec<LeftOut> = left_out.into_iter().flatten().collect();
    let cases = cases::all(&shapes, trials, &cells);
    let table = table::of(&shapes, &cells, &cases);
    let earlier = Earlier::of(&run.study, &run.lab, baselines);
    let limits = run.study.gates.iter().flat_map(|gates| &gates.limits);
    let known = run.study.known();
    let is_asked = |limit: &Limit| !run.is_part() || is_of(&run.study, &known, limit);
    let targets =
        metrics::judge(limits, Asks { known: &known, is_asked: &is_asked }, &table, &earlier);
    let counted = trials
        .iter()
        .filter(|trial| trial.reading().is_some())
        .count()
        .saturating_sub(left_out.len()) as u32;
    let comparison = run.versus.as_ref().and_then(|_| cells.first()?.versus.first());
    let comparison = comparison.cloned();
    let own = comparison.iter().map(Judgement::target);
    let done: Vec<_> = trials.iter().map(|trial| &trial.planned).collect();
    let missing = metrics::missing(&run.plan, &done);
    let targets: Vec<Target> = own.chain(targets).chain(missing).collect();
    Contention {
        question: run.study.question.clone(),
        headline: words::headline(&cells, counted),
        answer: match &comparison {
            Some(comparison) => vec![comparison.sentence.clone()],
            None => words::answer(&cells, &targets),
        },
        comparison,
        subject: in_cells::of(run, trials)
            .map(|(run, trials)| crate::analyse(&run, &trials).into()),
        cells,
        cases,
        table,
        targets,
        left_out,
        counted,
    }
}

/// Whether a limit is on something that the study still has, after the command line chose some of its cells and controls.
/// A count of cells is a question to all of them.
fn is_of(study: &Study, known: &Known, limit: &Limit) -> bool {
    let Asked::Bound { metric, .. } = &limit.asked else { return true };
    let is_whole = ["harmed-cells", "agreement"].contains(&metric.to_string().as_str());
    let has = |cell: &Shape| {
        let control = limit.variant.as_ref();
        let words = cell.labels();
        let is_here = |place: &String| place == table::HARMED || words.contains(place);
        let is_under = |name: &String| {
            name == arms::NONE || study.variants_of(cell).any(|variant| variant.name == *name)
        };
        control.is_none_or(is_under) && limit.places.iter().all(is_here)
    };
    !is_whole && known.check(limit).is_ok() && study.cells().iter().any(has)
}

/// One cell's figures, and its trials that do not count.
fn cell(run: &Run, trials: &[Trial], number: u32, shape: &Shape) -> (Cell, Vec<LeftOut>) {
    let name = name_of(shape, run.study.access_point.clients.len() > 1);
    let (blocks, left_out) = blocks::of(shape, trials, &name);
    let mut cell = Cell {
        number,
        name,
        place: shape.place().to_owned(),
        traffic: shape.traffic.clone(),
        application: shape.application.clone(),
        role: shape.role,
        blocks: blocks.len() as u32,
        alone: arms::alone(&blocks),
        application_alone: arms::application_alone(&blocks),
        arms: arms::all(run, &blocks),
        versus: versus::all(run, &blocks, shape),
        harm: None,
        oracle: None,
        contests: Vec::new(),
        front: Vec::new(),
        knee: None,
    };
    cell.harm = harm::of(&cell, &blocks);
    cell.oracle = frontier::oracle(&cell, &blocks);
    cell.contests = frontier::contests(&cell, &blocks);
    (cell.front, cell.knee) = frontier::front(&cell.arms);
    (cell, left_out)
}

/// `saturated with stream ×4, virtual`; with its clients where other cells have others.
fn name_of(cell: &Shape, has_clients: bool) -> String {
    let traffic = cell.traffic.as_deref().unwrap_or("no traffic");
    let application = cell.application.as_deref().unwrap_or("no application");
    let name = format!("{traffic} with {application}, {}", cell.place());
    if has_clients { format!("{name}, {}", count(cell.clients, "client")) } else { name }
}
