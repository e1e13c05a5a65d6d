//! A length of time as people write it in a study file: `20s`, `500ms`, `2m`.
//!
//! Exact to the nanosecond, reads and prints the same text form everywhere. Not a clock.

use std::{fmt, str::FromStr, time::Duration};

/// The units, longest first, with their length in nanoseconds.
const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A span of time in nanoseconds; at most 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// `N` seconds, as a key's default.
    pub(crate) const fn seconds<const N: u64>() -> Self {
        Self::from_secs(N)
    }

    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Exact up to 2^53 ns (104 days).
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// For people, who read a time that was measured in three digits: `14.1 s`, `3.2 ms`.
    pub fn rounded(self) -> String {
        let [s, ms, us] = [1e9, 1e6, 1e3].map(|unit| self.0 as f64 / unit);
        match self.0 {
            0 => "0 s".to_owned(),
            1..1_000_000 => format!("{us:.0} µs"),
            1_000_000..1_000_000_000 => format!("{ms:.1} ms"),
            1_000_000_000..100_000_000_000 => format!("{s:.1} s"),
            _ => format!("{s:.0} s"),
        }
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Duration::from_nanos(span.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_units(self.0, &UNITS, "s"))
    }
}

/// A number with the longest unit that divides it, so that printing loses nothing; a zero has the unit that is given.
pub(crate) fn in_units(number: u64, units: &[(&str, u64)], of_zero: &str) -> String {
    let (unit, size) =
        units.iter().find(|(_, size)| number.is_multiple_of(*size)).unwrap_or(&("", 1));
    if number == 0 { format!("0{of_zero}") } else { format!("{}{unit}", number / size) }
}

/// A whole number and one of these units.
pub(crate) fn of_units(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, size) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*size)
}

/// Serde of a value as its text.
macro_rules! as_text {
    ($type:ident) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Serde of a number that people write with a unit: its text for them, the number for machines.
macro_rules! text_for_people {
    ($type:ident) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    serializer.serialize_u64(self.0)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
                } else {
                    u64::deserialize(deserializer).map(Self)
                }
            }
        }
    };
}

pub(crate) use {as_text, text_for_people};

text_for_people!(Span);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        of_units(text, &UNITS).map(Self).ok_or_else(|| {
            format!(
                "`{text}` is not a length of time: write a whole number and one of h, m, s, ms, us, ns, as in `20s`"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("20s".parse(), Ok(Span::from_secs(20)));
        assert_eq!("500ms".parse(), Ok(Span::from_nanos(500_000_000)));
        assert_eq!("2 m".parse(), Ok(Span::from_secs(120)));
        for wrong in ["", "20", "s", "-1s", "1.5s", "20 parsecs", "99999999999h"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn a_time_that_was_measured_has_three_digits_for_people() {
        let said = [0, 730, 81_000, 12_345_678, 999_000_000, 14_134_949_508, 250_000_000_000];
        let said = said.map(|nanos| Span::from_nanos(nanos).rounded());
        assert_eq!(said, ["0 s", "1 µs", "81 µs", "12.3 ms", "999.0 ms", "14.1 s", "250 s"]);
    }

    proptest::proptest! {
        #[test]
        fn prints_what_it_reads(nanos: u64) {
            let span = Span::from_nanos(nanos);
            proptest::prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
