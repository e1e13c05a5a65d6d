//! A run of cells with traffic, applications or cards: its figures as one table, the limits that decide it, and its
//! answer. Pure.
//!
//! ```text
//! Run + Trials ─► contention (cells with traffic or an application) ─┐
//!              ─► completion (cells with a card) ────────────────────┴► table ─► limits ─► headline, answer
//! ```

use model::{
    cell::Cell,
    limit::{Asked, Known, Limit},
    plural::count,
    run::Run,
    study::Study,
    trial::{NONE, Trial},
    verdict::Difference,
};
use serde::Serialize;

use crate::{
    Analysis,
    completion::{self, Completion},
    contention::{self, Contention, HARMED},
    headline::{self, Headline},
    in_cells,
    metrics::{
        self, Asks, Metric, Target,
        baseline::{Baselines, Earlier},
    },
    verdicts::Judgement,
};

/// All that such a run says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limited {
    pub question: String,
    pub headline: Headline,
    /// The answer, in sentences.
    pub answer: Vec<String>,
    #[serde(flatten)]
    pub traffic: Option<Contention>,
    #[serde(flatten)]
    pub cards: Option<Completion>,
    /// What the study's subject costs in the same windows, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<Analysis>>,
    /// Every figure.
    pub table: Vec<Metric>,
    /// The limits, decided.
    pub targets: Vec<Target>,
    pub left_out: Vec<LeftOut>,
    /// Trials that count.
    pub counted: u32,
    /// The one question of a comparison, decided; none in a whole study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Versus>,
}

/// Two variants in one cell, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Versus {
    pub cell: String,
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// A trial that does not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    pub cell: String,
    pub variant: String,
    pub repetition: u32,
    pub why: String,
}

/// Analyses a run, whole or partial. Trials may come in any order; `baselines` are those that its limits name.
pub fn analyse(run: &Run, trials: &[Trial], baselines: &Baselines) -> Limited {
    let study = &run.study;
    let mut left_out: Vec<LeftOut> =
        trials.iter().filter_map(|trial| invalid(study, trial)).collect();
    let traffic = study.has_traffic().then(|| contention::analyse(run, trials));
    let cards = study.has_cards().then(|| completion::analyse(run, trials));
    let mut counted = trials.iter().filter(|trial| trial.reading().is_some()).count();
    let (mut table, mut compared) = (Vec::new(), None);
    let traffic = traffic.map(|(traffic, disturbed)| {
        counted = counted.saturating_sub(disturbed.len());
        left_out.extend(disturbed);
        table.extend(traffic.table());
        compared = traffic.cells.iter().find_map(|cell| cell.versus.first().cloned());
        traffic
    });
    if let Some(cards) = &cards {
        table.extend(cards.table());
        compared = compared.or_else(|| cards.versus.first().cloned());
    }
    let comparison = compared.filter(|_| run.versus.is_some());
    let own = comparison.as_ref().map(|one| one.judgement.target());
    let limits = limits(run, baselines, &table);
    // Of a comparison of cards, trials that could not be made are missing, too.
    let only_measured = own.is_some() && cards.is_some();
    let made = trials.iter().filter(|trial| !only_measured || trial.reading().is_some());
    let missing =
        metrics::missing(&run.plan, &made.map(|trial| &trial.planned).collect::<Vec<_>>());
    let targets: Vec<Target> = own.into_iter().chain(limits).chain(missing).collect();
    let (headline, answer) = match (&comparison, &traffic, &cards) {
        _ if counted == 0 => (Headline::plain(NOTHING.to_owned()), vec![NOTHING.to_owned()]),
        (Some(Versus { cell, judgement }), ..) => {
            let at = if judgement.at.is_empty() { &format!("in {cell}") } else { &judgement.at };
            let made = counted + left_out.len();
            (headline::compared(run, judgement, at, made), vec![judgement.sentence.clone()])
        }
        (_, Some(traffic), _) => (traffic.headline(), traffic.answer()),
        (_, _, Some(cards)) => (cards.headline(), cards.answer()),
        _ => Default::default(),
    };
    let subject =
        in_cells::of(run, trials).map(|(run, trials)| Box::new(crate::analyse(&run, &trials)));
    let (question, counted) = (study.question.clone(), counted as u32);
    Limited {
        question,
        headline,
        answer,
        traffic,
        cards,
        subject,
        table,
        targets,
        left_out,
        counted,
        comparison,
    }
}

pub(crate) const NOTHING: &str = "No result yet: no trial that counts is done.";

fn invalid(study: &Study, trial: &Trial) -> Option<LeftOut> {
    let why = trial.why_invalid()?.to_owned();
    let cell = study.cell(&trial.planned.id.cell);
    let cell = cell.map_or(trial.planned.id.cell.to_string(), |cell| name_of(study, &cell));
    Some(LeftOut::of(&cell, trial, why))
}

impl LeftOut {
    pub(crate) fn of(cell: &str, trial: &Trial, why: String) -> Self {
        let id = &trial.planned.id;
        let (variant, repetition) = (id.variant.to_string(), id.repetition);
        Self { cell: cell.to_owned(), variant, repetition, why }
    }
}

/// What people call a cell: `saturated with stream ×4, vm`, with its clients where other cells have others; `440/s of
/// small, vm`.
pub(crate) fn name_of(study: &Study, cell: &Cell) -> String {
    if let Some(card) = cell.card {
        return format!("{}/s of {}, {}", card.rate, completion::load_of(cell), cell.place());
    }
    let traffic = cell.traffic.as_deref().unwrap_or("no traffic");
    let application = cell.application.as_deref().unwrap_or("no application");
    let clients = match study.access_point.clients.len() {
        0 | 1 => String::new(),
        _ => format!(", {}", count(cell.clients, "client")),
    };
    format!("{traffic} with {application}, {}{clients}", cell.place())
}

/// The run's limits and those that every comparison has, decided.
fn limits(run: &Run, baselines: &Baselines, table: &[Metric]) -> Vec<Target> {
    let kept = kept(run).iter().map(|limit| (*limit).to_owned());
    let limits = run.study.gates.iter().flat_map(|gates| gates.limits.iter().cloned());
    let limits: Vec<String> = kept.chain(limits).collect();
    let known = run.study.known();
    let is_asked = |limit: &Limit| !run.is_part() || is_of(&run.study, &known, limit);
    let earlier = Earlier::of(&run.study, &run.lab, baselines);
    metrics::judge(&limits, Asks { known: &known, is_asked: &is_asked }, table, &earlier)
}

/// What a comparison of strategies must keep: figures of a path that forgets frames, or of a lab that does not repeat
/// itself, are of no use. An A/A run has every trial twice, and that they are the same is its question.
fn kept(run: &Run) -> &'static [&'static str] {
    match run.versus.as_ref().filter(|_| run.study.has_cards()).map(|versus| &versus.difference) {
        Some(Difference::Nothing) => &["faults <= 0"],
        Some(_) => &["faults <= 0", "repeat-error <= 0.1%"],
        None => &[],
    }
}

/// Whether a limit is on something that the study still has, after the command line chose some of its cells and
/// variants. A count of cells is a question to all of them.
fn is_of(study: &Study, known: &Known, limit: &Limit) -> bool {
    let Asked::Bound { metric, .. } = &limit.asked else { return true };
    let is_whole = ["harmed-cells", "agreement"].contains(&metric.to_string().as_str());
    let has = |cell: &Cell| {
        let words = cell.labels();
        let is_here = |place: &String| place == HARMED || words.contains(place);
        let is_under = |name: &String| {
            name == NONE || study.variants_of(cell).any(|variant| variant.name == *name)
        };
        limit.at.variant.as_ref().is_none_or(is_under) && limit.at.places.iter().all(is_here)
    };
    !is_whole && known.check(limit).is_ok() && study.cells().iter().any(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::completion as test_data;

    #[test]
    fn what_every_comparison_keeps_is_known_to_its_studies() {
        let (run, _) = completion::tests::compared("busy", "event", 1);
        for text in kept(&run) {
            test_data::study().known().check(&model::limit::parse(text).unwrap()).unwrap();
        }
    }
}
