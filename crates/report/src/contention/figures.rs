//! Figures of contention as text: shares in per cent, rates, times, and the dash where there is none.
//!
//! Digits follow the interval, by [`analysis::quantity`]. No arithmetic but units.

use analysis::{
    Estimate,
    quantity::{ABSENT, Unit},
};

/// An estimate's mean in a unit, without the unit's name.
pub(super) fn mean(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.mean(estimate))
}

pub(super) fn bracket(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.bracket(estimate))
}

pub(super) fn plain(unit: Unit, value: Option<f64>) -> String {
    value.map_or(ABSENT.to_owned(), |value| unit.plain(value))
}

/// A share as per cent with so many decimals, without the sign: for columns.
pub(super) fn percent(share: Option<f64>, decimals: usize) -> String {
    share.map_or(ABSENT.to_owned(), |share| format!("{:.decimals$}", 100.0 * share))
}

/// A share as per cent with one decimal: for the few words of a picture or a terminal.
pub(super) fn short(share: Option<f64>) -> String {
    share.map_or(ABSENT.to_owned(), |share| format!("{:.1} %", 100.0 * share).replace('-', "−"))
}

/// The mean as per cent with one decimal.
pub(super) fn short_mean(estimate: Option<&Estimate>) -> String {
    short(estimate.map(|estimate| estimate.mean))
}

/// A mean that is a share, as per cent with its interval, one decimal each.
pub(super) fn short_whole(estimate: Option<&Estimate>) -> String {
    let Some(estimate) = estimate else { return ABSENT.to_owned() };
    let mean = short(Some(estimate.mean));
    match estimate.interval {
        Some(interval) => {
            let ends = [interval.low, interval.high].map(|end| format!("{:.1}", 100.0 * end));
            format!("{mean} [{}]", ends.join(", ").replace('-', "−"))
        }
        None => mean,
    }
}
