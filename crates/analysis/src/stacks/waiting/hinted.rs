//! Busy waits without a known name: what runs round a loop with the CPU's spin-wait hint.
//!
//! The loop's samples are those with it anywhere in the stack: what it calls from there is asked again and
//! again whether the wait is over. A loop that is entered and left without ever waiting looks alike, as a
//! lock's does that no one holds: so some of its own samples must be behind the hint.

use std::collections::BTreeMap;

use super::{Measured, reason};
use crate::{
    profiles::{Waiting, WhyWaiting},
    stacks::{
        functions::{Function, Functions},
        hint::Spin,
        profile::{Frame, Profile},
    },
};

const REASON: &str = "has the CPU’s spin-wait hint in a loop";

/// Of a loop's own samples so many must be at the hint or behind it, and this share of them. A hint takes 40
/// cycles and more, as long as a hundred other instructions, so a loop that goes round has far more.
const FEWEST_BEHIND: u64 = 2;
const BEHIND: f64 = 0.02;

/// The loops of a profile, and what is in none.
pub(super) struct Hinted {
    /// By the function's place.
    loops: BTreeMap<usize, Loop>,
    /// Of each function the samples that have it innermost and are in no loop that counts.
    outside: Vec<Vec<u64>>,
}

/// The samples of a function's loops in each capture.
#[derive(Default)]
struct Loop {
    /// With all that is called from there.
    all: Vec<u64>,
    /// In the function's own code.
    own: Vec<u64>,
    /// By what called the function, a place among the functions.
    callers: BTreeMap<usize, u64>,
}

/// One stack as loops see it: each function whose loop it is in, outermost first.
struct Round {
    function: usize,
    caller: Option<usize>,
    spin: Spin,
    /// Whether nothing is called from there.
    own: bool,
}

impl Hinted {
    /// Loops that have at least this share of all samples.
    pub(super) fn of(functions: &Functions, profile: &Profile, share: f64) -> Self {
        let rounds: Vec<Vec<Round>> =
            profile.stacks.iter().map(|stack| rounds(functions, profile, &stack.frames)).collect();
        let that_wait = that_wait(profile, &rounds, share);
        let mut hinted = Self {
            loops: BTreeMap::new(),
            outside: functions.all.iter().map(|function| function.own.clone()).collect(),
        };
        for (stack, rounds) in profile.stacks.iter().zip(&rounds) {
            let counts = |round: &&Round| that_wait.contains(&round.function);
            let Some(round) = rounds.iter().rev().find(counts) else { continue };
            let found = hinted.loops.entry(round.function).or_default();
            add(&mut found.all, &stack.samples);
            add(&mut found.own, if round.own { &stack.samples } else { &[] });
            if let Some(caller) = round.caller {
                *found.callers.entry(caller).or_default() += stack.samples.iter().sum::<u64>();
            }
            let innermost = stack.frames.last().and_then(|frame| functions.place(*frame));
            if let Some(outside) = innermost.and_then(|place| hinted.outside.get_mut(place)) {
                let pairs = outside.iter_mut().zip(&stack.samples);
                pairs.for_each(|(left, samples)| *left = left.saturating_sub(*samples));
            }
        }
        hinted
    }

    /// Every function with its own samples outside of such loops.
    pub(super) fn others<'a>(
        &'a self,
        functions: &'a Functions,
    ) -> impl Iterator<Item = (&'a Function, Vec<u64>)> {
        functions.all.iter().zip(self.outside.iter().cloned())
    }

    /// The loops, as findings.
    pub(super) fn waiting<'a>(
        &'a self,
        measured: &'a Measured<'a>,
    ) -> impl Iterator<Item = Waiting> + 'a {
        let Measured { functions, costs, .. } = *measured;
        self.loops.iter().filter_map(move |(place, found)| {
            let function = functions.all.get(*place)?;
            let most = found.callers.iter().max_by_key(|(at, count)| (**count, usize::MAX - **at));
            let caller = most.and_then(|(at, _)| functions.all.get(*at));
            let samples: u64 = found.all.iter().sum();
            Some(Waiting {
                function: function.name.clone(),
                module: function.module.clone(),
                caller: caller.map(|caller| caller.name.clone()),
                why: WhyWaiting::Hint,
                reason: REASON.to_owned(),
                samples,
                own_samples: found.own.iter().sum(),
                share: measured.share(samples),
                cpu: costs.estimate(&found.all),
                own: costs.estimate(&found.own),
            })
        })
    }
}

/// Functions whose loops have enough samples, and do wait.
fn that_wait(profile: &Profile, rounds: &[Vec<Round>], share: f64) -> Vec<usize> {
    let all: u64 = profile.samples.iter().sum();
    // With all that is called, in its own code, and of these behind the hint.
    let mut sums: BTreeMap<usize, [u64; 3]> = BTreeMap::new();
    for (stack, rounds) in profile.stacks.iter().zip(rounds) {
        let samples: u64 = stack.samples.iter().sum();
        for (at, round) in rounds.iter().enumerate() {
            let sums = sums.entry(round.function).or_default();
            // A recursive function counts once in each stack.
            let again = rounds.iter().take(at).any(|before| before.function == round.function);
            sums[0] += if again { 0 } else { samples };
            sums[1] += if round.own { samples } else { 0 };
            sums[2] += if round.own && round.spin == Spin::Past { samples } else { 0 };
        }
    }
    let counts = |[with, own, behind]: [u64; 3]| {
        let seen = behind >= FEWEST_BEHIND && behind as f64 >= BEHIND * own as f64;
        seen && with as f64 >= share * all as f64
    };
    sums.into_iter().filter(|(_, sums)| counts(*sums)).map(|(function, _)| function).collect()
}

fn rounds(functions: &Functions, profile: &Profile, frames: &[u32]) -> Vec<Round> {
    let frame = |place: &u32| profile.frames.get(*place as usize);
    let round = |(at, place): (usize, &u32)| {
        let spin =
            frame(place).map(|frame: &Frame| frame.spin).filter(|spin| *spin != Spin::None)?;
        let function = functions.place(*place)?;
        let known = functions.all.get(function)?;
        if reason(&known.name, known.kernel).is_some() {
            return None;
        }
        let caller = frames.iter().take(at).rev().find_map(|frame| functions.place(*frame));
        let below = frames.iter().skip(at + 1);
        // What the compiler put into the function is its own code.
        let own = below.into_iter().all(|place| frame(place).is_some_and(|frame| frame.inlined));
        Some(Round { function, caller, spin, own })
    };
    frames.iter().enumerate().filter_map(round).collect()
}

fn add(to: &mut Vec<u64>, samples: &[u64]) {
    to.resize(to.len().max(samples.len()), 0);
    to.iter_mut().zip(samples).for_each(|(to, samples)| *to += samples);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::{cost::Costs, test_data::profile, waiting::named};

    /// Each finding: function, why, samples, own samples, caller.
    fn found(stacks: &[(&str, &[u64])]) -> Vec<(String, WhyWaiting, [u64; 2], Option<String>)> {
        let profile = profile(stacks);
        let all: u64 = profile.samples.iter().sum();
        let costs = Costs::of(&profile.samples, &[Some(all as f64 * 10.0)]);
        let functions = Functions::of(&profile);
        let waiting = named(&functions, &profile, &costs);
        assert!(waiting.iter().all(|one| one.cpu.unwrap().mean == one.samples as f64 * 10.0));
        let of = |one: Waiting| (one.function, one.why, [one.samples, one.own_samples], one.caller);
        waiting.into_iter().map(of).collect()
    }

    #[test]
    fn a_loop_is_named_with_all_that_it_asks() {
        let found = found(&[
            ("d;run;spin", &[1]),
            ("d;run;spin~", &[4]),
            ("d;run;spin~;look;clock", &[30]),
            ("d;run;spin~~", &[5]),
            ("d;run;spin~~;emit", &[2]),
            ("d;run;work", &[58]),
        ]);
        let spin = ("spin".to_owned(), WhyWaiting::Hint, [41, 9], Some("run".to_owned()));
        assert_eq!(found, [spin]);
    }

    #[test]
    fn what_the_compiler_put_into_a_loop_is_its_own_code() {
        let found = found(&[("d;spin~~;spin_loop*", &[3]), ("d;spin~;look*", &[5]), ("d;w", &[9])]);
        assert_eq!(found[0].2, [8, 8]);
    }

    #[test]
    fn a_lock_that_nobody_holds_is_not_waiting() {
        assert_eq!(found(&[("d;lock~", &[50]), ("d;work", &[50])]), []);
        assert_eq!(found(&[("d;lock~", &[99]), ("d;lock~~", &[1]), ("d;work", &[9])]), []);
        assert_eq!(found(&[("d;lock~", &[99]), ("d;lock~~", &[2]), ("d;work", &[9])]), [], "2 %");
        assert_eq!(found(&[("d;lock~", &[98]), ("d;lock~~", &[2]), ("d;work", &[9])]).len(), 1);
    }

    #[test]
    fn a_loop_that_is_hardly_ever_seen_is_not_reported() {
        assert_eq!(found(&[("d;slow~~", &[3]), ("d;work", &[400])]), []);
    }

    #[test]
    fn a_sample_is_counted_once() {
        // A known function below a loop, a loop below a loop, recursion, and the known one elsewhere.
        let found = found(&[
            ("d;spin~~", &[4]),
            ("d;spin~;libc!sched_yield", &[20]),
            ("d;spin~;again~~", &[6]),
            ("d;spin~;spin~;look", &[3]),
            ("d;other;libc!sched_yield", &[7]),
        ]);
        let spin = ("spin".to_owned(), WhyWaiting::Hint, [27, 4], Some("spin".to_owned()));
        assert_eq!(found[0], spin);
        assert_eq!(
            (&*found[1].0, &found[1].1, found[1].2),
            ("sched_yield", &WhyWaiting::Known, [7, 7])
        );
        assert_eq!(
            (&*found[2].0, found[2].2, found[2].3.as_deref()),
            ("again", [6, 6], Some("spin"))
        );
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_function_that_is_known_keeps_its_own_reason() {
        let found = found(&[("d;libc!pthread_spin_lock~~", &[6]), ("d;work", &[4])]);
        assert_eq!((&*found[0].0, &found[0].1), ("pthread_spin_lock", &WhyWaiting::Known));
    }
}
