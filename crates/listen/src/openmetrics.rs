//! The text of metrics: OpenMetrics 1.0, and Prometheus' older text format.
//!
//! What a family is, its samples' lines, labels, and the end of a page; which metrics there are and what their
//! values are is the daemons'. Everything is appended, so that a page may be written in pieces. Formats:
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>,
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use crate::Format;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    Gauge,
    /// It is 1, and its labels are what it tells.
    Info,
}

#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Without `_total` and `_info`, with its unit.
    pub name: &'static str,
    pub kind: Kind,
    pub help: &'static str,
    /// Its unit, where a page says it; empty where it does not.
    pub unit: &'static str,
}

impl Family {
    /// A family whose unit is in its name alone.
    pub const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, help, unit: "" }
    }

    pub fn head(&self, format: Format, out: &mut Vec<u8>) {
        // The older format names a family as its samples are named, and knows no info.
        let (suffix, kind) = match (format, self.kind) {
            (Format::OpenMetrics, Kind::Counter) => ("", "counter"),
            (Format::OpenMetrics, Kind::Info) => ("", "info"),
            (Format::Prometheus, Kind::Counter) => ("_total", "counter"),
            (Format::Prometheus, Kind::Info) => ("_info", "gauge"),
            (_, Kind::Gauge) => ("", "gauge"),
        };
        for (what, value) in [("HELP", self.help), ("TYPE", kind), ("UNIT", self.unit)] {
            if what == "UNIT" && (value.is_empty() || format == Format::Prometheus) {
                continue;
            }
            for part in ["# ", what, " ", self.name, suffix, " ", value, "\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
    }

    /// Appends the beginning of a sample's line: its name, to which labels, value and the line's end are to come.
    pub fn sample(&self, out: &mut Vec<u8>) {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Gauge => "",
            Kind::Info => "_info",
        };
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(suffix.as_bytes());
    }
}

/// Appends a label's value between quotes.
#[inline]
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
    fn each_format_has_its_own_names() {
        let family = Family { unit: "seconds", ..Family::new("a_seconds", Kind::Counter, "A.") };
        let page = |format| {
            let mut out = Vec::new();
            family.head(format, &mut out);
            family.sample(&mut out);
            out.extend(b" 1\n");
            end(format, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            page(Format::OpenMetrics),
            "# HELP a_seconds A.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\na_seconds_total 1\n# EOF\n"
        );
        assert_eq!(
            page(Format::Prometheus),
            "# HELP a_seconds_total A.\n# TYPE a_seconds_total counter\na_seconds_total 1\n"
        );
    }
}
