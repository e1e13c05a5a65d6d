//! Giving back: slowly while Wi-Fi has more than it needs, wholly where there is nothing to protect.
//!
//! One step at a time, the newest lever first, and only to an application that would use it. What is taken off
//! is remembered, so that the next burst is protected at once.

use super::{
    Condition, Controller, FIRST_COOLDOWN_NS, Lever, outcome::unbound, state::Relaxed, words,
};
use crate::bounds::{FULL_WEIGHT, Placement};

/// Without demand for so long, everything is released, ns.
const REST_NS: u64 = 5_000_000_000;
/// An application without a process for so long is released, ns.
const ABSENT_NS: u64 = 5_000_000_000;
/// One step of weight upward.
const UP: f64 = 1.25;
/// The same where the loss is far below what is allowed, or the weight so small that version 2 cannot tell.
const FAR_UP: f64 = 2.0;
/// Below this, steps of version 2's weights are coarser than [`UP`]: 40 is 4 of its 100.
const COARSE_WEIGHT: u32 = 40;

impl Controller<'_> {
    /// Takes one step back if there is slack and the cooldown is over.
    pub(super) fn ease(&mut self, condition: Condition) -> String {
        if let Some(why) = self.prove() {
            return why;
        }
        self.let_easing_last();
        if let Some(why) = self.keep_floors() {
            return why;
        }
        let calm = self.now.saturating_sub(self.state.changed_at_ns) >= self.state.cooldown_ns;
        let measure = self.law.measure(&self.state.slow);
        let has_slack = measure.is_none_or(|measure| measure > self.law.high);
        if calm
            && has_slack
            && self.state.relaxed.is_none()
            && self.state.trial.is_none()
            && let Some(why) = self.step_back()
        {
            return why;
        }
        self.not_theirs(condition)
    }

    /// A step back that lasted is over, and makes the next one come sooner.
    fn let_easing_last(&mut self) {
        let now = self.now;
        let cooldown = self.state.cooldown_ns;
        let lasted = |eased: &Relaxed| now.saturating_sub(eased.at_ns) >= cooldown;
        if self.state.relaxed.as_ref().is_some_and(lasted) {
            self.state.relaxed = None;
            self.state.cooldown_ns = (cooldown / 2).max(FIRST_COOLDOWN_NS);
        }
    }

    fn step_back(&mut self) -> Option<String> {
        let application = self.most_bounded()?;
        let got = self.got();
        let before = self.state.held[application].bounds.clone();
        let what = self.eased(application)?;
        self.state.relaxed =
            Some(Relaxed { application: Some(application), before, at_ns: self.now });
        Some(format!("{got}, with room to spare; {} {what}", self.name(application)))
    }

    /// The application that is bounded most and would use more: one with a lever beyond weights before one
    /// without, then the lowest weight.
    fn most_bounded(&self) -> Option<usize> {
        let beyond = |at: usize| {
            let bounds = &self.state.held[at].bounds;
            Lever::LADDER.iter().rev().any(|&lever| is_set(bounds, lever) && lever != Lever::Weight)
        };
        (0..self.state.held.len())
            .filter(|&at| !self.state.held[at].bounds.are_none())
            .filter(|&at| self.signal.runs[at] && self.would_use_more(at))
            .min_by_key(|&at| (!beyond(at), self.state.held[at].bounds.weight, at))
    }

    /// Takes the newest lever off an application, or raises its weight; in words. `None` if there is not room
    /// enough for that.
    fn eased(&mut self, application: usize) -> Option<String> {
        let measure = self.law.measure(&self.state.slow);
        let is_ample = measure.is_none_or(|measure| measure > self.law.ample);
        let room = self.room();
        let bounds = &mut self.state.held[application].bounds;
        let newest = Lever::LADDER.iter().rev().copied().find(|&lever| is_set(bounds, lever))?;
        let old = bounds.weight;
        let is_coarse = newest != Lever::Weight || old < COARSE_WEIGHT;
        if is_coarse && !is_ample {
            return None;
        }
        if newest != Lever::Weight {
            unbound(bounds, newest);
            return Some(format!("is freed from {}", words::lever(newest)));
        }
        let factor = if is_ample { FAR_UP } else { UP.min(room) };
        bounds.weight = ((f64::from(old) * factor).ceil() as u32).min(FULL_WEIGHT);
        Some(format!("goes from weight {old} to {}", bounds.weight))
    }

    /// How many times the odds of now a cut would aim at.
    fn room(&self) -> f64 {
        let (Some(kept), Some(wanted)) =
            (self.state.slow.kept(), self.law.wanted(&self.state.slow))
        else {
            return FAR_UP;
        };
        let odds = |kept: f64| (1.0 - kept) / kept.max(1e-6);
        (odds(wanted) / odds(kept).max(1e-6)).max(1.0)
    }

    /// Without demand: waits a while, then releases all and remembers it.
    pub(super) fn rest(&mut self) -> String {
        self.state.trial = None;
        let since = self.state.idle_since_ns.unwrap_or(self.now);
        let placed = Placement { threaded: self.state.placement.threaded, ..Placement::default() };
        let is_free = !self.state.bounds_any() && self.state.placement == placed;
        if is_free {
            return "no one uses the protected interfaces: nothing is bounded".to_owned();
        }
        if self.now.saturating_sub(since) < REST_NS {
            return "no one uses the protected interfaces; bounds stay a few seconds more"
                .to_owned();
        }
        for application in 0..self.state.held.len() {
            self.release(application);
        }
        // Threads stay: switching NAPI to and fro loses packets each time.
        self.state.placement = placed;
        self.state.relaxed = None;
        self.state.cooldown_ns = FIRST_COOLDOWN_NS;
        format!(
            "no one has used the protected interfaces for {}: everything is released, and remembered",
            words::seconds(self.now.saturating_sub(since))
        )
    }

    /// Releases applications that have had no process for a while.
    pub(super) fn leave_the_absent(&mut self) -> Option<String> {
        let mut left = Vec::new();
        for application in 0..self.state.held.len() {
            let held = &mut self.state.held[application];
            if self.signal.runs[application] {
                held.absent_since_ns = None;
                continue;
            }
            let since = *held.absent_since_ns.get_or_insert(self.now);
            if self.now.saturating_sub(since) >= ABSENT_NS && !held.bounds.are_none() {
                self.release(application);
                left.push(self.name(application));
            }
        }
        let verb = if left.len() == 1 { "has" } else { "have" };
        (!left.is_empty())
            .then(|| format!("{} {verb} no process any more: released", words::list(&left)))
    }

    /// Takes an application's bounds off and remembers them.
    fn release(&mut self, application: usize) {
        let held = &mut self.state.held[application];
        if held.bounds.are_none() {
            return;
        }
        held.remembered = Some((std::mem::take(&mut held.bounds), self.now));
        self.state.trial = None;
        if self.state.relaxed.as_ref().is_some_and(|one| one.application == Some(application)) {
            self.state.relaxed = None;
        }
    }
}

/// Whether bounds use a lever.
fn is_set(bounds: &crate::bounds::Bounds, lever: Lever) -> bool {
    match lever {
        Lever::Weight => bounds.weight < FULL_WEIGHT,
        Lever::Packing => bounds.cpus.is_some(),
        Lever::Idle => bounds.idle,
        Lever::Quota => bounds.quota.is_some(),
        Lever::Memory => bounds.memory_high_kib.is_some(),
        Lever::Cache => bounds.cache.is_some(),
        Lever::Placement | Lever::Threaded => false,
    }
}
