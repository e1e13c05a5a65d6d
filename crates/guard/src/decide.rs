//! The decision: a pure function of policy, state and one reading. No clock, no file, no randomness.
//!
//! # How much Wi-Fi lost
//!
//! A worker that was runnable and did not run lost time; applications took at most what they ran on its CPU
//! meanwhile. So on each CPU `lost = min(Σ waited of workers, Σ ran of applications)`, and
//! `kept = ran / (ran + lost)` over all workers: the share of the CPU time that Wi-Fi's work asked for and got,
//! as far as applications can be blamed. Waiting that no application caused is not theirs to give back.
//!
//! # The order of things
//!
//! ```text
//! Reading ─► signal ─► condition ─┬─ starved ─► floors ► take back ► recall ► prove ► weigh ► climb
//!   (CPUs instead of ns)          ├─ served, by others, link ─► prove ► ease (one step, slowly)
//!                                 └─ idle ─► rest (all off after 5 s, and remembered)
//! ```
//!
//! docs/design/guard-decisions.md has the law, its constants and what was rejected.

mod condition;
mod defend;
mod ease;
mod knob;
mod ladder;
mod outcome;
mod signal;
mod state;
mod weigh;
mod words;

use serde::{Deserialize, Serialize};

use crate::{
    bounds::{Bounds, Placement},
    policy::Policy,
    reading::Reading,
};

pub use signal::Source;
pub use state::{Flow, Held, Relaxed, Spent, State, Trial};

use knob::Law;
use signal::Signal;

/// The tick that the constants are made for, ns.
pub const TICK_NS: u64 = 200_000_000;
/// The tick where nothing has to be protected, ns.
pub const IDLE_TICK_NS: u64 = 2_000_000_000;
/// Air that is busy for this share of the time is full: contention and acknowledgements take the rest.
pub const AIR_FULL: f64 = 0.9;

/// Smoothing of what is acted on at once, ns.
const FAST_NS: u64 = 200_000_000;
/// Smoothing of what is given back by, ns.
const SLOW_NS: u64 = 2_000_000_000;
/// Wi-Fi's work that asks for less than this, in CPUs, is not starved by anybody.
const LEAST_DEMAND: f64 = 0.02;
/// Nothing is given back for so long after a change, ns; doubled by each step back that failed.
const FIRST_COOLDOWN_NS: u64 = 5_000_000_000;
/// The longest that it gets, ns.
const LONGEST_COOLDOWN_NS: u64 = 60_000_000_000;
/// The noise before any was seen.
const FIRST_NOISE: f64 = 0.005;

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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    pub condition: Condition,
    /// The share of Wi-Fi's work that was kept, smoothed; `None` without demand.
    pub kept: Option<f64>,
    pub target: f64,
    /// Bounds of each application of the policy, in its order.
    pub bounds: Vec<Bounds>,
    pub placement: Placement,
    /// Whether `bounds` or `placement` differ from those of the decision before.
    pub changed: bool,
    /// Why, in words a person understands; one sentence.
    pub reason: String,
    /// The applications that are blamed, worst first, with the share of Wi-Fi's loss that each had.
    pub offenders: Vec<(String, f64)>,
}

/// What became of the last decision: fed back, so that a lever that this device refuses is not pulled again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Levers that could not be moved: application (or `wifi`), lever, why.
    pub refused: Vec<(String, Lever, String)>,
    /// Values that a person changed since guard wrote them; guard leaves them.
    pub overruled: Vec<String>,
    /// Writes that were made.
    pub writes: u32,
}

/// A lever, from the cheapest up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lever {
    /// `cpu.shares`, `cpu.weight`.
    Weight,
    /// Nice and group of Wi-Fi's threads.
    Placement,
    /// Fewer CPUs.
    Packing,
    Idle,
    /// Duty cycle by quota.
    Quota,
    /// `memory.high`.
    Memory,
    Cache,
    Threaded,
}

impl Lever {
    /// All, from the cheapest up.
    pub const LADDER: [Self; 8] = [
        Self::Weight,
        Self::Placement,
        Self::Packing,
        Self::Idle,
        Self::Quota,
        Self::Memory,
        Self::Cache,
        Self::Threaded,
    ];
}

/// The decision for one tick.
pub fn decide(
    policy: &Policy,
    state: &State,
    reading: &Reading,
    outcome: &Outcome,
) -> (State, Decision) {
    let mut state = state.clone();
    state.align(policy);
    let mut controller = Controller {
        policy,
        law: Law::of(policy),
        signal: Signal::of(policy, reading),
        now: reading.at_ns,
        tick: None,
        state,
    };
    controller.heed(outcome);
    let bounds_before: Vec<Bounds> =
        controller.state.held.iter().map(|held| held.bounds.clone()).collect();
    let placement_before = controller.state.placement.clone();
    let condition = controller.judge(reading);
    let measured = controller.state.fast.clone();
    controller.state.condition = condition;
    let blamed = controller.offenders();
    let reason = controller.steer(condition);
    let is_same = |(held, before): (&Held, &Bounds)| held.bounds == *before;
    let changed = controller.state.placement != placement_before
        || !controller.state.held.iter().zip(&bounds_before).all(is_same);
    if changed {
        controller.state.changed_at_ns = controller.now;
        controller.state.forget_flow();
    }
    let knows = !matches!(condition, Condition::Unknown | Condition::Idle);
    let decision = Decision {
        condition,
        kept: controller.law.measure(&measured).filter(|_| knows).map(|kept| kept.min(1.0)),
        target: controller.law.target,
        bounds: controller.state.held.iter().map(|held| held.bounds.clone()).collect(),
        placement: controller.state.placement.clone(),
        changed,
        reason,
        offenders: blamed.iter().map(|(at, part)| (controller.name(*at), *part)).collect(),
    };
    (controller.state, decision)
}

/// How long the next tick is to be, ns: short while there is something to protect, or an application that could
/// take something at once; long where neither is.
pub fn next_tick_ns(reading: &Reading, decision: &Decision) -> u64 {
    let second = reading.span_ns.max(1) as f64;
    let works = |one: &crate::reading::Application| one.ran_ns as f64 / second >= LEAST_DEMAND;
    let quiet = decision.condition == Condition::Idle
        && decision.bounds.iter().all(Bounds::are_none)
        && !reading.applications.iter().any(works);
    if quiet { IDLE_TICK_NS } else { TICK_NS }
}

/// One tick's work: what is known, and the state that becomes the next one.
#[derive(Debug)]
struct Controller<'a> {
    policy: &'a Policy,
    law: Law,
    signal: Signal,
    now: u64,
    /// This tick's measure alone.
    tick: Option<f64>,
    state: State,
}

impl Controller<'_> {
    /// Does what the condition asks for, and says why in one sentence.
    fn steer(&mut self, condition: Condition) -> String {
        if condition == Condition::Unknown {
            return words::unknown(self.state.span_ns);
        }
        if let Some(why) = self.leave_the_absent() {
            return why;
        }
        match condition {
            Condition::Unknown => String::new(),
            Condition::Idle => self.rest(),
            Condition::Starved => self.defend(),
            Condition::Served | Condition::LinkLimited | Condition::StarvedByOthers => {
                self.ease(condition)
            }
        }
    }

    fn name(&self, application: usize) -> String {
        self.state.held[application].name.clone()
    }

    /// What an application keeps at least, in CPUs: what the policy says, or what the knob leaves.
    fn floor(&self, application: usize) -> f64 {
        self.written_floor(application).unwrap_or_else(|| self.law.floor(self.running()))
    }

    /// What the policy says that an application keeps at least, in CPUs: what its rule says, or its part of what
    /// all have together, whichever is more. Such a floor stands over the target.
    fn written_floor(&self, application: usize) -> Option<f64> {
        let rule = self.policy.applications[application].floor.map(|floor| floor.get());
        let total: f64 = self.state.fast.ran_by.iter().sum();
        let ran = self.state.fast.ran_by.get(application).copied().unwrap_or(0.0);
        let part = if total > 0.0 { ran / total } else { 1.0 / self.running() as f64 };
        let shared = self.policy.application_floor.map(|floor| floor.get() * part);
        rule.into_iter().chain(shared).reduce(f64::max)
    }

    /// Applications that run, at least one.
    fn running(&self) -> usize {
        self.signal.runs.iter().filter(|runs| **runs).count().max(1)
    }
}

#[cfg(test)]
mod tests;
