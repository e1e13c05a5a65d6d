//! The tables of a completion run: the report's figures, every point, tasks, comparisons, the census, and what was
//! measured where.
//!
//! Digits follow the interval, by [`analysis::quantity`]. No arithmetic but units.

use analysis::{
    Estimate,
    completion::{By, Completion, Point, Published, Versus},
    metrics::Measure,
    quantity::{ABSENT, Unit, percent},
};
use model::completion::{Run, Strategy};

use crate::frame::machine;
use crate::table::{
    Kind::{Head, Number, Quiet, Text},
    Table,
};

fn mean(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.mean(estimate))
}

fn bracket(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.bracket(estimate))
}

/// A value with no more decimals than a page needs.
fn plain(value: Option<f64>, decimals: usize) -> String {
    value.map_or(ABSENT.to_owned(), |value| format!("{value:.decimals$}"))
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

fn in_unit(estimate: &Estimate, unit: Measure) -> String {
    match unit {
        Measure::Share => Unit::PER_CENT.with_interval(estimate),
        Measure::Ratio => {
            format!("{} × {}", Unit::ONE.mean(estimate), Unit::ONE.bracket(estimate))
        }
        Measure::Count => {
            format!("{} {}", Unit::WHOLE.mean(estimate), Unit::WHOLE.bracket(estimate))
        }
        unit => unit.words(estimate.mean),
    }
}

/// Every point of a place.
pub(super) fn points(completion: &Completion, place: &str) -> Table {
    Table::of("", completion.points.iter().filter(|point| point.place == place))
        .head("load, rate", "frames/s", |point| format!("{} {}", point.load, point.rate))
        .text("strategy", "", |point| point.strategy.name().to_owned())
        .number("sent", "frames/s", |point| format!("{:.0}", point.sent.mean))
        .number("path", "% of a core", |point| Unit::PER_CENT.mean(&point.path))
        .quiet("interval", "95 %", |point| Unit::PER_CENT.bracket(&point.path))
        .number("waiting", "% of a core", |point| plain(Some(100.0 * point.waiting.mean), 2))
        .number("off", "% of rate × time", |point| off(point))
        .number("rest", "µs a frame", |point| plain(point.rest_us.map(|one| one.mean), 1))
        .number("masked", "% of time", |point| plain(Some(100.0 * point.masked.mean), 2))
        .number("p50", "µs", |point| plain(point.p50_us.map(|one| one.mean), 0))
        .number("p99", "µs", |point| plain(point.p99_us.map(|one| one.mean), 0))
        .number("longest", "µs", |point| plain(point.longest_us, 0))
        .number("interrupts", "a frame", |point| plain(point.interrupts.map(|one| one.mean), 2))
        .number("dropped", "frames/s", |point| plain(Some(point.dropped.mean), 0))
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

/// Every task, alone and alongside each strategy.
pub(super) fn tasks(completion: &Completion) -> Table {
    let mut table = Table::new(
        "",
        &[
            (Head, "place", ""),
            (Text, "alongside", ""),
            (Number, "task", "s"),
            (Quiet, "interval", "95 %"),
            (Number, "slowed", "×"),
            (Quiet, "interval", "95 %"),
            (Number, "path", "% of a core"),
            (Number, "waiting", "% of a core"),
            (Number, "p50", "µs"),
            (Number, "p99", "µs"),
        ],
    );
    for alone in &completion.alone {
        let mut cells = vec![alone.place.clone(), "nothing".to_owned()];
        cells.extend([Unit::ONE.mean(&alone.wall_s), Unit::ONE.bracket(&alone.wall_s)]);
        cells.extend(std::iter::repeat_n(ABSENT.to_owned(), 6));
        table.push(cells);
        let ours = completion
            .points
            .iter()
            .filter(|one| one.place == alone.place && one.load == alone.load);
        for point in ours {
            let Some(task) = &point.task else { continue };
            table.push(vec![
                alone.place.clone(),
                format!("{}, {}/s", point.strategy.name(), point.rate),
                Unit::ONE.mean(&task.wall_s),
                Unit::ONE.bracket(&task.wall_s),
                mean(Unit::ONE, task.slowdown.as_ref()),
                bracket(Unit::ONE, task.slowdown.as_ref()),
                Unit::PER_CENT.mean(&point.path),
                plain(Some(100.0 * point.waiting.mean), 2),
                plain(point.p50_us.map(|one| one.mean), 0),
                plain(point.p99_us.map(|one| one.mean), 0),
            ]);
        }
    }
    table
}

/// Every comparison: a row for each rate of each load at each place, with every strategy but the first.
pub(super) fn versus(completion: &Completion) -> Table {
    let mut variants: Vec<Strategy> = completion.versus.iter().map(|one| one.variant).collect();
    variants.sort_unstable();
    variants.dedup();
    let mut columns = vec![(Head, "load, rate", "frames/s"), (Text, "place", ""), (Text, "by", "")];
    for variant in &variants {
        columns.extend([
            (Number, variant.name(), "×"),
            (Quiet, "interval", "95 %"),
            (Text, "", ""),
        ]);
    }
    let mut table = Table::new("", &columns);
    for first in completion.versus.iter().filter(|one| Some(&one.variant) == variants.first()) {
        let by = match first.by {
            By::Path => "CPU of the path",
            By::Task => "time of the task",
        };
        let mut cells =
            vec![format!("{} {}", first.load, first.rate), first.place.clone(), by.to_owned()];
        for variant in &variants {
            let is_it = |one: &&Versus| {
                let ours = (&one.place, &one.load, one.rate);
                ours == (&first.place, &first.load, first.rate) && one.variant == *variant
            };
            let one = completion.versus.iter().find(is_it);
            let ratio = one.and_then(|one| one.ratio.as_ref());
            cells.extend([mean(Unit::ONE, ratio), bracket(Unit::ONE, ratio)]);
            cells.push(one.map_or(ABSENT, |one| one.verdict.name()).to_owned());
        }
        table.push(cells);
    }
    table
}

/// The census.
pub(super) fn commands(completion: &Completion) -> Table {
    Table::of("", &completion.commands)
        .head("place", "", |one| one.place.clone())
        .text("strategy", "", |one| one.strategy.name().to_owned())
        .text("command", "", |one| one.name.clone())
        .number("completed", "", |one| one.count.to_string())
        .number("put off", "", |one| one.deferred.to_string())
        .number("mean", "µs", |one| plain(one.mean_us, 1))
        .number("shortest", "µs", |one| plain(one.least_us, 1))
        .number("longest", "µs", |one| plain(one.most_us, 1))
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
        .head("trial", "", |one| one.number.to_string())
        .text("what", "", |one| one.name.clone())
        .text("why", "", |one| one.why.clone())
        .table()
}

/// What a trial has of a host.
const HOST: &str = "this host itself, in namespaces of txd’s own, real time";

/// Where trials were made.
pub(super) fn places(run: &Run) -> Table {
    Table::of("Places", &run.study.places)
        .head("place", "", |place| place.name.clone())
        .text("machine and time", "", |place| machine(place.on, place.mode, HOST).to_owned())
        .table()
}

/// What was offered.
pub(super) fn loads(run: &Run) -> Table {
    Table::of("Loads", &run.study.loads)
        .head("load", "", |load| load.name.clone())
        .number("frame", "bytes", |load| load.bytes.to_string())
        .text("frames/s offered", "", |load| {
            let rate = |rate: &u32| match rate {
                0 => "as many as the card takes".to_owned(),
                rate => rate.to_string(),
            };
            load.rates.iter().map(rate).collect::<Vec<_>>().join(", ")
        })
        .text("alongside a task of", "", |load| {
            load.task_ms.map_or(ABSENT.to_owned(), |ms| format!("{ms} ms alone"))
        })
        .text("16 bits on the bus", "", |load| {
            load.bus_word.map_or("as their copy".to_owned(), |word| word.to_string())
        })
        .table()
}
