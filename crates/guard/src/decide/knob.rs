//! What a position of the knob means: target, floor of applications, and how far the ladder goes.
//!
//! | aggressiveness | target | floor of a fair share | levers |
//! | --- | --- | --- | --- |
//! | 0 | 70 % | 50 % | weights |
//! | 50 | 90 % | 25 % | up to quota |
//! | 100 | 99 % | 2 % | all that the policy allows |
//!
//! Linear between the rows; the ladder's lever number *n* of 8 (from 0) is open from `12.5 × n` on. A target or
//! a floor that the policy names wins over the knob's. Threaded NAPI is asked for by name, so the knob does not
//! close it.

use super::{Lever, state::Flow};
use crate::policy::{Policy, Target};

/// Knob, target, floor of a fair share.
const POSITIONS: [(f64, f64, f64); 3] =
    [(0.0, 0.70, 0.50), (50.0, 0.90, 0.25), (100.0, 0.99, 0.02)];

/// The most of what the target leaves that the knob's floor takes, so that the two never contradict each other
/// on one CPU that Wi-Fi could fill. It is below [`AIM`].
const FLOOR_OF_LEAVINGS: f64 = 0.6;
/// What a cut aims at: this much of the loss that the target allows. Nearer to 1 it would be undone by noise;
/// further away it would cost the applications what Wi-Fi has not asked for.
const AIM: f64 = 0.9;
/// Below this much of the allowed loss a weight is given back, up to [`AIM`].
const ROOM: f64 = 0.7;
/// Below this much of it a lever is, whose step cannot be made smaller than twofold: `2 × AMPLE < 1`.
const AMPLE: f64 = 0.4;
/// A loss is too much above this much of the allowed one.
const TOO_MUCH: f64 = 1.1;
/// Noise widens that by this much of the allowed loss at most.
const NOISE_ROOM: f64 = 0.25;
/// A loss of this much of the allowed one is no noise: one tick is enough.
const SEVERE: f64 = 3.0;
/// The least loss that a target may ask for: below it there is nothing to steer by.
const LEAST_LOSS: f64 = 0.005;
/// Above this share kept, applications take nothing that would bring a rate nearer.
const UNCONTESTED: f64 = 0.995;
/// The same four lines for a rate, as shares of it.
const RATE: [f64; 4] = [0.98, 1.02, 1.05, 1.20];

/// What the policy and its knob come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Law {
    /// The share wanted, as decisions show it; 1 for a rate.
    pub(super) target: f64,
    /// Bits a second, if the target is a rate.
    pub(super) rate: Option<f64>,
    /// Below this measure Wi-Fi has too little.
    pub(super) low: f64,
    /// Below this measure one tick alone is enough to act.
    pub(super) severe: f64,
    /// What a cut aims at.
    pub(super) aim: f64,
    /// Above this measure there is something to give back.
    pub(super) high: f64,
    /// Above this one there is so much that even a coarse step is safe.
    pub(super) ample: f64,
    /// The loss that is allowed, as a share.
    allowed: f64,
    /// What an application keeps of its fair share.
    fair: f64,
    /// What the floors of all applications together may take of what the target leaves, in CPUs.
    leavings: f64,
    aggressiveness: f64,
}

impl Law {
    pub(super) fn of(policy: &Policy) -> Self {
        let aggressiveness = f64::from(policy.aggressiveness.min(100));
        let (knob_target, fair) = at(aggressiveness);
        let (target, rate) = match policy.protect.target {
            Some(Target::Part(share)) => (share.get().min(1.0), None),
            Some(Target::Rate(bits)) => (1.0, Some(bits.max(1) as f64)),
            None => (knob_target, None),
        };
        let allowed = (1.0 - target).max(LEAST_LOSS);
        let [low, aim, high, ample] = match rate {
            Some(_) => RATE,
            None => [TOO_MUCH, AIM, ROOM, AMPLE].map(|part| 1.0 - part * allowed),
        };
        let severe = if rate.is_some() { 0.9 } else { 1.0 - SEVERE * allowed };
        let left = if rate.is_some() { 1.0 - knob_target } else { allowed };
        Self {
            target,
            rate,
            low,
            severe,
            aim,
            high,
            ample,
            allowed,
            fair,
            leavings: FLOOR_OF_LEAVINGS * left,
            aggressiveness,
        }
    }

    /// How well Wi-Fi is off: the share kept, or of its rate. `None` if it asked for nothing.
    ///
    /// A rate counts only while applications take something: where they do not, they cannot give it.
    pub(super) fn measure(&self, flow: &Flow) -> Option<f64> {
        let kept = flow.kept()?;
        match self.rate {
            None => Some(kept),
            Some(_) if kept > UNCONTESTED => Some(self.high.max(1.0)),
            Some(rate) => Some(flow.bits / rate),
        }
    }

    /// The share of the CPU time it asks for that Wi-Fi's work has to get to have its target.
    pub(super) fn wanted(&self, flow: &Flow) -> Option<f64> {
        let kept = flow.kept()?;
        let wanted = match self.rate {
            None => self.aim,
            Some(rate) => kept * self.aim * rate / flow.bits.max(1.0),
        };
        Some(wanted.clamp(LEAST_LOSS, 1.0 - LEAST_LOSS / 2.0))
    }

    /// Below this measure a tick says that Wi-Fi has too little, as noisy as ticks are.
    pub(super) fn low_in(&self, noise: f64) -> f64 {
        self.low - noise.min(NOISE_ROOM * self.allowed)
    }

    /// What the knob leaves each of `running` applications, in CPUs: a part of its fair share, were it and Wi-Fi
    /// equals on one CPU.
    pub(super) fn floor(&self, running: usize) -> f64 {
        let fair = self.fair / (1.0 + running as f64);
        fair.min(self.leavings / running.max(1) as f64)
    }

    /// Whether the knob lets the ladder go as far as this lever.
    pub(super) fn opens(&self, lever: Lever) -> bool {
        lever == Lever::Threaded || self.aggressiveness >= 12.5 * f64::from(lever as u8)
    }
}

/// Target and floor at a position, linear between the table's rows.
fn at(position: f64) -> (f64, f64) {
    for pair in POSITIONS.windows(2) {
        let [(from, target, floor), (to, next_target, next_floor)] = [pair[0], pair[1]];
        if position <= to {
            let along = (position - from) / (to - from);
            let between = |a: f64, b: f64| a + along * (b - a);
            return (between(target, next_target), between(floor, next_floor));
        }
    }
    (0.99, 0.02)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(aggressiveness: u8) -> Law {
        Law::of(&Policy { aggressiveness, ..crate::policy::parse("", "test").unwrap() })
    }

    #[test]
    fn the_knob_gives_the_table_and_lines_between_its_rows() {
        for (position, target) in [(0, 0.70), (25, 0.80), (50, 0.90), (75, 0.945), (100, 0.99)] {
            assert!((law(position).target - target).abs() < 1e-9, "{position}");
        }
    }

    #[test]
    fn a_harder_knob_wants_more_leaves_less_and_opens_more() {
        let levers = |knob: &Law| Lever::LADDER.iter().filter(|&&lever| knob.opens(lever)).count();
        for position in 0..100 {
            let (soft, hard) = (law(position), law(position + 1));
            assert!(soft.target < hard.target);
            assert!(soft.floor(1) >= hard.floor(1), "{position}");
            assert!(levers(&soft) <= levers(&hard));
        }
        assert!(law(0).opens(Lever::Weight) && !law(0).opens(Lever::Placement));
        assert!(law(100).opens(Lever::Cache));
    }

    #[test]
    fn target_and_floor_of_the_knob_never_contradict_each_other() {
        for position in 0..=100 {
            for running in 1..5 {
                let knob = law(position);
                assert!(knob.floor(running) * (running as f64) < 1.0 - knob.aim + 1e-12);
            }
        }
    }
}
