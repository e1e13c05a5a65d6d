//! The tables of a completion run: the report's figures, every point, tasks, comparisons, the census, and what was
//! measured where.
//!
//! Digits follow the interval, by [`analysis::quantity`]. No arithmetic but units.

use std::slice;

use analysis::{
    Estimate,
    completion::{Alone, Completion, Point, Published, Task, Versus},
    metrics::Measure,
    quantity::{ABSENT, Unit, percent},
};
use model::card::Strategy;

use crate::{
    judged::Compared,
    table::{Table, fixed},
};

/// A few columns of points, for a terminal, or with the path's interval for a CI.
pub(super) fn short(points: &[&Point], is_whole: bool) -> Table {
    let percent = |estimate: Estimate| fixed(Some(100.0 * estimate.mean), 2);
    Table::of("", points)
        .head("place", "", |point| point.place.clone())
        .text("load, rate", "", |point| format!("{} {}", point.load, point.rate))
        .text("strategy", "", |point| point.strategy.name().to_owned())
        .number("path", "% core", |point| match is_whole {
            true => Unit::PER_CENT.with_interval(&point.path),
            false => percent(point.path),
        })
        .number("waiting", "% core", |point| percent(point.waiting))
        .number("off", "%", |point| off(point))
        .number("p50", "µs", |point| fixed(point.p50_us.map(|p50| p50.mean), 0))
        .mean(["task", "×"], Unit::ONE, |point| point.task.as_ref()?.slowdown)
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
pub(super) fn points(completion: &Completion, place: &str) -> Table {
    Table::of("", completion.points.iter().filter(|point| point.place == place))
        .head("load, rate", "frames/s", |point| format!("{} {}", point.load, point.rate))
        .text("strategy", "", |point| point.strategy.name().to_owned())
        .number("sent", "frames/s", |point| format!("{:.0}", point.sent.mean))
        .estimate(["path", "% of a core"], Unit::PER_CENT, |point| Some(point.path))
        .number("waiting", "% of a core", |point| fixed(Some(100.0 * point.waiting.mean), 2))
        .number("off", "% of rate × time", |point| off(point))
        .number("rest", "µs a frame", |point| fixed(point.rest_us.map(|one| one.mean), 1))
        .number("masked", "% of time", |point| fixed(Some(100.0 * point.masked.mean), 2))
        .number("p50", "µs", |point| fixed(point.p50_us.map(|one| one.mean), 0))
        .number("p99", "µs", |point| fixed(point.p99_us.map(|one| one.mean), 0))
        .number("longest", "µs", |point| fixed(point.longest_us, 0))
        .number("interrupts", "a frame", |point| fixed(point.interrupts.map(|one| one.mean), 2))
        .number("dropped", "frames/s", |point| fixed(Some(point.dropped.mean), 0))
        .table()
}

/// How far waiting is from rate × completion time, per cent; only a loop that waits for all of it is held to that.
pub(super) fn off(point: &Point) -> String {
    match point.error {
        Some(error) if point.strategy == Strategy::Busy => {
            format!("{:+.2}", 100.0 * error.mean).replace('-', "−").replace("+0.00", "0.00")
        }
        _ => ABSENT.to_owned(),
    }
}

/// Every task, alone and with each strategy.
pub(super) fn tasks(completion: &Completion) -> Table {
    // The task alone, then with each strategy.
    let rows = completion.alone.iter().flat_map(|alone| {
        let is_it = move |point: &&Point| point.place == alone.place && point.load == alone.load;
        let points = completion.points.iter().filter(is_it);
        let with = points.filter_map(|point| Some((point, point.task.as_ref()?)));
        std::iter::once(None).chain(with.map(Some)).map(move |other| (alone, other))
    });
    type TaskRow<'a> = (&'a Alone, Option<(&'a Point, &'a Task)>);
    let wall_s = |(alone, other): &TaskRow<'_>| other.map_or(alone.wall_s, |(_, task)| task.wall_s);
    let of_point = |(_, other): &TaskRow<'_>, of: fn(&Point) -> String| {
        other.map_or(ABSENT.to_owned(), |(point, _)| of(point))
    };
    Table::of("", rows)
        .head("place", "", |(alone, _)| alone.place.clone())
        .text("with", "", |(_, other)| match other {
            Some((point, _)) => format!("{}, {}/s", point.strategy.name(), point.rate),
            None => "nothing".to_owned(),
        })
        .estimate(["task", "s"], Unit::ONE, |row| Some(wall_s(row)))
        .estimate(["slowed", "×"], Unit::ONE, |(_, other)| other.as_ref()?.1.slowdown)
        .number("path", "% of a core", |row| {
            of_point(row, |point| Unit::PER_CENT.mean(&point.path))
        })
        .number("waiting", "% of a core", |row| {
            of_point(row, |point| fixed(Some(100.0 * point.waiting.mean), 2))
        })
        .number("p50", "µs", |row| {
            of_point(row, |point| fixed(point.p50_us.map(|one| one.mean), 0))
        })
        .number("p99", "µs", |row| {
            of_point(row, |point| fixed(point.p99_us.map(|one| one.mean), 0))
        })
        .table()
}

/// Strategies against the first one, with what they are compared at.
pub(super) fn versus(completion: &Completion) -> Vec<Compared<'_>> {
    let row = |one: &Versus| {
        let rate = format!("{} {}", one.load, one.rate);
        vec![rate, one.place.clone(), one.judgement.variant.clone()]
    };
    let all = completion.comparison.as_ref().map_or(&completion.versus[..], slice::from_ref);
    all.iter().map(|one| (row(one), &one.judgement)).collect()
}

pub(super) fn commands(completion: &Completion) -> Table {
    Table::of("", &completion.commands)
        .head("place", "", |one| one.place.clone())
        .text("strategy", "", |one| one.strategy.name().to_owned())
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

/// Trials that do not count.
pub(super) fn left_out(completion: &Completion) -> Table {
    Table::of("", &completion.left_out)
        .head("trial", "", |one| one.name.clone())
        .text("why", "", |one| one.why.clone())
        .table()
}
