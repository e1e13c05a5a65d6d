//! What must be measured before trials can be planned.

use serde::{Deserialize, Serialize};

use crate::{span::Span, study::Mode, target::Target, trial::Outcome};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Calibration {
    /// The rate that paced traffic is ordered with, bits of payload in a second: a share of what it reaches alone.
    FullRate { on: Target, mode: Mode, traffic: String },
    /// The rounds of `txd`'s own loop that a CPU task takes this long with, alone.
    TaskRounds { on: Target, mode: Mode, task: Span },
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub what: Calibration,
    /// `None` where it could not be found.
    pub value: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub outcomes: Vec<Outcome>,
}

/// What is known of a value.
pub fn value_of(all: &[Calibrated], what: &Calibration) -> Option<u64> {
    all.iter().find(|one| one.what == *what)?.value
}
