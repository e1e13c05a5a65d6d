//! The subject's own words in the unit of a table: dates, addresses, numbers with a unit.

use super::{
    station::{self, as_address, number},
    value::Value,
};

/// `2026-11-24T20:21:36Z` as seconds since 1970.
pub(super) fn seconds(value: &Value) -> Option<Value> {
    let Value::Text(text) = value else { return None };
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let days = days(year, month, day)?;
    Some(Value::Whole(((days * 24 + hour) * 60 + minute) * 60 + second))
}

fn numbers(text: &str, between: char) -> Option<[i128; 3]> {
    let parts: Option<Vec<i128>> =
        text.split(between).map(|part| part.parse::<u16>().ok().map(i128::from)).collect();
    parts?.try_into().ok()
}

/// Days since 1970-01-01, counted year by year and month by month.
fn days(year: i128, month: i128, day: i128) -> Option<i128> {
    const MONTHS: [i128; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let is_leap = |year: i128| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let whole: i128 = (1970..year).map(|year| 365 + i128::from(is_leap(year))).sum();
    let before = usize::try_from(month - 1).ok().filter(|before| *before < MONTHS.len())?;
    let before: i128 = MONTHS[..before].iter().sum();
    let leap_day = i128::from(month > 2 && is_leap(year));
    Some(whole + before + leap_day + day - 1)
}

/// An address in small letters.
pub(super) fn small_letters(value: &Value) -> Option<Value> {
    let Value::Text(text) = value else { return None };
    as_address(text).map(Value::Text)
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// The whole number that words begin with.
pub(super) fn whole(value: &Value) -> Option<Value> {
    number(text(value)?).map(Value::Whole)
}

/// `yes` or `no`.
pub(super) fn flag(value: &Value) -> Option<Value> {
    Some(Value::Flag(text(value)? == "yes"))
}

/// A bit rate as iw prints it, kbit/s.
pub(super) fn rate(value: &Value) -> Option<Value> {
    station::kbps(text(value)?).map(Value::Whole)
}

/// iw's seconds with three digits behind the point, `12.345s`, as ms.
pub(super) fn milliseconds(value: &Value) -> Option<Value> {
    let (whole, part) = text(value)?.strip_suffix('s')?.split_once('.')?;
    let part = part.parse::<u16>().ok().filter(|_| part.len() == 3)?;
    Some(Value::Whole(i128::from(whole.parse::<u32>().ok()?) * 1000 + i128::from(part)))
}

/// hostapd's rates are in 100 kbit/s.
pub(super) fn hundreds(value: &Value) -> Option<Value> {
    Some(Value::Whole(number(text(value)?)? * 100))
}

/// Milliseconds, as seconds.
pub(super) fn thousandth(value: &Value) -> Option<Value> {
    Some(Value::Whole(number(text(value)?)?.div_euclid(1000)))
}

fn float(value: &Value) -> Option<f64> {
    text(value)?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A number of OpenMetrics: `1.5e+06`.
pub(super) fn metric(value: &Value) -> Option<Value> {
    Some(Value::Whole(float(value)?.floor() as i128))
}

/// Bits a second, as kbit/s.
pub(super) fn metric_kbps(value: &Value) -> Option<Value> {
    Some(Value::Whole((float(value)? / 1000.0).round() as i128))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_seconds_since_1970() {
        let at = |text: &str| match seconds(&text.into()) {
            Some(Value::Whole(seconds)) => Some(seconds),
            _ => None,
        };
        assert_eq!(at("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(at("2000-02-29T00:00:00Z"), Some(951_782_400));
        assert_eq!(at("2026-11-21T23:59:59Z"), Some(1_795_305_599));
        assert_eq!(at("2100-03-01T00:00:00Z"), Some(4_107_542_400));
        for wrong in ["", "Z", "2026-11-24", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_have_their_units_taken_away() {
        assert_eq!(rate(&"433.3 MBit/s VHT-MCS 9".into()), Some(Value::Whole(433_300)));
        assert_eq!(milliseconds(&"12.345s".into()), Some(Value::Whole(12_345)));
        assert_eq!((milliseconds(&"12.3s".into()), milliseconds(&"12s".into())), (None, None));
        assert_eq!(hundreds(&"60".into()), Some(Value::Whole(6000)));
        assert_eq!(thousandth(&"1500 ms".into()), Some(Value::Whole(1)));
        assert_eq!(metric_kbps(&"4.333e+08".into()), Some(Value::Whole(433_300)));
        assert_eq!(metric(&"-30".into()), Some(Value::Whole(-30)));
        assert_eq!((metric(&"NaN".into()), metric(&Value::Whole(1))), (None, None));
    }

    proptest! {
        #[test]
        fn any_words_are_read_without_a_panic(text: String, like in "[0-9]{0,5}[-:T][0-9]{0,3}[-:]?[0-9]{0,3}T?[0-9:]{0,9}Z?") {
            for value in [Value::Text(text), Value::Text(like)] {
                let _ = (seconds(&value), small_letters(&value), whole(&value), rate(&value));
                let _ = (hundreds(&value), milliseconds(&value), thousandth(&value), metric(&value), metric_kbps(&value));
            }
        }
    }
}
