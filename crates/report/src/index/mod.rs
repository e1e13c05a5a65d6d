//! Many runs on one page: what each asked, how it was decided, its key figure; and one figure over the runs
//! of one study.
//!
//! Takes analysed runs; it opens no folder. Folders that could not be read are listed with the reason.

mod chart;
mod figure;

use analysis::{
    Analysis, Stage,
    metrics::{self, Metric, Target},
    quantity,
    quantity::Unit,
};
use askama::Template;
use model::{limit::Known, run::Run, verdict::Verdict};
use serde::Serialize;

pub use self::figure::{Figure, NoFigure, Wanted};
use crate::{Error, identity, marks, overall, prose};

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

impl Entry {
    /// With what is followed of a run's table, which has figures as limits of its study know them.
    fn following(self, wanted: &Wanted, table: &[Metric], known: &Known) -> Self {
        Self {
            follows: wanted.words(known.key),
            figures: wanted.of(table, known.key),
            known: [&known.figures[..], &known.functions].concat(),
            ..self
        }
    }
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
    let overall = overall(run, analysis);
    Entry {
        folder: place.folder.to_owned(),
        report: place.report,
        began_unix: run.began_unix,
        study: run.study_name.clone(),
        question: run.study.question.clone(),
        verdict: overall.verdict,
        sentence: overall.sentence,
        key: key(run, analysis),
        image: run.lab.image.clone(),
        headroom: run.headroom.clone(),
        follows: String::new(),
        figures: Vec::new(),
        known: Vec::new(),
    }
    .following(wanted, &analysis.table, &run.study.known())
}

/// A run's question, the limits that answer it, and what they were decided on.
#[derive(Clone, Debug)]
pub struct Limited<'a> {
    /// The study's question.
    pub question: &'a str,
    /// The limits, decided.
    pub targets: &'a [Target],
    /// The valid trials that they rest on.
    pub counted: u32,
    /// The run's figures.
    pub table: &'a [Metric],
    /// What limits of the study can speak of.
    pub known: Known,
}

/// One line of the index from a run that is decided by its limits alone; its key figure is the first one's.
pub fn by_targets<S, P>(
    run: &Run<S, P>,
    limited: Limited<'_>,
    wanted: &Wanted,
    place: Place<'_>,
) -> Entry {
    let Limited { question, targets, counted, table, known } = limited;
    let (verdict, sentence) = metrics::overall(targets, counted);
    let first = targets.first();
    let key = first.map(|target| format!("{}: {}", target.name, target.found));
    Entry {
        folder: place.folder.to_owned(),
        report: place.report,
        began_unix: run.began_unix,
        study: run.study_name.clone(),
        question: question.to_owned(),
        verdict,
        sentence,
        key,
        image: run.lab.image.clone(),
        headroom: run.headroom.clone(),
        follows: String::new(),
        figures: Vec::new(),
        known: Vec::new(),
    }
    .following(wanted, table, &known)
}

/// The figure that says most about a run: the effect of a comparison, the share of a pause, the span of
/// stages, or the first variant's CPU.
fn key(run: &Run, analysis: &Analysis) -> Option<String> {
    if let Some(judged) = analysis.judgements.first().filter(|_| run.versus.is_some()) {
        let effect = judged.relative.as_ref()?;
        let effect = crate::signed::with_interval(Unit::PER_CENT, effect);
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
    names: Vec<(String, &'static str, String)>,
}

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
    let mut studies: Vec<&str> = Vec::new();
    for entry in &index.runs {
        if !studies.contains(&&*entry.study) {
            studies.push(&entry.study);
        }
    }
    let history = |study: &&str| {
        let of_study = |entry: &&Entry| entry.study == *study && !entry.figures.is_empty();
        let mut runs: Vec<_> = index.runs.iter().filter(of_study).collect();
        runs.sort_by_key(|entry| entry.began_unix);
        (runs.len() > 1).then(|| {
            let (names, left) = chart::lines(&runs);
            let follows = runs.last().map(|run| run.follows.clone()).unwrap_or_default();
            let keys = names.iter().enumerate();
            let keys =
                keys.map(|(at, name)| (marks::class(at), marks::shape(at), (*name).to_owned()));
            History {
                study: (*study).to_owned(),
                follows,
                left,
                marked: chart::marks_each(&runs),
                chart: chart::draw(&runs, &names),
                names: keys.collect(),
            }
        })
    };
    studies.iter().filter_map(history).collect()
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
