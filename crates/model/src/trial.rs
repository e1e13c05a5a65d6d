//! One trial: one variant in one cell, once, with everything that it recorded.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    name::{CellName, VariantName},
    order::TrialOrder,
    perturbation::Perturbation,
    reading::Reading,
    share::Share,
    study::{HostLoad, Mode},
    target::Target,
};

pub use crate::purpose::Purpose;

/// The variant of trials with traffic and without an application.
pub const ALONE: &str = "alone";
/// The variant of trials with an application and without traffic.
pub const APPLICATION: &str = "application";
/// The variant of trials with both and without a control.
pub const NONE: &str = "none";
/// The variant of trials with a CPU task and without frames.
pub const TASK_ALONE: &str = "task-alone";

/// Variants that cells have by themselves: what the study's own are set against.
pub const BASELINES: [&str; 4] = [ALONE, APPLICATION, NONE, TASK_ALONE];

/// Which trial. Its text form `variant@cell#repetition`, with `.stacks`, `.pause` … behind it where it is not for the
/// figures, `.seed`, `.layout` … in a perturbed state, and `.last` or `.again`, names files and lines of output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId {
    /// The variant's name.
    pub variant: VariantName,
    pub cell: CellName,
    /// Clients that must be associated.
    pub clients: u32,
    /// From 1.
    pub repetition: u32,
    #[serde(default, skip_serializing_if = "Purpose::is_cpu")]
    pub purpose: Purpose,
    /// The perturbed state that it is measured in; `None` where it is measured as the study has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbed: Option<Perturbation>,
    #[serde(default, skip_serializing_if = "Turn::is_only")]
    pub turn: Turn,
}

/// Which of the trials of one variant in one block, where there are two.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    #[default]
    Only,
    /// The baseline at the end of its block.
    Last,
    /// A trial that is made again, to show that counted time repeats.
    Again,
}

impl Turn {
    pub fn is_only(&self) -> bool {
        *self == Self::Only
    }
}

impl TrialId {
    /// The trial for figures of a variant in a cell of its clients alone.
    pub fn at(variant: VariantName, clients: u32, repetition: u32) -> Self {
        let cell = CellName::of(&clients.to_string());
        let (purpose, perturbed, turn) = Default::default();
        Self { variant, cell, clients, repetition, purpose, perturbed, turn }
    }

    /// Whether it is a trial of this variant at this count, in this repetition.
    pub fn is_of(&self, variant: &str, clients: u32, repetition: u32) -> bool {
        self.variant == variant && self.clients == clients && self.repetition == repetition
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}#{}", self.variant, self.cell, self.repetition)?;
        if self.purpose != Purpose::Cpu {
            write!(f, ".{}", self.purpose.name())?;
        }
        if let Some(perturbed) = self.perturbed {
            write!(f, ".{perturbed}")?;
        }
        f.write_str(match self.turn {
            Turn::Only => "",
            Turn::Last => ".last",
            Turn::Again => ".again",
        })
    }
}

/// A trial that is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTrial {
    pub id: TrialId,
    /// Where it is made.
    #[serde(default, skip_serializing_if = "Target::is_vm")]
    pub target: Target,
    /// How the access point's time passes.
    pub mode: Mode,
    /// What else the host does.
    pub host_load: HostLoad,
    /// Its place in its block, from 0.
    #[serde(default)]
    pub turn: u32,
    /// What the agent is ordered.
    pub order: TrialOrder,
}

impl PlannedTrial {
    /// Whether it takes no more time than the access point's own, whatever the host does.
    pub fn is_counted(&self) -> bool {
        self.mode == Mode::Counted && self.target.is_vm()
    }

    /// What passes on the access point: its warm-up and its window.
    pub fn passes(&self) -> Duration {
        Duration::from(self.order.warm_up) + Duration::from(self.order.window)
    }

    /// Its block: trials that are made on one machine, whichever that is. All that is compared is in one; trials with an
    /// instrument are compared with none, and two that run at the same time are of two repetitions.
    pub fn block(&self) -> String {
        let TrialId { cell, repetition, perturbed, purpose, .. } = &self.id;
        if *purpose != Purpose::Cpu {
            return self.id.to_string();
        }
        let state = perturbed.map_or_else(String::new, |perturbed| format!(".{perturbed}"));
        match self.host_load {
            HostLoad::Trial => format!("{cell}#{}+{state}", repetition.div_ceil(2)),
            _ => format!("{cell}#{repetition}{state}"),
        }
    }
}

/// A trial that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub planned: PlannedTrial,
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
    pub same_as: Option<TrialId>,
    pub outcome: Outcome,
}

impl Trial {
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
