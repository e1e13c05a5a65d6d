//! Which condition Wi-Fi is in: starved by applications, by others, limited by the link, served, idle.
//!
//! A tick that a jump of the clock made long decides nothing. Starved is what two of three ticks say, or one
//! that is far off, or one that looks like a starvation that was ended before.

use super::{
    Condition, Controller, FAST_NS, FIRST_COOLDOWN_NS, IDLE_TICK_NS, LEAST_DEMAND, SLOW_NS,
    TICK_NS, state::Flow,
};
use crate::reading::Reading;

/// A tick that is longer than this many usual ones is a jump of the clock, or the machine slept.
const JUMP: u64 = 3;
/// Packets a second below which no one uses the link: beacons' replies, neighbour discovery, a ping or two.
const QUIET_PACKETS: f64 = 20.0;
/// A loss below this, in CPUs, is no cause to act, whatever share of a small demand it is.
const LEAST_LOSS: f64 = 0.004;
/// This many ticks of one setting are judged together as well.
const DRIFT_TICKS: u32 = 5;
/// The noise is followed over so long, ns.
const NOISE_NS: u64 = 5_000_000_000;
/// One tick's difference counts as noise up to here; more is a change of load.
const MOST_NOISE: f64 = 0.05;

impl Controller<'_> {
    /// Takes the tick in and says which condition it shows.
    pub(super) fn judge(&mut self, reading: &Reading) -> Condition {
        if self.has_jumped(reading) {
            self.state.ticks = 0;
            self.state.forget_flow();
            return Condition::Unknown;
        }
        self.state.ticks = self.state.ticks.saturating_add(1);
        self.follow(reading.span_ns);
        self.note_demand();
        if self.state.idle_since_ns.is_some() {
            return Condition::Idle;
        }
        let short = self.is_short();
        self.state.short = (self.state.short << 1 | u8::from(short)) & 0b111;
        self.state.backlogged =
            (self.state.backlogged << 1 | u8::from(self.queue_stands())) & 0b111;
        if self.is_link_limited() {
            return Condition::LinkLimited;
        }
        if short && (self.is_confirmed() || self.can_recall()) {
            return Condition::Starved;
        }
        let others = self.state.fast.lost_to_others;
        let asked = self.state.fast.ran + others;
        if others >= LEAST_DEMAND && self.state.fast.ran / asked < self.law.low {
            return Condition::StarvedByOthers;
        }
        Condition::Served
    }

    /// Whether the tick's span cannot be trusted; keeps what is usual.
    fn has_jumped(&mut self, reading: &Reading) -> bool {
        let state = &mut self.state;
        let awaited = if state.condition == Condition::Idle { IDLE_TICK_NS } else { TICK_NS };
        let usual = state.span_ns.max(awaited);
        let is_first = state.span_ns == 0;
        let is_back = reading.at_ns <= state.at_ns && !is_first;
        let is_long = reading.span_ns > usual.saturating_mul(JUMP);
        state.span_ns = reading.span_ns.min(usual.saturating_mul(JUMP));
        state.at_ns = reading.at_ns;
        if is_back {
            self.start_clocks_anew();
        }
        is_first || is_back || is_long || reading.span_ns == 0
    }

    /// What was to end at a time of another clock ends as if it had begun now.
    fn start_clocks_anew(&mut self) {
        let (now, state) = (self.now, &mut self.state);
        state.changed_at_ns = now;
        state.idle_since_ns = None;
        state.relaxed = None;
        state.spent.clear();
        state.cooldown_ns = FIRST_COOLDOWN_NS;
        for held in &mut state.held {
            held.absent_since_ns = None;
            held.remembered = None;
        }
    }

    /// Smooths, and measures the noise while nothing was changed.
    fn follow(&mut self, span_ns: u64) {
        let weight = |time_ns: u64| span_ns as f64 / (span_ns as f64 + time_ns as f64);
        let state = &mut self.state;
        let before = (state.fast.ticks >= 2).then(|| self.law.measure(&state.fast)).flatten();
        let mut tick = Flow::default();
        tick.take(&self.signal, 1.0);
        self.tick = self.law.measure(&tick);
        if let (Some(before), Some(now)) = (before, self.tick)
            && self.signal.asked() >= LEAST_DEMAND
        {
            let step = (now - before).abs().min(MOST_NOISE);
            state.noise += weight(NOISE_NS) * (step - state.noise);
        }
        state.fast.take(&self.signal, weight(FAST_NS));
        state.slow.take(&self.signal, weight(SLOW_NS));
    }

    /// Begins or ends the time without demand.
    fn note_demand(&mut self) {
        let signal = &self.signal;
        let has_demand = signal.packets >= QUIET_PACKETS || signal.backlogged || signal.drops;
        self.state.idle_since_ns =
            if has_demand { None } else { Some(self.state.idle_since_ns.unwrap_or(self.now)) };
    }

    /// Whether a queue waits before the link though no one who serves it lacks time, or by its own rate. A thread
    /// that always wants to run is no sign then: it fills a queue that drops what is over.
    fn queue_stands(&self) -> bool {
        let signal = &self.signal;
        signal.shaped || (signal.backlogged && signal.has_time && !signal.drops)
    }

    /// Whether this tick says that applications take too much: by itself, or together with those before it since
    /// the last change, where noise counts for less. While a queue may turn out to be the link's own, none does.
    fn is_short(&self) -> bool {
        let law = &self.law;
        let line = if self.is_unfinished() { law.low } else { law.low_in(self.state.noise) };
        let now = self.tick.is_some_and(|measure| measure < line);
        let slow = &self.state.slow;
        let drifts = slow.ticks >= DRIFT_TICKS
            && law.measure(slow).is_some_and(|measure| measure < law.low)
            && self.tick.is_some_and(|measure| measure < law.aim);
        self.signal.asked() >= LEAST_DEMAND
            && !self.queue_stands()
            && self.signal.lost >= LEAST_LOSS
            && (now || drifts)
    }

    /// Whether the last step was known to be too short.
    fn is_unfinished(&self) -> bool {
        self.state.trial.as_ref().is_some_and(|trial| trial.unfinished)
    }

    fn is_confirmed(&self) -> bool {
        let far = self.law.severe - 2.0 * self.state.noise;
        self.state.short.count_ones() >= 2
            || self.is_unfinished()
            || self.tick.is_some_and(|measure| measure < far)
    }

    /// Whether the link is the limit: its air is full, its queue has a rate and holds back, or a queue has stood
    /// before it for three ticks.
    fn is_link_limited(&self) -> bool {
        let signal = &self.signal;
        signal.air_full || signal.shaped || self.state.backlogged == 0b111
    }
}
