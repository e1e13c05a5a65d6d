//! Is a figure worse than an earlier one, by more than is allowed?
//!
//! The two have no pairs, so their means are compared: B. L. Welch, "The generalization of Student's
//! problem when several different population variances are involved", Biometrika 34 (1947), 28–35, for
//! `new − (1 + allowed) × old`, one-sided, with the degrees of freedom after F. E. Satterthwaite, Biometrics
//! Bulletin 2 (1946), 110–114. That is a bound on the ratio without dividing by anything uncertain.

use model::{limit::Side, verdict::Verdict};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::stats::Estimate;

/// The probability that the bound is meant to hold.
const ONE_SIDED: f64 = 0.95;

/// Repetitions, as far as Welch's test asks for them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    n: u32,
    mean: f64,
    sd: Option<f64>,
}

impl Sample {
    /// One repetition has no deviation, whatever a file says of it.
    pub(super) fn of(n: u32, mean: f64, sd: Option<f64>) -> Self {
        Self { n, mean, sd: sd.filter(|_| n > 1) }
    }
}

impl From<&Estimate> for Sample {
    fn from(estimate: &Estimate) -> Self {
        Self::of(estimate.n, estimate.mean, estimate.sd)
    }
}

/// Whether a figure is worse than an earlier one by more than a share `by` of it; invalid where it was not measured closely
/// enough. With the share that it is worse by at most, with 95 % confidence. `None` without repetitions on both sides, and
/// where the earlier figure is not above 0.
pub(super) fn judge(side: Side, by: f64, now: Sample, then: Sample) -> Option<(Verdict, f64)> {
    let is_less_better = side == Side::AtMost;
    let factor = if is_less_better { 1.0 + by } else { 1.0 - by };
    let (low, high) = bounds(now, then, factor).filter(|_| then.mean > 0.0)?;
    // Worse is upwards from here.
    let (low, high) = if is_less_better { (low, high) } else { (-high, -low) };
    let verdict = match (low > 0.0, high <= 0.0) {
        (_, true) => Verdict::Pass,
        (true, _) => Verdict::Fail,
        _ => Verdict::Invalid,
    };
    Some((verdict, by + high / then.mean))
}

/// One-sided bounds of `now − factor × then`, lower and upper; `None` without repetitions on both sides.
fn bounds(now: Sample, then: Sample, factor: f64) -> Option<(f64, f64)> {
    let difference = now.mean - factor * then.mean;
    let square = |of: Sample, factor: f64| Some((of.sd? * factor).powi(2) / f64::from(of.n));
    let (now_part, then_part) = (square(now, 1.0)?, square(then, factor)?);
    let variance = now_part + then_part;
    if variance == 0.0 {
        return Some((difference, difference));
    }
    let share = |part: f64, n: u32| part.powi(2) / f64::from(n - 1);
    let freedom = variance.powi(2) / (share(now_part, now.n) + share(then_part, then.n));
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(ONE_SIDED);
    let half = t * variance.sqrt();
    Some((difference - half, difference + half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_welchs() {
        // By hand: difference 2, variances 1/3 and 4/3 (n = 3 each), together 5/3, freedom 2.941,
        // t(0.95, 2.941) = 2.371, half 3.061.
        let now = Estimate::of(&[11.0, 12.0, 13.0]).unwrap();
        let then = Estimate::of(&[8.0, 10.0, 12.0]).unwrap();
        let (low, high) = bounds((&now).into(), (&then).into(), 1.0).unwrap();
        assert!(((low + high) / 2.0 - 2.0).abs() < 1e-12);
        assert!(((high - low) / 2.0 - 3.061).abs() < 5e-3, "{}", (high - low) / 2.0);
    }

    #[test]
    fn what_does_not_vary_is_compared_as_it_is() {
        let [now, then] = [101.0, 100.0].map(|value| Estimate::of(&[value; 3]).unwrap());
        assert_eq!(bounds((&now).into(), (&then).into(), 1.0), Some((1.0, 1.0)));
        assert_eq!(bounds((&now).into(), Sample::of(1, 100.0, Some(0.0)), 1.0), None);
    }
}
