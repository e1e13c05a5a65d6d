//! Differences as people read them: with their sign.

use analysis::{Estimate, quantity::Unit};

/// An estimate's mean with its sign, without the unit's name: `−34.1`, `+0.20`.
pub(crate) fn of_estimate(unit: Unit, estimate: &Estimate) -> String {
    let plus = if estimate.mean > 0.0 { "+" } else { "" };
    format!("{plus}{}", unit.mean(estimate))
}

/// The same with the unit and the interval: `−34.1 % [−34.3, −33.9]`.
pub(crate) fn with_interval(unit: Unit, estimate: &Estimate) -> String {
    let plus = if estimate.mean > 0.0 { "+" } else { "" };
    format!("{plus}{}", unit.with_interval(estimate))
}
