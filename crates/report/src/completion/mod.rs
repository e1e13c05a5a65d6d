//! A completion run for people: what each way to wait costs, as one HTML file, a terminal's text and Markdown.
//!
//! Takes the answer of [`analysis::completion`] and lays it out; every figure, verdict and sentence of judgement is
//! that crate's. An empty or partial run makes a page too: what is not there yet is said.
//!
//! ```text
//! Completion + Run ─► lines ───────► CPU and latency against rate   ┐
//!                 ├► task_chart ─► the task alongside each strategy  ├► page (askama)
//!                 ├► tables ─────► figures, A/B, census, targets  ┘
//!                 └► summary ────► terminal, Markdown
//! ```

mod again;
mod lines;
mod summary;
mod tables;
mod task_chart;

use analysis::{completion::Completion, quantity::count};
use askama::Template;
use model::{
    completion::{Place, Run, Strategy},
    verdict::Verdict,
};

pub use self::summary::{markdown, overall, summary};
use crate::{
    Error, fix_section,
    frame::{Frame, Parts, core, framed},
    identity::{self, Fact},
    lead::Given,
    marks, prose,
};

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
    crate::rendered(&Page::of(completion, run, given.into())?)
}

/// Everything that the template shows; an empty text is a part that is not there.
#[derive(Template)]
#[template(path = "completion.html")]
struct Page<'a> {
    frame: Frame<'a>,
    published: String,
    legend: Vec<(String, &'static str, &'static str)>,
    rates: Vec<Drawn>,
    figures: Vec<(String, String)>,
    tasks: Vec<(String, String)>,
    task_table: String,
    base: &'static str,
    versus: String,
    sentences: Vec<(Verdict, String)>,
    /// Steady cost and rare events, and where one question is asked of means, why.
    parts: String,
    means: String,
    commands: String,
    repeats: String,
}

/// The pictures of one load at one place.
struct Drawn {
    title: String,
    cpu: String,
    latency: String,
}

framed!(Page);

impl<'a> Page<'a> {
    fn of(completion: &'a Completion, run: &'a Run, given: Given<'a>) -> askama::Result<Self> {
        let repeats = tables::repeats(completion).html_or_nothing();
        let parts = Parts {
            question: &completion.question,
            headline: &completion.headline,
            answer: &completion.answer,
            targets: &completion.targets,
            counted: completion.counted,
            left: completion.left_out.len(),
            left_out: tables::left_out(completion),
            status: status(completion, run),
            facts: facts(run),
            described: vec![tables::places(run), tables::loads(run)],
            again: again::command(run),
            sections: vec![
                (true, "answer", "In sentences"),
                (true, "published", "The report’s figures"),
                (true, "rates", "Against rate"),
                (true, "task", "A task on the same CPU"),
                (true, "versus", "A/B"),
                (true, "census", "Commands"),
                (true, "targets", "Limits"),
                (!repeats.is_empty(), "repeats", "Made twice"),
                (true, "left", "Left out"),
                (true, "again", "Run it again"),
                (true, "measured", "What was measured"),
            ],
        };
        Ok(Self {
            frame: Frame::of(run, given, parts)?,
            published: tables::published(completion).html_or_nothing(),
            legend: legend(run),
            rates: rates(completion, run),
            figures: figures(completion, run),
            tasks: tasks(completion, run),
            task_table: tables::tasks(completion).html_or_nothing(),
            base: run.study.completion.strategies.first().map_or("none", |one| one.name()),
            versus: tables::versus(completion).html_or_nothing(),
            sentences: completion
                .versus
                .iter()
                .map(|one| {
                    let sentence = format!("{}: {}", one.place, one.judgement.sentence);
                    (one.judgement.verdict, prose::html(&sentence))
                })
                .collect(),
            parts: match &completion.comparison {
                Some(one) => fix_section::parts(&one.judgement).html_or_nothing(),
                None => tables::parts(completion).html_or_nothing(),
            },
            means: completion
                .comparison
                .as_ref()
                .and_then(|one| one.judgement.means_because())
                .unwrap_or_default()
                .to_owned(),
            commands: tables::commands(completion).html_or_nothing(),
            repeats,
        })
    }
}

/// Colour, dash and shape of a strategy: the same in every run.
fn style(strategy: Strategy) -> usize {
    match strategy {
        Strategy::Busy => 2,
        Strategy::Event => 1,
        Strategy::Hybrid => 3,
        Strategy::Batch => 4,
    }
}

fn legend(run: &Run) -> Vec<(String, &'static str, &'static str)> {
    let strategies = run.study.completion.strategies.iter();
    let of = |strategy: &Strategy| {
        (marks::class(style(*strategy)), marks::shape(style(*strategy)), strategy.name())
    };
    strategies.map(of).collect()
}

/// The line under the title.
fn status(completion: &Completion, run: &Run) -> Vec<String> {
    let shape = &run.study.completion;
    let mut status = vec![
        format!("{} that count", count(completion.counted, "trial")),
        count(shape.blocks, "block"),
        format!("{} window", shape.window),
        format!("a command takes {}", shape.completes_in),
    ];
    status.extend(
        run.study
            .places
            .iter()
            .map(|place| format!("{}: {}", place.name, core(place.on, place.mode))),
    );
    status
}

/// Each place with the loads that are more than one rate.
fn rates(completion: &Completion, run: &Run) -> Vec<Drawn> {
    let study = &run.study;
    let pairs =
        study.places.iter().flat_map(|place| study.loads.iter().map(move |one| (place, one)));
    pairs
        .filter_map(|(place, load)| {
            let cpu = lines::cpu(completion, &place.name, load);
            (!cpu.is_empty()).then(|| Drawn {
                title: format!("{}: frames of {} bytes, {}", load.name, load.bytes, place.name),
                cpu,
                latency: lines::latency(completion, &place.name, load),
            })
        })
        .collect()
}

/// The table of each place.
fn figures(completion: &Completion, run: &Run) -> Vec<(String, String)> {
    let of = |place: &Place| {
        (place.name.clone(), tables::points(completion, &place.name).html_or_nothing())
    };
    run.study.places.iter().map(of).filter(|(_, table)| !table.is_empty()).collect()
}

/// The picture of each task at each place.
fn tasks(completion: &Completion, run: &Run) -> Vec<(String, String)> {
    let study = &run.study;
    let pairs =
        study.places.iter().flat_map(|place| study.loads.iter().map(move |one| (place, one)));
    pairs
        .flat_map(|(place, load)| load.rates.iter().map(move |rate| (place, load, *rate)))
        .filter_map(|(place, load, rate)| {
            let drawn = task_chart::draw(completion, &place.name, &load.name, rate);
            let bus =
                load.bus_word.map_or(String::new(), |word| format!(", a bus of {word} a word"));
            let title = format!("{rate} frames/s of {} bytes{bus}, {}", load.bytes, place.name);
            (!drawn.is_empty()).then_some((title, drawn))
        })
        .collect()
}

fn facts(run: &Run) -> Vec<Fact> {
    let fact = |name, value: String, code| Fact { name, value, code };
    vec![
        fact("headroom", run.headroom.clone(), false),
        fact("image", run.lab.image().unwrap_or("none was needed").to_owned(), true),
        fact("host", run.host.to_string(), false),
        fact("began", identity::utc(run.began_unix), false),
        fact("seed of the orders", run.study.completion.seed.to_string(), false),
    ]
}
