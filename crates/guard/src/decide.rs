//! The decision: a pure function of policy, state and one reading. No clock, no file, no randomness.
//!
//! # How much Wi-Fi lost
//!
//! A worker that was runnable and did not run lost time; applications took at most what they ran on its CPU
//! meanwhile. So on each CPU `lost = min(Σ waited of workers, Σ ran of applications)`, and
//! `kept = ran / (ran + lost)` over all workers: the share of the CPU time that Wi-Fi's work asked for and got,
//! as far as applications can be blamed. Waiting that no application caused is not theirs to give back.

use serde::{Deserialize, Serialize};

use crate::{
    bounds::{Bounds, Placement},
    policy::Policy,
    reading::Reading,
};

/// What the function remembers from tick to tick. Serialised with the first record of a file, so that a replay
/// begins where the record does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {}

/// What Wi-Fi's condition is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Too little is known yet, or the tick's clock jumped.
    #[default]
    Unknown,
    /// No demand.
    Idle,
    /// Work is done as it comes.
    Served,
    /// The radio or link is the limit: nothing that an application gives up would help.
    LinkLimited,
    /// Wi-Fi's work waits for CPU that applications have.
    Starved,
    /// Wi-Fi's work waits, and no application that may be bounded is the cause.
    StarvedByOthers,
}

/// What is wanted from now on, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// Wi-Fi's condition.
    pub condition: Condition,
    /// The share of Wi-Fi's work that was kept, smoothed; `None` without demand.
    pub kept: Option<f64>,
    /// The share that is wanted.
    pub target: f64,
    /// Bounds of each application of the policy, in its order.
    pub bounds: Vec<Bounds>,
    /// Placement of Wi-Fi's own work.
    pub placement: Placement,
    /// Whether `bounds` or `placement` differ from those of the decision before.
    pub changed: bool,
    /// Why, in words a person understands; one sentence.
    pub reason: String,
    /// The applications that are blamed, worst first, with the share of Wi-Fi's loss that each had.
    pub offenders: Vec<(String, f64)>,
}

/// What became of the last decision: fed back, so that a lever that this device refuses is not pulled again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Levers that could not be moved: application (or `wifi`), lever, why.
    pub refused: Vec<(String, Lever, String)>,
    /// Values that a person changed since guard wrote them; guard leaves them.
    pub overruled: Vec<String>,
    /// Writes that were made.
    pub writes: u32,
}

/// A lever, from the cheapest up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lever {
    /// `cpu.shares`, `cpu.weight`.
    Weight,
    /// Nice and group of Wi-Fi's threads.
    Placement,
    /// Fewer CPUs.
    Packing,
    /// Idle class.
    Idle,
    /// Duty cycle by quota.
    Quota,
    /// `memory.high`.
    Memory,
    /// resctrl.
    Cache,
    /// Threaded NAPI.
    Threaded,
}

/// The decision for one tick.
pub fn decide(
    policy: &Policy,
    state: &State,
    reading: &Reading,
    outcome: &Outcome,
) -> (State, Decision) {
    let _ = (reading, outcome);
    let bounds = vec![Bounds::default(); policy.applications.len()];
    (state.clone(), Decision { bounds, ..Decision::default() })
}
