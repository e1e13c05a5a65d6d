//! A run of cells with traffic, applications or cards for people: sections of a page, a terminal's text and Markdown.
//!
//! Every figure, verdict and sentence of judgement is that of [`analysis::limited`]. An empty or partial run makes a
//! page too: what is not there yet is said.

use analysis::{
    limited::{LeftOut, Limited},
    quantity::count,
};
use model::run::Run;

use crate::{
    Error, completion, contention,
    identity::{self, Fact, plain},
    page::Given,
    table::Table,
    targets::{self, Own},
    text,
};

/// The run as one HTML file; given is the study file, and while the run goes on what is still to come.
///
/// # Errors
///
/// [`Error::Layout`] where the template cannot be filled; no input is known to do that.
pub fn page<'a>(
    limited: &'a Limited,
    run: &'a Run,
    given: impl Into<Given<'a>>,
) -> Result<String, Error> {
    let mut sections = Vec::new();
    if let Some(traffic) = &limited.traffic {
        sections.extend(contention::sections(traffic, limited, run)?);
    }
    sections.extend(limited.cards.iter().flat_map(completion::sections));
    let own = Own {
        status: status(limited, run),
        sections,
        left_out: (left_out(limited), limited.left_out.len()),
        facts: facts(run),
    };
    targets::Limited::from(limited).page(run, given.into(), own)
}

/// The run as a terminal shows it at its end: at most thirty lines of a hundred columns, and what a subject costs.
pub fn summary(limited: &Limited) -> String {
    let traffic = limited.traffic.as_ref();
    let shown = traffic.map(contention::in_short);
    let shown = shown.or_else(|| limited.cards.as_ref().map(completion::in_short));
    let (table, more) = shown.unwrap_or_default();
    let subject = traffic.and_then(|traffic| traffic.subject.as_deref().map(text::summary));
    let text = targets::Limited::from(limited).text(&limited.answer, table, &more);
    text + &subject.unwrap_or_default()
}

/// The run for a CI's summary.
pub fn markdown(limited: &Limited) -> String {
    let traffic = limited.traffic.as_ref().map(contention::figures);
    let table = traffic.or_else(|| limited.cards.as_ref().map(completion::figures));
    targets::Limited::from(limited).markdown(&table.unwrap_or_default())
}

/// The line below the verdict.
fn status(limited: &Limited, run: &Run) -> Vec<String> {
    let shape = &run.study.trial;
    let completes = limited.cards.as_ref().map(|cards| cards.completes_us);
    let own = [
        count(limited.counted, "valid trial"),
        count(shape.repetitions, "block"),
        format!("{} window", shape.window),
    ];
    own.into_iter().chain(completes.map(|us| format!("a command takes {us} µs"))).collect()
}

/// Trials that do not count: the same reason in one cell is one row.
fn left_out(limited: &Limited) -> Table {
    // By cell, variant and reason, the first one first.
    let mut groups: Vec<Vec<&LeftOut>> = Vec::new();
    for trial in &limited.left_out {
        let is_alike = |group: &&mut Vec<&LeftOut>| {
            let first = group[0];
            (&first.cell, &first.variant, &first.why) == (&trial.cell, &trial.variant, &trial.why)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    Table::of("Trials that do not count", groups)
        .head("cell", "", |group| group[0].cell.clone())
        .text("variant", "", |group| group[0].variant.clone())
        .text("repetitions", "", |group| {
            group.iter().map(|trial| trial.repetition.to_string()).collect::<Vec<_>>().join(", ")
        })
        .number("trials", "", |group| group.len().to_string())
        .text("why", "", |group| group[0].why.clone())
        .table()
}

fn facts(run: &Run) -> Vec<Fact> {
    let shape = &run.study.trial;
    let alone = if run.study.has_traffic() { ", and traffic alone first and last" } else { "" };
    let blocks = format!(
        "{}; each has every variant once in an order drawn from seed {}{alone}",
        shape.repetitions, shape.seed
    );
    let idle = format!(
        "a trial in real time begins after a second in which the machine was idle for {}",
        run.study.idle_gate()
    );
    let trial = format!("{} warm-up, {} window", shape.warm_up, shape.window);
    let more = [("Trial", trial), ("Blocks", blocks), ("Idle gate", idle)];
    identity::of_run(run, more.map(|(name, value)| plain(name, value)).to_vec())
}
