//! The answer of a study of many variants: who costs most and least, what each cure is worth, and what
//! others published. A handful of sentences; the table has the rest.

use model::plural::count;
use model::run::Run;

use super::{cell_price, core_of};
use crate::{
    Analysis,
    compare::{Comparison, Contrast},
    curve::Slope,
    figures::Part,
    quantity::{ABSENT, Unit},
    stages::{Elsewhere, Stage},
    stats::Estimate,
};

/// Comparisons that one sentence holds; the others are in the table.
const IN_A_SENTENCE: usize = 6;
/// The same for pairs of different programs, which take more words.
const RIVALS: usize = 3;

/// The sentences, without those that have nothing to say.
pub(super) fn of(run: &Run, analysis: &Analysis) -> Vec<String> {
    let mut sentences = extremes(run, analysis);
    sentences.extend(slopes(analysis));
    sentences.extend(cures(analysis));
    sentences.extend(across(analysis));
    sentences.extend(published(run, analysis));
    sentences
}

fn extremes(run: &Run, analysis: &Analysis) -> Vec<String> {
    let Some((dearest, cheapest)) = analysis.stages.extremes() else { return Vec::new() };
    let price = |stage: &Stage| {
        let cell = analysis.cell(&stage.variant, analysis.stages.clients)?;
        cell_price(run, cell)
    };
    let clients = analysis.stages.clients;
    let most = price(dearest).map(|price| {
        format!(
            "At {clients} `{}` costs the most: {price}.",
            dearest.variant,
            clients = count(clients, "client")
        )
    });
    let least = price(cheapest).filter(|_| cheapest.variant != dearest.variant);
    let least = least.map(|price| format!("`{}` costs the least: {price}.", cheapest.variant));
    most.into_iter().chain(least).collect()
}

fn slopes(analysis: &Analysis) -> Option<String> {
    let (dearest, cheapest) = analysis.stages.extremes()?;
    let slope = |stage: &Stage| {
        let curve = analysis.curves.iter().find(|curve| curve.variant == stage.variant)?;
        curve.slope(Part::Sum).map(|slope| per_client(slope, &stage.variant))
    };
    let most = slope(dearest)?;
    let least = slope(cheapest).filter(|_| cheapest.variant != dearest.variant);
    let least = least.map_or(String::new(), |least| format!(", and {least}"));
    Some(format!("Each client adds {most}{least}."))
}

fn per_client(slope: &Slope, variant: &str) -> String {
    let reported = slope.per_client.differs_from_zero() || slope.per_client.interval.is_none();
    let doubt = if reported { "" } else { " (not measurably different from 0)" };
    let per_client = Unit::MICROS.with_interval(&slope.per_client);
    format!("{per_client} of CPU a second to `{variant}`{doubt}")
}

/// Comparisons at the largest count, in the stages' order.
fn comparisons(analysis: &Analysis) -> impl Iterator<Item = &Comparison> {
    analysis.stages.rows.iter().flat_map(|row| &row.against)
}

/// Against the first base of each variant, one sentence for each process.
fn cures(analysis: &Analysis) -> Vec<String> {
    let firsts = || analysis.stages.rows.iter().filter_map(|row| row.against.first());
    let mut processes: Vec<&str> = Vec::new();
    for each in firsts().filter(|each| each.same_subject()) {
        if !processes.contains(&&*each.variant_subject) {
            processes.push(&each.variant_subject);
        }
    }
    let sentence = |process: &str| {
        let of = firsts().filter(|each| each.same_subject() && each.variant_subject == process);
        format!(
            "{process}'s CPU relative to its base (in parentheses: of everything counted): {}.",
            listed(of.map(cure).collect(), IN_A_SENTENCE)
        )
    };
    processes.into_iter().map(sentence).collect()
}

fn cure(each: &Comparison) -> String {
    let all = ratio(each.sum.as_ref()).map_or(ABSENT.to_owned(), |all| Unit::ONE.plain(all.mean));
    let alone = with_interval(Some(&each.subject));
    format!("`{}` {alone} of `{}` ({all})", each.variant, each.base)
}

/// Comparisons between different processes: what they are made to do comes first, for the subjects alone
/// do not do the same part of it.
fn across(analysis: &Analysis) -> Option<String> {
    let mut of: Vec<_> = comparisons(analysis).filter(|each| !each.same_subject()).collect();
    // The nearest first: how far it is from the base is what is asked.
    let by = |each: &Comparison| ratio(each.sum.as_ref()).map_or(f64::INFINITY, |ratio| ratio.mean);
    of.sort_by(|a, b| by(a).total_cmp(&by(b)));
    (!of.is_empty()).then(|| {
        format!(
            "All that is counted, between different programs (their subjects alone): {}.",
            listed(of.into_iter().map(rival).collect(), RIVALS)
        )
    })
}

fn rival(each: &Comparison) -> String {
    let all = with_interval(each.sum.as_ref());
    let alone =
        ratio(Some(&each.subject)).map_or(ABSENT.to_owned(), |one| Unit::ONE.plain(one.mean));
    format!(
        "`{}` {all} times `{}` ({} {alone} times {})",
        each.variant, each.base, each.variant_subject, each.base_subject
    )
}

fn ratio(contrast: Option<&Contrast>) -> Option<&Estimate> {
    contrast?.ratio.as_ref()
}

fn with_interval(contrast: Option<&Contrast>) -> String {
    ratio(contrast).map_or(ABSENT.to_owned(), |ratio| Unit::ONE.with_interval(ratio))
}

fn listed(mut each: Vec<String>, most: usize) -> String {
    let more = each.len().saturating_sub(most);
    each.truncate(most);
    let more = if more > 0 { format!("; {more} more in the table") } else { String::new() };
    each.join("; ") + &more
}

fn published(run: &Run, analysis: &Analysis) -> Option<String> {
    let rows = || analysis.stages.rows.iter();
    let mode = rows().find(|row| row.published.is_some())?.mode;
    let of: Vec<_> = rows().filter_map(elsewhere).collect();
    Some(format!(
        "Published for the subject alone on another core (here, on {}): {}.",
        core_of(run, mode),
        of.join("; ")
    ))
}

fn elsewhere(row: &Stage) -> Option<String> {
    let Elsewhere { clients, percent_of_core, before, here, .. } = row.published.as_ref()?;
    let before = before.map(|before| format!("{before} → ")).unwrap_or_default();
    let here = Unit::CORE.plain(here.mean);
    Some(format!(
        "`{}` {before}{percent_of_core} % at {clients} ({here} %)",
        row.variant,
        clients = count(clients, "client")
    ))
}
