//! The first lever: weights, computed from what was measured.
//!
//! # The law
//!
//! Beside a thread that always wants to run, an application of weight *w* takes `w / W` for each unit that the
//! thread gets, whatever *W* is: the odds `lost / ran` are proportional to *w*. So the weight that gives the wanted
//! odds is `w × wanted / measured`; one step is enough where the law holds, and a second one corrects it where it
//! does not. A step goes down to 1/16 at most.
//!
//! Several applications are cut to one common level of odds: the worst first, the others only when that is
//! not enough, and none below its floor (max-min fairness). The worst is the one that ran longest on the CPUs where
//! Wi-Fi's work waited.

use super::{Controller, Lever, words};
use crate::bounds::{FULL_WEIGHT, LEAST_WEIGHT};

/// The most that one step cuts.
const DEEPEST: f64 = 1.0 / 16.0;
/// Where Wi-Fi's own threads may be made nicer, no weight goes below this before they are: beside a thread at nice
/// 0 it is 6 % of a CPU, and what is still lost then is lost by the length of slices, which weights do not change.
const NICE_FIRST: u32 = 64;
/// A cut that leaves more than this of a weight is not worth a write.
const WORTH_A_WRITE: f64 = 0.95;
/// Wi-Fi's work that had less than this, in CPUs, is taken to have had so much: odds stay finite.
const LEAST_RAN: f64 = 0.01;

/// An application that took less of the loss than this is not worth a step of its own.
pub(super) const LEAST_BLAME: f64 = 0.1;

/// How an application's odds may be changed.
#[derive(Clone, Copy, Debug)]
struct Stake {
    /// Its odds now: what it took for each unit that Wi-Fi's work had.
    odds: f64,
    /// The least factor on its weight.
    least: f64,
}

impl Controller<'_> {
    /// Applications by their share of the loss, worst first; those that took nothing are left out. Of equals the
    /// one that the policy names first.
    pub(super) fn offenders(&self) -> Vec<(usize, f64)> {
        let blame = &self.state.fast.blame;
        let total: f64 = blame.iter().sum();
        if total <= 0.0 {
            return Vec::new();
        }
        let mut ranked: Vec<(usize, f64)> = blame
            .iter()
            .map(|took| took / total)
            .enumerate()
            .filter(|(_, part)| *part > 0.0)
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// An application's share of the loss.
    pub(super) fn blame_of(&self, application: usize) -> f64 {
        self.offenders().iter().find(|(at, _)| *at == application).map_or(0.0, |(_, part)| *part)
    }

    /// Cuts the weights of the worst so far that the target is kept; `None` if no weight can be cut further.
    pub(super) fn weigh(&mut self) -> Option<String> {
        let wanted = self.law.wanted(&self.state.fast)?;
        let stakes = self.stakes(wanted);
        let level = level(&stakes, (1.0 - wanted) / wanted);
        let least = if self.can_place() { NICE_FIRST } else { LEAST_WEIGHT };
        let mut cuts = Vec::new();
        for (application, stake) in stakes.iter().enumerate() {
            let factor = factor(*stake, level);
            let old = self.state.held[application].bounds.weight;
            let new = ((f64::from(old) * factor) as u32).clamp(least, FULL_WEIGHT);
            if factor < WORTH_A_WRITE && new < old {
                cuts.push((application, old, new));
            }
        }
        if cuts.is_empty() {
            return None;
        }
        let found = self.found();
        self.begin_trial(Lever::Weight, cuts.iter().map(|cut| cut.0));
        let is_clamped = |stake: &Stake| {
            stake.least < DEEPEST && stake.odds > 0.0 && level / stake.odds < DEEPEST
        };
        if let Some(trial) = &mut self.state.trial {
            trial.unfinished = stakes.iter().any(is_clamped);
        }
        let mut said = Vec::new();
        for (application, old, new) in cuts {
            self.state.held[application].bounds.weight = new;
            said.push(format!("{} goes from weight {old} to {new}", self.name(application)));
        }
        Some(format!("{found}; {}", words::list(&said)))
    }

    /// What can be done to each application by its weight, if Wi-Fi's work is to have `wanted` of what it asks for.
    fn stakes(&self, wanted: f64) -> Vec<Stake> {
        let flow = &self.state.fast;
        let ran = flow.ran.max(LEAST_RAN);
        let all = 0..self.state.held.len();
        let needs: Vec<f64> = all.clone().map(|application| self.needs(application)).collect();
        // With every application at its floor Wi-Fi's work may get less than is wanted.
        let asked = flow.ran + flow.lost;
        let ran_after = (asked * wanted).min(asked - needs.iter().sum::<f64>()).max(LEAST_RAN);
        all.map(|application| {
            let odds = flow.blame.get(application).copied().unwrap_or(0.0) / ran;
            let held = &self.state.held[application];
            let is_fixed = held.bounds.idle || self.is_closed(application, Lever::Weight);
            let least = needs[application] / ran_after / odds;
            Stake { odds, least: if is_fixed || odds <= 0.0 { 1.0 } else { least.min(1.0) } }
        })
        .collect()
    }

    /// What an application's floor needs of the time that Wi-Fi asks for, beside what it has elsewhere, in CPUs;
    /// never more than it takes now.
    fn needs(&self, application: usize) -> f64 {
        let takes = self.state.fast.blame.get(application).copied().unwrap_or(0.0);
        (self.floor(application) - self.spare(application)).clamp(0.0, takes)
    }
}

fn factor(stake: Stake, level: f64) -> f64 {
    if stake.odds <= level {
        1.0
    } else {
        (level / stake.odds).max(stake.least).clamp(DEEPEST, 1.0)
    }
}

/// The common level of odds at which all together come to `wanted`: bisection, for the sum rises with it.
fn level(stakes: &[Stake], wanted: f64) -> f64 {
    let at = |level: f64| -> f64 {
        stakes.iter().map(|stake| stake.odds.min(level).max(stake.odds * stake.least)).sum()
    };
    let (mut below, mut above) = (0.0, stakes.iter().map(|stake| stake.odds).fold(0.0, f64::max));
    if at(above) <= wanted {
        return above;
    }
    for _ in 0..60 {
        let middle = (below + above) / 2.0;
        if at(middle) <= wanted { below = middle } else { above = middle }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_cut_alone_where_that_is_enough() {
        let stakes = [Stake { odds: 0.8, least: 0.0 }, Stake { odds: 0.02, least: 0.0 }];
        let level = level(&stakes, 0.10);
        assert!((level - 0.08).abs() < 1e-9);
        assert_eq!(factor(stakes[1], level), 1.0);
    }

    #[test]
    fn two_that_are_alike_are_cut_alike_and_a_floor_shifts_the_rest_to_the_other() {
        let alike = [Stake { odds: 0.5, least: 0.0 }, Stake { odds: 0.5, least: 0.0 }];
        assert!((level(&alike, 0.1) - 0.05).abs() < 1e-9);
        let floored = [Stake { odds: 0.5, least: 0.16 }, Stake { odds: 0.5, least: 0.0 }];
        assert!((level(&floored, 0.1) - 0.02).abs() < 1e-9);
    }

    #[test]
    fn a_step_is_never_deeper_than_a_sixteenth_and_never_upward() {
        assert_eq!(factor(Stake { odds: 1.0, least: 0.0 }, 0.0), DEEPEST);
        assert_eq!(factor(Stake { odds: 0.1, least: 0.0 }, 0.4), 1.0);
    }
}
