//! The section “What is left”: the cheapest stage, how far it stands above the lower bound, and where its
//! CPU still goes.
//!
//! The cheapest stage is the one with the smallest sum among the variants with the first one's subject: a
//! study begins with what was found.
//! The lower bound is a base of it that brings another subject and costs less: a study names it with
//! `against`. The distance is the comparison that the analysis made of the two.

use analysis::{
    Analysis, Comparison, Stage,
    profiles::{FunctionCost, ProfileFigures},
    quantity::{self, Unit},
};
use askama::Template;
use model::plural::count;

use crate::{profile_tables, prose, signed::with_interval, table::Table, tables::summed};

/// Functions that are worth the next look.
const MOST_FUNCTIONS: usize = 10;

#[derive(Template)]
#[template(path = "left.html")]
struct Section {
    sentences: Vec<String>,
    functions: String,
}

/// The section as HTML; empty where the study is none of stages, or has no figure.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(analysis: &Analysis) -> askama::Result<String> {
    let Some(cheapest) = cheapest(analysis) else { return Ok(String::new()) };
    let profile = analysis.profiles.iter().find(|profile| {
        profile.variant == cheapest.variant && profile.clients == Some(analysis.stages.clients)
    });
    let functions = profile.map(functions).filter(|table| !table.rows.is_empty());
    Section {
        sentences: sentences(analysis, cheapest).iter().map(|text| prose::html(text)).collect(),
        functions: functions.map_or(String::new(), Table::html),
    }
    .render()
}

/// The cheapest variant of the first one's subject, of at least two.
fn cheapest(analysis: &Analysis) -> Option<&Stage> {
    let first = &analysis.stages.rows.first()?.subject;
    let own = || {
        let rows = analysis.stages.rows.iter().filter(|_| analysis.stages.asked);
        let rows = rows.filter(|row| row.subject == *first);
        rows.filter_map(|row| Some((row, row.cpu.sum?.mean)))
    };
    // One variant alone is not the cheapest of anything.
    own().nth(1)?;
    own().min_by(|one, other| one.1.total_cmp(&other.1)).map(|(row, _)| row)
}

fn sentences(analysis: &Analysis, cheapest: &Stage) -> Vec<String> {
    let clients = analysis.stages.clients;
    let mut sentences = Vec::new();
    if let Some(sum) = &cheapest.cpu.sum {
        sentences.push(format!(
            "The cheapest stage is `{}`: at {clients} {} together take {}/s, {} % of a core.",
            cheapest.variant,
            summed(analysis),
            quantity::cpu(sum),
            quantity::percent_of_core(sum),
            clients = count(clients, "client")
        ));
    }
    sentences.extend(cheapest.against.iter().filter_map(|against| distance(cheapest, against)));
    sentences
}

/// How far it is to a base of another subject that costs less.
fn distance(cheapest: &Stage, against: &Comparison) -> Option<String> {
    let contrast = against.sum.as_ref()?;
    let is_bound = !against.same_subject() && contrast.difference.mean > 0.0;
    let ratio = contrast.ratio.as_ref().filter(|_| is_bound)?;
    let unit = quantity::cpu_unit(contrast.difference.mean);
    let above = with_interval(unit, &contrast.difference);
    Some(format!(
        "The lower bound is `{}`, which only asks for the same readings: `{}` costs {} × as much, {}/s of CPU more.",
        against.base,
        cheapest.variant,
        Unit::ONE.with_interval(ratio),
        above.trim_start_matches('+')
    ))
}

/// Where its CPU still goes, by the functions' own code.
fn functions(profile: &ProfileFigures) -> Table {
    let mut all: Vec<_> = profile.functions.iter().filter(|each| each.own_share > 0.0).collect();
    all.sort_by(|one, other| other.own_share.total_cmp(&one.own_share));
    let unit = profile_tables::unit_for(all.iter().map(|function| function.own));
    let name = format!("{}/s", unit.name);
    let mut table = Table::of(
        &format!("Where the CPU of {} still goes, by self cost", profile.variant),
        all.into_iter().take(MOST_FUNCTIONS),
    )
    .name("function", "", |function| function.name.clone());
    if profile.cpu_measured() {
        let cost = |function: &&FunctionCost| profile_tables::mean(unit, function.own.as_ref());
        table = table.number("self", &name, cost).quiet("95 % interval", &name, |function| {
            profile_tables::bracket(unit, function.own.as_ref())
        });
    }
    table
        .number("self", "% of samples", |function| profile_tables::percent(function.own_share))
        .text("module", "", |function| function.module.clone())
        .table()
}
