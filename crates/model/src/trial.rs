//! One trial: one variant at one client count, once, with everything that it recorded.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    name::VariantName,
    order::TrialOrder,
    perturbation::Perturbation,
    reading::Reading,
    share::Share,
    study::{HostLoad, Mode},
};

pub use crate::purpose::Purpose;

/// Which trial. Its text form `variant@clients#repetition`, and `.stacks`, `.pause` … behind it where it
/// is not for CPU figures, or `.seed`, `.layout` … where it is measured in a perturbed state, names files and lines of output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// The variant's name.
    pub variant: VariantName,
    /// Clients that must be associated.
    pub clients: u32,
    /// Repetition, from 1.
    pub repetition: u32,
    #[serde(default, skip_serializing_if = "Purpose::is_cpu")]
    pub purpose: Purpose,
    /// The perturbed state that it is measured in; `None` where it is measured as the study has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbed: Option<Perturbation>,
}

impl TrialId {
    /// Whether it is a trial of this variant at this count, in this repetition.
    pub fn is_of(&self, variant: &str, clients: u32, repetition: u32) -> bool {
        self.variant == variant && self.clients == clients && self.repetition == repetition
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}#{}", self.variant, self.clients, self.repetition)?;
        if self.purpose != Purpose::Cpu {
            write!(f, ".{}", self.purpose.name())?;
        }
        self.perturbed.map_or(Ok(()), |perturbed| write!(f, ".{perturbed}"))
    }
}

/// A trial that is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    pub id: TrialId,
    /// How the access point's time passes.
    pub mode: Mode,
    /// What else the host does.
    pub host_load: HostLoad,
    /// What the agent is ordered.
    pub order: TrialOrder,
}

/// A trial that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial<P = PlannedTrial> {
    pub planned: P,
    /// When it began, seconds since 1970 on the host.
    pub began_unix: u64,
    /// What the host took for it.
    pub cost: HostCost,
    /// The share of the second before that this machine was idle, where time is real and the machine is shared;
    /// else `None`, and where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_before: Option<Share>,
    /// The trial whose outcome this is: the same order in counted time, which ends the same instruction for
    /// instruction, and so was not given again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
    pub outcome: Outcome,
}

impl<P> Trial<P> {
    /// What it read; `None` where it could not.
    pub fn reading(&self) -> Option<&Reading> {
        match &self.outcome {
            Outcome::Measured(reading) => Some(reading),
            Outcome::Invalid { .. } => None,
        }
    }

    /// Why it could not be measured; `None` where it was.
    pub fn why_invalid(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Measured(_) => None,
            Outcome::Invalid { why, .. } => Some(why),
        }
    }
}

/// Wall time on the host, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCost {
    /// From the start of QEMU until the access point was back, as the snapshot had it.
    pub restore_ms: u64,
    /// From the order to the last frame.
    pub measure_ms: u64,
    /// From the first sample's arrival to the last one's.
    pub window_ms: u64,
    /// CPU time of the processes that were the access point; `None` where it is a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
}

/// What came of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Measured(Box<Reading>),
    /// It could not measure. Not a failure of the subject.
    Invalid {
        /// What happened, and what to do, in one line.
        why: String,
        /// The end of the access point's console, where that helps.
        console: Vec<String>,
    },
}

impl Outcome {
    /// It could not measure, and nothing more is known than this line.
    pub fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid { why: why.into(), console: Vec::new() }
    }
}
