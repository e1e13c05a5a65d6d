//! What weakens an answer: in a sentence what is so, and what to do about it.
//!
//! [`crate::validity`] and [`crate::profiling`] find what applies to a run, and say it. A doubt never stops a run and
//! never vanishes from its report.

use std::fmt;

use model::trial::TrialId;
use serde::Serialize;

use crate::quantity::count;

/// How a doubt is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Something happened in this run, or was planned too thin.
    Doubt,
    /// True of every run made this way: the frame in which the figures hold.
    Caveat,
}

/// One thing that weakens the answer. `Display` is the sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// Whether it happened in this run or belongs to the method.
    pub level: Level,
    pub sentence: String,
    pub advice: String,
    /// The variants whose figures it is about, sorted; none where it is about the run.
    pub variants: Vec<String>,
    /// Whether it is about stacks or counted calls, which are made in trials of their own: no CPU figure depends on them.
    pub is_about_instruments: bool,
}

impl Doubt {
    pub(crate) fn new(sentence: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            level: Level::Doubt,
            sentence: sentence.into(),
            advice: advice.into(),
            variants: Vec::new(),
            is_about_instruments: false,
        }
    }

    pub(crate) fn caveat(self) -> Self {
        Self { level: Level::Caveat, ..self }
    }

    pub(crate) fn of_instruments(self) -> Self {
        Self { is_about_instruments: true, ..self }
    }

    pub(crate) fn of_variant(self, variant: &str) -> Self {
        Self { variants: vec![variant.to_owned()], ..self }
    }

    pub(crate) fn of_trials(self, trials: &[TrialId]) -> Self {
        let mut variants: Vec<_> = trials.iter().map(|id| id.variant.to_string()).collect();
        variants.sort();
        variants.dedup();
        Self { variants, ..self }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Trials by name, as a sentence has them: the first three, and how many there are.
pub(crate) fn named(trials: &[TrialId]) -> String {
    const NAMED: usize = 3;
    let names: Vec<_> = trials.iter().take(NAMED).map(TrialId::to_string).collect();
    let rest = match trials.len().saturating_sub(NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    format!("{} ({}{rest})", count(trials.len() as u32, "trial"), names.join(", "))
}
