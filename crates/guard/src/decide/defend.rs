//! What is done when Wi-Fi is starved, in order: floors, taking a step back that failed, going back to what
//! worked before, waiting for the proof of the last step, weights, the next rung of the ladder.

use super::{
    Controller, LONGEST_COOLDOWN_NS, Lever, outcome::WIFI, state::Spent, state::Trial,
    weigh::LEAST_BLAME, words,
};
use crate::bounds::{Bounds, FULL_WEIGHT};

/// A step that did not help is not tried again for so long, ns.
const INEFFECTIVE_NS: u64 = 60_000_000_000;
/// Bounds are remembered for so long after they were taken off, ns.
const MEMORY_NS: u64 = 600_000_000_000;
/// A step has helped when the measure rose by this many times its noise.
const PROOF: f64 = 2.0;
/// And by this part of what was missing.
const LEAST_OF_MISSING: f64 = 0.1;
/// Ticks in which it has to: two windows of two ticks.
const PROOF_TICKS: u32 = 4;
/// An application that has less than this of its floor is given more.
const BELOW_FLOOR: f64 = 0.9;
/// Waiting of an application's threads from which on it would use more, in CPUs.
pub(super) const WANTS_MORE: f64 = 0.02;

impl Controller<'_> {
    pub(super) fn defend(&mut self) -> String {
        let why = self
            .keep_floors()
            .or_else(|| self.take_easing_back())
            .or_else(|| self.recall())
            .or_else(|| self.prove())
            .or_else(|| self.thread_napi())
            .or_else(|| self.weigh())
            .or_else(|| self.climb());
        why.unwrap_or_else(|| format!("{}; every lever that is open is used", self.found()))
    }

    /// Gives more to an application that has less than its floor because of its bounds.
    pub(super) fn keep_floors(&mut self) -> Option<String> {
        if self.state.fast.ticks < 2 {
            return None;
        }
        let low = (0..self.state.held.len()).find(|&at| self.is_below_floor(at))?;
        let (floor, ran) = (self.floor(low), self.state.fast.ran_by[low]);
        if let Some(trial) = self.state.trial.take()
            && trial.lever != Some(Lever::Weight)
        {
            return Some(format!(
                "{} has less than its floor; {}",
                self.name(low),
                self.undo(trial)
            ));
        }
        let (who, lever) = self.raise(low, floor / ran.max(1e-6));
        // What was cut too far is not cut again at once: the two would take turns.
        let until_ns = self.now.saturating_add(INEFFECTIVE_NS);
        self.state.spend(Spent { who, lever, until_ns, refused: false });
        let (ran, floor) = (words::percent(ran), words::percent(floor));
        Some(format!(
            "{} has {ran} of a CPU, below its floor of {floor}, and is eased",
            self.name(low)
        ))
    }

    /// Eases an application that needs this many times what it has: the hardest lever first, and where its weight
    /// is whole, the nice value of Wi-Fi's threads. Says whose lever is not to be pulled again at once.
    fn raise(&mut self, application: usize, times: f64) -> (String, Lever) {
        let name = self.name(application);
        let bounds = &mut self.state.held[application].bounds;
        if bounds.quota.take().is_some() {
            return (name, Lever::Quota);
        }
        if std::mem::take(&mut bounds.idle) {
            return (name, Lever::Idle);
        }
        if bounds.cpus.take().is_some() {
            return (name, Lever::Packing);
        }
        if bounds.weight == FULL_WEIGHT {
            self.state.placement.nice = None;
            return (WIFI.to_owned(), Lever::Placement);
        }
        let raised = (f64::from(bounds.weight) * times.clamp(1.25, 2.0)).ceil();
        bounds.weight = (raised as u32).min(FULL_WEIGHT);
        (name, Lever::Weight)
    }

    fn is_below_floor(&self, application: usize) -> bool {
        let ran = self.state.fast.ran_by.get(application).copied().unwrap_or(0.0);
        let is_bounded = !self.state.held[application].bounds.are_none();
        (is_bounded || self.state.placement.nice.is_some())
            && self.signal.runs[application]
            && self.would_use_more(application)
            && ran < BELOW_FLOOR * self.floor(application)
    }

    /// Whether an application's threads wait for CPU; where nothing tells, they are taken to.
    pub(super) fn would_use_more(&self, application: usize) -> bool {
        self.signal.waits[application].is_none_or(|waits| waits >= WANTS_MORE)
    }

    /// Undoes the last step back if it was one too many, and waits longer before the next.
    fn take_easing_back(&mut self) -> Option<String> {
        let eased = self.state.relaxed.take()?;
        let application = eased.application?;
        if self.blame_of(application) < LEAST_BLAME {
            return None;
        }
        let found = self.found();
        self.state.held[application].bounds = eased.before;
        self.state.trial = None;
        self.state.cooldown_ns = self.state.cooldown_ns.saturating_mul(2).min(LONGEST_COOLDOWN_NS);
        let wait = words::seconds(self.state.cooldown_ns);
        Some(format!("{found}; the last step back is undone, and the next waits {wait}"))
    }

    /// Whether an application that is blamed in this tick was bounded before with success.
    pub(super) fn can_recall(&self) -> bool {
        (0..self.state.held.len()).any(|application| self.is_known(application))
    }

    fn is_known(&self, application: usize) -> bool {
        let held = &self.state.held[application];
        let total: f64 = self.signal.blame.iter().sum();
        let is_fresh = |at: u64| self.now.saturating_sub(at) <= MEMORY_NS;
        held.bounds.are_none()
            && held.remembered.as_ref().is_some_and(|(_, at)| is_fresh(*at))
            && self.signal.blame[application] >= LEAST_BLAME * total
            && self.signal.blame[application] > 0.0
    }

    /// Goes straight back to the bounds that worked before.
    fn recall(&mut self) -> Option<String> {
        let known: Vec<usize> =
            (0..self.state.held.len()).filter(|&at| self.is_known(at)).collect();
        let first = *known.first()?;
        let found = self.found();
        let ago = self.state.held[first].remembered.as_ref().map_or(0, |(_, at)| self.now - at);
        self.begin_trial(Lever::Weight, known.iter().copied());
        for &application in &known {
            if let Some((bounds, _)) = self.state.held[application].remembered.take() {
                self.state.held[application].bounds = self.without_spent(application, bounds);
            }
        }
        let names: Vec<String> = known.iter().map(|&at| self.name(at)).collect();
        Some(format!(
            "{found}; {} goes back to the bounds that were enough {} ago",
            words::list(&names),
            words::seconds(ago)
        ))
    }

    /// Remembered bounds without the levers that have been refused since.
    fn without_spent(&self, application: usize, mut bounds: Bounds) -> Bounds {
        for lever in Lever::LADDER {
            if self.is_closed(application, lever) {
                super::outcome::unbound(&mut bounds, lever);
            }
        }
        bounds
    }

    /// Whether a lever is not to be moved for an application: by the policy, the knob, a refusal or a trial.
    pub(super) fn is_closed(&self, application: usize, lever: Lever) -> bool {
        let allow = &self.policy.allow;
        let is_allowed = match lever {
            Lever::Weight => true,
            Lever::Placement => allow.placement,
            Lever::Packing => allow.packing,
            Lever::Idle => allow.idle,
            Lever::Quota => allow.quota,
            Lever::Memory => allow.memory,
            Lever::Cache => allow.cache,
            Lever::Threaded => allow.threaded_napi,
        };
        let who = match lever {
            Lever::Placement | Lever::Threaded => WIFI,
            _ => self.state.held[application].name.as_str(),
        };
        !is_allowed || !self.law.opens(lever) || self.state.is_spent(who, lever)
    }

    /// Begins a trial: what is put back if it does not help is kept.
    pub(super) fn begin_trial(&mut self, lever: Lever, which: impl Iterator<Item = usize>) {
        let bounds = which.map(|at| (at, self.state.held[at].bounds.clone())).collect();
        self.state.trial = Some(Trial {
            lever: Some(lever),
            before: self.law.measure(&self.state.fast).unwrap_or(1.0),
            bits_before: self.state.fast.bits,
            ticks: 0,
            unfinished: false,
            bounds,
            placement: Some(self.state.placement.clone()),
        });
    }

    /// Judges the step under trial: ends it if it helped, takes it back if it did not in time, and says so while
    /// it waits.
    pub(super) fn prove(&mut self) -> Option<String> {
        let mut trial = self.state.trial.take()?;
        trial.ticks = trial.ticks.saturating_add(1);
        let Some(measure) = self.law.measure(&self.state.fast) else {
            self.state.trial = Some(trial);
            return None;
        };
        if self.has_helped(&trial, measure) {
            return None;
        }
        if trial.ticks < PROOF_TICKS {
            self.state.trial = Some(trial);
            return Some(format!("{}; the last step is given time to show its effect", self.got()));
        }
        Some(self.take_back(trial, measure))
    }

    fn has_helped(&self, trial: &Trial, measure: f64) -> bool {
        let is_enough = measure >= self.law.low;
        let gained = measure - trial.before >= self.proof(trial);
        // Nice values and threads change how much a CPU second carries, not only who gets it.
        let is_wifis = matches!(trial.lever, Some(Lever::Placement | Lever::Threaded));
        let carries_more = is_wifis
            && trial.bits_before > 0.0
            && self.state.fast.bits / trial.bits_before - 1.0 >= PROOF * self.state.noise.max(0.02);
        is_enough || gained || carries_more
    }

    /// What a step has to gain: more than noise, and not next to nothing of what was missing.
    fn proof(&self, trial: &Trial) -> f64 {
        (PROOF * self.state.noise).max(LEAST_OF_MISSING * (self.law.low - trial.before))
    }

    fn take_back(&mut self, trial: Trial, measure: f64) -> String {
        let gained = words::points(measure - trial.before);
        let proof = words::points(self.proof(&trial));
        let undone = self.undo(trial);
        format!("it gained Wi-Fi {gained}, where {proof} would be a proof: {undone}")
    }

    /// Puts back what was before a step, and leaves its lever for a while.
    fn undo(&mut self, trial: Trial) -> String {
        let lever = trial.lever.unwrap_or(Lever::Weight);
        let is_wifis = matches!(lever, Lever::Placement | Lever::Threaded);
        let mut names = Vec::new();
        for (application, before) in trial.bounds {
            self.state.held[application].bounds = before;
            names.push(self.name(application));
        }
        if let Some(placement) = trial.placement {
            self.state.placement = placement;
        }
        if is_wifis {
            names = vec![WIFI.to_owned()];
        }
        for who in &names {
            let until_ns = self.now.saturating_add(INEFFECTIVE_NS);
            self.state.spend(Spent { who: who.clone(), lever, until_ns, refused: false });
        }
        format!(
            "{} ({}) is taken back and left for {}",
            words::lever(lever),
            words::list(&names),
            words::seconds(INEFFECTIVE_NS)
        )
    }
}
