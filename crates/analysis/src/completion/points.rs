//! Trials as figures: each strategy in each cell, over blocks.

use std::collections::BTreeMap;

use model::{
    card::CardReading,
    card::Strategy,
    cell::{Card, Cell},
    name::CellName,
    run::Run,
    span::Span,
    study::Study,
    trial::{Trial, Turn},
};

use super::{Alone, Faults, Point, Saturation, Task};
use crate::stats::Estimate;

/// The measured trials of one strategy in one cell, by block.
pub(super) type Blocks<'a> = BTreeMap<u32, &'a CardReading>;

/// The measured trials of a run by cell and strategy. Repetitions of a trial are not in it: they prove, and would count
/// twice.
pub(super) struct Groups<'a> {
    pub(super) run: &'a Run,
    /// The cells with a card: by place, then by load, both in the study's order.
    pub(super) cells: Vec<Cell>,
    pub(super) strategies: Vec<Strategy>,
    /// Without a strategy the task alone.
    measured: BTreeMap<(CellName, Option<Strategy>), Blocks<'a>>,
}

impl<'a> Groups<'a> {
    pub(super) fn of(run: &'a Run, trials: &'a [Trial]) -> Self {
        let (places, loads) = (places(&run.study), loads(&run.study));
        let mut cells = run.study.cells();
        cells.retain(|cell| cell.card.is_some());
        cells.sort_by_key(|cell| {
            let place = places.iter().position(|place| place.name == cell.place());
            (place, loads.iter().position(|load| load.name == load_of(cell)))
        });
        let mut measured: BTreeMap<_, Blocks<'a>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.planned.id.turn != Turn::Again) {
            let card = trial.reading().and_then(|reading| reading.card.as_deref());
            let Some(card) = card.filter(|card| card.window_ns > 0) else { continue };
            let (id, order) = (&trial.planned.id, trial.planned.order.card.unwrap_or_default());
            let group = measured.entry((id.cell.clone(), order.strategy)).or_default();
            group.insert(id.repetition - 1, card);
        }
        Self { run, cells, strategies: strategies(&run.study), measured }
    }

    pub(super) fn blocks(&self, cell: &Cell, strategy: Strategy) -> Option<&Blocks<'a>> {
        self.measured.get(&(cell.name.clone(), Some(strategy)))
    }

    /// The task alone, in whichever cell of the same load and place it was made.
    fn alone(&self, cell: &Cell) -> Blocks<'a> {
        let like = self.cells.iter().filter(|one| is_of_one_load(one, cell));
        let groups = like.filter_map(|one| self.measured.get(&(one.name.clone(), None)));
        groups.flatten().map(|(block, card)| (*block, *card)).collect()
    }

    /// The cells of each load at each place, which differ in their rates.
    fn loads(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunk_by(is_of_one_load)
    }
}

fn is_of_one_load(one: &Cell, other: &Cell) -> bool {
    one.place() == other.place() && load_of(one) == load_of(other)
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

/// What the study's first card takes to complete a transmit command.
pub(super) fn completes_in(study: &Study) -> Option<Span> {
    study.cells().iter().find_map(|cell| Some(cell.card?.completes_in))
}

/// What the cells of an entry are called together.
pub(super) fn load_of(cell: &Cell) -> &str {
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
    let of = |cell| groups.strategies.iter().filter_map(move |one| point(groups, cell, *one));
    groups.cells.iter().flat_map(of).collect()
}

fn point(groups: &Groups<'_>, cell: &Cell, strategy: Strategy) -> Option<Point> {
    let blocks = groups.blocks(cell, strategy)?;
    let Card { rate, bytes, completes_in, bus_word, .. } = cell.card?;
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
        place: cell.place().to_owned(),
        is_counted: cell.is_counted(),
        load: load_of(cell).to_owned(),
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
        task: task(&groups.alone(cell), blocks),
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
fn task(alone: &Blocks<'_>, blocks: &Blocks<'_>) -> Option<Task> {
    let walls: Vec<(u32, f64)> =
        blocks.iter().filter_map(|(block, one)| Some((*block, wall_s(one)?))).collect();
    let slower = |(block, wall): &(u32, f64)| Some(wall / wall_s(alone.get(block)?)?);
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
    let of = |cells: &[Cell]| {
        let cell = cells.first()?;
        let walls: Vec<f64> = groups.alone(cell).values().filter_map(|one| wall_s(one)).collect();
        let (place, load) = (cell.place().to_owned(), load_of(cell).to_owned());
        Some(Alone { place, load, wall_s: Estimate::of(&walls)? })
    };
    groups.loads().filter_map(of).collect()
}

/// Where the first strategy fills its core: at the highest rate of each load that offers more than the completion
/// time allows.
pub(super) fn saturations(groups: &Groups<'_>) -> Vec<Saturation> {
    let completes_in = completes_in(&groups.run.study);
    let Some((completes_in, first)) = completes_in.zip(groups.strategies.first()) else {
        return Vec::new();
    };
    let loads = groups.loads();
    loads.filter_map(|cells| saturation(groups, cells, *first, completes_in)).collect()
}

fn saturation(
    groups: &Groups<'_>,
    cells: &[Cell],
    strategy: Strategy,
    completes_in: Span,
) -> Option<Saturation> {
    let expected = 1.0 / completes_in.as_secs_f64();
    let rate = |cell: &Cell| cell.card.map_or(0, |card| card.rate);
    // As many as the card takes is more than any rate.
    let rank = |cell: &Cell| match rate(cell) {
        0 => f64::INFINITY,
        rate => f64::from(rate),
    };
    let has_no_task = |cell: &&Cell| cell.card.is_some_and(|card| card.task.is_none());
    let above = cells.iter().filter(|cell| rank(cell) > expected).filter(has_no_task);
    let offered = above.max_by(|one, two| rank(one).total_cmp(&rank(two)))?;
    let blocks = |cell| -> Option<Vec<&CardReading>> {
        Some(groups.blocks(cell, strategy)?.values().copied().collect())
    };
    let full = blocks(offered)?;
    let carried = cells.iter().filter_map(|cell| {
        let all = blocks(cell)?;
        is_carried(rate(cell), each(&all, &sent_a_second)?.mean).then_some((rate(cell), all))
    });
    let (_, carried) = carried.max_by_key(|(rate, _)| *rate)?;
    Some(Saturation {
        strategy,
        place: offered.place().to_owned(),
        load: load_of(offered).to_owned(),
        offered: rate(offered),
        sent: each(&full, &sent_a_second)?,
        by_waiting: each(&carried, &|one| {
            (one.spun_ns > 0).then(|| one.sent as f64 / (one.spun_ns as f64 / 1e9))
        })?,
        path: each(&full, &|one| Some(one.driver_ns as f64 / one.window_ns as f64))?,
        expected,
    })
}
