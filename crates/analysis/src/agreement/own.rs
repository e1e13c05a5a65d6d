//! The subject's own words in the unit of a table: dates, addresses, numbers with a unit.

use super::{
    station::{as_address, number, tenths},
    value::Value,
};

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// `2026-11-24T20:21:36Z` as seconds since 1970. Days are counted by H. Hinnant's `days_from_civil` ("chrono-Compatible
/// Low-Level Date Algorithms"): years begin in March, so that the leap day is the last one.
pub(super) fn seconds(value: &Value) -> Option<Value> {
    let (date, time) = text(value)?.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let (year, month) = match month {
        1..=2 => (year - 1, month + 9),
        3..=12 => (year, month - 3),
        _ => return None,
    };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(Value::Whole(((days * 24 + hour) * 60 + minute) * 60 + second))
}

fn numbers(text: &str, between: char) -> Option<[i128; 3]> {
    let number = |part: &str| part.parse::<u16>().ok().map(i128::from);
    text.split(between).map(number).collect::<Option<Vec<_>>>()?.try_into().ok()
}

/// An address in small letters.
pub(super) fn small_letters(value: &Value) -> Option<Value> {
    as_address(text(value)?).map(Value::Text)
}

/// `yes` or `no`.
pub(super) fn flag(value: &Value) -> Option<Value> {
    Some(Value::Flag(text(value)? == "yes"))
}

/// The whole number that words begin with.
pub(super) fn whole(value: &Value) -> Option<Value> {
    number(text(value)?).map(Value::Whole)
}

/// hostapd's rates are in 100 kbit/s.
pub(super) fn hundreds(value: &Value) -> Option<Value> {
    Some(Value::Whole(number(text(value)?)? * 100))
}

/// Milliseconds, as seconds.
pub(super) fn thousandth(value: &Value) -> Option<Value> {
    Some(Value::Whole(number(text(value)?)?.div_euclid(1000)))
}

/// A bit rate as iw prints it, kbit/s: `433.3 MBit/s VHT-MCS 9`.
pub(super) fn rate(value: &Value) -> Option<Value> {
    Some(Value::Whole(tenths(text(value)?.split(' ').next()?)? * 100))
}

/// iw's seconds with three digits behind the point, `12.345s`, as ms.
pub(super) fn milliseconds(value: &Value) -> Option<Value> {
    let (whole, part) = text(value)?.strip_suffix('s')?.split_once('.')?;
    let part = part.parse::<u16>().ok().filter(|_| part.len() == 3)?;
    Some(Value::Whole(i128::from(whole.parse::<u32>().ok()?) * 1000 + i128::from(part)))
}

fn float(value: &Value) -> Option<f64> {
    text(value)?.parse().ok().filter(|number: &f64| number.abs() <= u64::MAX as f64)
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
    use super::*;

    type Read = fn(&Value) -> Option<Value>;

    #[test]
    fn words_are_read_in_the_unit_of_their_table() {
        let cases: [(Read, &str, Option<i128>); 17] = [
            (seconds, "1970-01-01T00:00:00Z", Some(0)),
            (seconds, "2000-02-29T00:00:00Z", Some(951_782_400)),
            (seconds, "2100-03-01T00:00:00Z", Some(4_107_542_400)),
            (seconds, "2026-00-01T00:00:00Z", None),
            (seconds, "2026-11-21T23:59:59Z", Some(1_795_305_599)),
            (seconds, "2026-13-01T00:00:00Z", None),
            (seconds, "2026-11-24", None),
            (rate, "433.3 MBit/s VHT-MCS 9", Some(433_300)),
            (milliseconds, "12.345s", Some(12_345)),
            (milliseconds, "12.3s", None),
            (milliseconds, "12s", None),
            (hundreds, "60", Some(6000)),
            (thousandth, "1500 ms", Some(1)),
            (metric_kbps, "4.333e+08", Some(433_300)),
            (metric, "-30", Some(-30)),
            (metric, "NaN", None),
            (whole, "", None),
        ];
        for (read, words, number) in cases {
            assert_eq!(read(&words.into()), number.map(Value::Whole), "{words}");
        }
        assert_eq!(metric(&Value::Whole(1)), None);
    }
}
