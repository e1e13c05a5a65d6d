//! What a trial is for.

use serde::{Deserialize, Serialize};

/// What a trial is for. An instrument moves the CPU figures, so each has trials of its own.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    #[default]
    Cpu,
    /// Calls of functions.
    Counts,
    /// Where the CPU goes.
    Stacks,
    /// Who causes it: a consumer is paused.
    Pause,
    /// Whether the job is still done.
    Parity,
    /// Who talks to the subject.
    Peers,
    /// Where accesses to memory miss, by a model of the caches.
    Caches,
}

impl Purpose {
    /// Whether this is the default.
    pub fn is_cpu(&self) -> bool {
        *self == Purpose::Cpu
    }

    /// The name that files and output use.
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Cpu => "cpu",
            Purpose::Counts => "counts",
            Purpose::Stacks => "stacks",
            Purpose::Pause => "pause",
            Purpose::Parity => "parity",
            Purpose::Peers => "peers",
            Purpose::Caches => "caches",
        }
    }
}
