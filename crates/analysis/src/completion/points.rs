//! Trials as figures: each strategy at each rate of each load at each place, over blocks.

use std::collections::BTreeMap;

use model::{
    card::CardReading,
    completion::{PlannedTrial, Run, Strategy, Trial},
    contention::Machine,
    span::Span,
    study::Mode,
};

use super::{Alone, Faults, Point, Saturation, Task};
use crate::stats::Estimate;

/// A place and a load of the study, by number, and one of the load's rates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Setting {
    pub(super) place: usize,
    pub(super) load: usize,
    pub(super) rate: u32,
}

/// What was tried: a strategy at a setting; without one the task alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub(super) setting: Setting,
    pub(super) strategy: Option<Strategy>,
}

/// The measured trials of a run by what was tried, each with its block, in the order of blocks. Repetitions of a
/// trial are not in it: they prove, and would count twice.
pub(super) struct Groups<'a> {
    pub(super) run: &'a Run,
    pub(super) measured: BTreeMap<Group, BTreeMap<u32, &'a CardReading>>,
}

impl<'a> Groups<'a> {
    pub(super) fn of(run: &'a Run, trials: &'a [Trial]) -> Self {
        let mut groups = Self { run, measured: BTreeMap::new() };
        for trial in trials.iter().filter(|trial| trial.planned.repeats.is_none()) {
            let card = trial.reading().and_then(|reading| reading.card.as_deref());
            let Some(measured) = card.filter(|card| card.window_ns > 0) else {
                continue;
            };
            let PlannedTrial { place, load, block, .. } = &trial.planned;
            let order = trial.planned.card();
            if *place < run.study.places.len() && *load < run.study.loads.len() {
                let setting = Setting { place: *place, load: *load, rate: order.rate };
                let group = Group { setting, strategy: order.strategy };
                groups.measured.entry(group).or_default().insert(*block, measured);
            }
        }
        groups
    }

    pub(super) fn blocks(
        &self,
        setting: Setting,
        strategy: Option<Strategy>,
    ) -> Option<&BTreeMap<u32, &'a CardReading>> {
        self.measured.get(&Group { setting, strategy })
    }

    /// Each place, load and rate of the study that was tried.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let study = &self.run.study;
        let places = 0..study.places.len();
        places
            .flat_map(|place| {
                let loads = study.loads.iter().enumerate();
                loads.flat_map(move |(at, load)| {
                    load.rates.iter().map(move |rate| Setting { place, load: at, rate: *rate })
                })
            })
            .collect()
    }

    pub(super) fn strategies(&self) -> &[Strategy] {
        &self.run.study.completion.strategies
    }

    pub(super) fn place(&self, at: usize) -> String {
        self.run.study.places[at].name.clone()
    }

    pub(super) fn load(&self, at: usize) -> String {
        self.run.study.loads[at].name.clone()
    }
}

/// Whether a place's time is counted instructions.
pub(super) fn is_counted(run: &Run, place: usize) -> bool {
    let place = &run.study.places[place];
    place.on == Machine::Vm && place.mode == Mode::Counted
}

pub(super) fn all(groups: &Groups<'_>) -> Vec<Point> {
    groups
        .settings()
        .into_iter()
        .flat_map(|at| {
            groups.strategies().iter().filter_map(move |strategy| point(groups, at, *strategy))
        })
        .collect()
}

fn point(groups: &Groups<'_>, setting: Setting, strategy: Strategy) -> Option<Point> {
    let Setting { place, load, rate } = setting;
    let blocks = groups.blocks(setting, Some(strategy))?;
    let bytes = groups.run.study.loads[load].bytes;
    let completes_s = groups.run.study.completion.completes_in.as_secs_f64();
    let each = |of: &dyn Fn(&CardReading) -> Option<f64>| {
        Estimate::of(&blocks.values().filter_map(|one| of(one)).collect::<Vec<_>>())
    };
    let share =
        |of: fn(&CardReading) -> u64| each(&|one| Some(of(one) as f64 / one.window_ns as f64));
    let a_frame = |of: fn(&CardReading) -> f64| {
        each(&|one| (one.sent > 0).then(|| of(one) / one.sent as f64))
    };
    let latency = |of: fn(&model::completion::Latency) -> u64| {
        each(&|one| Some(of(one.latency.as_ref()?) as f64 / 1e3))
    };
    let error = |one: &CardReading| {
        let waits_ns = one.sent as f64 * completes_s * 1e9;
        (waits_ns > 0.0).then(|| one.spun_ns as f64 / waits_ns - 1.0)
    };
    let longest = blocks.values().filter_map(|one| one.latency).map(|one| one.longest_ns).max();
    Some(Point {
        place: groups.place(place),
        is_counted: is_counted(groups.run, place),
        load: groups.load(load),
        bytes,
        rate,
        strategy,
        blocks: blocks.len() as u32,
        path: share(|one| one.driver_ns)?,
        waiting: share(|one| one.spun_ns)?,
        rest_us: a_frame(|one| one.driver_ns.saturating_sub(one.spun_ns) as f64 / 1e3),
        masked: share(|one| one.masked_ns)?,
        harness: share(|one| one.source_ns + one.air_ns)?,
        sent: each(&|one| Some(a_second(one, one.sent)))?,
        megabits: each(&|one| Some(a_second(one, one.sent) * f64::from(bytes) * 8.0 / 1e6))?,
        dropped: each(&|one| Some(a_second(one, dropped(one))))?,
        interrupts: a_frame(|one| one.interrupts as f64),
        p50_us: latency(|one| one.p50_ns),
        p99_us: latency(|one| one.p99_ns),
        longest_us: longest.map(|ns| ns as f64 / 1e3),
        error: each(&error),
        bus_word_ns: groups.run.study.loads[load].bus_word.map_or(0, Span::as_nanos),
        task: task(groups, setting, blocks),
        faults: blocks.values().fold(Faults::default(), |all, one| added(all, one)),
    })
}

/// A rate is carried where so much of what is offered comes out; beyond it the core is full, and what else runs on it
/// has some of the time in which the card works.
const CARRIED: f64 = 0.99;

/// Whether so many frames a second are the rate.
pub(super) fn is_carried(rate: u32, sent: f64) -> bool {
    rate > 0 && sent >= CARRIED * f64::from(rate)
}

/// A figure over blocks.
fn each(blocks: &[&CardReading], of: &dyn Fn(&CardReading) -> Option<f64>) -> Option<Estimate> {
    Estimate::of(&blocks.iter().filter_map(|one| of(one)).collect::<Vec<_>>())
}

fn sent_a_second(measured: &CardReading) -> Option<f64> {
    Some(a_second(measured, measured.sent))
}

fn a_second(measured: &CardReading, count: u64) -> f64 {
    count as f64 / (measured.window_ns as f64 / 1e9)
}

fn dropped(measured: &CardReading) -> u64 {
    measured.dropped.iter().map(|(_, count)| count).sum()
}

fn added(all: Faults, one: &CardReading) -> Faults {
    let known = one.sent + dropped(one) + one.queued;
    Faults {
        duplicated: all.duplicated + one.duplicated,
        reordered: all.reordered + one.reordered,
        damaged: all.damaged + one.damaged,
        missing: all.missing + one.missing,
        unaccounted: all.unaccounted + (one.accepted + one.queued_before).abs_diff(known),
    }
}

/// How long the task took alongside it, and against the task alone in the same block.
fn task(
    groups: &Groups<'_>,
    setting: Setting,
    blocks: &BTreeMap<u32, &CardReading>,
) -> Option<Task> {
    let walls: Vec<(u32, f64)> =
        blocks.iter().filter_map(|(block, one)| Some((*block, wall_s(one)?))).collect();
    let alone = groups.blocks(Setting { rate: 0, ..setting }, None);
    let slower = |(block, wall): &(u32, f64)| Some(wall / wall_s(alone?.get(block)?)?);
    let slowdowns: Vec<f64> = walls.iter().filter_map(slower).collect();
    let wall_s = Estimate::of(&walls.iter().map(|(_, wall)| *wall).collect::<Vec<_>>())?;
    Some(Task { wall_s, slowdown: Estimate::of(&slowdowns) })
}

/// From the task's start to its end, s.
pub(super) fn wall_s(measured: &CardReading) -> Option<f64> {
    measured.task_wall_ns.filter(|wall| *wall > 0).map(|wall| wall as f64 / 1e9)
}

/// The tasks without frames.
pub(super) fn alone(groups: &Groups<'_>) -> Vec<Alone> {
    let of = |(Group { setting, strategy }, blocks): (&Group, &BTreeMap<u32, &CardReading>)| {
        let walls: Vec<f64> = blocks.values().filter_map(|one| wall_s(one)).collect();
        let wall_s = Estimate::of(&walls).filter(|_| strategy.is_none())?;
        let (place, load) = (groups.place(setting.place), groups.load(setting.load));
        Some(Alone { place, load, wall_s })
    };
    groups.measured.iter().filter_map(of).collect()
}

/// Where the first strategy fills its core: at the highest rate of each load that offers more than the completion
/// time allows.
pub(super) fn saturations(groups: &Groups<'_>) -> Vec<Saturation> {
    let study = &groups.run.study;
    let expected = 1.0 / study.completion.completes_in.as_secs_f64();
    let Some(first) = groups.strategies().first() else { return Vec::new() };
    // As many as the card takes is more than any rate.
    let rank = |rate: u32| if rate == 0 { f64::INFINITY } else { f64::from(rate) };
    let most = |load: &model::completion::Load| {
        let above = load.rates.iter().copied().filter(|rate| rank(*rate) > expected);
        above
            .filter(|_| load.task_ms.is_none())
            .max_by(|one, two| rank(*one).total_cmp(&rank(*two)))
    };
    let of = |(place, load): (usize, usize)| {
        let offered = most(&study.loads[load])?;
        let blocks = |rate| groups.blocks(Setting { place, load, rate }, Some(*first));
        let full: Vec<&CardReading> = blocks(offered)?.values().copied().collect();
        let rates = study.loads[load].rates.iter().copied();
        let carried = rates.filter(|rate| *rate > 0).filter_map(|rate| {
            let all: Vec<&CardReading> = blocks(rate)?.values().copied().collect();
            is_carried(rate, each(&all, &sent_a_second)?.mean).then_some((rate, all))
        });
        let (_, carried) = carried.max_by_key(|(rate, _)| *rate)?;
        Some(Saturation {
            strategy: *first,
            place: groups.place(place),
            load: groups.load(load),
            offered,
            sent: each(&full, &sent_a_second)?,
            by_waiting: each(&carried, &|one| {
                (one.spun_ns > 0).then(|| one.sent as f64 / (one.spun_ns as f64 / 1e9))
            })?,
            path: each(&full, &|one| Some(one.driver_ns as f64 / one.window_ns as f64))?,
            expected,
        })
    };
    let loads = 0..study.loads.len();
    (0..study.places.len())
        .flat_map(|place| loads.clone().map(move |load| (place, load)))
        .filter_map(of)
        .collect()
}
