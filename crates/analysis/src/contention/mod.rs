//! Contention: what an application takes from Wi-Fi, and what each control gives back. Pure.
//!
//! A cell is one traffic with one application at one place. Its trials come in blocks, and every figure is a
//! ratio inside a block, so that what drifts between blocks is in none of them. Intervals are Student's over
//! blocks; claims use the interval's bound. Wi-Fi kept is capped at 1: more than alone is no win.
//!
//! ```text
//! Trial ──(blocks)──► ratios of each block ──(arms)──► rows of figures of each arm
//!        ──(versus)──► one control against another, second by second
//!        ──(harm)──► Gate 0 and the mechanism ──(frontier)──► contest, oracle, regret ──(table)──► more rows
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

use model::{cell::Cell as Shape, figure::Figure, run::Run, traffic::Guarding, trial::Trial};
use serde::Serialize;

pub(crate) use self::table::HARMED;
pub use self::{
    cases::{Case, CpuShare, PUBLISHED, Published},
    harm::KEPT,
};
use crate::{
    limited::{LeftOut, Versus, name_of},
    metrics::{self, Metric, Point},
    stats::Estimate,
};

/// What cells with traffic and applications say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contention {
    /// The cells, in the study's order; those without a trial too.
    pub cells: Vec<Cell>,
    /// The four cases, of each cell that asks for them.
    pub cases: Vec<FourCases>,
}

/// One traffic with one application at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// `saturated with stream ×4, virtual`.
    pub name: String,
    #[serde(skip)]
    pub shape: Shape,
    pub blocks: u32,
    pub alone: Option<Level>,
    /// Every control, in the study's order; `none` first.
    pub arms: Vec<Arm>,
    /// Controls against each other, second by second: each against none, or the two of a comparison.
    pub versus: Vec<Versus>,
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
    /// Bits a second.
    pub received: Estimate,
    /// The 99th percentile of round trips, s.
    pub p99: Option<Estimate>,
}

/// What became of both under one control. Its shares are of the same block's traffic alone and application alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arm {
    pub control: String,
    /// Whether it is the control that was reported from the field.
    pub reported: bool,
    pub is_guard: bool,
    /// Whether it is the first of the study's controls that are guard: the one that the page speaks of.
    pub is_cure: bool,
    /// Its figures, which are rows of the run's table.
    #[serde(skip)]
    pub rows: Vec<Metric>,
    /// Every second's share of Wi-Fi kept, in order of blocks and time: for pictures.
    pub seconds: Vec<f64>,
    /// What guard did, trial by trial; empty under another control.
    pub guard: Vec<Guarding>,
}

impl Arm {
    pub fn of(&self, figure: Figure) -> Option<Estimate> {
        metrics::estimate(&self.rows, figure)
    }

    pub fn mean(&self, figure: Figure) -> Option<f64> {
        Some(self.of(figure)?.mean)
    }
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

/// Analyses the cells with traffic or an application; what they left out is trials of real time that were disturbed.
pub(crate) fn analyse(run: &Run, trials: &[Trial]) -> (Contention, Vec<LeftOut>) {
    let shapes = run.study.cells().into_iter().filter(|shape| shape.card.is_none());
    let (cells, left_out): (Vec<_>, Vec<_>) = shapes.map(|shape| cell(run, trials, shape)).unzip();
    let cases = cases::all(&cells, trials);
    (Contention { cells, cases }, left_out.into_iter().flatten().collect())
}

/// One cell's figures, and its trials that do not count.
fn cell(run: &Run, trials: &[Trial], shape: Shape) -> (Cell, Vec<LeftOut>) {
    let name = name_of(&run.study, &shape);
    let (blocks, left_out) = blocks::of(&shape, trials, &name);
    let at = Point { name: name.clone(), places: shape.labels(), ..Point::default() };
    let mut cell = Cell {
        blocks: blocks.len() as u32,
        alone: arms::alone(&blocks),
        arms: arms::all(run, &blocks, &at),
        versus: versus::all(run, &blocks, &shape, &name),
        name,
        shape,
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
    let more: Vec<_> = cell.arms.iter().map(|arm| table::against(&at, &cell, arm)).collect();
    let harmed = cell.is_harmed().then(|| HARMED.to_owned());
    for (arm, more) in cell.arms.iter_mut().zip(more) {
        arm.rows.extend(more);
        arm.rows.iter_mut().for_each(|row| row.places.extend(harmed.clone()));
    }
    (cell, left_out)
}
