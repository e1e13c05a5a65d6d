//! Figures as people read them: a unit that fits, and no more digits than the interval supports.

pub use model::plural::count;

use model::figure::Measure;

use crate::stats::{Estimate, Interval};

/// What stands where there is no figure.
pub const ABSENT: &str = "–";

/// Digits that a figure gets at most: beyond 1e-5 no one reads on.
const MOST_DIGITS: i32 = 5;

/// Digits that a figure gets without an interval.
const USUAL_DIGITS: i32 = 4;

/// Decimals such that the half-width shows two digits, and the value no more than [`MOST_DIGITS`].
///
/// Two digits of the uncertainty: JCGM 100:2008 (GUM) §7.2.6.
fn decimals(value: f64, half: Option<f64>) -> usize {
    let whole = digits_before_point(value);
    // What shows in no digit is no uncertainty: windows differ by nanoseconds.
    let least = 0.05 * 10f64.powi(whole - MOST_DIGITS);
    let wanted = match half.filter(|half| *half >= least) {
        Some(half) => 2 - digits_before_point(half),
        None if half.is_some() => exact_decimals(value),
        None => USUAL_DIGITS - whole,
    };
    wanted.min(MOST_DIGITS - whole).clamp(0, 9) as usize
}

/// Decimals of a value that is the same in every repetition: without the zeros at its end, and at least two digits.
fn exact_decimals(value: f64) -> i32 {
    let whole = digits_before_point(value);
    let (fewest, most) = (2 - whole, MOST_DIGITS - whole);
    let text = format!("{value:.*}", most.clamp(0, 9) as usize);
    let zeros = text.len() - text.trim_end_matches('0').len();
    (most.clamp(0, 9) - zeros as i32).max(fewest)
}

/// 3 for 123.4, 1 for 1.2, 0 for 0.12, −1 for 0.012.
fn digits_before_point(value: f64) -> i32 {
    if value == 0.0 { 1 } else { (value.abs().log10().floor() as i32).saturating_add(1) }
}

/// A value with the decimals that its interval supports.
pub fn number(value: f64, interval: Option<Interval>) -> String {
    fixed(value, decimals(value, interval.map(|interval| interval.half())))
}

/// A value for a headline: two digits, and all of those before the point.
pub fn rounded(value: f64) -> String {
    fixed(value, (2 - digits_before_point(value)).clamp(0, 9) as usize)
}

fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // A negative number that rounds to 0 is 0.
    let is_zero = text.trim_start_matches('-').chars().all(|digit| digit == '0' || digit == '.');
    if is_zero { text.trim_start_matches('-').to_owned() } else { text.replace('-', "−") }
}

/// A factor and its unit's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    factor: f64,
    /// Digits after the point are cut to so many.
    most_decimals: usize,
    pub name: &'static str,
}

/// The unit of a picture whose largest value this is.
pub fn unit_of(measure: Measure, largest: f64) -> Unit {
    match measure {
        Measure::Share => Unit::PER_CENT,
        Measure::Cpu => cpu_unit(largest),
        Measure::Ratio => Unit::TIMES,
        Measure::Seconds => cpu_unit(1e6 * largest).times(1e6),
        Measure::Kib if largest < 1024.0 => Unit::KIB,
        Measure::Kib => Unit::MIB,
        Measure::Count | Measure::Rate => Unit::ONE,
    }
}

/// CPU time each second: µs, ms or s of it, so that the number is below 1000.
pub fn cpu_unit(us_per_second: f64) -> Unit {
    match us_per_second.abs() {
        size if size < 1e3 => Unit { factor: 1.0, name: "µs", ..Unit::ONE },
        size if size < 1e6 => Unit { factor: 1e-3, name: "ms", ..Unit::ONE },
        _ => Unit { factor: 1e-6, name: "s", ..Unit::ONE },
    }
}

impl Unit {
    pub const PER_CENT: Unit = Unit { factor: 100.0, name: "%", ..Unit::ONE };
    pub const ONE: Unit = Unit { factor: 1.0, most_decimals: 9, name: "" };
    /// Whole things, as clients.
    pub const WHOLE: Unit = Unit { most_decimals: 0, ..Unit::ONE };
    /// µs/s as per cent of one core.
    pub const CORE: Unit = Unit { factor: 1e-4, name: "%", ..Unit::ONE };
    pub const MILLIONTH: Unit = Unit { factor: 1e-6, name: "million", ..Unit::ONE };
    pub const TIMES: Unit = Unit { factor: 1.0, name: "×", ..Unit::ONE };
    pub const KIB: Unit = Unit { factor: 1.0, name: "KiB", ..Unit::ONE };
    pub const MIB: Unit = Unit { factor: 1.0 / 1024.0, name: "MiB", ..Unit::ONE };
    pub const MICROS: Unit = Unit { factor: 1.0, name: "µs", ..Unit::ONE };

    /// The same unit for values that are smaller by this factor: s in place of µs.
    #[must_use]
    pub const fn times(self, factor: f64) -> Self {
        Self { factor: self.factor * factor, ..self }
    }

    pub fn scale(&self, value: f64) -> f64 {
        value * self.factor
    }

    /// Per cent of one core that so many of this unit of CPU a second are.
    pub fn percent_of_core(&self, in_unit: f64) -> f64 {
        in_unit / self.factor / 1e4
    }

    fn interval(&self, interval: Interval) -> Interval {
        Interval { low: interval.low * self.factor, high: interval.high * self.factor }
    }

    fn decimals(&self, estimate: &Estimate) -> usize {
        let half = estimate.interval.map(|interval| self.interval(interval).half());
        decimals(estimate.mean * self.factor, half).min(self.most_decimals)
    }

    /// A value among an estimate's repetitions, with the estimate's decimals.
    pub fn among(&self, value: f64, estimate: &Estimate) -> String {
        fixed(value * self.factor, self.decimals(estimate))
    }

    /// An estimate's mean in this unit, without the unit's name.
    pub fn mean(&self, estimate: &Estimate) -> String {
        fixed(estimate.mean * self.factor, self.decimals(estimate))
    }

    /// An estimate's interval in this unit, as `[1.23, 1.25]`; [`ABSENT`] where there is none.
    pub fn bracket(&self, estimate: &Estimate) -> String {
        let Some(interval) = estimate.interval else { return ABSENT.to_owned() };
        let scaled = self.interval(interval);
        // The ends have the mean's decimals, whatever their own size.
        let show = |value| fixed(value, self.decimals(estimate));
        format!("[{}, {}]", show(scaled.low), show(scaled.high))
    }

    /// `1.24 ms [1.23, 1.25]`; the bracket is left out where there is no interval.
    pub fn with_interval(&self, estimate: &Estimate) -> String {
        let space = if self.name.is_empty() { "" } else { " " };
        let mean = format!("{}{space}{}", self.mean(estimate), self.name);
        match estimate.interval {
            Some(_) => format!("{mean} {}", self.bracket(estimate)),
            None => mean,
        }
    }

    /// A plain value in this unit with four digits, without the unit's name.
    pub fn plain(&self, value: f64) -> String {
        let value = value * self.factor;
        fixed(value, decimals(value, None).min(self.most_decimals))
    }
}

/// CPU each second in the unit that fits: `23.04 ms`.
pub fn cpu(estimate: &Estimate) -> String {
    let unit = cpu_unit(estimate.mean);
    format!("{} {}", unit.mean(estimate), unit.name)
}

/// The same with four digits, where the interval is not reported alongside it: `23.04 ms`.
pub fn cpu_short(us_per_second: f64) -> String {
    let unit = cpu_unit(us_per_second);
    format!("{} {}", unit.plain(us_per_second), unit.name)
}

/// Per cent of one core, from µs/s: `2.304`.
pub fn percent_of_core(estimate: &Estimate) -> String {
    Unit::CORE.mean(estimate)
}

/// A share of the mean, as `0.0031 %`, two digits: it is itself an uncertainty.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let decimals = (2 - digits_before_point(value)).clamp(0, 6) as usize;
    if share == 0.0 {
        "0 %".to_owned()
    } else if value.abs() < 1e-6 {
        "less than 0.000001 %".to_owned()
    } else {
        format!("{value:.decimals$} %").replace('-', "−")
    }
}

/// The same with its sign: `+0.012 %`.
pub fn signed_percent(share: f64) -> String {
    if share > 0.0 { format!("+{}", percent(share)) } else { percent(share) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: &[f64]) -> Estimate {
        Estimate::of(values).unwrap()
    }

    #[test]
    fn digits_follow_the_interval() {
        let interval = |half: f64| Some(Interval { low: 201.15 - half, high: 201.15 + half });
        let cases = [(0.12, "201.15"), (1.3, "201.2"), (17.0, "201"), (0.0, "201.15")];
        for (half, expected) in cases {
            assert_eq!(number(201.15, interval(half)), expected, "± {half}");
        }
        let exact = |value| number(value, Some(Interval { low: value, high: value }));
        assert_eq!(
            [0.0086, 0.004_183_4, 6.0, 100.0].map(exact),
            ["0.0086", "0.0041834", "6.0", "100"]
        );
        let nearly = Interval { low: 4.299_999_9, high: 4.300_000_1 };
        assert_eq!(number(4.3, Some(nearly)), "4.3");
        assert_eq!(number(201.15, None), "201.2");
        assert_eq!(number(0.012_345, None), "0.01235");
        assert_eq!(number(-0.000_01, Some(Interval { low: -2.0, high: 2.0 })), "0.0");
    }

    #[test]
    fn the_unit_fits_the_number() {
        assert_eq!(cpu(&estimate(&[23.0])), "23.00 µs");
        assert_eq!(cpu(&estimate(&[23_029.5])), "23.03 ms");
        assert_eq!(cpu(&estimate(&[1_500_000.0])), "1.500 s");
        assert_eq!(percent_of_core(&estimate(&[23_029.5])), "2.303");
    }

    #[test]
    fn an_interval_is_written_with_its_mean_digits() {
        let found = estimate(&[200.9, 201.1, 201.3, 201.2, 201.0, 201.1]);
        assert_eq!(Unit::MICROS.with_interval(&found), "201.10 µs [200.95, 201.25]");
        assert_eq!(Unit::MICROS.with_interval(&estimate(&[201.1])), "201.1 µs");
    }

    #[test]
    fn shares_keep_two_digits() {
        assert_eq!(percent(0.000_031), "0.0031 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1e-12), "less than 0.000001 %");
        assert_eq!(signed_percent(0.83), "+83 %");
        assert_eq!(signed_percent(-0.000_05), "−0.0050 %");
    }
}
