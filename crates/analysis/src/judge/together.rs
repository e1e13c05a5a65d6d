//! What everything that is counted takes on both sides, where the subject alone is judged: a program is not cheaper
//! because another one pays.
//!
//! Computes; whether others pay is decided by [`rule`]. It writes no words.

use super::{Effect, PairValues, rule};
use crate::{paired, verdicts::Together};

/// Subject, load and others of the pairs at these places; `None` without pairs.
pub(super) fn of(
    values: &PairValues,
    places: &[usize],
    margin: f64,
    level: f64,
) -> Option<Together> {
    let paired = Effect::of(values, places, level).paired?;
    let is_same = paired::equivalence(&paired.ratios, margin).is_some_and(|p| p <= level);
    Some(Together {
        finding: rule::finding(&paired.absolute, is_same),
        absolute: paired.absolute,
        relative: paired.relative,
        pays: false,
    })
}
