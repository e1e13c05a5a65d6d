//! The section «Proof»: who makes the subject work, shown by stopping it.

use analysis::{Analysis, quantity::Unit, verdicts::PauseFigures};
use askama::Template;
use model::plural::count;

use crate::{
    pause_chart, prose,
    signed::of_estimate,
    table::{
        Kind::{Head, Number, Quiet, Text},
        Table,
    },
    tables,
};

/// One pause, ready to be shown.
struct Shown {
    id: String,
    title: String,
    verdict: &'static str,
    sentence: String,
    chart: String,
}

/// The section.
#[derive(Template)]
#[template(path = "proof.html")]
struct Section {
    shown: Vec<Shown>,
    table: String,
}

/// The section as HTML; empty where nobody was paused.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(analysis: &Analysis) -> askama::Result<String> {
    if analysis.pauses.is_empty() {
        return Ok(String::new());
    }
    let shown = analysis.pauses.iter().enumerate().map(shown).collect();
    Section { shown, table: table(analysis).html() }.render()
}

fn shown((at, pause): (usize, &PauseFigures)) -> Shown {
    Shown {
        id: format!("pause-{at}"),
        title: format!(
            "{} is paused: {}, {}",
            pause.consumer,
            pause.variant,
            count(pause.clients, "client")
        ),
        verdict: pause.verdict.name(),
        sentence: prose::html(&pause.sentence),
        chart: pause_chart::draw(pause),
    }
}

/// What each pause says.
fn table(analysis: &Analysis) -> Table {
    let unit = tables::unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let mut table = Table::new(
        "CPU of the subject while somebody is stopped",
        &[
            (Head, "paused", ""),
            (Text, "subject", ""),
            (Text, "variant", ""),
            (Number, "clients", ""),
            (Number, "trials", ""),
            (Number, "runs", &name),
            (Number, "stopped", &name),
            (Number, "sham", &name),
            (Number, "share it causes", "%"),
            (Quiet, "95 % interval", "%"),
            (Number, "share of the sham", "%"),
            (Quiet, "95 % interval", "%"),
            (Text, "verdict", ""),
        ],
    );
    for pause in &analysis.pauses {
        table.push(vec![
            pause.consumer.clone(),
            pause.subject.clone(),
            pause.variant.clone(),
            pause.clients.to_string(),
            pause.trials.to_string(),
            tables::mean(unit, pause.running.as_ref()),
            tables::mean(unit, pause.stopped.as_ref()),
            tables::mean(unit, pause.sham.as_ref()),
            tables::mean(Unit::PER_CENT, pause.share.as_ref()),
            tables::bracket(Unit::PER_CENT, pause.share.as_ref()),
            pause
                .sham_share
                .as_ref()
                .map_or_else(absent, |share| of_estimate(Unit::PER_CENT, share)),
            tables::bracket(Unit::PER_CENT, pause.sham_share.as_ref()),
            pause.verdict.name().to_owned(),
        ]);
    }
    table
}

fn absent() -> String {
    analysis::quantity::ABSENT.to_owned()
}
