//! Cells with a card for people: what each way to wait costs.
//!
//! Every figure, verdict and sentence of judgement is that of [`analysis::completion`]. What is not there yet is said.

mod tables;

use analysis::{
    completion::{Completion, Point},
    limited::Versus,
    quantity::count,
};
use model::{
    card::Strategy,
    figure::Figure::{P50, P99, Path, Slowdown, TaskTime, Waiting},
};

use crate::{
    drawing::{
        bars::{Bar, Bars},
        lines::{Lines, Mark, Series},
        svg::{escape, ticks},
    },
    judged,
    page::{Section, or_none},
    prose::{figure, folded, list, note},
    table::Table,
};

/// Points that the table of the terminal holds; the page has all.
const MOST_POINTS: usize = 8;

/// The sections of a page.
pub(crate) fn sections(completion: &Completion) -> Vec<Section> {
    let twice = "In counted time the last trial of each load’s first block is made once more, from the same snapshot.";
    vec![
        Section::new("published", "The report’s figures", published(completion)),
        Section::new("rates", "Against rate", rates(completion)).opened(true),
        Section::new("task", "A task on the same CPU", tasks(completion)),
        Section::new("versus", "Comparisons", versus(completion)),
        Section::new("census", "Commands", commands(completion)),
        Section::new("repeats", "Made twice", tables::repeats(completion).noted(twice)),
    ]
}

/// What a terminal shows, and what it has no room for: the points of the largest frames, and with a task.
pub(crate) fn in_short(completion: &Completion) -> (Table, String) {
    let largest = completion.points.iter().map(|point| point.card.bytes).max().unwrap_or_default();
    let is_shown = |point: &&Point| point.card.task.is_some() || point.card.bytes == largest;
    let shown: Vec<_> = completion.points.iter().filter(is_shown).take(MOST_POINTS).collect();
    let more = match completion.points.len() - shown.len() {
        0 => String::new(),
        more => count(more as u32, "more point"),
    };
    (tables::short(&shown, false), more)
}

/// Every point, for a CI's summary.
pub(crate) fn figures(completion: &Completion) -> Table {
    tables::short(&completion.points.iter().collect::<Vec<_>>(), true)
}

/// Colour, dash and shape of a strategy: the same in every run.
const fn style(strategy: Strategy) -> usize {
    match strategy {
        Strategy::Busy => 2,
        Strategy::Event => 1,
        Strategy::Hybrid => 3,
        Strategy::Batch => 4,
    }
}

fn published(completion: &Completion) -> String {
    let what = "Jouni Malinen, “TX path CPU usage (busy wait for transmit command)”, hostap mailing list, 7 April 2002: a \
                Compaq WL100 and a Pentium III at 400 MHz. Ours is a driver in user space in front of a modelled card. \
                What it waits for is the same whatever the machine; what else a frame costs is not, so ratios of whole \
                times are not comparable as the waiting is.";
    or_none(tables::published(completion).noted(what), "None of its figures has been measured yet.")
}

/// The points of each load at each place.
fn loads(completion: &Completion) -> impl Iterator<Item = &[Point]> {
    completion.points.chunk_by(Point::is_of_one_load)
}

fn rates(completion: &Completion) -> String {
    let pictures = loads(completion).map(|points| {
        let cpu = figure(
            &cpu(completion, points),
            "CPU of the transmit path: waiting, and the copies and system calls of each frame, which no strategy saves. \
             Dashed: rate × completion time.",
        );
        let latency = figure(
            &latency(points),
            "From a frame’s creation until it came out of the second interface: the median, and dotted the 99th \
             percentile. A scale of decades: beyond what the card carries, frames queue.",
        );
        let Some(first) = points.first().filter(|_| !cpu.is_empty()) else { return String::new() };
        let (load, place) = (first.load(), first.cell.place());
        let title = format!("{load}: frames of {} bytes, {place}", first.card.bytes);
        format!("<h3>{}</h3>{cpu}{latency}", escape(&title))
    });
    let pictures: String = pictures.collect();
    let places = completion.points.chunk_by(|one, other| one.cell.place() == other.cell.place());
    let tables = places.map(|points| {
        let place = points.first().map_or("", |point| point.cell.place());
        folded(&format!("All figures, {place}"), &tables::points(points).html())
    });
    let tables: String = tables.collect();
    let what = "“Path” is all CPU of the driver’s thread; “waiting” the part in loops that read the card’s registers; “rest” \
                what else a frame costs; “masked” the time in which the modelled driver has interrupts masked. “Off” is \
                waiting against frames sent × completion time, for the loop that waits for all of it.";
    or_none(pictures, "No curve: no load has been tried at two rates yet.")
        + &if tables.is_empty() { tables } else { tables + &note(what) }
}

/// CPU against rate. Empty with fewer than two rates.
fn cpu(completion: &Completion, points: &[Point]) -> String {
    let mark = |point: &Point| {
        let (path, waiting) = (100.0 * point.mean(Path)?, 100.0 * point.mean(Waiting)?);
        let (name, rate) = (&point.variant, point.card.rate);
        let title = format!("{name} at {rate}/s: {path:.2} % of a core, {waiting:.2} % waiting");
        Some((path, None, title))
    };
    let series = series(points, &mark);
    let most = most_rate(&series);
    let waits = 100.0 * most * completion.completes_us / 1e6;
    Lines {
        y: "% of a core".to_owned(),
        limit: Some(((most, waits), "rate × completion time")),
        ..against_rate("CPU of the transmit path against frames offered", series)
    }
    .draw()
}

/// Latency against rate. Empty with fewer than two rates.
fn latency(points: &[Point]) -> String {
    let mark = |point: &Point| {
        let (p50, p99) = (1e6 * point.mean(P50)?, 1e6 * point.mean(P99)?);
        let (name, rate) = (&point.variant, point.card.rate);
        Some((p50, Some(p99), format!("{name} at {rate}/s: p50 {p50:.0} µs, p99 {p99:.0} µs")))
    };
    let title = "Latency of frames against frames offered, median and 99th percentile";
    Lines { y: "µs".to_owned(), decades: true, ..against_rate(title, series(points, &mark)) }.draw()
}

/// A point's value, a second one above it, and what a reader sees there.
type Value = (f64, Option<f64>, String);

/// A line of each variant of a load.
fn series(points: &[Point], value: &dyn Fn(&Point) -> Option<Value>) -> Vec<Series> {
    let mut rated: Vec<&Point> =
        points.iter().filter(|point| point.card.rate > 0 && point.card.task.is_none()).collect();
    rated.sort_by_key(|point| (style(point.strategy), &point.variant, point.card.rate));
    let of = |points: &[&Point]| {
        let values =
            points.iter().filter_map(|point| Some((f64::from(point.card.rate), value(point)?)));
        let values: Vec<(f64, Value)> = values.collect();
        let mark = |(x, (y, _, title)): &(f64, Value)| Mark {
            x: *x,
            y: *y,
            title: title.clone(),
            interval: None,
        };
        let first = points.first()?;
        Some(Series {
            style: style(first.strategy),
            name: first.variant.clone(),
            points: values.iter().map(mark).collect(),
            above: values.iter().filter_map(|(x, (_, above, _))| Some((*x, (*above)?))).collect(),
            is_joined: true,
            is_marked: true,
            ..Series::default()
        })
    };
    let all = rated.chunk_by(|one, other| one.variant == other.variant).filter_map(of);
    all.filter(|series| series.points.len() > 1).collect()
}

fn most_rate(series: &[Series]) -> f64 {
    series.iter().flat_map(|one| &one.points).map(|point| point.x).fold(0.0, f64::max)
}

fn against_rate(title: &str, series: Vec<Series>) -> Lines {
    let most = most_rate(&series);
    let ends = series.iter().filter_map(|one| one.points.last());
    let ends: Vec<&str> = ends.map(|point| point.title.as_str()).collect();
    let places = ticks(most, 5).into_iter().filter(|rate| *rate <= most);
    Lines {
        about: format!("{title}: {}", ends.join("; ")),
        x: "frames/s offered",
        across: 0.0..most,
        places: places.map(|rate| (rate, rate.to_string())).collect(),
        series,
        ..Lines::default()
    }
}

fn tasks(completion: &Completion) -> String {
    let cells = completion.points.chunk_by(|one, other| one.cell.name == other.cell.name);
    let picture = |points: &[Point]| {
        let drawn = task(completion, points);
        let Some(first) = points.first().filter(|_| !drawn.is_empty()) else {
            return String::new();
        };
        let bus = first.card.bus_word;
        let bus = bus.map_or(String::new(), |word| format!(", a bus of {word} a word"));
        let (rate, bytes, place) = (first.card.rate, first.card.bytes, first.cell.place());
        let title = escape(&format!("{rate} frames/s of {bytes} bytes{bus}, {place}"));
        let what = "The same work alone and with each strategy; the dashed line is the task alone.";
        format!("<h3>{title}</h3>{}", figure(&drawn, what))
    };
    let pictures: String = cells.map(picture).collect();
    or_none(pictures, "No task has been tried with frames yet.") + &tables::tasks(completion).html()
}

/// How long a task takes alone and with each strategy, a bar each. Empty where nothing was tried with it.
fn task(completion: &Completion, points: &[Point]) -> String {
    let bar = |point: &Point| {
        let wall_s = point.of(TaskTime)?;
        let slower = point.mean(Slowdown).map(|one| format!(", {one:.3} ×")).unwrap_or_default();
        let figure = format!("{:.3} s{slower}", wall_s.mean);
        Some((point.variant.clone(), style(point.strategy), "subject", wall_s, figure))
    };
    let with: Vec<_> = points.iter().filter_map(bar).collect();
    if with.is_empty() {
        return String::new();
    }
    let alone = tables::alone(completion, &points[0]);
    let first = alone.map(|alone| {
        let figure = format!("{:.3} s", alone.wall_s.mean);
        ("alone".to_owned(), 0, "load", alone.wall_s, figure)
    });
    let rows = first.into_iter().chain(with).map(|(name, style, part, wall_s, figure)| Bar {
        name,
        style,
        parts: vec![(part, wall_s.mean)],
        interval: wall_s.interval,
        figure,
        notes: Default::default(),
    });
    let rows: Vec<Bar> = rows.collect();
    let most = rows.iter().map(|bar| bar.parts[0].1).fold(0.0, f64::max);
    Bars {
        about: "Time of the task".to_owned(),
        ticks: ticks(most, 4).into_iter().map(|tick| (tick, tick.to_string())).collect(),
        axis: "seconds from its start to its end",
        limit: alone.map(|alone| (alone.wall_s.mean, String::new())),
        rows,
    }
    .draw()
}

fn versus(completion: &Completion) -> String {
    let compared: Vec<_> = completion.versus.iter().map(judged::with_cell).collect();
    let heads = ["cell", "variant"];
    let what = "Pairs are of one block; decided as `headroom compare` decides: at least six pairs, the interval of the \
                differences, the exact test. “pass” is shown to take less.";
    if compared.is_empty() {
        return "<p>Nothing to compare: fewer than two strategies have been tried.</p>".to_owned();
    }
    let sentence = |one: &Versus| format!("{}: {}", one.cell, one.judgement.sentence);
    let sentences = completion.versus.iter().map(sentence);
    judged::overview(&heads, &compared)
        + &note(what)
        + &folded("Steady cost and rare events", &judged::parts(&heads, &compared).html())
        + &folded("In sentences", &list(sentences))
}

fn commands(completion: &Completion) -> String {
    let what = "The driver’s own counters over the windows of all trials, from a command’s issue until its completion was \
                seen. “Put off” commands were not waited for, because no frame was queued: their duration is unknown.";
    or_none(tables::commands(completion).noted(what), "No command was counted yet.")
}
