//! The tables of a completion run: the report's figures, every point, tasks, comparisons, the census, and what was
//! measured where.
//!
//! Digits follow the interval, by [`analysis::quantity`]. No arithmetic but units.

use analysis::{
    Estimate,
    completion::{Alone, Completion, Point, Published},
    metrics::Measure,
    quantity::{ABSENT, Unit, percent},
};
use model::{
    card::Strategy,
    figure::Figure::{
        self, Dropped, Interrupts, Longest, Masked, P50, P99, Path, Rest, Sent, Slowdown, TaskTime,
        Waiting,
    },
};

use crate::table::{Table, fixed};

/// A figure with so many decimals, in a unit that is smaller by the factor.
fn mean(point: &Point, figure: Figure, factor: f64, decimals: usize) -> String {
    fixed(point.mean(figure).map(|mean| factor * mean), decimals)
}

/// A few columns of points, for a terminal, or with the path's interval for a CI.
pub(super) fn short(points: &[&Point], is_whole: bool) -> Table {
    let path = |point: &Point| match point.of(Path).filter(|_| is_whole) {
        Some(path) => Unit::PER_CENT.with_interval(&path),
        None => mean(point, Path, 100.0, 2),
    };
    Table::of("", points)
        .head("place", "", |point| point.cell.place().to_owned())
        .text("load, rate", "", |point| format!("{} {}", point.load(), point.card.rate))
        .text("strategy", "", |point| point.variant.clone())
        .number("path", "% core", |point| path(point))
        .number("waiting", "% core", |point| mean(point, Waiting, 100.0, 2))
        .number("off", "%", |point| off(point))
        .number("p50", "µs", |point| mean(point, P50, 1e6, 0))
        .mean(["task", "×"], Unit::ONE, |point| point.of(Slowdown))
        .table()
}

/// What was published, next to ours.
pub(super) fn published(completion: &Completion) -> Table {
    Table::of("What was published, next to ours", &completion.published)
        .head("what", "", |one| one.what.clone())
        .text("place", "", |one| one.place.clone())
        .text("published", "", |one| published_words(one))
        .text("ours", "", |one| one.ours.map_or(ABSENT.to_owned(), |ours| in_unit(&ours, one.unit)))
        .text("ours ÷ published", "", |one| {
            let ratio = one.ours.map(|ours| format!("{:.3}", ours.mean / one.value));
            ratio.unwrap_or(ABSENT.to_owned())
        })
        .table()
}

fn published_words(one: &Published) -> String {
    match one.unit {
        Measure::Ratio => format!("{}: {:.2} ×", one.published, one.value),
        _ => one.published.clone(),
    }
}

fn in_unit(estimate: &Estimate, measure: Measure) -> String {
    match measure {
        Measure::Share => Unit::PER_CENT.with_interval(estimate),
        Measure::Ratio => Unit::TIMES.with_interval(estimate),
        Measure::Count => Unit::WHOLE.with_interval(estimate),
        measure => measure.words(estimate.mean),
    }
}

/// Every point of a place.
pub(super) fn points(points: &[Point]) -> Table {
    Table::of("", points)
        .head("load, rate", "frames/s", |point| format!("{} {}", point.load(), point.card.rate))
        .text("strategy", "", |point| point.variant.clone())
        .number("sent", "frames/s", |point| mean(point, Sent, 1.0, 0))
        .estimate(["path", "% of a core"], Unit::PER_CENT, |point| point.of(Path))
        .number("waiting", "% of a core", |point| mean(point, Waiting, 100.0, 2))
        .number("off", "% of rate × time", |point| off(point))
        .number("rest", "µs a frame", |point| mean(point, Rest, 1e6, 1))
        .number("masked", "% of time", |point| mean(point, Masked, 100.0, 2))
        .number("p50", "µs", |point| mean(point, P50, 1e6, 0))
        .number("p99", "µs", |point| mean(point, P99, 1e6, 0))
        .number("longest", "µs", |point| fixed(point.of(Longest).map(|one| 1e6 * one.max), 0))
        .number("interrupts", "a frame", |point| mean(point, Interrupts, 1.0, 2))
        .number("dropped", "frames/s", |point| mean(point, Dropped, 1.0, 0))
        .table()
}

/// How far waiting is from rate × completion time, per cent; only a loop that waits for all of it is held to that.
fn off(point: &Point) -> String {
    match point.error {
        Some(error) if point.strategy == Strategy::Busy => {
            format!("{:+.2}", 100.0 * error.mean).replace('-', "−").replace("+0.00", "0.00")
        }
        _ => ABSENT.to_owned(),
    }
}

/// The task of a point without any frames.
pub(super) fn alone<'a>(completion: &'a Completion, point: &Point) -> Option<&'a Alone> {
    let at = (point.cell.place(), point.load());
    completion.alone.iter().find(|alone| (&*alone.place, &*alone.load) == at)
}

/// Every task, alone and with each strategy.
pub(super) fn tasks(completion: &Completion) -> Table {
    let rows = completion.alone.iter().flat_map(|alone| {
        let is_it = move |point: &&Point| {
            (point.cell.place(), point.load()) == (&*alone.place, &*alone.load)
        };
        let with = completion.points.iter().filter(is_it);
        let with = with.filter(|point| point.of(TaskTime).is_some());
        std::iter::once(None).chain(with.map(Some)).map(move |point| (alone, point))
    });
    type TaskRow<'a> = (&'a Alone, Option<&'a Point>);
    let wall_s = |(alone, point): &TaskRow<'_>| match point {
        Some(point) => point.of(TaskTime),
        None => Some(alone.wall_s),
    };
    let of = |(_, point): &TaskRow<'_>, figure, factor, decimals| {
        point.map_or(ABSENT.to_owned(), |point| mean(point, figure, factor, decimals))
    };
    Table::of("", rows)
        .head("place", "", |(alone, _)| alone.place.clone())
        .text("with", "", |(_, point)| match point {
            Some(point) => format!("{}, {}/s", point.variant, point.card.rate),
            None => "nothing".to_owned(),
        })
        .estimate(["task", "s"], Unit::ONE, wall_s)
        .estimate(["slowed", "×"], Unit::ONE, |(_, point)| point.as_ref()?.of(Slowdown))
        .mean(["path", "% of a core"], Unit::PER_CENT, |(_, point)| point.as_ref()?.of(Path))
        .number("waiting", "% of a core", |row| of(row, Waiting, 100.0, 2))
        .number("p50", "µs", |row| of(row, P50, 1e6, 0))
        .number("p99", "µs", |row| of(row, P99, 1e6, 0))
        .table()
}

pub(super) fn commands(completion: &Completion) -> Table {
    Table::of("", &completion.commands)
        .head("place", "", |one| one.place.clone())
        .text("strategy", "", |one| one.variant.clone())
        .text("command", "", |one| one.name.clone())
        .number("completed", "", |one| one.count.to_string())
        .number("put off", "", |one| one.deferred.to_string())
        .number("mean", "µs", |one| fixed(one.mean_us, 1))
        .number("shortest", "µs", |one| fixed(one.least_us, 1))
        .number("longest", "µs", |one| fixed(one.most_us, 1))
        .number("failed", "", |one| one.failed.to_string())
        .table()
}

/// Trials that were made twice.
pub(super) fn repeats(completion: &Completion) -> Table {
    Table::of("", &completion.repeats)
        .head("trial", "", |one| one.name.clone())
        .text("the figure that differs most", "", |one| {
            if one.difference == 0.0 { "none differs".to_owned() } else { one.figure.clone() }
        })
        .text("by", "", |one| percent(one.difference))
        .table()
}
