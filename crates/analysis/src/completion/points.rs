//! Trials as figures: each variant in each cell, over blocks.

use std::collections::BTreeMap;

use model::{
    card::{CardReading, Latency},
    cell::{Card, Cell},
    figure::Figure,
    name::CellName,
    run::Run,
    study::Variant,
    trial::{TASK_ALONE, Trial, Turn},
};

use super::{Alone, Point};
use crate::{
    limited::{Versus, name_of},
    metrics::{self, Metric},
    quantity::percent,
    stats::{Estimate, Interval},
    verdicts::Quantity,
};

/// The measured trials of one variant in one cell, by block.
pub(super) type Blocks<'a> = BTreeMap<u32, &'a CardReading>;

/// The measured trials of a run by cell and variant. Repetitions of a trial are not in it: they prove, and would count
/// twice.
pub(super) struct Groups<'a> {
    pub(super) run: &'a Run,
    /// The cells with a card: by place, then in the study's order.
    pub(super) cells: Vec<Cell>,
    /// By cell and the variant's name.
    measured: BTreeMap<(CellName, String), Blocks<'a>>,
}

impl<'a> Groups<'a> {
    pub(super) fn of(run: &'a Run, trials: &'a [Trial]) -> Self {
        let places = run.study.places();
        let mut cells = run.study.cells();
        cells.retain(|cell| cell.card.is_some());
        cells.sort_by_key(|cell| places.iter().position(|place| place.place() == cell.place()));
        let mut measured: BTreeMap<_, Blocks<'a>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.planned.id.turn != Turn::Again) {
            let card = trial.reading().and_then(|reading| reading.card.as_deref());
            let Some(card) = card.filter(|card| card.window_ns > 0) else { continue };
            let id = &trial.planned.id;
            let group = measured.entry((id.cell.clone(), id.variant.to_string())).or_default();
            group.insert(id.repetition - 1, card);
        }
        Self { run, cells, measured }
    }

    /// The study's variants with a strategy, with which the first one is compared.
    pub(super) fn variants(&self) -> impl Iterator<Item = &'a Variant> {
        self.run.study.variants.iter().filter(|variant| variant.strategy.is_some())
    }

    pub(super) fn blocks(&self, cell: &Cell, variant: &str) -> Option<&Blocks<'a>> {
        self.measured.get(&(cell.name.clone(), variant.to_owned()))
    }

    fn estimate(&self, figure: Figure, cell: &Cell, variant: &str) -> Option<Estimate> {
        let values = values(figure, &cell.card?, self.blocks(cell, variant)?);
        Estimate::of(&values)
    }

    /// The task alone, in whichever cell of the same load and place it was made.
    fn alone(&self, cell: &Cell) -> Blocks<'a> {
        let like = self.cells.iter().filter(|one| is_of_one_load(one, cell));
        let groups = like.filter_map(|one| self.blocks(one, TASK_ALONE));
        groups.flatten().map(|(block, card)| (*block, *card)).collect()
    }

    /// What the first card takes to complete a transmit command, µs.
    pub(super) fn completes_us(&self) -> f64 {
        let card = self.cells.iter().find_map(|cell| cell.card);
        card.map_or(0.0, |card| card.completes_in.as_nanos() as f64 / 1e3)
    }
}

pub(super) fn is_of_one_load(one: &Cell, other: &Cell) -> bool {
    one.place() == other.place() && load_of(one) == load_of(other)
}

/// What the cells of an entry are called together.
pub(crate) fn load_of(cell: &Cell) -> &str {
    cell.entry.as_ref().map_or("card", |entry| entry.as_str())
}

/// The figures of every variant, block by block.
const FIGURES: [Figure; 12] = [
    Figure::Path,
    Figure::Waiting,
    Figure::P50,
    Figure::P99,
    Figure::Longest,
    Figure::TaskTime,
    Figure::Sent,
    Figure::Dropped,
    Figure::Rest,
    Figure::Masked,
    Figure::Interrupts,
    Figure::Harness,
];

/// A figure of one trial by itself.
fn value(figure: Figure, card: &Card, one: &CardReading) -> Option<f64> {
    let share = |ns: u64| Some(ns as f64 / one.window_ns as f64);
    let a_second = |count: u64| count as f64 / (one.window_ns as f64 / 1e9);
    let a_frame = |of: f64| (one.sent > 0).then(|| of / one.sent as f64);
    let latency = |of: fn(Latency) -> u64| Some(of(one.latency?) as f64 / 1e9);
    match figure {
        Figure::Path => share(one.driver_ns),
        Figure::Waiting => share(one.spun_ns),
        Figure::WaitingError => {
            let waits_ns = one.sent as f64 * card.completes_in.as_secs_f64() * 1e9;
            (waits_ns > 0.0).then(|| one.spun_ns as f64 / waits_ns - 1.0)
        }
        Figure::P50 => latency(|latency| latency.p50_ns),
        Figure::P99 => latency(|latency| latency.p99_ns),
        Figure::Longest => latency(|latency| latency.longest_ns),
        Figure::TaskTime => wall_s(one),
        Figure::Sent => Some(a_second(one.sent)),
        Figure::Dropped => Some(a_second(dropped(one))),
        Figure::Rest => a_frame(one.driver_ns.saturating_sub(one.spun_ns) as f64 / 1e9),
        Figure::Masked => share(one.masked_ns),
        Figure::Interrupts => a_frame(one.interrupts as f64),
        Figure::Harness => share(one.source_ns + one.air_ns),
        // At which rate waiting alone would fill the core.
        Figure::FullRate => (one.spun_ns > 0).then(|| one.sent as f64 / (one.spun_ns as f64 / 1e9)),
        _ => None,
    }
}

fn values(figure: Figure, card: &Card, blocks: &Blocks<'_>) -> Vec<f64> {
    blocks.values().filter_map(|one| value(figure, card, one)).collect()
}

pub(super) fn all(groups: &Groups<'_>, versus: &[Versus]) -> Vec<Point> {
    let of = |cell| groups.variants().filter_map(move |one| point(groups, versus, cell, one));
    let mut points: Vec<Point> = groups.cells.iter().flat_map(of).collect();
    let full: Vec<_> = points
        .chunk_by(Point::is_of_one_load)
        .filter_map(|load| saturation(groups, load))
        .collect();
    for (cell, variant, rows) in full {
        let mut all = points.iter_mut();
        let found = all.find(|one| one.cell.name == cell && one.variant == variant);
        found.into_iter().for_each(|point| point.rows.extend_from_slice(&rows));
    }
    points
}

/// Where rows of a variant in a cell are of.
fn at(groups: &Groups<'_>, cell: &Cell, variant: &str) -> metrics::Point {
    let (name, variant) = (name_of(&groups.run.study, cell), variant.to_owned());
    metrics::Point { name, places: cell.labels(), variant, ..metrics::Point::default() }
}

fn point(groups: &Groups<'_>, versus: &[Versus], cell: &Cell, variant: &Variant) -> Option<Point> {
    let (blocks, card) = (groups.blocks(cell, &variant.name)?, cell.card?);
    let at = at(groups, cell, &variant.name);
    let of = |figure| Metric::of_values(&at, figure, values(figure, &card, blocks));
    let mut point = Point {
        cell: cell.clone(),
        card,
        variant: at.variant.clone(),
        strategy: variant.strategy?,
        error: Estimate::of(&values(Figure::WaitingError, &card, blocks)),
        rows: FIGURES.into_iter().map(of).collect(),
    };
    let carried = is_carried(&point) && card.task.is_none();
    let is_it = |one: &&Versus| one.cell == at.name && one.judgement.variant == at.variant;
    let versus = versus.iter().find(is_it).map(|one| &one.judgement);
    let by = |quantity| {
        let of_it = versus.filter(|judgement| judgement.quantity == quantity)?;
        Some(of_it.relative?.shifted(1.0))
    };
    let over = |figure, estimate| Metric::over(&at, figure, estimate);
    let base = versus.and_then(|judged| groups.estimate(Figure::P50, cell, &judged.base));
    let median = point.of(Figure::P50).zip(base).and_then(|(own, base)| ratio(own, base));
    let (faults, words) = faults(blocks);
    let more = [
        over(Figure::WaitingError, point.error.filter(|_| carried)),
        over(Figure::PathRatio, by(Quantity::Cpu)).because(rest(groups, &point)),
        over(Figure::TaskRatio, by(Quantity::Time)),
        Metric::of_values(&at, Figure::Slowdown, slowdowns(&groups.alone(cell), blocks))
            .because(slowed(&point)),
        over(Figure::P50Ratio, median),
        Metric::exact(&at, Figure::Faults, Some(faults as f64)).because(Some(words)),
    ];
    point.rows.extend(more);
    Some(point)
}

/// A rate is carried where so much of what is offered comes out; beyond it the core is full, and what else runs on it
/// has some of the time in which the card works.
const CARRIED: f64 = 0.99;

fn is_carried(point: &Point) -> bool {
    let (rate, sent) = (f64::from(point.card.rate), point.mean(Figure::Sent));
    rate > 0.0 && sent.is_some_and(|sent| sent >= CARRIED * rate)
}

fn dropped(measured: &CardReading) -> u64 {
    measured.dropped.iter().map(|(_, count)| count).sum()
}

/// What a sound path has none of, over all blocks: frames that came out twice, out of order or damaged, that came out and no
/// one saw, or that are in none of sent, dropped and queued.
fn faults(blocks: &Blocks<'_>) -> (u64, String) {
    let sum = |of: fn(&CardReading) -> u64| blocks.values().map(|one| of(one)).sum::<u64>();
    let all = [
        (sum(|one| one.duplicated), "twice"),
        (sum(|one| one.reordered), "out of order"),
        (sum(|one| one.damaged), "damaged"),
        (sum(|one| one.missing), "missing"),
        (
            sum(|one| {
                (one.accepted + one.queued_before).abs_diff(one.sent + dropped(one) + one.queued)
            }),
            "unaccounted for",
        ),
    ];
    let words = all.map(|(count, what)| format!("{count} {what}")).join(", ");
    (all.iter().map(|(count, _)| count).sum(), words)
}

/// How long the task took, against the task alone in the same block.
fn slowdowns(alone: &Blocks<'_>, blocks: &Blocks<'_>) -> Vec<f64> {
    let slower =
        |(block, one): (&u32, &&CardReading)| Some(wall_s(one)? / wall_s(alone.get(block)?)?);
    blocks.iter().filter_map(slower).collect()
}

/// From the task's start to its end, s.
pub(super) fn wall_s(measured: &CardReading) -> Option<f64> {
    measured.task_wall_ns.filter(|wall| *wall > 0).map(|wall| wall as f64 / 1e9)
}

/// The ratio of two means with the bounds that are nearest and furthest: no pair of blocks is beyond them.
fn ratio(of: Estimate, base: Estimate) -> Option<Estimate> {
    let mean = of.mean / base.mean;
    let (own, other) = (of.interval?, base.interval?);
    if !mean.is_finite() || other.low <= 0.0 {
        return None;
    }
    let interval = Some(Interval { low: own.low / other.high, high: own.high / other.low });
    Some(Estimate { mean, interval, ..of })
}

/// What of the path is not waiting.
fn rest(groups: &Groups<'_>, point: &Point) -> Option<String> {
    let counted = point.cell.is_counted();
    let how = if counted { "at 500 million instructions a second " } else { "" };
    let (rest, completes) = (1e6 * point.mean(Figure::Rest)?, groups.completes_us());
    Some(format!(
        "{how}copies and system calls of one frame take {rest:.0} µs by themselves, {:.2} of the {completes:.0} µs \
         that the command takes",
        rest / completes
    ))
}

/// Of what slows a task, what is the waiting and what is not.
fn slowed(point: &Point) -> Option<String> {
    point.mean(Figure::TaskTime)?;
    let [path, waiting, harness] =
        [Figure::Path, Figure::Waiting, Figure::Harness].map(|figure| point.mean(figure));
    Some(format!(
        "waiting takes {} of a core, the rest of the transmit path {}, and the trial’s own source and air {}; \
         interrupts and switches between them come on top",
        percent(waiting?),
        percent(path? - waiting?),
        percent(harness?)
    ))
}

/// The tasks without frames.
pub(super) fn alone(groups: &Groups<'_>) -> Vec<Alone> {
    let of = |cells: &[Cell]| {
        let cell = cells.first()?;
        let walls: Vec<f64> = groups.alone(cell).values().filter_map(|one| wall_s(one)).collect();
        let (place, load) = (cell.place().to_owned(), load_of(cell).to_owned());
        Some(Alone { place, load, wall_s: Estimate::of(&walls)? })
    };
    groups.cells.chunk_by(is_of_one_load).filter_map(of).collect()
}

/// Where the first variant fills its core: rows of the highest rate that offers more than the completion time allows.
fn saturation(groups: &Groups<'_>, load: &[Point]) -> Option<(CellName, String, Vec<Metric>)> {
    let first = groups.variants().next()?;
    let expected = 1e6 / groups.completes_us();
    // As many as the card takes is more than any rate.
    let rank = |point: &Point| match point.card.rate {
        0 => u32::MAX,
        rate => rate,
    };
    let own = || load.iter().filter(|point| point.variant == *first.name);
    let above =
        own().filter(|point| f64::from(rank(point)) > expected && point.card.task.is_none());
    let offered = above.max_by_key(|point| rank(point))?;
    let carried = own().filter(|point| is_carried(point)).max_by_key(|point| point.card.rate)?;
    let by_waiting = groups.estimate(Figure::FullRate, &carried.cell, &first.name)?;
    let error = offered.of(Figure::Sent)?.scaled(1.0 / expected).shifted(-1.0);
    let cause = offered.mean(Figure::Rest).map(|rest| {
        let share = |figure| offered.mean(figure).map_or(String::new(), percent);
        format!(
            "1 ÷ completion time is of the command alone; here each frame also costs the driver {:.0} µs of copies \
             and system calls, and the trial’s own source and air take {} of a core, next to the path’s {}",
            1e6 * rest,
            share(Figure::Harness),
            share(Figure::Path)
        )
    });
    let at = at(groups, &offered.cell, &offered.variant);
    let rows = vec![
        Metric::over(&at, Figure::FullRate, Some(by_waiting)),
        Metric::over(&at, Figure::SaturationError, Some(error)).because(cause),
    ];
    Some((offered.cell.name.clone(), offered.variant.clone(), rows))
}
