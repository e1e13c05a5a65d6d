//! Values: as they are read and set, as they are kept, and as JSON.
//!
//! A value that is read borrows its text; a value that is kept shares it with all objects that have the
//! same one, because stations of one make have the same capabilities. It knows no names and no types of
//! parameters.

use std::{borrow::Cow, io::Write};

use linux::nl80211::Address;

use super::{
    texts::{Shared, Texts},
    time,
};
use crate::address;

/// A value, with its text as it is read or as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Datum<T> {
    /// Unknown: it is left out of every reply.
    #[default]
    Absent,
    /// Yes or no.
    Bool(bool),
    /// A number that may be below 0.
    Signed(i64),
    /// A number that may not.
    Unsigned(u64),
    /// A moment, ns since boot: the wall clock may jump, and then this is still the same moment.
    Time(u64),
    Address(Address),
    /// A text, or one of an enumeration's words.
    Text(T),
}

/// A value, to be read or set.
pub type Value<'a> = Datum<Cow<'a, str>>;

/// A value as it is kept.
pub(super) type Cell = Datum<Shared>;

// 45 of them are kept for each station; what a station costs is promised to operators.
const _: () = assert!(size_of::<Cell>() == 16);

impl<T> Datum<T> {
    fn with_text<'a, U>(&'a self, text: impl FnOnce(&'a T) -> U) -> Datum<U> {
        match self {
            Self::Absent => Datum::Absent,
            Self::Bool(value) => Datum::Bool(*value),
            Self::Signed(value) => Datum::Signed(*value),
            Self::Unsigned(value) => Datum::Unsigned(*value),
            Self::Time(value) => Datum::Time(*value),
            Self::Address(value) => Datum::Address(*value),
            Self::Text(value) => Datum::Text(text(value)),
        }
    }
}

impl Cell {
    pub(super) fn keep(value: &Value<'_>, texts: &mut Texts) -> Self {
        value.with_text(|text| texts.share(text))
    }

    /// The value that is kept.
    pub(super) fn value(&self) -> Value<'_> {
        self.with_text(|text| Cow::Borrowed(&**text.0))
    }
}

impl Value<'_> {
    pub fn is_absent(&self) -> bool {
        *self == Self::Absent
    }

    /// Appends it as JSON; what is absent is `null`, and no one asks for that. `wall_offset_ns` is wall
    /// clock − time since boot.
    pub fn write_json(&self, wall_offset_ns: i64, out: &mut Vec<u8>) {
        match self {
            Self::Absent => out.extend(b"null"),
            Self::Bool(value) => write(out, format_args!("{value}")),
            Self::Signed(value) => write(out, format_args!("{value}")),
            Self::Unsigned(value) => write(out, format_args!("{value}")),
            Self::Time(boot_ns) => write_text(&time::rfc3339(*boot_ns, wall_offset_ns), out),
            Self::Address(address) => {
                out.push(b'"');
                out.extend(address::upper(*address));
                out.push(b'"');
            }
            Self::Text(text) => write_text(text, out),
        }
    }

    /// It as one of `serde_json`'s; `None` where it is absent.
    pub fn to_json(&self, wall_offset_ns: i64) -> Option<serde_json::Value> {
        Some(match self {
            Self::Absent => return None,
            Self::Bool(value) => (*value).into(),
            Self::Signed(value) => (*value).into(),
            Self::Unsigned(value) => (*value).into(),
            Self::Time(boot_ns) => time::rfc3339(*boot_ns, wall_offset_ns).into(),
            Self::Address(address) => {
                String::from_utf8_lossy(&address::upper(*address)).into_owned().into()
            }
            Self::Text(text) => text.as_ref().into(),
        })
    }
}

impl From<Option<bool>> for Value<'_> {
    fn from(value: Option<bool>) -> Self {
        value.map_or(Self::Absent, Self::Bool)
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        value.map_or(Self::Absent, Self::Signed)
    }
}

impl From<Option<u64>> for Value<'_> {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::Absent, Self::Unsigned)
    }
}

impl From<Option<u32>> for Value<'_> {
    fn from(value: Option<u32>) -> Self {
        value.map(u64::from).into()
    }
}

impl From<Option<String>> for Value<'_> {
    fn from(value: Option<String>) -> Self {
        value.map_or(Self::Absent, |text| Self::Text(text.into()))
    }
}

impl<'a> From<Option<&'a str>> for Value<'a> {
    fn from(value: Option<&'a str>) -> Self {
        value.map_or(Self::Absent, |text| Self::Text(text.into()))
    }
}

/// Writing to a vector cannot fail.
fn write(out: &mut Vec<u8>, what: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(what);
}

/// Appends a text as a JSON string.
pub(super) fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0..0x20 => write(out, format_args!("\\u{byte:04x}")),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(value: &Value<'_>) -> String {
        let mut out = Vec::new();
        value.write_json(0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_json() {
        assert_eq!(json(&Value::Signed(-40)), "-40");
        assert_eq!(json(&Value::Unsigned(u64::MAX)), "18446744073709551615");
        assert_eq!(json(&Value::Bool(false)), "false");
        assert_eq!(json(&Value::Address([2, 0, 0, 0xab, 1, 9])), "\"02:00:00:AB:01:09\"");
        assert_eq!(json(&Value::Time(1_500_000_000)), "\"1970-01-01T00:00:01Z\"");
    }

    #[test]
    fn what_is_kept_is_what_is_read() {
        let mut texts = Texts::default();
        let values =
            [Value::Absent, Value::Time(7), Value::Text("80MHz".into()), Value::Address([1; 6])];
        for value in values {
            assert_eq!(Cell::keep(&value, &mut texts).value(), value);
        }
    }

    proptest! {
        #[test]
        fn every_text_is_json_that_reads_back(text: String) {
            let value = Value::Text(text.as_str().into());
            prop_assert_eq!(serde_json::from_str::<String>(&json(&value)).unwrap(), text);
        }

        #[test]
        fn both_ways_to_json_are_the_same(signed: i64, time: u64, offset: i64) {
            for value in [Value::Signed(signed), Value::Time(time)] {
                let mut out = Vec::new();
                value.write_json(offset, &mut out);
                prop_assert_eq!(serde_json::from_slice(&out).ok(), value.to_json(offset));
            }
        }
    }
}
