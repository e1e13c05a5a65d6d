//! A run in one line with one figure, and the two sides that a picture shows of it.
//!
//! For whoever reads nothing else, so digits are few; the answer and the tables have intervals. Puts into words what
//! is computed elsewhere.

mod clients;

use model::{plural::count, run::Run, verdict::Difference};
use serde::Serialize;

pub(crate) use self::clients::of;
use crate::{
    figures::Part,
    quantity::{self, cpu_unit},
    stacks::profile::file_name,
    stats::Estimate,
    verdicts::{Finding, Judgement, Quantity},
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

/// Two sides that were decided, with one figure, or how far that is; `at` is where: `at 60 clients`. Of `made` trials some
/// may be invalid.
pub(crate) fn compared(run: &Run, judgement: &Judgement, at: &str, made: usize) -> Headline {
    let Judgement { base, variant, subject, finding, quantity, .. } = judgement;
    let (uses, what) = match quantity {
        Quantity::Cpu => ("uses", "CPU"),
        Quantity::Time => ("takes", "time"),
        Quantity::Wifi => ("keeps", "Wi-Fi"),
    };
    let is_of_subject = judgement.part == Part::Subject && judgement.clients > 0;
    let new = match &judgement.difference {
        Difference::Program { name, .. } => format!("The new build of `{}`", file_name(name)),
        _ => format!("`{variant}`"),
    };
    let looks = run.versus.as_ref().map(|versus| versus.pairs.looks()).unwrap_or_default();
    let first = looks.first().copied().unwrap_or_default();
    let sentence = match finding {
        Finding::Undecided | Finding::NotComparable if made < 2 * first as usize => {
            let most = looks.last().copied().unwrap_or_default();
            let are = if judgement.pairs == 1 { "is" } else { "are" };
            format!("Not decided yet: {} of {} {are} done.", judgement.pairs, count(most, "pair"))
        }
        Finding::Cheaper | Finding::Dearer => {
            let is_less = (*finding == Finding::Cheaper) == (*quantity != Quantity::Wifi);
            let word = if is_less { "less" } else { "more" };
            let effect = judgement.relative.map_or((word.to_owned(), "than"), moved);
            let (effect, than) = (format!("{} {what}", effect.0), effect.1);
            match &judgement.difference {
                Difference::Program { .. } => format!("{new} {uses} {effect} {at}."),
                _ if is_of_subject => {
                    format!("`{subject}` {uses} {effect} in {new} {than} in `{base}` {at}.")
                }
                _ => format!("{new} {uses} {effect} {than} `{base}` {at}."),
            }
        }
        Finding::Equivalent => {
            let within = quantity::percent(judgement.margin);
            format!("{new} {uses} as much {what} as `{base}` {at}, within {within}.")
        }
        Finding::Undecided => format!(
            "Whether {new} {uses} as much {what} as `{base}` {at} is not decided after {}.",
            count(judgement.pairs, "pair")
        ),
        Finding::NoOp => format!("The code that `{variant}` changes never ran {at}: no verdict."),
        Finding::NotComparable => format!("`{variant}` and `{base}` cannot be compared {at}."),
        Finding::Unstable => format!(
            "The difference of `{variant}` from `{base}` {at} does not hold in every state of the machine."
        ),
    };
    let of = match (is_of_subject || judgement.clients == 0, quantity) {
        (true, Quantity::Cpu) => format!("CPU of {subject} {at}"),
        (false, _) => format!("CPU of subject, load and others {at}"),
        (true, Quantity::Time) => format!("Time {at}"),
        (true, Quantity::Wifi) => format!("Wi-Fi {at}"),
    };
    let side = |name: &str, one: &Estimate| match quantity {
        Quantity::Cpu => Bar::cpu(name, one),
        Quantity::Time => Bar::new(name, one.mean, format!("{} s", quantity::rounded(one.mean))),
        Quantity::Wifi => Bar::new(name, one.mean, format!("{} Mb/s", quantity::rounded(one.mean))),
    };
    let sides = judgement.before.as_ref().zip(judgement.after.as_ref());
    let bars = sides.map(|(before, after)| vec![side(base, before), side(variant, after)]);
    Headline { sentence, of, bars: bars.unwrap_or_default() }
}

/// `80 % less`, than; `20 times as much`, as.
fn moved(relative: Estimate) -> (String, &'static str) {
    let word = if relative.mean < 0.0 { "less" } else { "more" };
    match relative.mean {
        more if more >= 1.0 => (format!("{} times as much", quantity::rounded(1.0 + more)), "as"),
        share => (format!("{} {word}", quantity::percent(share.abs())), "than"),
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
