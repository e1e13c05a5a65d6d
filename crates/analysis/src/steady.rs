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
//! - Whether events differ between the sides is the exact sign-flip test, pair by pair ([`sign_flip`]), on what they add
//!   and on how many there are: where they come to both sides alike, either difference is as often below 0 as above.
//!   Large events of both sides hide in the sum what small ones of one side add, and not in the number. Either test is
//!   enough, and neither pays for the other: they decide which difference is looked at, and claim none.
//! - An event is counted where a period is off the steady difference by [`EVENT_SPREADS`] robust spreads (median
//!   absolute deviation × 1.4826; ibid., §5.1), by [`EVENT_SHARE`] of what a period costs and by [`EVENT_LEAST_US`]; the
//!   dearer side has it.

use crate::{
    paired::sign_flip,
    stats::{Estimate, median},
    verdicts::{Events, Split},
};

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
/// An event this much larger than any of the other side is of another kind.
const OUTGROWN: f64 = 3.0;

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

    /// How many more events the variant has than the base.
    fn more_events(&self, least: f64) -> f64 {
        let off = self.deviations();
        let beyond = |sign: f64| off.iter().filter(|one| **one * sign > least).count() as f64;
        beyond(1.0) - beyond(-1.0)
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
    let number: Vec<f64> = pairs.iter().map(|pair| pair.more_events(least)).collect();
    let p = sign_flip(&added).min(sign_flip(&number));
    let [variant, base] = sides(pairs, period_s, least);
    Some(Split {
        period_s,
        periods: pairs.iter().map(|pair| pair.each.len() as u32).sum(),
        steady: Estimate::at(&steady, level)?,
        events: Estimate::at(&added, level)?,
        total: Estimate::at(&total, level)?,
        variant,
        base,
        p,
        differ: p <= level,
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

/// The events of the variant and of the base, which are off by more than the least.
fn sides(pairs: &[&Periods], period_s: f64, least: f64) -> [Events; 2] {
    let off: Vec<f64> = pairs.iter().flat_map(|pair| pair.deviations()).collect();
    [1.0, -1.0].map(|sign| {
        let sizes = off.iter().map(|one| one * sign).filter(|one| *one > least);
        Events::of(sizes.map(|rate| rate * period_s).collect())
    })
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
    /// Whether the sides' events, though not shown to differ, may take back what the steady difference claims: they
    /// do so in these pairs, and either the total's interval lies on the other side of 0, or one event is larger than a
    /// period of the base and far larger than any that came to the side which is called dearer.
    pub(crate) fn may_deceive(&self, base_us_per_second: f64) -> bool {
        let turned = self.steady.mean * self.total.mean <= 0.0 && self.steady.mean != 0.0;
        let [more, fewer] = match self.steady.mean < 0.0 {
            true => [&self.variant, &self.base],
            false => [&self.base, &self.variant],
        };
        let largest = more.largest_us.unwrap_or(0.0);
        let usual = fewer.largest_us.unwrap_or(0.0) * OUTGROWN;
        let opposed = self.total.interval.is_some_and(|one| one.low > 0.0 || one.high < 0.0);
        turned && (opposed || largest > usual.max(base_us_per_second * self.period_s))
    }
}

/// A rate as counters have it: what is finer than their grain is rounding, and has signs, too.
fn counted(us_per_second: f64) -> f64 {
    (us_per_second / GRAIN).round() * GRAIN
}
