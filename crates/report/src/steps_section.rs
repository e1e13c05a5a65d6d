//! The section “What each step gave”: the chain of cures, a row each, with what is left and what it took away.
//!
//! Figures are the analysis's; here they get their bars. Doubts about a step stand with it.

use analysis::{
    Analysis, Comparison, Doubt, Estimate, Level,
    quantity::{self, Unit},
};
use askama::Template;
use model::run::Run;

use crate::{prose, signed::with_interval, tables::summed};

#[derive(Template)]
#[template(path = "steps.html")]
struct Section {
    summed: String,
    clients: u32,
    rows: Vec<Row>,
}

/// One variant of the chain.
struct Row {
    name: String,
    about: Option<String>,
    doubts: Vec<String>,
    /// Per cent of the dearest: what is left, and up to where it was before.
    left: String,
    gone: Option<String>,
    costs: String,
    /// What it takes away, and how many times the one before it is; as HTML.
    gave: Option<[String; 2]>,
}

/// The section as HTML; empty where the study is no chain of cures.
///
/// # Errors
///
/// Where the template cannot be filled; no input is known to do that.
pub(crate) fn html(run: &Run, analysis: &Analysis) -> askama::Result<String> {
    let stages = &analysis.stages;
    let Some(cures) = stages.cures.as_ref().filter(|_| stages.asked) else {
        return Ok(String::new());
    };
    let cost = |name: &str| stages.rows.iter().find(|row| row.variant == name)?.cpu.sum;
    let names = std::iter::once((&cures.whole.base, None));
    let names = names.chain(cures.steps.iter().map(|step| (&step.variant, Some(step))));
    let most = names.clone().filter_map(|(name, _)| cost(name));
    let most = most.map(|cost| cost.mean).fold(f64::MIN_POSITIVE, f64::max);
    let rows = names.map(|(name, step)| {
        let before = step.and_then(|step| cost(&step.base));
        row(run, analysis, Place { name, step, before, cost: cost(name), most })
    });
    Section { summed: summed(analysis), clients: stages.clients, rows: rows.collect() }.render()
}

/// A variant in the chain.
struct Place<'a> {
    name: &'a str,
    step: Option<&'a Comparison>,
    before: Option<Estimate>,
    cost: Option<Estimate>,
    most: f64,
}

fn row(run: &Run, analysis: &Analysis, place: Place<'_>) -> Row {
    let Place { name, step, before, cost, most } = place;
    let percent = |cost: &Estimate| format!("{:.2}", cost.mean / most * 100.0);
    let variant = run.study.variants.iter().find(|variant| variant.name == name);
    Row {
        name: name.to_owned(),
        about: variant.and_then(|variant| variant.about.clone()),
        doubts: doubts(analysis, &[name]),
        left: cost.as_ref().map_or("0".to_owned(), percent),
        gone: before
            .filter(|before| cost.is_some_and(|cost| cost.mean < before.mean))
            .as_ref()
            .map(percent),
        costs: cost
            .as_ref()
            .map_or(quantity::ABSENT.to_owned(), |cost| format!("{}/s", quantity::cpu(cost))),
        gave: step.map(gave),
    }
}

fn gave(step: &Comparison) -> [String; 2] {
    let all = step.all();
    let unit = quantity::cpu_unit(all.difference.mean);
    let difference = with_interval(unit, &all.difference);
    let difference = difference.replacen(unit.name, &format!("{}/s", unit.name), 1);
    let times = all.ratio.as_ref().map_or(quantity::ABSENT.to_owned(), |ratio| {
        let bracket = ratio.interval.map(|_| format!(" {}", Unit::ONE.bracket(ratio)));
        format!("{} ×{}", Unit::ONE.mean(ratio), bracket.unwrap_or_default())
    });
    [difference, times].map(|text| prose::html(&text))
}

/// Doubts about the CPU of one of these variants, as HTML.
pub(crate) fn doubts(analysis: &Analysis, variants: &[&str]) -> Vec<String> {
    let of_cpu = |doubt: &&Doubt| doubt.level == Level::Doubt && !doubt.is_about_instruments;
    let doubts = analysis.doubts.iter().filter(of_cpu);
    let touching =
        doubts.filter(|doubt| doubt.variants.iter().any(|one| variants.contains(&&**one)));
    touching.map(|doubt| prose::html(&doubt.to_string())).collect()
}
