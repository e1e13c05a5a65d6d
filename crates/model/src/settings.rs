//! Settings of an access point on which real-time figures depend: what is asked for, and what became of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is set before the first trial, and set back after the last. What is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// The governor of every CPU's frequency, as `performance`.
    pub governor: Option<String>,
    /// Whether CPUs may clock above their base.
    pub turbo: Option<bool>,
}

impl Settings {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One setting, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// What, as `the governor of policy0`.
    pub what: String,
    pub was: String,
    pub now: String,
    /// Why it is not what was asked for; `None` where it is.
    pub why_not: Option<String>,
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, was, now, why_not } = self;
        match why_not {
            Some(why) => write!(f, "{what} stays {now}: {why}"),
            None => write!(f, "{what} is {now}, was {was}"),
        }
    }
}
