//! Two sides at one point, decided as `headroom compare` decides all pairs, and reported with what a completion study
//! knows: what is compared, at which rate, of which load.
//!
//! A side goes by a name and need not be a strategy of its own, so that the same one twice is a question too. Which
//! trials are whose is the caller's to say.

use model::{
    completion::{Load, Measured, Period, Study},
    share::Share,
    study::Mode,
    verdict::{Difference, Expect, Verdict},
};

use super::{By, points::wall_s};
use crate::{
    figures::Part,
    judge::{self, Better, Evidence, InStep, Look, PairValues},
    quantity::{Unit, count, percent},
    stats::{Estimate, Interval},
    steady::{FEWEST_PERIODS, Periods},
    verdicts::{Basis, Finding, Judgement, NoPeriods},
};

/// Differences below this share of the base do not matter, where nothing else is said.
pub const MARGIN: f64 = 0.01;

/// What is to be shown of two strategies, where nothing else is said.
pub const EXPECT: Expect = Expect::Faster;

/// What is asked of two sides at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub base: String,
    pub variant: String,
    /// By what; less is better.
    pub by: By,
    /// The load's name.
    pub load: String,
    /// Frames a second that were offered.
    pub rate: u32,
    pub mode: Mode,
    /// What the sides may differ in: [`Difference::Nothing`] where they are one strategy.
    pub difference: Difference,
    /// What is to be shown.
    pub expect: Expect,
    /// Differences below this share of the base do not matter.
    pub margin: f64,
    /// Pairs of the plan.
    pub planned: u32,
}

/// One rate of one load at one place.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    pub mode: Mode,
    pub load: &'a Load,
    /// Frames a second that are offered.
    pub rate: u32,
}

/// What is compared, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides {
    pub base: String,
    pub variant: String,
    /// What they may differ in.
    pub difference: Difference,
}

impl Question {
    /// What a study asks of two sides at one rate of one of its loads. A side against itself is to be the same.
    pub fn of(study: &Study, At { mode, load, rate }: At<'_>, sides: Sides) -> Self {
        let shape = &study.completion;
        let Sides { base, variant, difference } = sides;
        Self {
            base,
            variant,
            by: load.task_ms.map_or(By::Path, |_| By::Task),
            load: load.name.clone(),
            rate,
            mode,
            expect: match difference {
                Difference::Nothing => Expect::Same,
                _ => shape.expect.unwrap_or(EXPECT),
            },
            difference,
            margin: shape.margin.map_or(MARGIN, Share::get),
            planned: shape.blocks,
        }
    }

    fn what(&self) -> &'static str {
        match self.by {
            By::Path => "transmit path",
            By::Task => "task with it",
        }
    }

    /// What is compared of one trial: µs of CPU a second, or seconds; `None` where it has no such figure.
    fn value(&self, measured: &Measured) -> Option<f64> {
        match self.by {
            By::Path => us_a_second(measured.driver_ns, measured.window_ns),
            By::Task => wall_s(measured),
        }
    }

    /// The pairs part by part of their windows, or why they are compared whole.
    fn in_step(&self, pairs: &[[&Measured; 2]]) -> Result<InStep, NoPeriods> {
        let trials = || pairs.iter().flatten();
        if self.mode == Mode::RealTime {
            return Err(NoPeriods::RealTime);
        }
        if self.by == By::Task || trials().all(|trial| trial.periods.is_empty()) {
            return Err(NoPeriods::NoRounds);
        }
        let cut = |[base, variant]: &[&Measured; 2]| {
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

/// CPU of the transmit path in a part of a window, µs a second.
fn rate(period: &Period) -> Option<f64> {
    us_a_second(period.driver_ns, period.window_ns)
}

fn us_a_second(ns: u64, window_ns: u64) -> Option<f64> {
    (window_ns > 0).then(|| ns as f64 / window_ns as f64 * 1e6)
}

/// Decides on pairs of `[base, variant]`, in the order of their blocks; a pair that lacks the figure is none. Means
/// are µs of CPU a second, or alongside a task seconds.
pub fn judge(question: &Question, pairs: &[[&Measured; 2]]) -> Judgement {
    let whole = pairs.iter().copied().filter_map(|sides| {
        let [base, variant] = sides.map(|side| question.value(side));
        Some((sides, (variant?, base?)))
    });
    let (sides, whole): (Vec<_>, Vec<_>) = whole.unzip();
    let asked = judge::Question {
        base: question.base.clone(),
        variant: question.variant.clone(),
        clients: 0,
        subject: question.what().to_owned(),
        part: Part::Subject,
        expect: question.expect,
        difference: question.difference.clone(),
        margin: question.margin,
        pairs: None,
        changes: Vec::new(),
    };
    let judged = PairValues { whole, better: Better::Less, periods: question.in_step(&sides) };
    let evidence = Evidence::of_pairs(judged, question.planned);
    let mut judgement = judge::judge(&asked, &evidence, Look::only(evidence.judged.whole.len()));
    // Too few pairs, or all the same: said by the judgement itself, which knows no rates.
    if !matches!(judgement.finding, Finding::NotComparable | Finding::NoOp) {
        judgement.sentence = sentence(question, &judgement);
    }
    judgement
}

fn sentence(question: &Question, judgement: &Judgement) -> String {
    let Question { rate, load, difference, .. } = question;
    let verdict = judgement.verdict.name();
    let is_twice = *difference == Difference::Nothing;
    let claim = if is_twice { twice(question, judgement) } else { claim(question, judgement) };
    let effect = judgement.relative.as_ref().map(|relative| match is_twice {
        true => signed(relative),
        false => format!("{} ×", Unit::ONE.with_interval(&ratio(relative))),
    });
    let effect = effect.map(|effect| format!(": {effect}")).unwrap_or_default();
    let p = judgement.p.map(|p| format!(", exact p = {p:.3}")).unwrap_or_default();
    let pairs = count(judgement.pairs, "pair");
    let furthest = |one: Estimate| percent(one.min.abs().max(one.max.abs()));
    let off = judgement.relative.filter(|_| is_twice).map(furthest);
    let whose = match judgement.basis {
        Basis::Steady => "no pair's steady cost",
        _ => "no pair",
    };
    let off = off.map(|off| format!("; {whose} was off by more than {off}")).unwrap_or_default();
    let parts = judge::parts(judgement);
    format!("{verdict}: {claim} at {rate} frames/s of {load}{effect} ({pairs}{p}{parts}){off}")
}

/// What is claimed of two sides that differ.
fn claim(question: &Question, judgement: &Judgement) -> String {
    let Question { base, variant, expect, .. } = question;
    let (what, margin) = (question.what(), percent(question.margin));
    let takes =
        |how: &str| format!("the {what} takes {how} time under `{variant}` than under `{base}`");
    let within = format!(", and by less than the margin of {margin},");
    match (judgement.finding, expect, judgement.verdict) {
        (Finding::Cheaper, Expect::Same, Verdict::Pass) => takes("less") + &within,
        (Finding::Dearer, _, Verdict::Pass) => takes("more") + &within,
        (Finding::Cheaper, ..) => takes("less"),
        (Finding::Dearer, ..) => takes("more"),
        (Finding::Equivalent, ..) => {
            format!("the {what} takes the same time under both, within {margin}")
        }
        (_, _, Verdict::Pass) => {
            format!(
                "the {what} takes no more time under `{variant}` than under `{base}` and {margin}"
            )
        }
        _ => format!("these pairs do not decide between `{variant}` and `{base}`"),
    }
}

/// What is claimed of the same side twice.
fn twice(question: &Question, judgement: &Judgement) -> String {
    let base = &question.base;
    let (what, margin) = (question.what(), percent(question.margin));
    match (judgement.finding, judgement.verdict) {
        (Finding::Undecided, _) => {
            format!("these pairs do not say whether the {what} under `{base}` is the same twice")
        }
        (_, Verdict::Pass) => {
            format!("the {what} under `{base}` is the same twice, within {margin},")
        }
        (_, Verdict::Fail) => {
            format!("the {what} under `{base}` is not the same twice, by more than {margin},")
        }
        (_, Verdict::Measured | Verdict::Invalid) => format!(
            "the {what} under `{base}` is not the same twice, and these pairs do not say whether by more than {margin},"
        ),
    }
}

/// `variant ÷ base`, of what is more or less than the base.
pub(super) fn ratio(relative: &Estimate) -> Estimate {
    let mean = 1.0 + relative.mean;
    let more = |ends: Interval| Interval { low: 1.0 + ends.low, high: 1.0 + ends.high };
    Estimate {
        mean,
        cv: relative.sd.filter(|_| mean != 0.0).map(|sd| sd / mean.abs()),
        interval: relative.interval.map(more),
        min: 1.0 + relative.min,
        max: 1.0 + relative.max,
        ..*relative
    }
}

/// What is more or less than the base, as a part of it: `−79.26 % [−79.31, −79.20]`.
pub fn signed(relative: &Estimate) -> String {
    let sign = if relative.mean > 0.0 { "+" } else { "" };
    format!("{sign}{}", Unit::PER_CENT.with_interval(relative))
}
