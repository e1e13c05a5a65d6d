//! What the figures of a contention run say of several controls, or of several cells.

use model::{cell::Role, figure::Figure};

use super::{Arm, Cell, Contention, FourCases};
use crate::{
    metrics::{Measure, Metric, Point},
    stats::{Estimate, Interval},
};

/// What limits call a cell whose harm is shown.
pub(crate) const HARMED: &str = "harmed";

impl Contention {
    /// Every figure, the whole run's first.
    pub(crate) fn table(&self) -> Vec<Metric> {
        let arms = self.cells.iter().flat_map(|cell| &cell.arms);
        let rows = arms.flat_map(|arm| arm.rows.iter().cloned());
        [harmed(&self.cells), agreement(&self.cases)].into_iter().chain(rows).collect()
    }
}

/// Cells in which harm is shown: no more than with all of those that are not decided.
fn harmed(cells: &[Cell]) -> Metric {
    let candidates = || cells.iter().filter(|cell| cell.shape.role == Role::Harm);
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

/// An arm against the others: at the same Wi-Fi, which guard alone is; and as it is.
pub(super) fn against(at: &Point, cell: &Cell, arm: &Arm) -> Vec<Metric> {
    const WORK: &str = "a saturated path leaves no CPU that guard could find: what Wi-Fi gets the application gives, \
                        under any weight";
    const NO_SETTING: &str = "no measured setting of guard's keeps as much Wi-Fi";
    const NO_OTHER: &str = "no other control that was measured keeps as much Wi-Fi as guard";
    const OVER: &str = "weights give way where nothing else wants the CPU, so a fixed one taxes the application only \
                        while Wi-Fi is busy, as guard does";
    let at = &Point { variant: arm.control.clone(), ..at.clone() };
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
        let work = arm.mean(Figure::Work).zip(other.mean(Figure::Work));
        let ratio = work.map(|(own, other)| own / other).filter(|ratio| ratio.is_finite());
        let name = format!("work-over-{}", other.control);
        let values: Vec<f64> = ratio.into_iter().collect();
        let row = Metric::named(at, &name, Measure::Ratio, Estimate::of(&values));
        let row = Metric { is_exact: true, ..row.with_values(values) };
        rows.push(row.because(Some(OVER.to_owned())));
    }
    rows
}
