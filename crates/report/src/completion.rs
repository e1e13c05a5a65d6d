//! A completion run for people: what each way to wait costs, as sections of a page, a terminal's text and Markdown.
//!
//! Every figure, verdict and sentence of judgement is that of [`analysis::completion`]. An empty or partial run makes a
//! page too: what is not there yet is said.

mod tables;

use analysis::{
    completion::{Completion, Load, Place, Point, loads as loads_of, places as places_of},
    quantity::count,
};
use model::{card::Strategy, run::Run};

use crate::{
    Error,
    drawing::{
        bars::{Bar, Bars},
        lines::{Lines, Mark, Series},
        svg::ticks,
    },
    identity::{self, Fact, plain},
    judged,
    page::{Given, Section, or_none},
    prose::{figure, folded, list, note},
    targets::{Limited, Own},
};

/// Points that the table of the terminal holds; the page has all.
const MOST_POINTS: usize = 8;

/// A completion run as one HTML file; given is the study file, and while the run goes on what is still to come.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn page<'a>(
    completion: &'a Completion,
    run: &'a Run,
    given: impl Into<Given<'a>>,
) -> Result<String, Error> {
    let twice = "In counted time the last trial of each load’s first block is made once more, from the same snapshot.";
    let own = Own {
        status: status(completion, run),
        sections: vec![
            Section::new("published", "The report’s figures", published(completion)),
            Section::new("rates", "Against rate", rates(completion, run)).opened(true),
            Section::new("task", "A task on the same CPU", tasks(completion, run)),
            Section::new("versus", "Comparisons", versus(completion)),
            Section::new("census", "Commands", commands(completion)),
            Section::new("repeats", "Made twice", tables::repeats(completion).noted(twice)),
        ],
        left_out: (tables::left_out(completion), completion.left_out.len()),
        facts: facts(run),
    };
    Limited::from(completion).page(run, given.into(), own)
}

/// The run as a terminal shows it at its end: at most thirty lines of a hundred columns.
pub fn summary(completion: &Completion) -> String {
    // Those of the largest frames, and with a task.
    let largest = completion.points.iter().map(|point| point.bytes).max().unwrap_or_default();
    let is_shown = |point: &&Point| point.task.is_some() || point.bytes == largest;
    let shown: Vec<_> = completion.points.iter().filter(is_shown).take(MOST_POINTS).collect();
    let more = match completion.points.len() - shown.len() {
        0 => String::new(),
        more => count(more as u32, "more point"),
    };
    Limited::from(completion).text(&completion.answer, tables::short(&shown, false), &more)
}

/// The run for a CI's summary.
pub fn markdown(completion: &Completion) -> String {
    let points: Vec<_> = completion.points.iter().collect();
    Limited::from(completion).markdown(&tables::short(&points, true))
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

/// The line below the verdict.
fn status(completion: &Completion, run: &Run) -> Vec<String> {
    let shape = &run.study.trial;
    vec![
        format!("{} that count", count(completion.counted, "trial")),
        count(shape.repetitions, "block"),
        format!("{} window", shape.window),
        format!("a command takes {} µs", completion.completes_us),
    ]
}

fn published(completion: &Completion) -> String {
    let what = "Jouni Malinen, “TX path CPU usage (busy wait for transmit command)”, hostap mailing list, 7 April 2002: a \
                Compaq WL100 and a Pentium III at 400 MHz. Ours is a driver in user space in front of a modelled card. \
                What it waits for is the same whatever the machine; what else a frame costs is not, so ratios of whole \
                times are not comparable as the waiting is.";
    or_none(tables::published(completion).noted(what), "None of its figures has been measured yet.")
}

/// Each place with each load.
fn loads(run: &Run) -> Vec<(Place, Load)> {
    let (places, loads) = (places_of(&run.study), loads_of(&run.study));
    let with = |place: Place| {
        loads.iter().map(move |load| (place.clone(), load.clone())).collect::<Vec<_>>()
    };
    places.into_iter().flat_map(with).collect()
}

fn rates(completion: &Completion, run: &Run) -> String {
    let loads = loads(run);
    let pictures = loads.iter().map(|(place, load)| {
        let cpu = figure(
            &cpu(completion, place, load),
            "CPU of the transmit path: waiting, and the copies and system calls of each frame, which no strategy saves. \
             Dashed: rate × completion time.",
        );
        let latency = figure(
            &latency(completion, place, load),
            "From a frame’s creation until it came out of the second interface: the median, and dotted the 99th \
             percentile. A scale of decades: beyond what the card carries, frames queue.",
        );
        let title = format!("{}: frames of {} bytes, {}", load.name, load.bytes, place.name);
        let title = crate::drawing::svg::escape(&title);
        if cpu.is_empty() { cpu } else { format!("<h3>{title}</h3>{cpu}{latency}") }
    });
    let pictures: String = pictures.collect();
    let table = |place: &Place| {
        let table = tables::points(completion, &place.name).html();
        folded(&format!("All figures, {}", place.name), &table)
    };
    let tables: String = places_of(&run.study).iter().map(table).collect();
    let what = "“Path” is all CPU of the driver’s thread; “waiting” the part in loops that read the card’s registers; “rest” \
                what else a frame costs; “masked” the time in which the modelled driver has interrupts masked. “Off” is \
                waiting against frames sent × completion time, for the loop that waits for all of it.";
    or_none(pictures, "No curve: no load has been tried at two rates yet.")
        + &if tables.is_empty() { tables } else { tables + &note(what) }
}

/// CPU against rate. Empty with fewer than two rates.
fn cpu(completion: &Completion, place: &Place, load: &Load) -> String {
    let mark = |point: &Point| {
        let (path, waiting) = (100.0 * point.path.mean, 100.0 * point.waiting.mean);
        let (name, rate) = (point.strategy.name(), point.rate);
        let title = format!("{name} at {rate}/s: {path:.2} % of a core, {waiting:.2} % waiting");
        Some((path, None, title))
    };
    let series = series(completion, place, load, &mark);
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
fn latency(completion: &Completion, place: &Place, load: &Load) -> String {
    let mark = |point: &Point| {
        let (p50, p99) = (point.p50_us?.mean, point.p99_us?.mean);
        let (name, rate) = (point.strategy.name(), point.rate);
        Some((p50, Some(p99), format!("{name} at {rate}/s: p50 {p50:.0} µs, p99 {p99:.0} µs")))
    };
    let series = series(completion, place, load, &mark);
    let title = "Latency of frames against frames offered, median and 99th percentile";
    Lines { y: "µs".to_owned(), decades: true, ..against_rate(title, series) }.draw()
}

/// A point's value, a second one above it, and what a reader sees there.
type Value = (f64, Option<f64>, String);

fn series(
    completion: &Completion,
    place: &Place,
    load: &Load,
    value: &dyn Fn(&Point) -> Option<Value>,
) -> Vec<Series> {
    let of = |strategy: Strategy| {
        let curve = completion.curve(&place.name, &load.name, strategy);
        let rated = curve.into_iter().filter(|point| point.rate > 0 && point.task.is_none());
        let values = rated.filter_map(|point| Some((f64::from(point.rate), value(point)?)));
        let values: Vec<(f64, Value)> = values.collect();
        let mark = |(x, (y, _, title)): &(f64, Value)| Mark {
            x: *x,
            y: *y,
            title: title.clone(),
            interval: None,
        };
        Series {
            style: style(strategy),
            name: strategy.name().to_owned(),
            points: values.iter().map(mark).collect(),
            above: values.iter().filter_map(|(x, (_, above, _))| Some((*x, (*above)?))).collect(),
            is_joined: true,
            is_marked: true,
            ..Series::default()
        }
    };
    let all = Strategy::ALL.into_iter().map(of);
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

fn tasks(completion: &Completion, run: &Run) -> String {
    let loads = loads(run);
    let each = loads
        .iter()
        .flat_map(|(place, load)| load.rates.iter().map(move |rate| (place, load, *rate)));
    let picture = |(place, load, rate): (&Place, &Load, u32)| {
        let bus = load.bus_word.map_or(String::new(), |word| format!(", a bus of {word} a word"));
        let title = format!("{rate} frames/s of {} bytes{bus}, {}", load.bytes, place.name);
        let drawn = task(completion, (&place.name, &load.name, rate));
        let what = "The same work alone and with each strategy; the dashed line is the task alone.";
        let title = crate::drawing::svg::escape(&title);
        if drawn.is_empty() { drawn } else { format!("<h3>{title}</h3>{}", figure(&drawn, what)) }
    };
    let pictures: String = each.map(picture).collect();
    or_none(pictures, "No task has been tried with frames yet.") + &tables::tasks(completion).html()
}

/// How long a task takes alone and with each strategy, a bar each. Empty where nothing was tried with it.
fn task(completion: &Completion, at: (&str, &str, u32)) -> String {
    let is_it = |point: &&Point| (&*point.place, &*point.load, point.rate) == at;
    let bar = |strategy: Strategy| {
        let mut points = completion.points.iter().filter(is_it);
        let task = points.find(|one| one.strategy == strategy)?.task.as_ref()?;
        let slower = task.slowdown.map(|one| format!(", {:.3} ×", one.mean)).unwrap_or_default();
        let figure = format!("{:.3} s{slower}", task.wall_s.mean);
        Some((strategy.name(), style(strategy), "subject", task.wall_s, figure))
    };
    let alone = completion.alone.iter().find(|one| (&*one.place, &*one.load) == (at.0, at.1));
    let with: Vec<_> = Strategy::ALL.into_iter().filter_map(bar).collect();
    if with.is_empty() {
        return String::new();
    }
    let first = alone
        .map(|alone| ("alone", 0, "load", alone.wall_s, format!("{:.3} s", alone.wall_s.mean)));
    let rows = first.into_iter().chain(with).map(|(name, style, part, wall_s, figure)| Bar {
        name: name.to_owned(),
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
    let (heads, compared) = (["load, rate", "place", "strategy"], tables::versus(completion));
    let what = "Pairs are of one block; decided as `headroom compare` decides: at least six pairs, the interval of the \
                differences, the exact test. “pass” is shown to take less.";
    if compared.is_empty() {
        return "<p>Nothing to compare: fewer than two strategies have been tried.</p>".to_owned();
    }
    let sentences =
        completion.versus.iter().map(|one| format!("{}: {}", one.place, one.judgement.sentence));
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

fn facts(run: &Run) -> Vec<Fact> {
    let seed = run.study.trial.seed.to_string();
    identity::of_run(run, vec![plain("Seed of the orders", seed)])
}
