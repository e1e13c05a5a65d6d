//! The lab measured by itself: do repetitions agree, does the host's other work move the figure, and how
//! fast is it.
//!
//! Computed for every run; shown where the study asks about it (a variant that sets `alongside`, or more
//! than one mode). Knows nothing of the subject.

use model::study::{HostLoad, Mode, Variant};
use serde::Serialize;

use crate::{
    figures::{Part, TrialFigures},
    measured::Measured,
    stats::Estimate,
};

/// What a run says of the lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lab {
    pub asked: bool,
    /// One row a variant and count that has valid trials.
    pub rows: Vec<Row>,
}

impl Lab {
    /// The worst of a mode's rows, which is what may be claimed of any of them: the largest coefficient of variation, and
    /// the most that the host's other work moves a mean.
    pub(crate) fn worst(&self, mode: Mode) -> (Option<f64>, Option<f64>) {
        let rows = || self.rows.iter().filter(move |row| row.mode == mode);
        let shifts = rows().filter_map(|row| row.shift).map(|shift| shift.mean.abs());
        (rows().filter_map(|row| row.sum.cv).reduce(f64::max), shifts.reduce(f64::max))
    }
}

/// One variant at one count, as a measurement of the lab.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub variant: String,
    pub clients: u32,
    pub mode: Mode,
    pub host_load: HostLoad,
    /// Subject, load and others, µs of CPU a second. Its `cv` is the repeatability.
    pub sum: Estimate,
    /// Largest minus smallest, over the mean.
    pub range: Option<f64>,
    /// Mean against the undisturbed variant of the same mode and load, minus 1, paired by repetition;
    /// `None` for that variant itself and where there is none.
    pub shift: Option<Estimate>,
    /// The variant that the shift is against.
    pub against: Option<String>,
    /// How many different sums of nanoseconds there are; 1 is “bit-exact”.
    pub distinct: u32,
    /// Guest seconds for each second of wall time within the window.
    pub speed: Option<Estimate>,
    /// From the start of QEMU until the access point was back, ms of wall time.
    pub restore_ms: Option<Estimate>,
    /// From the order to the last frame, ms of wall time.
    pub measure_ms: Option<Estimate>,
}

/// What the run says of the lab.
pub(crate) fn of(measured: &Measured) -> Lab {
    let variants = measured.variants();
    let modes = |mode| variants.iter().any(|variant| measured.mode(variant) == mode);
    let loaded = variants.iter().any(|variant| !variant.host_load.is_anything());
    Lab {
        asked: loaded || (modes(Mode::Counted) && modes(Mode::RealTime)),
        rows: variants
            .iter()
            .flat_map(|variant| measured.counts().into_iter().map(move |count| (variant, count)))
            .filter_map(|(variant, clients)| row(measured, variant, clients))
            .collect(),
    }
}

fn row(measured: &Measured, variant: &Variant, clients: u32) -> Option<Row> {
    let trials = measured.cell(&variant.name, clients);
    let estimate = |of: &dyn Fn(&TrialFigures) -> Option<f64>| {
        Estimate::of(&trials.iter().filter_map(|trial| of(trial)).collect::<Vec<_>>())
    };
    let sum = estimate(&|trial| trial.part(Part::Sum))?;
    let against = measured.undisturbed(variant).filter(|other| other.name != variant.name);
    Some(Row {
        variant: variant.name.to_string(),
        clients,
        mode: measured.mode(variant),
        host_load: variant.host_load,
        range: (sum.mean > 0.0).then(|| (sum.max - sum.min) / sum.mean),
        sum,
        shift: against.and_then(|other| shift(measured, [variant, other], clients)),
        against: against.map(|other| other.name.to_string()),
        distinct: distinct(&trials),
        speed: estimate(&|trial| trial.speed),
        restore_ms: estimate(&|trial| Some(trial.cost.restore_ms as f64)),
        measure_ms: estimate(&|trial| Some(trial.cost.measure_ms as f64)),
    })
}

/// How many different results there are. The group's grain is 1 µs; `schedstat`, where there is one,
/// tells nanoseconds of the subject.
fn distinct(trials: &[&TrialFigures]) -> u32 {
    let mut sums: Vec<_> = trials
        .iter()
        .map(|trial| {
            let load = trial.load.map(|load| load.spent_ns);
            let others = trial.others_sum.map(|others| others.spent_ns);
            (trial.subject.spent_ns, load, others, trial.readings.schedstat_ns)
        })
        .collect();
    sums.sort_unstable();
    sums.dedup();
    sums.len() as u32
}

fn shift(measured: &Measured, pair: [&Variant; 2], clients: u32) -> Option<Estimate> {
    let [variant, against] = pair;
    let pairs = measured.pairs([&variant.name, &against.name], clients, Part::Sum);
    let ratio = crate::compare::contrast(&pairs)?.ratio?;
    // A coefficient of variation of a shift near 0 means nothing.
    Some(Estimate { cv: None, ..ratio.shifted(-1.0) })
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};

    #[test]
    fn a_plain_study_does_not_ask_about_the_lab() {
        let run = fixture::run();
        let lab = analyse(&run, &fixture::trials(&run)).lab;
        assert!(!lab.asked);
        assert_eq!(lab.rows.len(), 9, "it is computed all the same");
    }

    #[test]
    fn the_self_check_finds_the_shift_and_the_exact_trials() {
        let run = fixture::self_check();
        let lab = analyse(&run, &fixture::trials(&run)).lab;
        assert!(lab.asked);
        let row = |name: &str| lab.rows.iter().find(|row| row.variant == name).unwrap();
        assert!(row("counted-idle").distinct == 1 && row("counted-stress").distinct > 1);
        assert_eq!(row("counted-idle").shift, None);
        assert!(row("counted-stress").shift.unwrap().mean.abs() < 2e-4);
        assert!(row("real-time-stress").shift.unwrap().mean > 0.05);
        assert!(row("counted-idle").speed.unwrap().mean > 4.0);
    }
}
