//! How an application is bounded, and how Wi-Fi's own work is placed: the whole wanted state, not a command.
//!
//! `act` makes the kernel so and reads it back; applying the same bounds again writes nothing.

use model::share::Share;
use serde::{Deserialize, Serialize};

/// How one application is bounded. The default bounds nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Bounds {
    /// Its weight against 1024 of a group that no one bounds: v1 `cpu.shares` as it is, v2 `cpu.weight`
    /// × 100 / 1024, at least 1. From [`LEAST_WEIGHT`] to [`FULL_WEIGHT`].
    pub weight: u32,
    /// Runs only where no one else wants to (`cpu.idle`).
    pub idle: bool,
    /// The CPUs that it may use; `None`: all that it had.
    pub cpus: Option<Vec<u32>>,
    /// The most CPU time that it gets, in CPUs (1 is one whole CPU); the rest of each period it rests:
    /// its duty cycle.
    pub quota: Option<Share>,
    /// Memory above which it is slowed down and reclaimed from, KiB.
    pub memory_high_kib: Option<u64>,
    /// The share of the last-level cache that it may fill, where the CPU has resctrl.
    pub cache: Option<Share>,
}

/// The weight of a group that no one bounds.
pub const FULL_WEIGHT: u32 = 1024;
/// The least weight that version 1 takes.
pub const LEAST_WEIGHT: u32 = 2;
/// The shortest and the longest period of a quota that guard uses, µs: long periods cost round trips.
pub const QUOTA_PERIOD_US: u32 = 10_000;

impl Default for Bounds {
    fn default() -> Self {
        Self {
            weight: FULL_WEIGHT,
            idle: false,
            cpus: None,
            quota: None,
            memory_high_kib: None,
            cache: None,
        }
    }
}

impl Bounds {
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

/// How Wi-Fi's own work is placed. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Placement {
    /// Nice value of its threads (napi, driver): −20 to 0; `None` leaves them.
    pub nice: Option<i32>,
    /// A group of its own for the threads that a group takes, so that their CPU is accounted.
    pub accounted: bool,
    /// Threaded NAPI on the protected interfaces; only where the policy allows it.
    pub threaded: Option<bool>,
}
