//! What everything that is counted takes on both sides, where the subject alone is judged: a program is not cheaper
//! because another one pays.
//!
//! Computes and decides whether others pay. It writes no words.

use model::verdict::{Expect, Verdict};

use super::{Effect, PairValues, rule};
use crate::{
    paired,
    verdicts::{Finding, Judgement, Together},
};

/// Subject, load and others of the pairs at these places; `None` without pairs.
pub(super) fn of(
    values: &PairValues,
    places: &[usize],
    margin: f64,
    level: f64,
) -> Option<Together> {
    let paired = Effect::of(values, places, level).paired?;
    let equivalence = paired::equivalence(&paired.ratios, margin);
    Some(Together {
        finding: rule::finding(&paired.absolute, equivalence, level),
        absolute: paired.absolute,
        relative: paired.relative,
        pays: false,
    })
}

/// Whether a verdict that the subject would pass is not passed, because all together cost more: by anything where it
/// was to be faster, else by more than the margin.
pub(super) fn others_pay(judgement: &Judgement) -> bool {
    let Some(together) = &judgement.together else { return false };
    let more = together.relative.map_or(f64::INFINITY, |relative| relative.mean);
    let least = if judgement.expect == Expect::Faster { 0.0 } else { judgement.margin };
    judgement.verdict == Verdict::Pass && together.finding == Finding::Dearer && more > least
}
