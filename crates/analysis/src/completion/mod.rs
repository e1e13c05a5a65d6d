//! Transmit completion: what each way to wait for a card costs, against rate and with a task. Pure.
//!
//! Every figure is of one trial's window; an interval is Student's over blocks. The busy loop's own time
//! (`waiting`) is what the field report speaks of; the transmit path's CPU (`path`) has the copy of the frame and
//! the system calls in it too, which no strategy saves. Comparisons are pairs inside a block, decided as those of
//! `headroom compare` are.
//!
//! ```text
//! Trial ──(judge)──► A/B against the first, or the two sides of a comparison, pair by pair
//!       ──(points)──► rows of figures of each strategy in each cell ──(published)──► the field report's next to ours
//!       ──(repeats)──► does counted time repeat?   ──(commands)──► the census
//! ```

mod commands;
mod judge;
mod points;
mod published;
mod repeats;
#[cfg(test)]
pub(crate) mod tests;
mod words;

use model::{
    card::Strategy,
    cell::{Card, Cell},
    figure::Figure,
    run::Run,
    trial::Trial,
};
use serde::Serialize;

pub(crate) use self::points::load_of;
pub use self::{published::Published, repeats::SAME};
use crate::{
    limited::Versus,
    metrics::{self, Metric},
    stats::Estimate,
};

/// What cells with a card say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Completion {
    /// How long a transmit command takes, µs.
    pub completes_us: f64,
    /// Each variant in each cell, by place, then in the study's order; those without a trial are not there.
    #[serde(skip)]
    pub points: Vec<Point>,
    /// The task of a load without any frames, at each place.
    pub alone: Vec<Alone>,
    /// Each variant against the study's first one, or the two of a comparison.
    pub versus: Vec<Versus>,
    pub commands: Vec<Command>,
    /// Trials that were made twice in counted time.
    pub repeats: Vec<Repeat>,
    /// The field report's figures next to ours.
    pub published: Vec<Published>,
}

/// One variant in one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub cell: Cell,
    pub card: Card,
    pub variant: String,
    pub strategy: Strategy,
    /// Waiting, of frames sent × completion time, less 1: a figure for limits where all frames are carried and no task runs.
    pub error: Option<Estimate>,
    /// Its figures, which are rows of the run's table.
    pub rows: Vec<Metric>,
}

impl Point {
    pub fn of(&self, figure: Figure) -> Option<Estimate> {
        metrics::estimate(&self.rows, figure)
    }

    pub fn mean(&self, figure: Figure) -> Option<f64> {
        Some(self.of(figure)?.mean)
    }

    /// What the cells that differ from its own in their rates alone are called together.
    pub fn load(&self) -> &str {
        load_of(&self.cell)
    }

    pub fn is_of_one_load(&self, other: &Self) -> bool {
        points::is_of_one_load(&self.cell, &other.cell)
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

/// A kind of command, over all trials of a variant at a place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Command {
    pub place: String,
    pub variant: String,
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

/// Analyses the cells with a card.
pub(crate) fn analyse(run: &Run, trials: &[Trial]) -> Completion {
    let groups = points::Groups::of(run, trials);
    let versus = judge::all(&groups);
    let points = points::all(&groups, &versus);
    let mut completion = Completion {
        completes_us: groups.completes_us(),
        alone: points::alone(&groups),
        versus,
        commands: commands::all(&groups),
        repeats: repeats::all(trials),
        published: Vec::new(),
        points,
    };
    completion.published = published::all(&run.study, &completion);
    completion
}

impl Completion {
    /// Every figure, the whole run's last.
    pub(crate) fn table(&self) -> Vec<Metric> {
        let rows = self.points.iter().flat_map(|point| point.rows.iter().cloned());
        let worst = self.repeats.iter().max_by(|a, b| a.difference.total_cmp(&b.difference));
        let cause = worst.map(|worst| format!("{} of {}", worst.figure, worst.name));
        let value = worst.map(|worst| worst.difference);
        let run = metrics::Point::default();
        rows.chain([Metric::exact(&run, Figure::RepeatError, value).because(cause)]).collect()
    }

    /// The points without a task of one variant at one place: of the largest frames, at the lowest rate.
    fn heaviest(&self, place: &str, variant: &str) -> Option<&Point> {
        let is_it = |point: &&Point| {
            point.cell.place() == place && point.variant == variant && point.card.task.is_none()
        };
        let all = self.points.iter().filter(is_it);
        all.max_by_key(|point| (point.card.bytes, std::cmp::Reverse(point.card.rate)))
    }
}
