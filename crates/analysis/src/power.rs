//! What so many pairs could have seen: the smallest effect, and the pairs that a decision takes.
//!
//! Pure numbers. It knows no trial and no unit: effects and spreads are in one unit, whichever.
//!
//! # Sources
//!
//! - Power of the t test: under a true mean μ the statistic follows the noncentral t with n − 1 degrees of
//!   freedom and noncentrality δ = μ·√n / σ; NIST/SEMATECH e-Handbook §7.2.2.2; Cohen, "Statistical Power
//!   Analysis for the Behavioral Sciences" (1988), §2.
//! - Its distribution, with S² a chi-squared of ν degrees divided by ν:
//!   `P(T ≤ t) = ∫₀^∞ Φ(t·s − δ) f(s) ds`, `f(s) = 2 (ν/2)^(ν/2) / Γ(ν/2) · s^(ν−1) · exp(−ν s²/2)`;
//!   Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions" 2 (1995), §31.
//! - Power of the equivalence test: both one-sided tests reject, by Bonferroni's bound on the two misses;
//!   Phillips, J. Pharmacokinetics and Biopharmaceutics 18 (1990).

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use model::{
    trial::Trial,
    verdict::{Expect, FEWEST_PAIRS},
};
use statrs::function::{erf::erfc, gamma::ln_gamma};

use crate::{
    figures::{self, Part},
    stats::{Estimate, t_quantile_at},
};

/// The share of experiments in which an effect is to be found.
pub const POWER: f64 = 0.8;
/// No one measures more pairs than this.
const MOST_PAIRS: u32 = 1000;
/// Intervals of Simpson's rule, even: with these 9 digits are right.
const STEPS: u32 = 400;
/// With few degrees of freedom the spread is often near 0, where `t·s` passes through all that matters in
/// little room.
const STEPS_OF_FEW: u32 = 4000;
const FEW: usize = 5;

/// The smallest true mean that a two-sided paired t test at `level` finds in [`POWER`] of all experiments
/// with so many pairs; in the unit of `sd`, which is that of the pairs' differences. `None` with fewer than
/// two pairs.
pub fn detectable(pairs: u32, sd: f64, level: f64) -> Option<f64> {
    let freedom = pairs.checked_sub(1).filter(|freedom| *freedom > 0)? as usize;
    Some(found_noncentrality(freedom, level) * sd / f64::from(pairs).sqrt())
}

/// The smallest share of its CPU by which a trial's figure must change for so many pairs of windows of this length, s, to find
/// it, by the noise from sample to sample of one trial. What changes more slowly than a window is not in it, so it is a lower
/// bound. `None` where the trial has no figure, or too few samples.
pub fn foretold(trial: &Trial, pairs: u32, window_s: f64) -> Option<f64> {
    const FEWEST_STEPS: usize = 4;
    let figures = figures::of(trial).ok()?;
    let steps: Vec<f64> = figures.series.iter().filter_map(|step| step.part(Part::Sum)).collect();
    if steps.len() < FEWEST_STEPS || window_s <= 0.0 {
        return None;
    }
    let seen = Estimate::of(&steps)?;
    let step_s = figures.window_s / steps.len() as f64;
    // Means of a window's steps, and the difference of two of them.
    let sd = seen.sd? * (2.0 * step_s / window_s).sqrt();
    let smallest = detectable(pairs, sd, 0.05)?;
    (seen.mean > 0.0).then(|| smallest / seen.mean)
}

/// The noncentrality that a two-sided t test finds in [`POWER`] of all experiments. A run asks for one or two of them, for
/// each figure of its own again, and each takes tens of thousands of exponentials.
fn found_noncentrality(freedom: usize, level: f64) -> f64 {
    static KNOWN: Mutex<BTreeMap<(usize, u64), f64>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry((freedom, level.to_bits())).or_insert_with(|| search_noncentrality(freedom, level))
}

fn search_noncentrality(freedom: usize, level: f64) -> f64 {
    let at = |delta: f64| two_sided(delta, freedom, level);
    // A distance that is found for certain: the power rises with it.
    let mut high = t_quantile_at(freedom, 1.0 - level / 2.0) + 3.0;
    while at(high) < POWER {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at(middle) < POWER { low = middle } else { high = middle }
    }
    high
}

/// The pairs that decide in [`POWER`] of all experiments what is expected, were effect and spread what has
/// been seen of them; `None` where [`MOST_PAIRS`] would not, or nothing can be said.
pub fn pairs_needed(relative: &Estimate, margin: f64, expect: Expect, level: f64) -> Option<u32> {
    let (mean, sd) = (relative.mean, relative.sd.filter(|sd| *sd > 0.0)?);
    let decides = |pairs: u32| {
        let (error, freedom) = (sd / f64::from(pairs).sqrt(), pairs as usize - 1);
        let differs = || two_sided(mean / error, freedom, level);
        let below = || above_quantile((margin - mean) / error, freedom, level);
        let above = || above_quantile((margin + mean) / error, freedom, level);
        let power = match expect {
            Expect::NoSlower if mean < margin => below(),
            Expect::Same if mean.abs() < margin => below() + above() - 1.0,
            Expect::Faster => differs().max(below() + above() - 1.0),
            Expect::NoSlower | Expect::Same => differs(),
        };
        power >= POWER
    };
    // More pairs see more, so the first that decide are found by halving.
    let (mut low, mut high) = (FEWEST_PAIRS, MOST_PAIRS);
    if !decides(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if decides(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// The probability that a two-sided t test at `level` rejects, at noncentrality `delta`.
fn two_sided(delta: f64, freedom: usize, level: f64) -> f64 {
    let critical = t_quantile_at(freedom, 1.0 - level / 2.0);
    1.0 - noncentral(critical, freedom, delta) + noncentral(-critical, freedom, delta)
}

/// The probability that a one-sided t test at `level` rejects.
fn above_quantile(delta: f64, freedom: usize, level: f64) -> f64 {
    1.0 - noncentral(t_quantile_at(freedom, 1.0 - level), freedom, delta)
}

/// `P(T ≤ t)` of the noncentral t; Simpson's rule over all that weighs anything.
fn noncentral(t: f64, freedom: usize, delta: f64) -> f64 {
    let nu = freedom.max(1) as f64;
    let steps = if freedom < FEW { STEPS_OF_FEW } else { STEPS };
    // S has mean about 1 and spread about 1/√(2ν); 12 of these hold all but 1e-20.
    let reach = 12.0 / (2.0 * nu).sqrt();
    let (low, high) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let scale = 2f64.ln() + nu / 2.0 * (nu / 2.0).ln() - ln_gamma(nu / 2.0);
    let density = |s: f64| {
        // 0^0 is 1, which the logarithm cannot say.
        let power = if nu == 1.0 { 0.0 } else { (nu - 1.0) * s.ln() };
        (scale + power - nu * s * s / 2.0).exp()
    };
    let value = |step: u32| {
        let s = low + (high - low) * f64::from(step) / f64::from(steps);
        normal(t * s - delta) * density(s)
    };
    let inner: f64 =
        (1..steps).map(|step| value(step) * if step % 2 == 1 { 4.0 } else { 2.0 }).sum();
    let sum = value(0) + inner + value(steps);
    (sum * (high - low) / f64::from(steps) / 3.0).clamp(0.0, 1.0)
}

fn normal(z: f64) -> f64 {
    erfc(-z / std::f64::consts::SQRT_2) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(mean: f64, sd: f64) -> Estimate {
        let half = sd / 2f64.sqrt();
        Estimate::of(&[mean - half, mean + half]).unwrap()
    }

    #[test]
    fn pairs_that_are_needed_see_what_they_are_needed_for() {
        let relative = seen(0.01, 0.01);
        let needed = pairs_needed(&relative, 0.005, Expect::Faster, 0.05).unwrap();
        assert!(detectable(needed, 0.01, 0.05).unwrap() <= 0.01);
        assert!(detectable(needed - 1, 0.01, 0.05).unwrap() > 0.01);
    }

    #[test]
    fn more_pairs_and_longer_windows_see_smaller_changes_of_a_trial() {
        let run = crate::fixture::run();
        let trials = crate::fixture::trials(&run);
        let of = |pairs, window_s| foretold(&trials[0], pairs, window_s).unwrap();
        assert!(of(12, 20.0) > 0.0 && of(12, 20.0) < of(6, 20.0));
        let (short, long) = (of(12, 5.0), of(12, 20.0));
        assert!((short / long - 2.0).abs() < 1e-9, "{short} {long}");
    }

    #[test]
    fn an_effect_on_the_margin_is_never_decided_and_a_small_spread_needs_the_fewest() {
        for (mean, sd, expect, pairs) in [
            (0.005, 0.01, Expect::NoSlower, Some(34)),
            (0.004_99, 0.01, Expect::NoSlower, None),
            (0.004_99, 0.01, Expect::Same, None),
            (0.0, 0.000_1, Expect::NoSlower, Some(FEWEST_PAIRS)),
            (0.0, 0.000_1, Expect::Same, Some(FEWEST_PAIRS)),
        ] {
            assert_eq!(pairs_needed(&seen(mean, sd), 0.005, expect, 0.05), pairs, "{mean}");
        }
        assert_eq!((detectable(1, 1.0, 0.05), detectable(6, 0.0, 0.05)), (None, Some(0.0)));
    }
}
