//! Many runs on one page: what each asked, how it was decided, its key figure; and one figure over the runs
//! of one study.
//!
//! Takes analysed runs; it opens no folder. Folders that could not be read are listed with the reason.

mod figure;

use analysis::{
    Analysis, Stage,
    limited::Limited,
    metrics::{Measure, Metric},
    quantity::{self, Unit, unit_of},
};
use askama::Template;
use model::{run::Run, verdict::Verdict};
use serde::Serialize;

pub use self::figure::{Figure, NoFigure, Wanted};
use crate::{
    Error,
    drawing::lines::{self, Lines, Mark, Series},
    identity,
    overall::{Overall, overall},
    prose,
};

/// One run of the index.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// The folder, as it is reported.
    pub folder: String,
    /// Its report, as a link from the page; `None` where none was written.
    pub report: Option<String>,
    /// When it began, seconds since 1970.
    pub began_unix: u64,
    /// The study's name.
    pub study: String,
    /// The study's question.
    pub question: String,
    pub verdict: Verdict,
    pub sentence: String,
    /// Its key figure in words.
    pub key: Option<String>,
    /// SHA-256 of the image.
    pub image: String,
    /// headroom's version.
    pub headroom: String,
    /// What is followed in its study, in words.
    pub follows: String,
    /// The figures that are followed.
    pub figures: Vec<Figure>,
    /// The names of all figures that could be followed.
    #[serde(skip)]
    pub known: Vec<String>,
}

/// A folder that holds no run that can be read.
#[derive(Clone, Debug, Serialize)]
pub struct Unread {
    pub folder: String,
    pub why: String,
}

/// Everything on the page.
#[derive(Clone, Debug, Serialize)]
pub struct Index {
    /// What the page is about: the folder.
    pub title: String,
    /// The figure that is followed, in words.
    pub figure: String,
    /// The runs, the latest first.
    pub runs: Vec<Entry>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// Where a run lies, seen from its index.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// Its folder, as it is reported.
    pub folder: &'a str,
    /// Its report, as a link from the page; `None` where none was written.
    pub report: Option<String>,
}

/// One line of the index from a run.
pub fn entry(run: &Run, analysis: &Analysis, wanted: &Wanted, place: Place<'_>) -> Entry {
    let decided = (overall(run, analysis), key(run, analysis));
    of(run, decided, (wanted, &analysis.table), place)
}

/// One line of the index from a run that is decided by its limits alone; its key figure is the first one's.
pub fn by_targets(run: &Run, limited: &Limited, wanted: &Wanted, place: Place<'_>) -> Entry {
    let first = limited.targets.first();
    let key = first.map(|target| format!("{}: {}", target.name, target.found));
    of(run, (crate::limited::overall(limited), key), (wanted, &limited.table), place)
}

/// A run with its verdict, its key figure, and what is followed of its table.
fn of(
    run: &Run,
    (Overall { verdict, sentence }, key): (Overall, Option<String>),
    (wanted, table): (&Wanted, &[Metric]),
    place: Place<'_>,
) -> Entry {
    let known = run.study.known();
    Entry {
        folder: place.folder.to_owned(),
        report: place.report,
        began_unix: run.began_unix,
        study: run.study_name.clone(),
        question: run.study.question.clone(),
        verdict,
        sentence,
        key,
        image: run.lab.image.clone(),
        headroom: run.headroom.clone(),
        follows: wanted.words(known.key),
        figures: wanted.of(table, known.key),
        known: [known.figures, known.functions].concat(),
    }
}

/// The figure that says most about a run: the effect of a comparison, the share of a pause, the span of
/// stages, or the first variant's CPU.
fn key(run: &Run, analysis: &Analysis) -> Option<String> {
    if let Some(judged) = analysis.judgements.first().filter(|_| run.versus.is_some()) {
        let effect = judged.relative.as_ref()?;
        let effect = crate::prose::signed_whole(Unit::PER_CENT, effect);
        return Some(format!("{} against {}: {effect}", judged.variant, judged.base));
    }
    let stages = &analysis.stages;
    if !analysis.asks_for_cpu() {
        let pause = analysis.pauses.first()?;
        let share = Unit::PER_CENT.with_interval(pause.share.as_ref()?);
        return Some(format!("{} causes {share} of {}", pause.consumer, pause.subject));
    }
    let rows = stages.rows.iter().filter_map(|row| Some((row, row.cpu.subject?)));
    let (loaded, idle): (Vec<_>, Vec<_>) = rows.partition(|(row, _)| is_loaded(analysis, row));
    // What it costs idle is the figure only where nothing else was measured.
    let rows = if loaded.is_empty() { idle } else { loaded };
    let figure = |(row, cpu): &(&Stage, analysis::Estimate)| {
        format!("{} {}/s", row.variant, quantity::cpu(cpu))
    };
    let first = rows.first()?;
    let cheapest = rows
        .iter()
        .filter(|(row, _)| row.subject == first.0.subject)
        .min_by(|one, other| one.1.mean.total_cmp(&other.1.mean))?;
    let clients = quantity::count(stages.clients, "client");
    Some(if first.0.variant == cheapest.0.variant {
        format!("{} at {clients}", figure(first))
    } else {
        format!("{} to {} at {clients}", figure(first), figure(cheapest))
    })
}

fn is_loaded(analysis: &Analysis, row: &Stage) -> bool {
    analysis.curves.iter().any(|curve| curve.variant == row.variant && curve.load.is_some())
}

/// What a row of the page shows.
struct Row<'a> {
    entry: &'a Entry,
    began: String,
    image: String,
    key: String,
}

/// One study's runs, and one figure over them.
struct History {
    study: String,
    follows: String,
    /// Lines for which there is no room.
    left: usize,
    /// Whether each run has its mark.
    marked: bool,
    chart: String,
}

/// As for curves: values so far apart get a scale of decades.
const FAR_APART: f64 = 20.0;
/// Marks of more runs lie upon each other, and a page of them opens slowly: then the line is drawn alone.
const MOST_MARKED: usize = 650;
/// Lines that can still be told from each other; a person asks for fewer with a variant or a place.
const MOST_LINES: usize = 12;

#[derive(Template)]
#[template(path = "index.html")]
struct Page<'a> {
    headroom: &'static str,
    index: &'a Index,
    rows: Vec<Row<'a>>,
    histories: Vec<History>,
}

/// The index as one HTML file.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn html(index: &Index) -> Result<String, Error> {
    let rows = index.runs.iter().map(|entry| Row {
        entry,
        began: identity::utc(entry.began_unix),
        image: short(&entry.image),
        key: prose::html(entry.key.as_deref().unwrap_or(quantity::ABSENT)),
    });
    let page = Page {
        headroom: env!("CARGO_PKG_VERSION"),
        index,
        rows: rows.collect(),
        histories: histories(index),
    };
    crate::rendered(&page)
}

/// The first digits of a hash, to recognise it by.
fn short(hash: &str) -> String {
    hash.chars().take(8).collect()
}

/// Studies that were run more than once, in the order of their latest run.
fn histories(index: &Index) -> Vec<History> {
    let studies = prose::once(index.runs.iter().map(|entry| &*entry.study));
    let history = |study: &&str| {
        let of_study = |entry: &&Entry| entry.study == *study && !entry.figures.is_empty();
        let mut runs: Vec<_> = index.runs.iter().filter(of_study).collect();
        runs.sort_by_key(|entry| entry.began_unix);
        (runs.len() > 1).then(|| {
            let figures = runs.iter().flat_map(|run| &run.figures);
            let mut names = prose::once(figures.map(|figure| &*figure.line));
            let left = names.len().saturating_sub(MOST_LINES);
            names.truncate(MOST_LINES);
            let follows = runs.last().map(|run| run.follows.clone()).unwrap_or_default();
            let (marked, chart) = (runs.len() <= MOST_MARKED, chart(&runs, &names));
            History { study: (*study).to_owned(), follows, left, marked, chart }
        })
    };
    studies.iter().filter_map(history).collect()
}

/// One figure over the runs of one study, a line a variant. The axis is of runs and not of hours: what changed is
/// between them; each is named by its day and its image.
fn chart(runs: &[&Entry], names: &[&str]) -> String {
    let figures = || runs.iter().flat_map(|run| &run.figures);
    let means = || figures().map(|figure| figure.estimate.mean);
    let measure = figures().map(|figure| figure.unit).next().unwrap_or(Measure::Count);
    let (most, lowest) = (means().fold(0.0, f64::max), means().fold(0.0, f64::min));
    let least = means().filter(|mean| *mean > 0.0).fold(most, f64::min);
    let unit = unit_of(measure, most.max(-lowest));
    let line = |(style, name): (usize, &&str)| {
        let mark = |(at, run): (usize, &&Entry)| {
            let figure = run.figures.iter().find(|figure| figure.line == **name)?;
            let value = unit_of(figure.unit, figure.estimate.mean).with_interval(&figure.estimate);
            let (began, per) = (identity::utc(run.began_unix), measure.per());
            Some(Mark {
                x: at as f64,
                y: unit.scale(figure.estimate.mean),
                interval: lines::interval(unit, &figure.estimate),
                title: format!("{name}, {began}: {value}{per}"),
            })
        };
        Series {
            style,
            name: (*name).to_owned(),
            points: runs.iter().enumerate().filter_map(mark).collect(),
            is_joined: true,
            is_marked: runs.len() <= MOST_MARKED,
            ..Series::default()
        }
    };
    let place = |(at, run): (usize, &&Entry)| {
        let day: String = identity::utc(run.began_unix).chars().skip(5).take(11).collect();
        (at as f64, format!("{day}, {}", short(&run.image)))
    };
    Lines {
        about: format!("{} over {}", names.join(", "), quantity::count(runs.len() as u32, "run")),
        y: format!("{}{}", unit.name, measure.per()),
        x: "runs, by day and image",
        across: -0.5..runs.len() as f64 - 0.5,
        places: runs.iter().enumerate().map(place).collect(),
        decades: lowest == 0.0 && most > FAR_APART * least,
        series: names.iter().enumerate().map(line).collect(),
        ..Lines::default()
    }
    .draw()
}

#[cfg(test)]
mod tests {
    use analysis::{analyse, fixture};

    use super::*;

    #[test]
    fn what_it_costs_idle_is_not_the_key_figure_where_there_is_a_load() {
        let run = fixture::run();
        let mut analysis = analyse(&run, &fixture::trials(&run));
        let first = |analysis: &Analysis| key(&run, analysis).unwrap();
        assert!(first(&analysis).starts_with("iw-dump "), "{}", first(&analysis));
        let without_load = |curve: &&mut analysis::Curve| curve.variant == "iw-dump";
        analysis.curves.iter_mut().find(without_load).unwrap().load = None;
        assert!(first(&analysis).starts_with("hostapd-cli "), "{}", first(&analysis));
        analysis.curves.iter_mut().for_each(|curve| curve.load = None);
        assert!(first(&analysis).starts_with("iw-dump "), "nothing else was measured");
    }
}
