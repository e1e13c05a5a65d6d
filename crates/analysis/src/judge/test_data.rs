//! Made-up comparisons for tests: pairs whose subject took exactly what is said. **Synthetic.**

use model::{
    instrument::Counts,
    name::VariantName,
    reading::Reading,
    run::Run,
    sample::Group,
    share::Share,
    span::Span,
    trial::{Outcome, PlannedTrial, Purpose, Trial},
    verdict::{Difference, Expect, Pairs, Versus},
    wire::State,
};

use model::random::Random;

use super::{Evidence, PairValues};
use crate::{
    fixture,
    verdicts::{Judgement, NoPeriods, Quantity},
};

pub(crate) const CLIENTS: u32 = 60;

/// A run that compares `after` with `before` at 60 clients, and a trial for every value: `(variant, base)`
/// of each pair in µs of CPU a second, by repetition.
pub(crate) fn compared(values: &[(f64, f64)]) -> (Run, Vec<Trial>) {
    let window = recording(&mut template()).samples.len() - 1;
    let even: Vec<_> = values.iter().map(|value| vec![*value; window]).collect();
    compared_by_periods(&even)
}

/// The same, second by second of each pair.
pub(crate) fn compared_by_periods(values: &[Vec<(f64, f64)>]) -> (Run, Vec<Trial>) {
    let mut run = fixture::run();
    run.study.variants.remove(0);
    run.study.access_point.clients = vec![CLIENTS];
    for (variant, name) in run.study.variants.iter_mut().zip(["before", "after"]) {
        variant.name = VariantName::literal(name);
    }
    run.versus = Some(Versus {
        base: "before".to_owned(),
        variant: "after".to_owned(),
        cell: model::name::CellName::of(&CLIENTS.to_string()),
        clients: CLIENTS,
        difference: Difference::Variants,
        expect: Expect::NoSlower,
        margin: Share::of(0.005),
        pairs: Pairs::Fixed(values.len() as u32),
        changes: Vec::new(),
    });
    let template = template();
    let mut trials = Vec::new();
    for (repetition, seconds) in (1..).zip(values) {
        let (after, before): (Vec<_>, Vec<_>) = seconds.iter().copied().unzip();
        trials.push(trial(&template, VariantName::literal("before"), repetition, &before));
        trials.push(trial(&template, VariantName::literal("after"), repetition, &after));
    }
    run.plan = planned(&trials);
    (run, trials)
}

fn template() -> Trial {
    let trials = fixture::trials(&fixture::run());
    trials
        .into_iter()
        .find(|trial| trial.planned.id.variant == "iw-dump" && trial.planned.id.clients == CLIENTS)
        .expect("the fixture has it")
}

/// A trial whose subject takes so much in each second, µs; its window has as many seconds.
fn trial(template: &Trial, variant: VariantName, repetition: u32, seconds: &[f64]) -> Trial {
    let mut trial = template.clone();
    let planned = &mut trial.planned;
    planned.id.variant = variant;
    planned.id.repetition = repetition;
    planned.order.offset = Span::from_nanos(u64::from(repetition) * 1_000);
    planned.order.state = Some(State { seed: u64::from(repetition), padding: 0 });
    planned.order.window = Span::from_secs(seconds.len() as u64);
    let samples = &mut recording(&mut trial).samples;
    let last = samples.last().expect("it has samples").clone();
    samples.resize(seconds.len() + 1, last);
    let opened = samples[0].at_ns;
    let mut usage_us = 0.0;
    for (at, sample) in samples.iter_mut().enumerate() {
        sample.at_ns = opened + at as u64 * 1_000_000_000;
        usage_us += at.checked_sub(1).map_or(0.0, |at| seconds[at]);
        let usage_ns = (usage_us * 1e3).round() as u64;
        sample.subject.group = Some(Group { usage_ns, ..Group::default() });
    }
    trial
}

impl Evidence {
    /// Pairs whose means are compared.
    pub(crate) fn of_means(pairs: Vec<(f64, f64)>) -> Self {
        let (planned, periods) = (pairs.len() as u32, Err(NoPeriods::NoRounds));
        Self::of_pairs(PairValues { whole: pairs, quantity: Quantity::Cpu, periods }, planned)
    }
}

/// The one judgement of a run that makes one.
pub(crate) fn only(run: &Run, trials: &[Trial]) -> Judgement {
    let [found] = super::judgements(run, trials).try_into().unwrap();
    found
}

pub(crate) fn recording(trial: &mut Trial) -> &mut Reading {
    match &mut trial.outcome {
        Outcome::Measured(recording) => recording,
        Outcome::Invalid { .. } => panic!("it is valid"),
    }
}

/// The run's question.
pub(crate) fn versus(run: &mut Run) -> &mut Versus {
    run.versus.as_mut().expect("it compares")
}

/// So many pairs about 10 ms/s: the variant costs `effect` more, a share of the base, and pairs differ by
/// `spread` of it.
pub(crate) fn pairs(n: usize, effect: f64, spread: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut random = Random::seeded(seed);
    let one = |_| {
        // What a pair shares, and what it does not.
        let base = 10_000.0 * (1.0 + 0.02 * random.normal());
        (base * (1.0 + effect + spread * random.normal()), base)
    };
    (0..n).map(one).collect()
}

/// A trial of a side that counted a function so often.
pub(crate) fn counted(trials: &[Trial], side: &str, function: &str, hits: u64) -> Trial {
    let mut trial = trials
        .iter()
        .find(|trial| trial.planned.id.variant == side)
        .expect("the side has a trial")
        .clone();
    trial.planned.id.purpose = Purpose::Counts;
    let counts = Counts { probes: vec![fixture::counted(function, hits)], hit_ns: None };
    recording(&mut trial).counts = Some(Box::new(counts));
    trial
}

/// The plan without what is not done.
pub(crate) fn planned(trials: &[Trial]) -> Vec<PlannedTrial> {
    trials.iter().map(|trial| trial.planned.clone()).collect()
}
