//! Transmit completion: what each way to wait for a card costs, against rate and alongside a task. Pure.
//!
//! Every figure is of one trial's window; an interval is Student's over blocks. The busy loop's own time
//! (`waiting`) is what the field report speaks of; the transmit path's CPU (`path`) has the copy of the frame and
//! the system calls in it too, which no strategy saves. Comparisons are pairs inside a block, decided as those of
//! `headroom compare` are.
//!
//! ```text
//! Trial ──(points)──► CPU, frames, latency of each strategy at each rate
//!       ──(judge)──► A/B against the first, or the two sides of a comparison, pair by pair
//!       ──(repeats)──► does counted time repeat?   ──(commands)──► the census   ──(table)──► limits, verdicts, answer
//! ```

mod commands;
mod judge;
mod points;
mod published;
mod repeats;
mod table;
#[cfg(test)]
mod tests;
mod words;

use model::{card::Strategy, limit::Limit, run::Run, trial::Trial, verdict::Difference};
use serde::Serialize;

pub use self::{
    points::{Load, Place, loads, places, strategies},
    published::Published,
    repeats::SAME,
};
use crate::{
    headline::Headline,
    metrics::{
        self, Asks, Metric, Target,
        baseline::{Baselines, Earlier},
    },
    stats::Estimate,
    verdicts::Judgement,
};

/// Everything that a completion run says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Completion {
    pub question: String,
    pub headline: Headline,
    pub answer: Vec<String>,
    /// How long a transmit command takes, µs.
    pub completes_us: f64,
    /// Each strategy at each rate of each load at each place, in the study's order; those without a trial are not
    /// there.
    pub points: Vec<Point>,
    /// The task of a load without any frames, at each place.
    pub alone: Vec<Alone>,
    /// Each strategy against the study's first one, at the same rate.
    pub versus: Vec<Versus>,
    /// The one question of a comparison, decided; none in a whole study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Versus>,
    /// Where the first strategy fills its core, at each place.
    pub saturations: Vec<Saturation>,
    pub commands: Vec<Command>,
    /// Trials that were made twice in counted time.
    pub repeats: Vec<Repeat>,
    /// The field report's figures alongside ours.
    pub published: Vec<Published>,
    pub table: Vec<Metric>,
    pub targets: Vec<Target>,
    pub left_out: Vec<LeftOut>,
    pub counted: u32,
}

impl Completion {
    /// The first strategy's point where this one is; none of its own.
    pub fn base_of(&self, point: &Point) -> Option<&Point> {
        let base = &self.versus_of(point)?.judgement.base;
        self.points.iter().find(|one| {
            (&one.place, &one.load, one.rate, one.strategy.name())
                == (&point.place, &point.load, point.rate, base.as_str())
        })
    }

    pub fn versus_of(&self, point: &Point) -> Option<&Versus> {
        let is_it = |one: &&Versus| {
            (&one.place, &one.load, one.rate, one.judgement.variant.as_str())
                == (&point.place, &point.load, point.rate, point.strategy.name())
        };
        self.versus.iter().find(is_it)
    }

    /// The points of one strategy of one load at one place, by rate.
    pub fn curve(&self, place: &str, load: &str, strategy: Strategy) -> Vec<&Point> {
        let is_on = |point: &&Point| {
            point.place == place && point.load == load && point.strategy == strategy
        };
        let mut curve: Vec<&Point> = self.points.iter().filter(is_on).collect();
        curve.sort_by_key(|point| point.rate);
        curve
    }
}

/// One strategy at one rate of one load at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub place: String,
    /// Whether its time is counted instructions.
    pub is_counted: bool,
    pub load: String,
    pub bytes: u32,
    /// Frames a second that were offered; 0: as many as the card took.
    pub rate: u32,
    pub strategy: Strategy,
    pub blocks: u32,
    /// CPU of the transmit path, a share of one core.
    pub path: Estimate,
    /// Of it, in loops that wait.
    pub waiting: Estimate,
    /// CPU of everything else in the driver's thread: copies and system calls, µs a frame that was sent.
    pub rest_us: Option<Estimate>,
    /// Share of the window in which interrupts are masked.
    pub masked: Estimate,
    /// CPU of the trial's own threads alongside the driver, which make the frames and stand for the air.
    pub harness: Estimate,
    /// Frames a second that came out.
    pub sent: Estimate,
    pub megabits: Estimate,
    /// Frames a second that were dropped.
    pub dropped: Estimate,
    /// Interrupts for each frame that was sent.
    pub interrupts: Option<Estimate>,
    /// Median latency of a frame, µs.
    pub p50_us: Option<Estimate>,
    pub p99_us: Option<Estimate>,
    /// The longest of all blocks, µs.
    pub longest_us: Option<f64>,
    /// `waiting ÷ (frames a second that came out × completion time) − 1`.
    pub error: Option<Estimate>,
    /// How long a word of 16 bits takes on the bus to the card, ns; 0: no longer than its copy.
    pub bus_word_ns: u64,
    pub task: Option<Task>,
    /// Frames that came out twice, out of order or damaged, and those that are in none of sent, dropped and queued,
    /// over all blocks.
    pub faults: Faults,
}

/// A task alongside frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    /// From its start to its end, s.
    pub wall_s: Estimate,
    /// That against the task alone in the same block.
    pub slowdown: Option<Estimate>,
}

/// What a sound path has none of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    pub duplicated: u64,
    pub reordered: u64,
    /// Frames whose sum was wrong.
    pub damaged: u64,
    /// Frames that came out and that no one saw.
    pub missing: u64,
    /// Frames that were accepted and then neither sent, nor dropped with a reason, nor still queued; the other way
    /// round too.
    pub unaccounted: u64,
}

impl Faults {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A task without any frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alone {
    pub place: String,
    pub load: String,
    /// From its start to its end, s.
    pub wall_s: Estimate,
}

/// What two strategies are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// CPU of the transmit path.
    Path,
    /// The time that the task with it takes.
    Task,
}

/// One strategy against the study's first one, in the same blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versus {
    pub place: String,
    pub load: String,
    /// Frames a second that were offered.
    pub rate: u32,
    pub by: By,
    #[serde(flatten)]
    pub judgement: Judgement,
}

impl Versus {
    /// `variant ÷ base`.
    pub fn ratio(&self) -> Option<Estimate> {
        self.judgement.relative.map(|more| more.shifted(1.0))
    }
}

/// Where the first strategy fills its core.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Saturation {
    pub strategy: Strategy,
    pub place: String,
    pub load: String,
    /// Frames a second that were offered.
    pub offered: u32,
    /// Frames a second that came out.
    pub sent: Estimate,
    /// Frames a second at which the waiting alone would fill the core: 1 ÷ (waiting a frame), at the highest rate
    /// that is carried.
    pub by_waiting: Estimate,
    /// The transmit path's CPU, a share of one core.
    pub path: Estimate,
    /// Frames a second that the completion time allows: 1 ÷ completion time.
    pub expected: f64,
}

/// A kind of command, over all trials of a strategy at a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Command {
    pub place: String,
    pub strategy: Strategy,
    /// `transmit`, `allocate`, …
    pub name: String,
    pub count: u64,
    /// Of them, those whose end no one awaited.
    pub deferred: u64,
    /// From its issue until its completion was seen, µs, of the others: mean, shortest, longest.
    pub mean_us: Option<f64>,
    pub least_us: Option<f64>,
    pub most_us: Option<f64>,
    pub failed: u64,
}

/// A trial that was made twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repeat {
    pub name: String,
    /// The figure that differs most, in words.
    pub figure: String,
    /// By how much, a share of the first.
    pub difference: f64,
}

/// A trial that does not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    pub name: String,
    pub why: String,
}

/// Analyses a run, whole or partial. Trials may come in any order; `baselines` are those that its limits name.
pub fn analyse(run: &Run, trials: &[Trial], baselines: &Baselines) -> Completion {
    let groups = points::Groups::of(run, trials);
    let points = points::all(&groups);
    let mut completion = Completion {
        question: run.study.question.clone(),
        headline: Headline::default(),
        answer: Vec::new(),
        completes_us: points::completes_in(&run.study)
            .map_or(0.0, |span| span.as_nanos() as f64 / 1e3),
        alone: points::alone(&groups),
        versus: judge::all(&groups),
        comparison: judge::comparison(run, trials),
        saturations: points::saturations(&groups),
        commands: commands::all(&groups),
        repeats: repeats::all(trials),
        published: Vec::new(),
        table: Vec::new(),
        targets: Vec::new(),
        left_out: left_out(trials),
        counted: trials.iter().filter(|trial| trial.reading().is_some()).count() as u32,
        points,
    };
    completion.table = table::of(&completion);
    completion.published = published::all(&run.study, &completion.table);
    let earlier = Earlier::of(&run.study, &run.lab, baselines);
    let known = run.study.known();
    let strategies = strategies(&run.study);
    let has = |name: &String| strategies.iter().any(|strategy| strategy.name() == name);
    let is_asked = |limit: &Limit| {
        !run.is_part() || (known.check(limit).is_ok() && limit.variant.as_ref().is_none_or(has))
    };
    let asks = Asks { known: &known, is_asked: &is_asked };
    let kept: Vec<String> = kept(run).iter().map(|limit| (*limit).to_owned()).collect();
    let limits = kept.iter().chain(run.study.gates.iter().flat_map(|gates| &gates.limits));
    let limits = metrics::judge(limits, asks, &completion.table, &earlier);
    let own = completion.comparison.as_ref().map(|one| one.judgement.target());
    // Of a comparison, trials that could not be made are missing, too.
    let made = trials.iter().filter(|trial| own.is_none() || trial.reading().is_some());
    let made: Vec<_> = made.map(|trial| &trial.planned).collect();
    let missing = metrics::missing(&run.plan, &made);
    completion.targets = own.into_iter().chain(limits).chain(missing).collect();
    completion.answer = match &completion.comparison {
        Some(one) => vec![one.judgement.sentence.clone()],
        None => words::answer(run, &completion),
    };
    completion.headline = match &completion.comparison {
        Some(one) => Headline::plain(one.judgement.sentence.clone()),
        None => words::headline(run, &completion),
    };
    completion
}

/// What a comparison must keep: figures of a path that forgets frames, or of a lab that does not repeat itself, are of no
/// use. An A/A run has every trial twice, and that they are the same is its question.
fn kept(run: &Run) -> &'static [&'static str] {
    match run.versus.as_ref().map(|versus| &versus.difference) {
        Some(Difference::Nothing) => &["faults <= 0"],
        Some(_) => &["faults <= 0", "repeat-error <= 0.1%"],
        None => &[],
    }
}

fn left_out(trials: &[Trial]) -> Vec<LeftOut> {
    let invalid = |trial: &Trial| {
        Some(LeftOut { name: trial.planned.id.to_string(), why: trial.why_invalid()?.to_owned() })
    };
    trials.iter().filter_map(invalid).collect()
}
