//! Steady cost and rare events, told apart: both sides of a pair start from one state, so their periods are
//! compared one by one.
//!
//! A period is one round of the load. What the sides differ by in most periods is the steady difference; a period
//! that differs by far more than the others is an event: an interrupt's work that was charged to the subject, a
//! reclaim, a burst of the program's own. Pure numbers; it knows no trial, decides nothing and writes no words.
//!
//! # How
//!
//! - The steady difference of a pair is the mean of its periods' differences without those that are off their median by
//!   [`USUAL_SPREADS`] robust spreads. Up to half of the periods can be events without moving it much, and it is as fine
//!   as a mean: counters of whole microseconds round up in some periods and down in others. Hampel, "The breakdown
//!   points of the mean combined with some rejection rules", Technometrics 27 (1985), the rule X84. The median alone
//!   would be rounded with them.
//! - What events add is the pair's total difference less the steady one, so that the two always add up to the total.
//! - Whether events differ between the sides is asked three times: of what they add to each pair (Student's test), of how
//!   many each side has over all pairs (the sign test), and of how large they are, by rank (Wilcoxon, "Individual
//!   comparisons by ranking methods", Biometrics Bulletin 1, 1945). Large events of both sides hide in the sum what small
//!   ones of one side add, and not in the number or the ranks. Each test is enough, at [`DIFFER`] whatever the comparison's
//!   own level: they decide which difference is looked at, and claim none. Taking events for different costs pairs;
//!   taking them for alike would pass what they add.
//! - An event is counted where a period is off the steady difference by [`EVENT_SPREADS`] robust spreads (median
//!   absolute deviation × 1.4826; ibid., §5.1), by [`EVENT_SHARE`] of what a period costs and by [`EVENT_LEAST_US`]; the
//!   dearer side has it.

use crate::{
    paired,
    stats::{Estimate, median},
    verdicts::{Events, Split},
};

/// Events are taken to differ at this p, however many interim analyses share the error of the comparison.
const DIFFER: f64 = 0.05;

/// What is off the median by more robust spreads is in no steady difference.
const USUAL_SPREADS: f64 = 3.5;
/// Less than this is rounding, and leaves nothing out, µs a second: in a period of a second each side is a difference of
/// two counts of whole microseconds. A cheap subject's rounding is no more than a share of what it costs.
const ROUNDING: f64 = 2.0;
const ROUNDING_SHARE: f64 = 0.01;
/// Two differences are the same where they differ by less, µs a second.
const SAME: f64 = 1e-6;
/// An event is off by so many robust spreads: one period in 10^22 of a normal distribution.
const EVENT_SPREADS: f64 = 10.0;
/// And by so much of what a period of the base costs: less is no event that anybody looks for.
const EVENT_SHARE: f64 = 0.001;
/// And by so much at least, µs: a control group counts whole microseconds, and both sides round.
const EVENT_LEAST_US: f64 = 10.0;
/// The robust spread of normal values by their median absolute deviation.
const SPREAD_BY_DEVIATION: f64 = 1.4826;
/// Fewer periods have no median that one event leaves alone.
pub(crate) const FEWEST_PERIODS: usize = 4;
/// A nanosecond in a window of seconds: the counters' grain, µs a second.
const GRAIN: f64 = 1e-4;

/// What is usual among values, by the rule X84; the rest are events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    pub(crate) middle: f64,
    most_off: f64,
}

impl Usual {
    /// Of values, µs of CPU a second, of something that costs `cost`.
    pub(crate) fn of(values: &[f64], cost: f64) -> Self {
        let middle = median(values.to_vec()).unwrap_or(0.0);
        let off = values.iter().map(|value| (value - middle).abs()).collect();
        let spread = SPREAD_BY_DEVIATION * median(off).unwrap_or(0.0);
        let rounding = ROUNDING.min(ROUNDING_SHARE * cost);
        Self { middle, most_off: (USUAL_SPREADS * spread).max(rounding) + SAME }
    }

    pub(crate) fn holds(&self, value: f64) -> bool {
        (value - self.middle).abs() <= self.most_off
    }
}

/// One pair, period by period, and whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Periods {
    /// `(variant, base)` of each period, µs of CPU a second.
    pub(crate) each: Vec<(f64, f64)>,
    /// `variant − base` of the whole windows, µs of CPU a second.
    pub(crate) total: f64,
}

impl Periods {
    fn differences(&self) -> Vec<f64> {
        self.each.iter().map(|(variant, base)| variant - base).collect()
    }

    /// The mean of the usual periods' differences, µs of CPU a second.
    pub(crate) fn steady(&self) -> f64 {
        let base = median(self.each.iter().map(|(_, base)| base.abs()).collect()).unwrap_or(0.0);
        let differences = self.differences();
        let usual = Usual::of(&differences, base);
        let usual: Vec<f64> = differences.into_iter().filter(|one| usual.holds(*one)).collect();
        counted(usual.iter().sum::<f64>() / usual.len().max(1) as f64)
    }

    /// By how much each period is off the steady difference.
    fn deviations(&self) -> Vec<f64> {
        let steady = self.steady();
        self.differences().into_iter().map(|difference| difference - steady).collect()
    }
}

/// Steady cost, events and total of pairs whose periods last so many seconds, with intervals at `level`; `None`
/// without pairs or periods.
pub(crate) fn split(pairs: &[&Periods], period_s: f64, level: f64) -> Option<Split> {
    let steady: Vec<f64> = pairs.iter().map(|pair| pair.steady()).collect();
    let total: Vec<f64> = pairs.iter().map(|pair| counted(pair.total)).collect();
    let added: Vec<f64> =
        total.iter().zip(&steady).map(|(total, steady)| counted(total - steady)).collect();
    let least = least_event(pairs, period_s)?;
    let sizes = sizes(pairs, period_s, least);
    let of_sum = paired::t_test(&added).unwrap_or(1.0);
    let p = of_sum
        .min(paired::of_numbers(&sizes))
        .min(paired::of_ranks(&sizes.each_ref().map(|side| in_steps(side))));
    let [variant, base] = sizes.map(Events::of);
    Some(Split {
        period_s,
        periods: pairs.iter().map(|pair| pair.each.len() as u32).sum(),
        steady: Estimate::at(&steady, level)?,
        events: Estimate::at(&added, level)?,
        total: Estimate::at(&total, level)?,
        variant,
        base,
        p,
        differ: p <= DIFFER,
    })
}

/// What a period must be off by to be an event, µs a second; `None` without periods.
fn least_event(pairs: &[&Periods], period_s: f64) -> Option<f64> {
    let off = pairs.iter().flat_map(|pair| pair.deviations());
    let costs = pairs.iter().flat_map(|pair| &pair.each).map(|(_, base)| *base).collect::<Vec<_>>();
    let spread = SPREAD_BY_DEVIATION * median(off.map(f64::abs).collect())?;
    let least = (EVENT_SPREADS * spread).max(EVENT_SHARE * median(costs)?.abs());
    Some(least.max(EVENT_LEAST_US / period_s))
}

/// The sizes of the variant's and of the base's events, which are off by more than the least, µs.
fn sizes(pairs: &[&Periods], period_s: f64, least: f64) -> [Vec<f64>; 2] {
    let off: Vec<f64> = pairs.iter().flat_map(|pair| pair.deviations()).collect();
    [1.0, -1.0].map(|sign| {
        let sizes = off.iter().map(|one| one * sign).filter(|one| *one > least);
        sizes.map(|rate| rate * period_s).collect()
    })
}

/// Sizes in steps of the least event: what two of one kind differ by is rounding, and no rank.
fn in_steps(sizes_us: &[f64]) -> Vec<f64> {
    sizes_us.iter().map(|size| (size / EVENT_LEAST_US).round()).collect()
}

impl Events {
    fn of(sizes_us: Vec<f64>) -> Self {
        let count = sizes_us.len() as u32;
        let largest = sizes_us.iter().copied().reduce(f64::max);
        let mean_us = (count > 0).then(|| sizes_us.iter().sum::<f64>() / f64::from(count));
        Self { count, mean_us, largest_us: largest }
    }
}

impl Split {
    /// Whether the total is what the sides are said to differ by: where the interval of what events add leaves no doubt, or
    /// the steady part says nothing.
    pub(crate) fn is_total(&self) -> bool {
        self.events.differs_from_zero() || self.differ && !self.steady.differs_from_zero()
    }

    /// The most that the variant may cost more, as it was seen; of the base, where it is turned. What comes at least once a
    /// window comes a whole number of times in each, and always at the same place: once more is what no pair has seen.
    pub(crate) fn most(&self, is_turned: bool) -> Estimate {
        let (total, side) = match is_turned {
            false => (self.total, &self.variant),
            true => (self.total.turned(), &self.base),
        };
        let window_s = f64::from(self.periods) * self.period_s / f64::from(total.n);
        let recurs = self.differ && side.count >= total.n;
        total.shifted(side.mean_us.filter(|_| recurs).map_or(0.0, |size_us| size_us / window_s))
    }
}

/// A rate as counters have it: what is finer than their grain is rounding, and has signs, too.
fn counted(us_per_second: f64) -> f64 {
    (us_per_second / GRAIN).round() * GRAIN
}
