//! The pairs of a comparison, period by period, where both sides are in step.

use model::{study::Mode, trial::TrialId};

use super::InStep;
use crate::{
    figures::{Part, Step, TrialFigures},
    measured::Measured,
    steady::Periods,
    verdicts::NoPeriods,
};

/// A part of every pair of `[variant, base]` by its rounds, or why they are not compared by them.
pub(super) fn of(
    measured: &Measured,
    part: Part,
    pairs: &[[&TrialFigures; 2]],
) -> Result<InStep, NoPeriods> {
    let sides = || pairs.iter().flatten();
    if sides().any(|side| side.mode == Mode::RealTime) {
        return Err(NoPeriods::RealTime);
    }
    let mut cuts = sides().map(|side| Cut::of(measured, &side.id));
    let first = cuts.next().flatten();
    let cut = first.filter(|_| cuts.all(|cut| cut == first)).ok_or(NoPeriods::OutOfStep)?;
    let cut_pair = |sides: &[&TrialFigures; 2]| {
        let [variant, base] = sides.map(|side| cut.periods(&side.series, part));
        let (variant, base) = (variant?, base?);
        if variant.len() != base.len() {
            return None;
        }
        let [whole, of_base] = sides.map(|side| side.part(part));
        Some(Periods { each: variant.into_iter().zip(base).collect(), total: whole? - of_base? })
    };
    let period_s = cut.steps as f64 * cut.sample_ns as f64 / 1e9;
    InStep::of(pairs, period_s, cut_pair)
}

/// How a window is cut: so many samples are a whole number of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    steps: usize,
    sample_ns: u64,
}

impl Cut {
    /// The shortest time that is both whole samples and whole rounds of the trial's load; a sample where there is
    /// none. `None` where the trial is not recorded, or a round is no multiple of a sample nor the other way round.
    fn of(measured: &Measured, id: &TrialId) -> Option<Self> {
        let record = measured.records.iter().find(|record| record.planned.id == *id)?;
        let measure = &record.planned.order;
        let sample_ns = Some(measure.sample_every.as_nanos()).filter(|ns| *ns > 0)?;
        let round_ns = measure.load.as_ref().map_or(sample_ns, |load| load.every.as_nanos());
        let steps = match round_ns {
            round if round > 0 && sample_ns.is_multiple_of(round) => 1,
            round if round.is_multiple_of(sample_ns) && round > 0 => round / sample_ns,
            _ => return None,
        };
        Some(Self { steps: usize::try_from(steps).ok()?, sample_ns })
    }

    /// The CPU of a part in each period, µs a second; what is left at the end is in none. `None` where a step has no
    /// such figure.
    fn periods(self, series: &[Step], part: Part) -> Option<Vec<f64>> {
        let period = |steps: &[Step]| {
            let spent: Option<f64> =
                steps.iter().map(|step| Some(step.part(part)? * step.length_s)).sum();
            Some(spent? / steps.iter().map(|step| step.length_s).sum::<f64>())
        };
        series.chunks_exact(self.steps).map(period).collect()
    }
}
