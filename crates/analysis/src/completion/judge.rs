//! Two ways to wait in one cell, decided as `headroom compare` decides all pairs: each strategy against the study's first
//! one, and the two of a comparison.
//!
//! With a task the task's time is the question, else the CPU of the transmit path.

use model::{
    card::{CardReading, Period, Strategy},
    cell::Cell,
    run::Run,
    trial::{Trial, Turn},
    verdict::{Difference, Expect},
};

use super::{
    By, Versus,
    points::{Blocks, Groups, load_of, wall_s},
};
use crate::{
    judge::{self, InStep, Question},
    steady::Periods,
    verdicts::{Judgement, NoPeriods, Quantity},
};

/// Each strategy against the first, in each cell that was tried.
pub(super) fn all(groups: &Groups<'_>) -> Vec<Versus> {
    let Some((base, others)) = groups.strategies.split_first() else { return Vec::new() };
    let of = |at: &Cell, variant: &Strategy| {
        let side = |strategy| groups.blocks(at, strategy);
        versus(groups.run, at, [*base, *variant], [side(*base)?, side(*variant)?])
    };
    let cells = groups.cells.iter();
    cells.flat_map(|at| others.iter().filter_map(move |variant| of(at, variant))).collect()
}

/// What a run of one question came to; `None` where the run is a whole study.
pub(super) fn comparison(run: &Run, trials: &[Trial]) -> Option<Versus> {
    let asked = run.versus.as_ref()?;
    let strategy = |name: &str| run.study.variant(name)?.strategy;
    let both = [strategy(&asked.base)?, strategy(&asked.variant)?];
    let side = |name: &str| -> Blocks<'_> {
        let counts = |trial: &&Trial| {
            trial.planned.id.variant == *name && trial.planned.id.turn == Turn::Only
        };
        let trials = trials.iter().filter(counts);
        let block = |trial: &Trial| trial.planned.id.repetition - 1;
        trials.filter_map(|trial| Some((block(trial), trial.reading()?.card.as_deref()?))).collect()
    };
    let sides = [&side(&asked.base), &side(&asked.variant)];
    versus(run, &run.study.cell(&asked.cell)?, both, sides)
}

fn versus(
    run: &Run,
    at: &Cell,
    sides: [Strategy; 2],
    [bases, variants]: [&Blocks<'_>; 2],
) -> Option<Versus> {
    let pairs = variants.iter().filter_map(|(block, one)| Some([*bases.get(block)?, *one]));
    let card = at.card?;
    let asked = Asked { by: card.task.map_or(By::Path, |_| By::Task), is_counted: at.is_counted() };
    let judgement = asked.judge(&question(run, at, sides), &pairs.collect::<Vec<_>>());
    let (place, load) = (at.place().to_owned(), load_of(at).to_owned());
    Some(Versus { place, load, rate: card.rate, by: asked.by, judgement })
}

/// What a study asks of two strategies in one cell. A strategy against itself is to be the same.
fn question(run: &Run, at: &Cell, [base, variant]: [Strategy; 2]) -> Question {
    let card = at.card.as_ref();
    let has_task = card.is_some_and(|card| card.task.is_some());
    let subject = if has_task { "the task" } else { "the transmit path" };
    let again = format!("{}-again", variant.name());
    let is_twice = base == variant;
    let names = [base.name(), if is_twice { &again } else { variant.name() }];
    let mut plain = Question::of_sides(&run.study, names, subject);
    plain.pairs = run.versus.as_ref().map_or(plain.pairs, |asked| asked.pairs);
    let rate = card.map_or(0, |card| card.rate);
    let at = format!("at {rate} frames/s of {}", load_of(at));
    match is_twice {
        true => Question { at, expect: Expect::Same, difference: Difference::Nothing, ..plain },
        false => Question { at, ..plain },
    }
}

/// How two sides are compared in one cell.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// Less is better.
    pub(super) by: By,
    pub(super) is_counted: bool,
}

impl Asked {
    /// Decides on pairs of `[base, variant]`, in the order of their blocks.
    pub(super) fn judge(self, question: &Question, pairs: &[[&CardReading; 2]]) -> Judgement {
        let quantity = if self.by == By::Path { Quantity::Cpu } else { Quantity::Time };
        let value = |card: &CardReading| self.value(card);
        judge::of_pairs(question, (quantity, value), pairs, |sides| self.in_step(sides))
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
        let periods = || pairs.iter().flatten().flat_map(|trial| &trial.periods);
        if !self.is_counted {
            return Err(NoPeriods::RealTime);
        }
        if self.by == By::Task || periods().next().is_none() {
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
        let length_ns: u64 = periods().map(|period| period.window_ns).sum();
        // A driver that sleeps ends a period when it wakes: to the millisecond all are as long as the mean.
        let mean_s = length_ns as f64 / periods().count() as f64 / 1e9;
        InStep::of(pairs, (mean_s * 1e3).round() / 1e3, cut)
    }
}

fn us_a_second(ns: u64, window_ns: u64) -> Option<f64> {
    (window_ns > 0).then(|| ns as f64 / window_ns as f64 * 1e6)
}
