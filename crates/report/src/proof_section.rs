//! The section “Proof”: who makes the subject work, shown by stopping it.

use analysis::{Analysis, quantity::Unit, verdicts::PauseFigures};
use askama::Template;
use model::{plural::count, run::Run, verdict::Verdict};

use crate::{overall::counts, pause_chart, prose, signed::of_estimate, table::Table, tables};

/// One pause, ready to be shown.
struct Card {
    id: String,
    title: String,
    /// The verdict, which gives the word its colour.
    verdict: &'static str,
    word: &'static str,
    sentence: String,
    chart: String,
}

#[derive(Template)]
#[template(path = "proof.html")]
struct Section {
    /// Whether it stands unfolded: it is what was asked.
    open: bool,
    cards: Vec<Card>,
    table: String,
}

/// The section as HTML; empty where no one was paused.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(run: &Run, analysis: &Analysis) -> askama::Result<String> {
    if analysis.pauses.is_empty() {
        return Ok(String::new());
    }
    let cards =
        analysis.pauses.iter().enumerate().map(|(at, pause)| card(run, at, pause)).collect();
    let open = !analysis.asks_for_cpu();
    Section { open, cards, table: table(analysis).html() }.render()
}

fn card(run: &Run, at: usize, pause: &PauseFigures) -> Card {
    let counts = counts(run, pause);
    Card {
        id: format!("pause-{at}"),
        title: format!(
            "{} paused: {}, {}",
            pause.consumer,
            pause.of_variant(),
            count(pause.clients, "client")
        ),
        verdict: if counts { pause.verdict.name() } else { Verdict::Measured.name() },
        word: if counts { pause.verdict.name() } else { "no effect" },
        sentence: prose::html(&pause.sentence),
        chart: pause_chart::draw(pause),
    }
}

fn table(analysis: &Analysis) -> Table {
    let unit = tables::unit_of(analysis);
    let name = format!("{}/s", unit.name);
    Table::of("CPU of the subject while another process is stopped", &analysis.pauses)
        .head("stopped", "", |pause| pause.consumer.clone())
        .text("subject", "", |pause| pause.subject.clone())
        .text("variant", "", |pause| pause.of_variant().to_owned())
        .number("clients", "", |pause| pause.clients.to_string())
        .number("trials", "", |pause| pause.trials.to_string())
        .number("running", &name, |pause| tables::mean(unit, pause.running.as_ref()))
        .number("stopped", &name, |pause| tables::mean(unit, pause.stopped.as_ref()))
        .number("control", &name, |pause| tables::mean(unit, pause.sham.as_ref()))
        .number("share", "%", |pause| tables::mean(Unit::PER_CENT, pause.share.as_ref()))
        .quiet("95 % interval", "%", |pause| tables::bracket(Unit::PER_CENT, pause.share.as_ref()))
        .number("control", "%", |pause| {
            pause
                .sham_share
                .as_ref()
                .map_or_else(absent, |share| of_estimate(Unit::PER_CENT, share))
        })
        .quiet("95 % interval", "%", |pause| {
            tables::bracket(Unit::PER_CENT, pause.sham_share.as_ref())
        })
        .table()
}

fn absent() -> String {
    analysis::quantity::ABSENT.to_owned()
}
