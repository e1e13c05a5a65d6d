//! The outcome of a try as the ledger records it. [`crate::judge`] decides it.

use analysis::Estimate;
use serde::{Deserialize, Serialize};

/// What became of a try or an acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Cheaper by what is asked, and nothing else is worse.
    #[serde(rename = "kept")]
    Win,
    /// Measured, and no win.
    Reverted,
    /// The same program, or the same cost.
    NoChange,
    /// It does not apply, edits what it may not, or does not build.
    Failed,
    TimedOut,
    /// It could not be measured. Never a statement about the try.
    Invalid,
    /// It looks cheaper and does not do the same job, or somebody else pays.
    Suspect,
    /// headroom was stopped before it ended.
    Interrupted,
}

impl Outcome {
    /// The word that output uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Win => "kept",
            Self::Reverted => "reverted",
            Self::NoChange => "no change",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Invalid => "invalid",
            Self::Suspect => "suspect",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Why it is no win. Each cheat that is known has the name by which it is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The diff does not apply to the base.
    DoesNotApply,
    /// It edits a file that it may not, or makes something that is no file.
    EditsOutside,
    /// The build ends with an error, or leaves no program.
    DoesNotBuild,
    /// The build takes longer than the task allows.
    BuildTooLong,
    /// The program is the base's, to the byte.
    SameProgram,
    /// A reply in a measured window holds a value, or lacks a client, that the kernel does not confirm.
    WrongValues,
    /// A reply in a measured window is not the base's, word for word.
    OtherWords,
    /// A command of the task's test is answered otherwise than by the base.
    OtherAnswers,
    /// Work of the window was done after it.
    PutOff,
    /// hostapd, the load, children or the rest of the machine pay what the subject saves.
    OthersPay,
    /// What the guest says of CPU time is not what QEMU counted.
    OutsideDisagrees,
    /// It costs less than the floor, which does less than the job.
    #[serde(rename = "below-floor")]
    TooCheap,
    /// The subject ended, or its load's commands failed.
    Broken,
    Latency,
    /// The subject or its control group holds more memory.
    Memory,
    Size,
    Warnings,
    Dearer,
    /// It is cheaper, by less than is asked.
    TooLittle,
    /// None of the functions ran whose instructions it changes.
    NeverRan,
    /// The difference lies within the noise.
    NoDifference,
    /// The comparison could not be made.
    Unmeasured,
}

/// An outcome with its reason in a sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub outcome: Outcome,
    /// Why it is no win; `None` where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    pub sentence: String,
    /// What it costs more than the base, share of it; `None` where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Estimate>,
}

impl Finding {
    /// No win, for this reason.
    pub fn of(outcome: Outcome, reason: Reason, sentence: impl Into<String>) -> Self {
        Self { outcome, reason: Some(reason), sentence: sentence.into(), change: None }
    }

    /// Nothing was measured.
    pub fn unmeasured(sentence: impl Into<String>) -> Self {
        Self::of(Outcome::Invalid, Reason::Unmeasured, sentence)
    }

    /// The same with what was measured.
    #[must_use]
    pub fn with(self, change: Option<Estimate>) -> Self {
        Self { change, ..self }
    }
}
