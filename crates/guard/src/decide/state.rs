//! What the function remembers from tick to tick, as plain values.

use super::{Condition, FIRST_COOLDOWN_NS, Lever, signal::Signal};
use crate::{
    bounds::{Bounds, Placement},
    policy::Policy,
};

/// What the function remembers from tick to tick.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// When the last tick ended, ns of the boot's clock.
    pub at_ns: u64,
    /// How long ticks are, ns: the last one's span, but a jump counts as three usual ones.
    pub span_ns: u64,
    /// Ticks since the last one that decided nothing.
    pub ticks: u32,
    /// The condition that the last tick found.
    pub condition: Condition,
    /// Smoothed over about two ticks, since the last change of bounds.
    pub fast: Flow,
    /// Smoothed over about two seconds, since the last change of bounds.
    pub slow: Flow,
    /// The usual difference of one tick's measure from the smoothed one, while nothing was changed.
    pub noise: f64,
    /// Of the last ticks, the last in the lowest bit: whether Wi-Fi had too little.
    pub short: u8,
    /// The same: whether a queue waited before the link.
    pub backlogged: u8,
    /// The policy's applications, in its order.
    pub held: Vec<Held>,
    /// How Wi-Fi's own work is placed.
    pub placement: Placement,
    /// A step that has yet to prove itself.
    pub trial: Option<Trial>,
    /// The last step back, until it has lasted.
    pub relaxed: Option<Relaxed>,
    /// How long nothing is given back after a change, ns.
    pub cooldown_ns: u64,
    pub changed_at_ns: u64,
    /// Since when there is no demand, ns.
    pub idle_since_ns: Option<u64>,
    /// Levers that are of no use for now.
    pub spent: Vec<Spent>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            at_ns: 0,
            span_ns: 0,
            ticks: 0,
            condition: Condition::Unknown,
            fast: Flow::default(),
            slow: Flow::default(),
            noise: super::FIRST_NOISE,
            short: 0,
            backlogged: 0,
            held: Vec::new(),
            placement: Placement::default(),
            trial: None,
            relaxed: None,
            cooldown_ns: FIRST_COOLDOWN_NS,
            changed_at_ns: 0,
            idle_since_ns: None,
            spent: Vec::new(),
        }
    }
}

/// Smoothed CPU times, in CPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Ticks that are in it.
    pub ticks: u32,
    /// What Wi-Fi's work had.
    pub ran: f64,
    /// What it lost to applications.
    pub lost: f64,
    /// What it lost to programs that the policy does not name.
    pub lost_to_others: f64,
    /// Bits a second.
    pub bits: f64,
    /// What each application took of what was lost.
    pub blame: Vec<f64>,
    pub ran_by: Vec<f64>,
}

impl Flow {
    /// Takes a tick in. The weight of a tick is `span / (span + time)`, which needs no exponential and so comes
    /// out the same on every machine; the first ticks are averaged, so that one tick alone is not carried on.
    pub(super) fn take(&mut self, signal: &Signal, weight: f64) {
        let weight = weight.max(1.0 / (1.0 + f64::from(self.ticks)));
        self.ticks = self.ticks.saturating_add(1);
        self.blame.resize(signal.blame.len(), 0.0);
        self.ran_by.resize(signal.ran_by.len(), 0.0);
        let blend = |old: &mut f64, new: f64| *old += weight * (new - *old);
        blend(&mut self.ran, signal.ran);
        blend(&mut self.lost, signal.lost);
        blend(&mut self.lost_to_others, signal.lost_to_others);
        blend(&mut self.bits, signal.bits);
        for (old, new) in self.blame.iter_mut().zip(&signal.blame) {
            blend(old, *new);
        }
        for (old, new) in self.ran_by.iter_mut().zip(&signal.ran_by) {
            blend(old, *new);
        }
    }

    /// The share of what was asked for that was had; `None` if nothing was asked for.
    pub(super) fn kept(&self) -> Option<f64> {
        let asked = self.ran + self.lost;
        (asked > 0.0).then(|| self.ran / asked)
    }
}

/// An application of the policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    pub name: String,
    pub bounds: Bounds,
    /// Since when it has no process, ns.
    pub absent_since_ns: Option<u64>,
    /// Bounds under which Wi-Fi had its share, and when they were taken off, ns.
    pub remembered: Option<(Bounds, u64)>,
}

/// A step that has yet to prove itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    pub lever: Option<Lever>,
    /// The measure before it.
    pub before: f64,
    /// Bits a second before it.
    pub bits_before: f64,
    /// Ticks since.
    pub ticks: u32,
    /// Whether the step was shorter than what was computed, so that another one is expected.
    pub unfinished: bool,
    /// What is put back if it does not: application's place in the policy and its bounds.
    pub bounds: Vec<(usize, Bounds)>,
    /// The same for Wi-Fi's own work.
    pub placement: Option<Placement>,
}

/// A step back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relaxed {
    /// The application's place in the policy; `None`: Wi-Fi's own placement.
    pub application: Option<usize>,
    /// Its bounds before.
    pub before: Bounds,
    pub at_ns: u64,
}

/// A lever that is of no use for now.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent {
    /// The application, or `wifi`.
    pub who: String,
    pub lever: Lever,
    pub until_ns: u64,
    /// Whether the kernel or a person said no, and not a trial.
    pub refused: bool,
}

impl State {
    /// Follows the policy's applications: what is held for a name stays with it.
    pub(super) fn align(&mut self, policy: &Policy) {
        let same = self.held.len() == policy.applications.len()
            && self
                .held
                .iter()
                .zip(&policy.applications)
                .all(|(held, rule)| held.name == rule.name);
        if same {
            return;
        }
        let old = std::mem::take(&mut self.held);
        self.held = policy
            .applications
            .iter()
            .map(|rule| {
                let known = old.iter().find(|held| held.name == rule.name).cloned();
                known.unwrap_or_else(|| Held { name: rule.name.clone(), ..Held::default() })
            })
            .collect();
        self.trial = None;
        self.relaxed = None;
        self.forget_flow();
    }

    /// Starts measuring anew, for what was measured belongs to other bounds.
    pub(super) fn forget_flow(&mut self) {
        self.fast = Flow::default();
        self.slow = Flow::default();
        self.short = 0;
    }

    /// Marks a lever as of no use until then.
    pub(super) fn spend(&mut self, spent: Spent) {
        self.spent.retain(|one| one.who != spent.who || one.lever != spent.lever);
        self.spent.push(spent);
    }

    /// Whether a lever is of no use for now.
    pub(super) fn is_spent(&self, who: &str, lever: Lever) -> bool {
        self.spent.iter().any(|one| one.who == who && one.lever == lever)
    }

    /// Whether any application or Wi-Fi's own placement is other than it was found.
    pub(super) fn bounds_any(&self) -> bool {
        self.held.iter().any(|held| !held.bounds.are_none())
    }
}
