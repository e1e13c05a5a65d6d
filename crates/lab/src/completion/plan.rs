//! The plan of a completion study: which trials it means, in which order, and how long they will take. Pure.
//!
//! A block holds every rate of every load under every strategy once, in an order of its own: what the host does
//! meanwhile falls on all strategies alike. Counted blocks differ by their phase alone. At a counted place the last
//! trial of each load's first block is made once more, so that every run shows that its figures repeat.
//!
//! In a comparison a block is a pair: its two sides and nothing else, in the order of `headroom compare`'s other
//! pairs. Where the base is compared with itself, its second side is the trial that repeats the first.

use model::random::Random;
use std::time::Duration;

use model::{
    card::CardOrder,
    completion::{Load, Place, PlannedTrial, Rounds, Strategy, Study},
    order::TrialOrder,
    span::Span,
    study::Mode,
};

use crate::{
    places,
    plan::{is_turned, phase},
};

/// Wall seconds for a second of a counted guest that never idles, on one core.
const COUNTED_COST: f64 = 2.6;

/// Wall seconds around a trial: restoring, setting up, taking down; in real time also the gate.
const AROUND: f64 = 1.5;

/// Bytes of the frames that a task alone does not send.
const SMALLEST: u32 = 66;

/// Whether the work of a trial's task is not known.
pub fn lacks_rounds(study: &Study, planned: &PlannedTrial) -> bool {
    let has_task = study.loads.get(planned.load).is_some_and(|load| load.task_ms.is_some());
    has_task && planned.card().task_rounds.is_none()
}

/// How time passes at a place.
pub fn mode_of(place: &Place) -> Mode {
    places::mode_of(place.on, place.mode)
}

/// The work of each task that must be found before its trials can be ordered: place, and ms alone.
pub fn tasks(study: &Study) -> Vec<(usize, u32)> {
    let mut all: Vec<(usize, u32)> = (0..study.places.len())
        .flat_map(|place| study.loads.iter().filter_map(move |load| Some((place, load.task_ms?))))
        .collect();
    all.dedup();
    all
}

/// The order that a task of so many rounds is alone.
pub(super) fn alone(study: &Study, rounds: u64) -> TrialOrder {
    let shape = &study.completion;
    let card = CardOrder {
        bytes: SMALLEST,
        completes_in: shape.completes_in,
        task_rounds: Some(rounds),
        ..CardOrder::default()
    };
    TrialOrder { card: Some(card), window: shape.window, ..TrialOrder::default() }
}

/// All trials of a study, in the order in which they start.
pub fn trials(study: &Study, rounds: &Rounds) -> Vec<PlannedTrial> {
    let is_twice = study.completion.versus.is_some_and(|versus| versus.variant.is_none());
    let mut all: Vec<PlannedTrial> = Vec::new();
    for block in 0..study.completion.blocks {
        for place in 0..study.places.len() {
            for load in 0..study.loads.len() {
                let drawn = Drawn { study, rounds, place, load, block };
                for order in drawn.orders() {
                    let number = all.len() as u32 + 1;
                    all.push(PlannedTrial { number, repeats: None, place, load, block, order });
                }
                let counted = mode_of(&study.places[place]) == Mode::Counted;
                let proves = block == 0 && counted;
                if let Some(last) = all.last().filter(|_| proves || is_twice).cloned() {
                    let (number, repeats) = (last.number + 1, Some(last.number));
                    all.push(PlannedTrial { number, repeats, ..last });
                }
            }
        }
    }
    all
}

/// One load at one place in one block.
struct Drawn<'a> {
    study: &'a Study,
    rounds: &'a Rounds,
    place: usize,
    load: usize,
    block: u32,
}

impl Drawn<'_> {
    /// Its orders, in an order of the block's own.
    fn orders(&self) -> Vec<TrialOrder> {
        let Self { study, rounds, place, load: at, block } = *self;
        let (shape, load) = (&study.completion, &study.loads[at]);
        let offset = match mode_of(&study.places[place]) {
            Mode::Counted => phase(block),
            Mode::RealTime => Span::default(),
        };
        let task_rounds = load.task_ms.and_then(|ms| rounds.of(&study.places[place].name, ms));
        let of = |(strategy, rate): (Option<Strategy>, u32)| TrialOrder {
            card: Some(CardOrder {
                strategy,
                rate,
                bytes: load.bytes,
                completes_in: shape.completes_in,
                bus_word: load.bus_word.unwrap_or_default(),
                task_rounds,
            }),
            offset,
            warm_up: shape.warm_up,
            window: shape.window,
            ..TrialOrder::default()
        };
        let mut orders: Vec<TrialOrder> = tried(study, load).into_iter().map(of).collect();
        let which = (place as u64) << 32 | at as u64;
        match shape.versus {
            None => Random::of([shape.seed, which, u64::from(block)]).shuffle(&mut orders),
            Some(_) if is_turned(block) => orders.reverse(),
            Some(_) => {}
        }
        orders
    }
}

/// Every strategy at every rate, and the task of a load alone, which a comparison does without.
fn tried(study: &Study, load: &Load) -> Vec<(Option<Strategy>, u32)> {
    let strategies = &study.completion.strategies;
    let loaded = load
        .rates
        .iter()
        .flat_map(|rate| strategies.iter().map(move |strategy| (Some(*strategy), *rate)));
    let alone = load.task_ms.filter(|_| study.completion.versus.is_none());
    alone.map(|_| (None, 0)).into_iter().chain(loaded).collect()
}

/// Whether a trial has the host for itself.
pub fn is_alone(study: &Study, trial: &PlannedTrial) -> bool {
    study.places.get(trial.place).is_none_or(|place| mode_of(place) == Mode::RealTime)
}

/// A first guess at the wall time of these trials on so many cores, once images and snapshots are there. A trial
/// whose guest is idle most of the time takes less.
pub fn estimate(study: &Study, plan: &[PlannedTrial], cores: usize) -> Duration {
    let of = |trial: &PlannedTrial| {
        let task = study.loads.get(trial.load).and_then(|load| load.task_ms).unwrap_or_default();
        let window = trial.order.window.as_secs_f64();
        let guest = trial.order.warm_up.as_secs_f64()
            + if task > 0 { f64::from(task) / 1e3 } else { window };
        AROUND + guest * if is_alone(study, trial) { 1.0 } else { COUNTED_COST }
    };
    let (alone, loaded): (Vec<_>, Vec<_>) = plan.iter().partition(|trial| is_alone(study, trial));
    let sum = |trials: &[&PlannedTrial]| trials.iter().map(|trial| of(trial)).sum::<f64>();
    let together = cores.min(loaded.len()).max(1) as f64;
    Duration::from_secs_f64(sum(&alone) + sum(&loaded) / together)
}

#[cfg(test)]
mod tests;
