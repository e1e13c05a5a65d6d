//! Trials as figures: each strategy at each rate of each load at each place, over blocks.

use std::collections::BTreeMap;

use model::{
    card::CardReading,
    card::Strategy,
    cell::Cell,
    run::Run,
    span::Span,
    study::Study,
    trial::{Trial, Turn},
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
    pub(super) places: Vec<Place>,
    pub(super) loads: Vec<Load>,
    pub(super) strategies: Vec<Strategy>,
    pub(super) measured: BTreeMap<Group, BTreeMap<u32, &'a CardReading>>,
}

impl<'a> Groups<'a> {
    pub(super) fn of(run: &'a Run, trials: &'a [Trial]) -> Self {
        let (places, loads) = (places(&run.study), loads(&run.study));
        let (strategies, cells) = (strategies(&run.study), run.study.cells());
        let mut groups = Self { run, places, loads, strategies, measured: BTreeMap::new() };
        for trial in trials.iter().filter(|trial| trial.planned.id.turn != Turn::Again) {
            let card = trial.reading().and_then(|reading| reading.card.as_deref());
            let Some(measured) = card.filter(|card| card.window_ns > 0) else {
                continue;
            };
            let (id, order) = (&trial.planned.id, trial.planned.order.card.unwrap_or_default());
            let cell = cells.iter().find(|cell| cell.name == id.cell);
            if let Some(setting) = cell.and_then(|cell| groups.setting(cell)) {
                let setting = Setting { rate: order.rate, ..setting };
                let group = Group { setting, strategy: order.strategy };
                groups.measured.entry(group).or_default().insert(id.repetition - 1, measured);
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

    /// Every place, load and rate, in the study's order.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let loads = |place| {
            self.loads.iter().enumerate().flat_map(move |(load, one)| {
                one.rates.iter().map(move |rate| Setting { place, load, rate: *rate })
            })
        };
        (0..self.places.len()).flat_map(loads).collect()
    }

    /// Where a cell is among them.
    pub(super) fn setting(&self, cell: &Cell) -> Option<Setting> {
        let place = self.places.iter().position(|place| place.name == cell.place())?;
        let load = self.loads.iter().position(|load| load.name == load_of(cell))?;
        Some(Setting { place, load, rate: cell.card?.rate })
    }

    pub(super) fn strategies(&self) -> &[Strategy] {
        &self.strategies
    }

    pub(super) fn place(&self, at: usize) -> String {
        self.places[at].name.clone()
    }

    pub(super) fn load(&self, at: usize) -> String {
        self.loads[at].name.clone()
    }
}

/// Where cells with a card are.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub name: String,
    pub is_counted: bool,
}

/// The cells of one entry, which differ in their rates and places.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    pub name: String,
    pub rates: Vec<u32>,
    pub bytes: u32,
    pub completes_in: Span,
    pub bus_word: Option<Span>,
    pub task: Option<Span>,
}

/// Where a study's cells with a card are, in its order.
pub fn places(study: &Study) -> Vec<Place> {
    let of = |cell: &Cell| Place { name: cell.place().to_owned(), is_counted: cell.is_counted() };
    study.places().iter().map(of).collect()
}

/// What a study's cards are loaded with, in its order.
pub fn loads(study: &Study) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for cell in study.cells() {
        let Some(card) = cell.card else { continue };
        let (name, rate) = (load_of(&cell), card.rate);
        match loads.iter_mut().find(|load| load.name == name) {
            Some(load) if load.rates.contains(&rate) => {}
            Some(load) => load.rates.push(rate),
            None => loads.push(Load {
                name: name.to_owned(),
                rates: vec![rate],
                bytes: card.bytes,
                completes_in: card.completes_in,
                bus_word: card.bus_word,
                task: card.task,
            }),
        }
    }
    loads
}

/// What the cells of an entry are called together.
fn load_of(cell: &Cell) -> &str {
    cell.entry.as_ref().map_or("card", |entry| entry.as_str())
}

/// The strategies of a study's variants; the first one is what the others are compared with.
pub fn strategies(study: &Study) -> Vec<Strategy> {
    let mut all: Vec<Strategy> = Vec::new();
    for strategy in study.variants.iter().filter_map(|variant| variant.strategy) {
        if !all.contains(&strategy) {
            all.push(strategy);
        }
    }
    all
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
    let &Load { bytes, completes_in, bus_word, .. } = &groups.loads[load];
    let completes_s = completes_in.as_secs_f64();
    let all: Vec<&CardReading> = blocks.values().copied().collect();
    let each = |of: &dyn Fn(&CardReading) -> Option<f64>| each(&all, of);
    let share =
        |of: fn(&CardReading) -> u64| each(&|one| Some(of(one) as f64 / one.window_ns as f64));
    let a_frame = |of: fn(&CardReading) -> f64| {
        each(&|one| (one.sent > 0).then(|| of(one) / one.sent as f64))
    };
    let latency = |of: fn(&model::card::Latency) -> u64| {
        each(&|one| Some(of(one.latency.as_ref()?) as f64 / 1e3))
    };
    let error = |one: &CardReading| {
        let waits_ns = one.sent as f64 * completes_s * 1e9;
        (waits_ns > 0.0).then(|| one.spun_ns as f64 / waits_ns - 1.0)
    };
    let longest = blocks.values().filter_map(|one| one.latency).map(|one| one.longest_ns).max();
    Some(Point {
        place: groups.place(place),
        is_counted: groups.places[place].is_counted,
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
        bus_word_ns: bus_word.map_or(0, Span::as_nanos),
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
    let Some(completes_in) = groups.loads.first().map(|load| load.completes_in) else {
        return Vec::new();
    };
    let expected = 1.0 / completes_in.as_secs_f64();
    let Some(first) = groups.strategies().first() else { return Vec::new() };
    // As many as the card takes is more than any rate.
    let rank = |rate: u32| if rate == 0 { f64::INFINITY } else { f64::from(rate) };
    let most = |load: &Load| {
        let above = load.rates.iter().copied().filter(|rate| rank(*rate) > expected);
        above.filter(|_| load.task.is_none()).max_by(|one, two| rank(*one).total_cmp(&rank(*two)))
    };
    let of = |(place, load): (usize, usize)| {
        let offered = most(&groups.loads[load])?;
        let blocks = |rate| groups.blocks(Setting { place, load, rate }, Some(*first));
        let full: Vec<&CardReading> = blocks(offered)?.values().copied().collect();
        let rates = groups.loads[load].rates.iter().copied();
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
    let loads = 0..groups.loads.len();
    (0..groups.places.len())
        .flat_map(|place| loads.clone().map(move |load| (place, load)))
        .filter_map(of)
        .collect()
}
