//! Two ways to wait in one cell, decided as `headroom compare` decides all pairs: each variant against the study's first
//! one, or the two of a comparison.
//!
//! With a task the task's time is the question, else the CPU of the transmit path.

use model::{
    card::{CardReading, Period},
    cell::Cell,
    verdict::{Difference, Expect},
};

use super::points::{Groups, load_of, wall_s};
use crate::{
    judge::{self, InStep, Question},
    limited::{Versus, name_of},
    steady::Periods,
    verdicts::{Judgement, NoPeriods, Quantity},
};

/// The two sides of a comparison; else each variant against the first, in each cell that was tried.
pub(super) fn all(groups: &Groups<'_>) -> Vec<Versus> {
    if let Some(asked) = &groups.run.versus {
        let cell = groups.cells.iter().find(|cell| cell.name == asked.cell);
        let sides = [asked.base.as_str(), &asked.variant];
        return cell.and_then(|at| versus(groups, at, sides)).into_iter().collect();
    }
    let mut variants = groups.variants().map(|variant| variant.name.as_str());
    let Some(base) = variants.next() else { return Vec::new() };
    let others: Vec<&str> = variants.collect();
    let tried =
        |at: &Cell, other| groups.blocks(at, base).is_some() && groups.blocks(at, other).is_some();
    let of = |at| {
        let tried = others.iter().filter(move |other| tried(at, other));
        tried.filter_map(move |other| versus(groups, at, [base, other]))
    };
    groups.cells.iter().flat_map(of).collect()
}

fn versus(groups: &Groups<'_>, at: &Cell, sides: [&str; 2]) -> Option<Versus> {
    let [bases, variants] = sides.map(|side| groups.blocks(at, side));
    let both = bases.zip(variants).into_iter();
    let pairs = both.flat_map(|(bases, variants)| {
        variants.iter().filter_map(|(block, one)| Some([*bases.get(block)?, *one]))
    });
    let pairs: Vec<[&CardReading; 2]> = pairs.collect();
    let has_task = at.card?.task.is_some();
    let compared = Sides { has_task, is_counted: at.is_counted() };
    let judgement = compared.judge(&question(groups, at, sides, has_task), &pairs);
    Some(Versus { cell: name_of(&groups.run.study, at), judgement })
}

/// What a study asks of two variants in one cell. A strategy against itself is to be the same.
fn question(groups: &Groups<'_>, at: &Cell, sides: [&str; 2], has_task: bool) -> Question {
    let subject = if has_task { "the task" } else { "the transmit path" };
    let mut plain = Question::of_sides(&groups.run.study, sides, subject);
    let rate = at.card.map_or(0, |card| card.rate);
    plain.at = format!("at {rate} frames/s of {}", load_of(at));
    if let Some(asked) = &groups.run.versus {
        plain.pairs = asked.pairs;
        if asked.difference == Difference::Nothing {
            return Question { expect: Expect::Same, difference: Difference::Nothing, ..plain };
        }
    }
    plain
}

/// How two sides are compared in one cell.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    /// With a task its time is compared, else the CPU of the transmit path. Less is better.
    pub(super) has_task: bool,
    pub(super) is_counted: bool,
}

impl Sides {
    /// Decides on pairs of `[base, variant]`, in the order of their blocks.
    pub(super) fn judge(self, question: &Question, pairs: &[[&CardReading; 2]]) -> Judgement {
        let quantity = if self.has_task { Quantity::Time } else { Quantity::Cpu };
        let value = |card: &CardReading| self.value(card);
        judge::of_pairs(question, (quantity, value), pairs, |sides| self.in_step(sides))
    }

    /// What is compared of one trial: µs of CPU a second, or seconds; `None` where it has no such figure.
    fn value(self, measured: &CardReading) -> Option<f64> {
        match self.has_task {
            false => us_a_second(measured.driver_ns, measured.window_ns),
            true => wall_s(measured),
        }
    }

    /// The pairs part by part of their windows, or why they are compared whole.
    fn in_step(self, pairs: &[[&CardReading; 2]]) -> Result<InStep, NoPeriods> {
        let periods = || pairs.iter().flatten().flat_map(|trial| &trial.periods);
        if !self.is_counted {
            return Err(NoPeriods::RealTime);
        }
        if self.has_task || periods().next().is_none() {
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
