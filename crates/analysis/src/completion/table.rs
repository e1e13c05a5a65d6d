//! The figures of a completion run as one table.

use model::figure::Figure;

use super::{Completion, Point as Tried, Saturation};
use crate::{
    Estimate,
    metrics::{Metric, Point},
    quantity::percent,
    stats::Interval,
};

/// Every figure, the whole run's last.
pub(super) fn of(completion: &Completion) -> Vec<Metric> {
    let points = completion.points.iter().flat_map(|point| of_point(completion, point));
    let full = completion.saturations.iter().flat_map(|one| of_saturation(completion, one));
    points.chain(full).chain([repeats(completion)]).collect()
}

fn at(point: &Tried) -> Point {
    let Tried { place, load, rate, .. } = point;
    Point {
        name: format!("{rate}/s of {load}, {place}"),
        places: vec![place.clone(), load.clone(), format!("{rate}/s")],
        variant: point.strategy.name().to_owned(),
        ..Point::default()
    }
}

fn of_point(completion: &Completion, point: &Tried) -> Vec<Metric> {
    let at = at(point);
    let over = |figure, estimate| Metric::over(&at, figure, estimate);
    let us = |estimate: Option<Estimate>| estimate.map(|one| one.scaled(1e-6));
    let base = completion.base_of(point);
    let versus = completion.versus_of(point);
    let by = |by| versus.filter(|one| one.by == by).and_then(super::Versus::ratio);
    let carried = super::points::is_carried(point.rate, point.sent.mean) && point.task.is_none();
    let faults = point.faults;
    let sum =
        faults.duplicated + faults.reordered + faults.damaged + faults.missing + faults.unaccounted;
    let fault_words = format!(
        "{} twice, {} out of order, {} damaged, {} missing, {} unaccounted for",
        faults.duplicated, faults.reordered, faults.damaged, faults.missing, faults.unaccounted
    );
    let slowdown = point.task.as_ref().and_then(|task| task.slowdown);
    vec![
        over(Figure::Path, Some(point.path)),
        over(Figure::Waiting, Some(point.waiting)),
        over(Figure::WaitingError, point.error.filter(|_| carried)),
        over(Figure::PathRatio, by(super::By::Path)).because(rest(completion, point)),
        over(Figure::TaskRatio, by(super::By::Task)),
        over(Figure::Slowdown, slowdown).because(slowed(point)),
        over(Figure::P50, us(point.p50_us)),
        over(Figure::P99, us(point.p99_us)),
        over(Figure::P50Ratio, base.and_then(|base| ratio(point.p50_us?, base.p50_us?))),
        Metric::exact(&at, Figure::Faults, Some(sum as f64)).because(Some(fault_words)),
    ]
}

/// The ratio of two means with the bounds that are nearest and furthest: no pair of blocks is beyond them.
fn ratio(of: Estimate, base: Estimate) -> Option<Estimate> {
    let mean = of.mean / base.mean;
    let (own, other) = (of.interval?, base.interval?);
    if !mean.is_finite() || other.low <= 0.0 {
        return None;
    }
    let interval = Some(Interval { low: own.low / other.high, high: own.high / other.low });
    Some(Estimate { mean, interval, ..of })
}

fn of_saturation(completion: &Completion, one: &Saturation) -> Vec<Metric> {
    let curve = completion.curve(&one.place, &one.load, one.strategy);
    let Some(point) = curve.into_iter().find(|point| point.rate == one.offered) else {
        return Vec::new();
    };
    let at = at(point);
    let error = one.sent.scaled(1.0 / one.expected).shifted(-1.0);
    let cause = point.rest_us.map(|rest| {
        format!(
            "1 ÷ completion time is of the command alone; here each frame also costs the driver {:.0} µs of copies \
             and system calls, and the trial’s own source and air take {} of a core, next to the path’s {}",
            rest.mean,
            percent(point.harness.mean),
            percent(point.path.mean)
        )
    });
    vec![
        Metric::over(&at, Figure::FullRate, Some(one.by_waiting)),
        Metric::over(&at, Figure::SaturationError, Some(error)).because(cause),
    ]
}

/// What of the path is not waiting.
fn rest(completion: &Completion, point: &Tried) -> Option<String> {
    let how = if point.is_counted { "at 500 million instructions a second " } else { "" };
    let rest = point.rest_us?.mean;
    let completes = completion.completes_us;
    Some(format!(
        "{how}copies and system calls of one frame take {rest:.0} µs by themselves, {:.2} of the {completes:.0} µs \
         that the command takes",
        rest / completes
    ))
}

/// Of what slows a task, what is the waiting and what is not.
fn slowed(point: &Tried) -> Option<String> {
    point.task.as_ref()?;
    Some(format!(
        "waiting takes {} of a core, the rest of the transmit path {}, and the trial’s own source and air {}; \
         interrupts and switches between them come on top",
        percent(point.waiting.mean),
        percent(point.path.mean - point.waiting.mean),
        percent(point.harness.mean)
    ))
}

/// The most that a figure of a counted trial differed when it was made again.
fn repeats(completion: &Completion) -> Metric {
    let worst =
        completion.repeats.iter().max_by(|one, two| one.difference.total_cmp(&two.difference));
    let cause = worst.map(|worst| format!("{} of {}", worst.figure, worst.name));
    let value = worst.map(|worst| worst.difference);
    Metric::exact(&Point::default(), Figure::RepeatError, value).because(cause)
}
