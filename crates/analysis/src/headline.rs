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
    /// A sentence without a picture.
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

/// How one side is to the other: `24 times less than`, `1.2 times as much as`, `as much as` within a hundredth; `None`
/// where either is nothing, which is so many times nothing.
pub(crate) fn times(after: f64, before: f64) -> Option<String> {
    const ALIKE: f64 = 0.01;
    if after <= 0.0 || before <= 0.0 {
        return None;
    }
    let ratio = after / before;
    Some(if (ratio - 1.0).abs() < ALIKE {
        "as much as".to_owned()
    } else if ratio < 1.0 {
        format!("{} times less than", quantity::rounded(ratio.recip()))
    } else {
        format!("{} times as much as", quantity::rounded(ratio))
    })
}
