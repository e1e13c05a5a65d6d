//! The section “Comparisons” of a study of clients: each comparison that was decided, as a card.
//!
//! The effect with its interval, before and after, the pairs as dots, and what happens more seldom. Every figure is the
//! analysis's; which parts of the profile are gone is in the table of changes.

use analysis::{
    Analysis, Estimate, Part,
    quantity::{self, Unit},
    verdicts::{Deferred, InState, Judgement, RateChange},
};
use askama::Template;
use model::plural::count;
use model::run::Run;

use crate::{
    drawing::pairs,
    judged,
    overall::bare,
    prose::{self, signed_whole},
    table::{Table, cost, yes},
    tables,
};

/// So many cards stand open; more begin folded, below the table that has them all.
const STAND_OPEN: usize = 4;
/// A name and its value.
type Figure = (&'static str, String);

/// One comparison, ready to be shown.
struct Card {
    id: String,
    title: String,
    verdict: &'static str,
    finding: &'static str,
    sentence: String,
    open: bool,
    chart: String,
    figures: Vec<Figure>,
    strangers: Vec<String>,
    /// The same comparison in each state, where it was repeated.
    states: String,
    parts: String,
    ran: String,
    rates: String,
}

#[derive(Template)]
#[template(path = "fixes.html")]
struct Section {
    /// Empty with one comparison: its card says it all.
    table: String,
    cards: Vec<Card>,
}

/// The section as HTML; empty where nothing was compared.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(run: &Run, analysis: &Analysis) -> askama::Result<String> {
    let judgements = &analysis.judgements;
    if judgements.is_empty() {
        return Ok(String::new());
    }
    let cards = judgements.iter().enumerate();
    let cards: Vec<Card> = cards.map(|(at, each)| card(run, analysis, at, each)).collect();
    let row = |each: &'_ Judgement| {
        vec![each.variant.clone(), each.clients.to_string(), whose(run, each)]
    };
    let rows: Vec<_> = judgements.iter().map(|each| (row(each), each)).collect();
    let table = judged::overview(
        &["variant", "clients", "CPU of"],
        if rows.len() > 1 { &rows } else { &[] },
    );
    Section { table, cards }.render()
}

/// Whose CPU is compared: the subject by its name, or everything that is counted.
fn whose(run: &Run, judgement: &Judgement) -> String {
    let variant = run.study.variants.iter().find(|one| one.name == judgement.variant);
    match (judgement.part, variant) {
        (Part::Subject, Some(_)) => judgement.subject.clone(),
        (part, _) => tables::part_name(part).to_owned(),
    }
}

/// What subject, load and others take together on both sides, where the subject alone is judged.
fn total(analysis: &Analysis, judgement: &Judgement) -> Option<Figure> {
    let sum = |variant: &str| analysis.cell(variant, judgement.clients)?.cpu.sum;
    let (before, after) = (sum(&judgement.base)?, sum(&judgement.variant)?);
    let [before, after] = [before, after].map(|sum| format!("{}/s", quantity::cpu(&sum)));
    let relative = judgement.together.and_then(|together| together.relative);
    let relative = relative.map(|effect| format!(", {}", signed_whole(Unit::PER_CENT, &effect)));
    let value = format!("{before} → {after}{}", relative.unwrap_or_default());
    (judgement.part == Part::Subject).then_some(("With load and others", value))
}

fn card(run: &Run, analysis: &Analysis, at: usize, judgement: &Judgement) -> Card {
    Card {
        id: format!("fix-{at}"),
        title: format!(
            "{} against {}, {}",
            judgement.variant,
            judgement.base,
            count(judgement.clients, "client")
        ),
        verdict: judgement.verdict.name(),
        finding: judged::finding(judgement, judgement.finding),
        sentence: prose::html(bare(&judgement.sentence)),
        open: analysis.judgements.len() <= STAND_OPEN,
        chart: pairs::draw(judgement),
        figures: figures(run, judgement).into_iter().chain(total(analysis, judgement)).collect(),
        strangers: judgement.strangers.clone(),
        states: states(judgement, false).html(),
        parts: judged::parts(&[], &[(Vec::new(), judgement)]).html(),
        ran: ran(judgement).html(),
        rates: rates(&judgement.rates).html(),
    }
}

fn figures(run: &Run, judgement: &Judgement) -> Vec<Figure> {
    let unit = quantity::cpu_unit(judgement.absolute.map_or(0.0, |effect| effect.mean));
    let cpu = |effect: &Estimate, of: &str| {
        let text = signed_whole(unit, effect);
        format!("{}{of}", text.replacen(unit.name, &format!("{}/s", unit.name), 1))
    };
    let probability = |p| judged::probability(Some(p));
    let level = quantity::percent(1.0 - judgement.level);
    let per_client =
        |effect: &Estimate| signed_whole(Unit::MICROS, effect).replacen("µs", "µs/s", 1);
    let side = |side: Option<Estimate>| {
        let share = |side: &Estimate| quantity::percent_of_core(side);
        side.map(|side| format!("{}/s, {} % of a core", quantity::cpu(&side), share(&side)))
    };
    let all = [
        ("Effect", judgement.relative.as_ref().map(|effect| signed_whole(Unit::PER_CENT, effect))),
        ("CPU of", judgement.before.map(|_| whose(run, judgement))),
        ("Before", side(judgement.before)),
        ("After", side(judgement.after)),
        ("Absolute", judgement.absolute.as_ref().map(|effect| cpu(effect, ""))),
        ("For each client", judgement.per_client.as_ref().map(per_client)),
        ("p, exact, two-sided", judgement.p.map(probability)),
        ("p that they are the same (TOST)", judgement.p_equivalence.map(probability)),
        ("Margin", Some(format!("± {}", quantity::percent(judgement.margin)))),
        ("Detectable with these pairs", judgement.detectable.map(quantity::percent)),
        ("Pairs", Some(pairs(judgement))),
        ("Pairs it would take", judgement.pairs_needed.map(|pairs| format!("about {pairs}"))),
        ("Means are compared", judgement.means_because().map(str::to_owned)),
        ("Replies", judgement.witness.as_ref().map(|found| found.sentence.clone())),
        ("Work done after the window", judgement.deferred.as_ref().map(put_off)),
        ("Asked", Some(judgement.expect.name().to_owned())),
        ("Intervals", Some(format!("at {level}"))),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// What both sides spend once the load has ended, for each window.
fn put_off(deferred: &Deferred) -> String {
    let share = deferred.share_of_saving.map(|share| match share {
        share if share > 0.0 => format!(", {} of what is saved", quantity::percent(share)),
        _ => String::new(),
    });
    format!(
        "{} → {}{}",
        quantity::cpu_short(deferred.base_us),
        quantity::cpu_short(deferred.variant_us),
        share.unwrap_or_default()
    )
}

fn pairs(judgement: &Judgement) -> String {
    match judgement.look {
        Some((look, looks)) if looks > 1 => {
            format!("{}, look {look} of {looks}", judgement.pairs)
        }
        _ => judgement.pairs.to_string(),
    }
}

/// The same comparison in each state; on a terminal without what is different in it.
pub(crate) fn states(judgement: &Judgement, is_terminal: bool) -> Table {
    let states = &judgement.states;
    let most = states.iter().flat_map(|each| [each.before, each.after]).flatten();
    let unit = quantity::cpu_unit(most.map(|cpu| cpu.mean).fold(0.0, f64::max));
    let name = format!("{}/s", unit.name);
    let rows = Table::of("The same comparison in each state", states)
        .head("state", "", |each| each.state.clone())
        .mean(["before", &name], unit, |each| each.before)
        .mean(["after", &name], unit, |each| each.after)
        .effect(|each| each.relative)
        .number("pairs", "", |each| each.pairs.to_string())
        .text("found", "", |each| judged::finding(judgement, each.finding).to_owned())
        .text("verdict", "", |each| each.verdict.name().to_owned())
        .text("holds", "", |each| yes(each.holds));
    let different = |each: &&InState| {
        let why = each.why.as_ref().map(|why| format!("not measured: {why}"));
        why.unwrap_or_else(|| each.changes.clone())
    };
    if is_terminal { rows } else { rows.text("what is different", "", different) }.table()
}

/// The functions that the variant changes.
fn ran(judgement: &Judgement) -> Table {
    Table::of("Did the changed code run?", &judgement.ran)
        .name("function", "", |each| each.function.clone())
        .number("calls", "in a window", |each| {
            each.calls.map_or("not counted".to_owned(), |calls| calls.to_string())
        })
        .table()
}

/// How often things happen on both sides.
fn rates(rates: &[RateChange]) -> Table {
    Table::of("How often it happens", rates)
        .name("counted", "", |rate| rate.function.clone())
        .number("before", "each second", |rate| cost(Unit::ONE, rate.before))
        .number("after", "each second", |rate| cost(Unit::ONE, rate.after))
        .table()
}
