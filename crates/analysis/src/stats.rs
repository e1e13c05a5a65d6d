//! Mean, spread, Student's t interval and the straight line: the statistics of a run.
//!
//! Talks to nothing but `statrs`, for the quantile of Student's t. It knows no trial and no unit, and
//! it never returns NaN: what cannot be computed is `None`.
//!
//! # Sources
//!
//! - Interval of a mean: Student, "The probable error of a mean", Biometrika 6 (1908); NIST/SEMATECH
//!   e-Handbook of Statistical Methods §1.3.5.2: mean ± t(1 − α/2, n − 1) · s / √n.
//! - Straight line by least squares: e-Handbook §4.1.4.1; the closed form about the means.
//! - Ratios by repetition (a paired design): Kalibera and Jones, "Rigorous benchmarking in reasonable
//!   time", ISMM 2013: replicate at the highest level that varies, and give effect sizes intervals.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The probability that every interval of this crate is meant to hold.
pub const CONFIDENCE: f64 = 0.95;

/// A two-sided interval, of [`CONFIDENCE`] where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Whether the value lies in the interval, ends included.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// What repetitions say of one quantity, in the quantity's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Repetitions; at least 1.
    pub n: u32,
    pub mean: f64,
    /// Sample standard deviation (n − 1); `None` with one repetition.
    pub sd: Option<f64>,
    /// Coefficient of variation, `sd / |mean|`; `None` with one repetition or a mean of 0.
    pub cv: Option<f64>,
    /// Student's t interval of the mean; `None` with one repetition.
    pub interval: Option<Interval>,
    pub min: f64,
    pub max: f64,
}

impl Estimate {
    /// From repetitions; `None` where there is none, or one is not a finite number.
    pub fn of(values: &[f64]) -> Option<Self> {
        Self::at(values, 1.0 - CONFIDENCE)
    }

    /// The same with an interval that misses the mean in `level` of all experiments, between 0 and 1.
    pub fn at(values: &[f64], level: f64) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = mean(values, min, max);
        let sd = deviation(values, mean);
        let estimate = Self {
            n: values.len() as u32,
            mean,
            sd,
            cv: sd.filter(|_| mean != 0.0).map(|sd| sd / mean.abs()),
            interval: sd.map(|sd| student(mean, sd, values.len(), level)),
            min,
            max,
        };
        estimate.is_finite().then_some(estimate)
    }

    /// The same repetitions with an interval of another level, as [`Self::at`] has it.
    pub(crate) fn at_level(self, level: f64) -> Self {
        let interval = self.sd.map(|sd| student(self.mean, sd, self.n as usize, level));
        Self { interval, ..self }
    }

    /// Whether the interval shows that the quantity differs from 0. Without an interval nothing is
    /// shown.
    pub fn differs_from_zero(&self) -> bool {
        self.interval.is_some_and(|interval| !interval.holds(0.0))
    }

    /// The same in another unit; `factor` is above 0.
    pub fn scaled(self, factor: f64) -> Self {
        Self { cv: self.cv, ..self.moved(factor, 0.0) }
    }

    /// The same from another zero.
    pub(crate) fn shifted(self, by: f64) -> Self {
        self.moved(1.0, by)
    }

    /// The same quantity counted the other way round.
    pub(crate) fn turned(self) -> Self {
        let Self { sd, cv, .. } = self;
        let turned = self.moved(-1.0, 0.0);
        let turn = |Interval { low, high }| Interval { low: high, high: low };
        let (min, max) = (turned.max, turned.min);
        Self { sd, cv, interval: turned.interval.map(turn), min, max, ..turned }
    }

    fn moved(self, factor: f64, by: f64) -> Self {
        let of = |value: f64| value * factor + by;
        let sd = self.sd.map(|sd| sd * factor);
        Self {
            n: self.n,
            mean: of(self.mean),
            sd,
            cv: sd.filter(|_| of(self.mean) != 0.0).map(|sd| sd / of(self.mean).abs()),
            interval: self.interval.map(|it| Interval { low: of(it.low), high: of(it.high) }),
            min: of(self.min),
            max: of(self.max),
        }
    }

    fn is_finite(&self) -> bool {
        let interval = self.interval.unwrap_or(Interval { low: 0.0, high: 0.0 });
        [self.mean, self.sd.unwrap_or(0.0), self.cv.unwrap_or(0.0), interval.low, interval.high]
            .into_iter()
            .all(f64::is_finite)
    }
}

/// The mean, kept inside the values: rounding would otherwise give equal values a spread.
fn mean(values: &[f64], min: f64, max: f64) -> f64 {
    (values.iter().sum::<f64>() / values.len() as f64).clamp(min, max)
}

/// Two passes, because the textbook one-pass form loses all digits where the spread is a millionth of
/// the mean, which is the usual case here.
fn deviation(values: &[f64], mean: f64) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / freedom as f64).sqrt())
}

fn student(mean: f64, sd: f64, n: usize, level: f64) -> Interval {
    let half = t_quantile_at(n.saturating_sub(1), 1.0 - level / 2.0) * sd / (n as f64).sqrt();
    Interval { low: mean - half, high: mean + half }
}

/// What a t of so many degrees of freedom, at least 1, stays below with `probability`.
pub(crate) fn t_quantile_at(freedom: usize, probability: f64) -> f64 {
    // Location 0, scale 1 and a freedom of at least 1 are always a distribution.
    StudentsT::new(0.0, 1.0, freedom.max(1) as f64)
        .map_or(f64::INFINITY, |distribution| distribution.inverse_cdf(probability))
}

/// The probability that a t of so many degrees of freedom, at least 1, is above `t`.
pub(crate) fn t_above(freedom: usize, t: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom.max(1) as f64).map_or(1.0, |distribution| distribution.sf(t))
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Line {
    pub intercept: f64,
    pub slope: f64,
}

impl Line {
    /// Least squares through points; `None` with fewer than two different abscissae.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let x_mean = points.iter().map(|(x, _)| x).sum::<f64>() / n;
        let y_mean = points.iter().map(|(_, y)| y).sum::<f64>() / n;
        let sxx: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
        let sxy: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
        let slope = sxy / sxx;
        let intercept = y_mean - slope * x_mean;
        let finite = slope.is_finite() && intercept.is_finite();
        finite.then_some(Self { intercept, slope })
    }

    pub fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }
}

/// The middle, or the mean of both middles.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) =
        (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

/// The nearest rank: the least value that so many of all are at most.
pub(crate) fn nearest_rank(mut values: Vec<f64>, quantile: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (quantile * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tiny_spread_on_a_large_mean_keeps_its_digits() {
        let found = Estimate::of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]).unwrap();
        assert!((found.sd.unwrap() - 30f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn equal_values_have_no_spread_and_one_repetition_no_interval() {
        let found = Estimate::of(&[0.1; 7]).unwrap();
        assert_eq!((found.mean, found.sd, found.cv), (0.1, Some(0.0), Some(0.0)));
        let found = Estimate::of(&[3.0]).unwrap();
        assert_eq!((found.sd, found.cv, found.interval), (None, None, None));
        assert_eq!((Estimate::of(&[]), Estimate::of(&[1.0, f64::NAN])), (None, None));
    }

    #[test]
    fn the_line_of_the_handbook() {
        // Anscombe's first set: y = 3.0001 + 0.5001 x.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let points: Vec<_> = x.into_iter().zip(y).collect();
        let line = Line::through(&points).unwrap();
        assert!((line.slope - 0.500_090_9).abs() < 1e-6);
        assert!((line.intercept - 3.000_090_9).abs() < 1e-6);
        assert_eq!(Line::through(&[(18.0, 1.0), (18.0, 2.0)]), None, "one abscissa is no line");
    }

    proptest! {
        #[test]
        fn nothing_is_ever_nan(values in prop::collection::vec(prop::num::f64::ANY, 0..12)) {
            if let Some(found) = Estimate::of(&values) {
                prop_assert!(found.is_finite());
                prop_assert!(found.min <= found.mean && found.mean <= found.max);
            }
            let points: Vec<_> = values.iter().copied().zip(values.iter().rev().copied()).collect();
            if let Some(line) = Line::through(&points) {
                prop_assert!(line.slope.is_finite() && line.intercept.is_finite());
            }
        }
    }
}
