//! The figures of a contention run as one table.

use model::{
    cell::{Cell as Shape, Role},
    figure::Figure,
};

use super::{Arm, Cell, FourCases, Guarding};
use crate::{
    metrics::{Measure, Metric, Point},
    stats::{Estimate, Interval},
};

/// Every figure, the whole run's first.
pub(super) fn of(shapes: &[Shape], cells: &[Cell], cases: &[FourCases]) -> Vec<Metric> {
    let mut table = vec![harmed(cells), agreement(cases)];
    for (cell, shape) in cells.iter().zip(shapes) {
        let harmed = cell.is_harmed().then(|| HARMED.to_owned());
        let places: Vec<String> = shape.labels().into_iter().chain(harmed).collect();
        for arm in &cell.arms {
            let at = Point {
                name: cell.name.clone(),
                places: places.clone(),
                variant: arm.control.clone(),
                ..Point::default()
            };
            table.extend(of_arm(&at, arm));
            table.extend(arm.guard.iter().flat_map(|guard| of_guard(&at, guard)));
            table.extend(against(&at, cell, arm));
        }
    }
    table
}

/// What limits call a cell whose harm is shown.
pub(super) const HARMED: &str = "harmed";

/// Cells in which harm is shown: no more than with all of those that are not decided.
fn harmed(cells: &[Cell]) -> Metric {
    let candidates = || cells.iter().filter(|cell| cell.role == Role::Harm);
    let harmed = candidates().filter(|cell| cell.is_harmed()).count() as f64;
    let undecided = candidates().filter(|cell| cell.is_undecided()).count() as f64;
    let row = Metric::exact(&Point::default(), Figure::HarmedCells, Some(harmed));
    let high = harmed + undecided;
    let estimate =
        row.estimate.map(|one| Estimate { interval: Some(Interval { low: harmed, high }), ..one });
    Metric { estimate, is_exact: undecided == 0.0, ..row }
}

fn agreement(cases: &[FourCases]) -> Metric {
    let all: Vec<_> = cases.iter().flat_map(|cases| &cases.movements).collect();
    let against: Vec<&str> =
        all.iter().filter(|one| !one.agrees).map(|one| one.what.as_str()).collect();
    let value =
        (!all.is_empty()).then(|| (all.len() - against.len()) as f64 / all.len().max(1) as f64);
    let cause = (!against.is_empty()).then(|| {
        format!(
            "{}: another kernel, driver, application and geometry than the report's router; the model has no \
             prefetcher, which a streamer lives on",
            against.join("; ")
        )
    });
    Metric::exact(&Point::default(), Figure::Agreement, value).because(cause)
}

fn of_arm(at: &Point, arm: &Arm) -> Vec<Metric> {
    let us = |estimate: Option<Estimate>| estimate.map(|one| one.scaled(1e-6));
    let rows = [
        (Figure::Kept, arm.kept),
        (Figure::KeptUncapped, arm.kept_uncapped),
        (Figure::Restored, arm.restored),
        (Figure::P50, us(arm.p50_us)),
        (Figure::P99, us(arm.p99_us)),
        (Figure::P99Ratio, arm.p99_ratio),
        (Figure::Work, arm.work),
        (Figure::CpuUse, arm.cpu),
    ];
    let rows = rows.map(|(figure, estimate)| Metric::over(at, figure, estimate));
    rows.into_iter().chain([Metric::exact(at, Figure::KeptP01, arm.kept_p01)]).collect()
}

fn of_guard(at: &Point, guard: &Guarding) -> Vec<Metric> {
    let seconds = |ms: &Option<u64>| ms.map_or(f64::INFINITY, |ms| ms as f64 / 1e3);
    let protect: Vec<f64> = guard.protect_ms.iter().map(seconds).collect();
    let held: Vec<f64> = protect.iter().copied().filter(|one| one.is_finite()).collect();
    // Where it never was held there is no mean, and its values say so.
    let mean = Estimate::of(if held.is_empty() { &[f64::MAX] } else { &held });
    let restored = f64::from(guard.restored) / f64::from(guard.trials.max(1));
    let decisions = guard.decisions.first().map(|(at, reason)| {
        format!("after {} s: {reason}", *at as f64 / 1e3).replace("after -", "after −")
    });
    vec![
        Metric::over(at, Figure::GuardCpu, Some(guard.core)),
        Metric::exact(at, Figure::GuardMemory, Some(guard.resident_kib as f64)),
        Metric::over(at, Figure::GuardWrites, Some(guard.writes_a_minute)),
        Metric::over(at, Figure::Protect, mean).with_values(protect),
        Metric::exact(at, Figure::GuardRestored, Some(restored)),
        Metric::exact(at, Figure::GuardDecisions, Some(guard.decisions.len() as f64))
            .because(decisions),
    ]
}

/// The arm against the others: at the same Wi-Fi, which guard alone is; and as it is.
fn against(at: &Point, cell: &Cell, arm: &Arm) -> Vec<Metric> {
    const WORK: &str = "a saturated path leaves no CPU that guard could find: what Wi-Fi gets the application gives, \
                        under any weight";
    const NO_SETTING: &str = "no measured setting of guard's keeps as much Wi-Fi";
    const NO_OTHER: &str = "no other control that was measured keeps as much Wi-Fi as guard";
    const OVER: &str = "weights give way where nothing else wants the CPU, so a fixed one taxes the application only \
                        while Wi-Fi is busy, as guard does";
    let mut rows = Vec::new();
    if arm.is_cure {
        for contest in &cell.contests {
            let name = format!("work-against-{}", contest.against);
            let row = Metric::named(at, &name, Measure::Ratio, contest.ratio);
            let cause = if contest.setting.is_some() { WORK } else { NO_SETTING };
            rows.push(row.because(Some(cause.to_owned())));
        }
        let regret = cell.oracle.as_ref().and_then(|oracle| oracle.regret);
        let cause = cell.oracle.is_none().then(|| NO_OTHER.to_owned());
        rows.push(Metric::over(at, Figure::Regret, regret).because(cause));
    }
    for other in cell.arms.iter().filter(|other| other.control != arm.control) {
        let ratio = arm.work.zip(other.work).map(|(own, other)| own.mean / other.mean);
        let ratio: Vec<f64> = ratio.filter(|ratio| ratio.is_finite()).into_iter().collect();
        let name = format!("work-over-{}", other.control);
        let row = Metric::named(at, &name, Measure::Ratio, Estimate::of(&ratio));
        let row = Metric { is_exact: true, ..row.with_values(ratio) };
        rows.push(row.because(Some(OVER.to_owned())));
    }
    rows
}
