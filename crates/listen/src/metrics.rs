//! Metrics as text, in both formats: heads of families, labels, the end. Which metrics there are is the daemons'.
//!
//! <https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md>

use crate::Format;

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    /// It rises and falls.
    Gauge,
    /// It is 1, and its labels are what it tells.
    Info,
}

impl Kind {
    /// What the names of samples end with.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Gauge => "",
            Self::Info => "_info",
        }
    }
}

/// What a family is.
#[derive(Clone, Copy, Debug)]
pub struct Family<'a> {
    /// Its name, with its unit and without a kind's suffix.
    pub name: &'a str,
    /// The unit at the name's end; empty where it is not to be said.
    pub unit: &'a str,
    /// How it behaves.
    pub kind: Kind,
    /// What it means, in one line.
    pub help: &'a str,
}

impl Family<'_> {
    /// Appends its head.
    pub fn write(&self, format: Format, out: &mut Vec<u8>) {
        let Self { name, unit, kind, help } = *self;
        // The older format names a family as its samples are named, and knows neither info nor units.
        let older = format == Format::Prometheus;
        let suffix = if older { kind.suffix() } else { "" };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Info if !older => "info",
            Kind::Gauge | Kind::Info => "gauge",
        };
        let mut line =
            |parts: &[&str]| parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
        line(&["# HELP ", name, suffix, " ", help, "\n"]);
        line(&["# TYPE ", name, suffix, " ", kind, "\n"]);
        if !older && !unit.is_empty() {
            line(&["# UNIT ", name, " ", unit, "\n"]);
        }
    }
}

/// Appends a label's value between quotes.
pub fn quoted(value: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Appends what a page ends with.
pub fn end(format: Format, out: &mut Vec<u8>) {
    if format == Format::OpenMetrics {
        out.extend_from_slice(b"# EOF\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_label_is_escaped() {
        let mut out = Vec::new();
        quoted("a\"b\\c\nd é", &mut out);
        assert_eq!(out, "\"a\\\"b\\\\c\\nd é\"".as_bytes());
    }

    #[test]
    fn the_older_format_has_the_suffix_in_the_familys_name_and_no_unit() {
        let head = |format| {
            let mut out = Vec::new();
            let family =
                Family { name: "up_seconds", unit: "seconds", kind: Kind::Counter, help: "Time." };
            family.write(format, &mut out);
            end(format, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            head(Format::OpenMetrics),
            "# HELP up_seconds Time.\n# TYPE up_seconds counter\n# UNIT up_seconds seconds\n# EOF\n"
        );
        assert_eq!(
            head(Format::Prometheus),
            "# HELP up_seconds_total Time.\n# TYPE up_seconds_total counter\n"
        );
    }
}
