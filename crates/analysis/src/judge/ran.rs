//! Whether what a variant changes was executed, and how often counted things happen on both sides.
//!
//! From trials for counts: the pairs themselves carry no probes, which would cost CPU.

use model::{instrument::Counted, study::Function, trial::Purpose};

use super::Question;
use crate::{
    calls,
    measured::Measured,
    verdicts::{Ran, RateChange},
};

/// The functions that the variant changes, with the most calls in one window of either side.
pub(super) fn ran(measured: &Measured, question: &Question) -> Vec<Ran> {
    let of = |function: &String| Ran {
        function: function.clone(),
        calls: counted(measured, question, function)
            .into_iter()
            .filter(|counted| was_watched(counted))
            .map(|counted| counted.hits)
            .max(),
    };
    question.changes.iter().map(of).collect()
}

/// A probe that could be put into no process that has the file would count 0 of anything.
fn was_watched(counted: &Counted) -> bool {
    counted.probed > 0 || counted.mapped_by.is_none_or(|mapped| mapped == 0)
}

/// What both sides' windows counted of a function: a cure that spares calls leaves them to the base alone.
/// It is found by the name or the symbol that the study gives it.
fn counted<'a>(measured: &'a Measured, question: &Question, function: &str) -> Vec<&'a Counted> {
    let functions = measured.run.study.count.as_ref().map(|count| count.functions.as_slice());
    let is = |one: &&Function| {
        let is_symbol = |symbol: &Option<String>| symbol.as_deref() == Some(function);
        one.name == function || is_symbol(&one.symbol) || is_symbol(&one.kernel)
    };
    let named = functions.unwrap_or_default().iter().find(is);
    let name = named.map_or(function, |function| function.name.as_str());
    let windows = measured.instrumented.iter().filter(|(figures, _)| {
        let id = &figures.id;
        id.purpose == Purpose::Counts
            && (id.variant == question.variant || id.variant == question.base)
            && id.clients == question.clients
    });
    let counts = windows.filter_map(|(_, trial)| trial.reading()?.counts.as_deref());
    counts.flat_map(|counts| &counts.probes).filter(|counted| counted.name == name).collect()
}

/// Calls each second of what was counted on both sides.
pub(super) fn rates(measured: &Measured, question: &Question) -> Vec<RateChange> {
    let figures = calls::counts(measured);
    let of = |side: &str| {
        let is = |one: &&crate::profiles::CountFigures| {
            one.variant == side && one.clients == question.clients
        };
        figures.iter().filter(is).collect::<Vec<_>>()
    };
    let (before, after) = (of(&question.base), of(&question.variant));
    let change = |base: &&crate::profiles::CountFigures| {
        let twin = after.iter().find(|one| one.name == base.name)?;
        Some(RateChange {
            function: base.name.clone(),
            before: base.per_second.mean,
            after: twin.per_second.mean,
        })
    };
    before.iter().filter_map(change).collect()
}
