//! Two sides at one rate of one load at one place, decided as `headroom compare` decides all pairs: each strategy against
//! the study's first one, and the two of a comparison.
//!
//! With a task the task's time is the question, else the CPU of the transmit path.

use std::collections::BTreeMap;

use model::{
    card::{CardReading, Period, Strategy},
    run::Run,
    trial::{Trial, Turn},
    verdict::{Difference, Expect},
};

use super::{
    By, Versus,
    points::{Groups, Setting, wall_s},
};
use crate::{
    figures::Part,
    judge::{self, Evidence, InStep, Look, PairValues, Question},
    steady::{FEWEST_PERIODS, Periods},
    verdicts::{Judgement, NoPeriods, Quantity},
};

/// Each strategy against the first, at each point that was tried.
pub(super) fn all(groups: &Groups<'_>) -> Vec<Versus> {
    let Some((base, others)) = groups.strategies().split_first() else { return Vec::new() };
    let of = |at: Setting, variant: &Strategy| {
        let side = |strategy| groups.blocks(at, Some(strategy));
        Some(versus(groups, at, [*base, *variant], [side(*base)?, side(*variant)?]))
    };
    let settings = groups.settings().into_iter();
    settings.flat_map(|at| others.iter().filter_map(move |variant| of(at, variant))).collect()
}

/// What a run of one question came to; `None` where the run is a whole study.
pub(super) fn comparison(run: &Run, trials: &[Trial]) -> Option<Versus> {
    let asked = run.versus.as_ref()?;
    let groups = Groups::of(run, trials);
    let at = groups.setting(&run.study.cell(&asked.cell)?)?;
    let strategy = |name: &str| run.study.variant(name)?.strategy;
    let both = [strategy(&asked.base)?, strategy(&asked.variant)?];
    let side = |name: &str| -> BTreeMap<u32, &CardReading> {
        let counts = |trial: &&Trial| {
            trial.planned.id.variant == *name && trial.planned.id.turn == Turn::Only
        };
        let of = |trial: &'_ Trial| trial.planned.id.repetition - 1;
        let trials = trials.iter().filter(counts);
        trials.filter_map(|trial| Some((of(trial), trial.reading()?.card.as_deref()?))).collect()
    };
    Some(versus(&groups, at, both, [&side(&asked.base), &side(&asked.variant)]))
}

fn versus(
    groups: &Groups<'_>,
    at: Setting,
    sides: [Strategy; 2],
    [bases, variants]: [&BTreeMap<u32, &CardReading>; 2],
) -> Versus {
    let pairs = variants.iter().filter_map(|(block, one)| Some([*bases.get(block)?, *one]));
    let (load, run) = (&groups.loads[at.load], groups.run);
    let asked = Asked {
        by: load.task.map_or(By::Path, |_| By::Task),
        is_counted: groups.places[at.place].is_counted,
        planned: run.versus.as_ref().map_or(run.study.trial.repetitions, |one| one.pairs.most()),
    };
    let judgement = asked.judge(&question(groups, at, sides), &pairs.collect::<Vec<_>>());
    let place = groups.place(at.place);
    Versus { place, load: load.name.clone(), rate: at.rate, by: asked.by, judgement }
}

/// What a study asks of two strategies at one point. A strategy against itself is to be the same.
fn question(groups: &Groups<'_>, at: Setting, [base, variant]: [Strategy; 2]) -> Question {
    let (load, study) = (&groups.loads[at.load], &groups.run.study);
    let is_twice = base == variant;
    let again = if is_twice { "-again" } else { "" };
    let subject = if load.task.is_some() { "the task" } else { "the transmit path" };
    Question {
        base: base.name().to_owned(),
        variant: format!("{}{again}", variant.name()),
        clients: 0,
        at: format!("at {} frames/s of {}", at.rate, load.name),
        subject: subject.to_owned(),
        part: Part::Subject,
        expect: if is_twice { Expect::Same } else { study.expect() },
        difference: if is_twice { Difference::Nothing } else { Difference::Variants },
        margin: study.margin().get(),
        pairs: None,
        changes: Vec::new(),
    }
}

/// How two sides are compared at one point.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// Less is better.
    pub(super) by: By,
    pub(super) is_counted: bool,
    /// Pairs of the plan.
    pub(super) planned: u32,
}

impl Asked {
    /// Decides on pairs of `[base, variant]`, in the order of their blocks; a pair that lacks the figure is none.
    pub(super) fn judge(self, question: &Question, pairs: &[[&CardReading; 2]]) -> Judgement {
        let whole = pairs.iter().copied().filter_map(|sides| {
            let [base, variant] = sides.map(|side| self.value(side));
            Some((sides, (variant?, base?)))
        });
        let (sides, whole): (Vec<_>, Vec<_>) = whole.unzip();
        let quantity = if self.by == By::Path { Quantity::Cpu } else { Quantity::Time };
        let judged = PairValues { whole, quantity, periods: self.in_step(&sides) };
        let evidence = Evidence::of_pairs(judged, self.planned);
        judge::judge(question, &evidence, Look::only(evidence.judged.whole.len()))
    }

    /// What is compared of one trial: µs of CPU a second, or seconds; `None` where it has no such figure.
    fn value(self, measured: &CardReading) -> Option<f64> {
        match self.by {
            By::Path => us_a_second(measured.driver_ns, measured.window_ns),
            By::Task => wall_s(measured),
        }
    }

    /// The pairs part by part of their windows, or why they are compared whole.
    fn in_step(self, pairs: &[[&CardReading; 2]]) -> Result<InStep, NoPeriods> {
        let trials = || pairs.iter().flatten();
        if !self.is_counted {
            return Err(NoPeriods::RealTime);
        }
        if self.by == By::Task || trials().all(|trial| trial.periods.is_empty()) {
            return Err(NoPeriods::NoRounds);
        }
        let rate = |period: &Period| us_a_second(period.driver_ns, period.window_ns);
        let cut = |[base, variant]: &[&CardReading; 2]| {
            let (before, after) = (&base.periods, &variant.periods);
            let rates = after.iter().zip(before);
            let rates = rates.map(|(after, before)| Some((rate(after)?, rate(before)?)));
            let each: Vec<(f64, f64)> =
                rates.collect::<Option<Vec<_>>>().filter(|_| before.len() == after.len())?;
            Some(Periods { each, total: self.value(variant)? - self.value(base)? })
        };
        let cut: Option<Vec<Periods>> = pairs.iter().map(cut).collect();
        let cut = cut.ok_or(NoPeriods::OutOfStep)?;
        if cut.iter().any(|pair| pair.each.len() < FEWEST_PERIODS) {
            return Err(NoPeriods::TooFew);
        }
        let periods = || trials().flat_map(|trial| &trial.periods);
        let length_ns: u64 = periods().map(|period| period.window_ns).sum();
        // A driver that sleeps ends a period when it wakes: to the millisecond all are as long as the mean.
        let mean_s = length_ns as f64 / periods().count() as f64 / 1e9;
        Ok(InStep { pairs: cut, period_s: (mean_s * 1e3).round() / 1e3 })
    }
}

fn us_a_second(ns: u64, window_ns: u64) -> Option<f64> {
    (window_ns > 0).then(|| ns as f64 / window_ns as f64 * 1e6)
}
