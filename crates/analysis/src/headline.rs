//! A run in one line with one figure, and the two sides that a picture shows of it.
//!
//! For whoever reads nothing else, so digits are few; the answer and the tables have intervals. Puts into words what
//! is computed elsewhere.

mod clients;

use serde::Serialize;

pub(crate) use self::clients::of;
use crate::{
    quantity::{self, cpu_unit},
    stats::Estimate,
};

/// What a run comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Headline {
    /// One sentence; names in backticks.
    pub sentence: String,
    /// What the bars are, as “CPU of stationd and its load at 114 clients”; empty without bars.
    pub of: String,
    /// Sides on one scale that begins at 0, the one before first; empty where there is one side or none.
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    pub name: String,
    /// What it is, where the study says so.
    pub about: Option<String>,
    /// Its length, in the unit of all bars of the headline.
    pub length: f64,
    /// The figure with its unit, as people read it.
    pub figure: String,
}

impl Headline {
    pub(crate) fn plain(sentence: String) -> Self {
        Self { sentence, ..Self::default() }
    }
}

impl Bar {
    /// A side that has no more to say of itself.
    pub(crate) fn new(name: &str, length: f64, figure: String) -> Self {
        Self { name: name.to_owned(), about: None, length, figure }
    }

    /// A side that is CPU, µs a second.
    pub(crate) fn cpu(name: &str, cpu: &Estimate) -> Self {
        Self::new(name, cpu.mean, format!("{}/s", quantity::cpu(cpu)))
    }
}

/// CPU with two digits: `6.4 ms`.
pub(crate) fn briefly(us_per_second: f64) -> String {
    let unit = cpu_unit(us_per_second);
    format!("{} {}", quantity::rounded(unit.scale(us_per_second)), unit.name)
}

/// Compares two costs: `43 % less CPU than`, `1/24 of the CPU of`, `as much CPU as` within a hundredth; `None` where either
/// is nothing.
pub(crate) fn against(after: f64, before: f64, what: &str) -> Option<String> {
    let is_known = after > 0.0 && before > 0.0;
    let percent = |share: f64| quantity::rounded(100.0 * share);
    is_known.then(|| match after / before {
        ratio if ratio < 0.1 => format!("1/{:.0} of the {what} of", ratio.recip()),
        ratio if ratio < 0.99 => format!("{} % less {what} than", percent(1.0 - ratio)),
        ratio if ratio <= 1.01 => format!("as much {what} as"),
        ratio if ratio < 2.0 => format!("{} % more {what} than", percent(ratio - 1.0)),
        ratio => format!("{} times the {what} of", quantity::rounded(ratio)),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_costs_are_compared_as_one_can_say_aloud() {
        let cases = [
            (3.7, 6.5, "43 % less CPU than"),
            (1.0, 24.0, "1/24 of the CPU of"),
            (100.5, 100.0, "as much CPU as"),
            (1.2, 1.0, "20 % more CPU than"),
            (80.0, 1.0, "80 times the CPU of"),
        ];
        for (after, before, said) in cases {
            assert_eq!(super::against(after, before, "CPU").as_deref(), Some(said));
        }
        assert_eq!(super::against(0.0, 1.0, "CPU"), None);
    }
}
