//! The rungs above weights: one step at a time, the worst offender first, each to be proved by [`super::defend`].
//!
//! Packing, idle class, quota and memory are not work-conserving or guarantee nothing, so they wait until weights
//! can do no more. None of them may take an application below its floor: `ran − lost`, what it has where it does
//! not hurt, is what is left to it at the least.

use model::share::Share;

use super::{Controller, Lever, weigh::LEAST_BLAME, words};
use crate::bounds::Bounds;

/// Nice value of Wi-Fi's threads: ten steps are a weight of 9.3 times a nice-0 thread's (kernel/sched/core.c,
/// `sched_prio_to_weight`), and daemons of the system at −10 and below still come first.
const NICE: i32 = -10;
/// What that makes of an application's odds alongside them, at most.
const NICE_ODDS: f64 = 1.0 / 9.3;
/// A quota is cut to this part of what the application ran, per step.
const QUOTA_STEP: f64 = 0.7;
/// No quota below this, in CPUs: guard's period is 10 ms and the kernel takes no slice below 1 ms.
const LEAST_QUOTA: f64 = 0.1;
/// Somebody waits for memory for more than this share of the time: memory is short.
const MEMORY_SHORT: f64 = 0.1;
/// `memory.high` is set to this part of what an application has.
const MEMORY_STEP: f64 = 0.9;
/// And not below this, KiB.
const LEAST_MEMORY_KIB: u64 = 16 * 1024;
/// The share of the cache that an application is left.
const CACHE: f64 = 0.25;

impl Controller<'_> {
    /// Threaded NAPI, where it was asked for: first, alone and once. It is the strongest lever and costs the
    /// applications nothing, but shows itself in what is carried, which weights would hide.
    pub(super) fn thread_napi(&mut self) -> Option<String> {
        let is_open = self.policy.allow.threaded_napi
            && self.state.placement.threaded.is_none()
            && !self.state.is_spent(super::outcome::WIFI, Lever::Threaded);
        if !is_open {
            return None;
        }
        let found = self.found();
        self.begin_trial(Lever::Threaded, std::iter::empty());
        self.state.placement.threaded = Some(true);
        Some(format!(
            "{found}; NAPI of the protected interfaces is switched to threads, as the policy allows"
        ))
    }

    /// The next rung: the first open lever of the worst offender that has one.
    pub(super) fn climb(&mut self) -> Option<String> {
        for (application, part) in self.offenders() {
            if part < LEAST_BLAME {
                break;
            }
            for lever in &Lever::LADDER[1..7] {
                if self.is_closed(application, *lever) {
                    continue;
                }
                if let Some(why) = self.step(application, *lever) {
                    return Some(why);
                }
            }
        }
        None
    }

    /// Takes one step with a lever; `None` if there is none to take.
    fn step(&mut self, application: usize, lever: Lever) -> Option<String> {
        let found = self.found();
        if lever == Lever::Placement {
            if !self.can_place() {
                return None;
            }
            self.begin_trial(lever, std::iter::empty());
            self.state.placement.nice = Some(NICE);
            return Some(format!("{found}; Wi-Fi's own threads get nice {NICE}"));
        }
        let (bounds, what) = self.stepped(application, lever)?;
        self.begin_trial(lever, std::iter::once(application));
        self.state.held[application].bounds = bounds;
        Some(format!("{found}; {} {what}", self.name(application)))
    }

    /// Whether Wi-Fi's own threads can be made nicer, and are not yet.
    pub(super) fn can_place(&self) -> bool {
        let is_open = !self.is_closed(0, Lever::Placement);
        is_open
            && self.state.placement.nice.is_none()
            && self.signal.has_threads
            && (0..self.state.held.len()).all(|application| self.has_room_to_place(application))
    }

    /// Whether nicer threads leave an application the floor that the policy gives it. One written for a share that
    /// weights alone can leave it needs no trial of a lever that takes nine tenths.
    fn has_room_to_place(&self, application: usize) -> bool {
        let takes = self.state.fast.blame.get(application).copied().unwrap_or(0.0);
        let left = self.spare(application) + takes * NICE_ODDS;
        takes <= 0.0 || self.written_floor(application).is_none_or(|floor| left >= floor)
    }

    /// An application's bounds one step further, and in words.
    fn stepped(&self, application: usize, lever: Lever) -> Option<(Bounds, String)> {
        let mut bounds = self.state.held[application].bounds.clone();
        let what = match lever {
            Lever::Packing => {
                let cpus = self.left_over(application)?;
                let what = format!("is packed on CPU {}", words::list(&numbers(&cpus)));
                bounds.cpus = Some(cpus);
                what
            }
            Lever::Idle if !bounds.idle && self.spare(application) >= self.floor(application) => {
                bounds.idle = true;
                "runs only where no one else wants to (idle class)".to_owned()
            }
            Lever::Quota => {
                let quota = self.quota(application)?;
                bounds.quota = Some(Share::of(quota));
                format!("gets {} of a CPU at most", words::percent(quota))
            }
            Lever::Memory => {
                let high = self.memory_high(application)?;
                bounds.memory_high_kib = Some(high);
                format!("is reclaimed from above {high} KiB")
            }
            Lever::Cache if bounds.cache.is_none() => {
                bounds.cache = Some(Share::of(CACHE));
                format!("may fill {} of the cache", words::percent(CACHE))
            }
            _ => return None,
        };
        Some((bounds, what))
    }

    /// What an application has where it does not hurt, in CPUs.
    pub(super) fn spare(&self, application: usize) -> f64 {
        let flow = &self.state.fast;
        let of = |list: &[f64]| list.get(application).copied().unwrap_or(0.0);
        of(&flow.ran_by) - of(&flow.blame)
    }

    /// The CPUs without the one where Wi-Fi's work asks for most; `None` with one CPU, or if it is packed.
    fn left_over(&self, application: usize) -> Option<Vec<u32>> {
        let asked = &self.signal.asked_on;
        if asked.len() < 2 || self.state.held[application].bounds.cpus.is_some() {
            return None;
        }
        let busiest = asked.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?.0;
        let left: Vec<u32> = asked.iter().map(|one| one.0).filter(|cpu| *cpu != busiest).collect();
        (left.len() as f64 >= self.floor(application)).then_some(left)
    }

    /// A shorter duty cycle; `None` if the floor or the least one is reached.
    fn quota(&self, application: usize) -> Option<f64> {
        let ran = self.state.fast.ran_by.get(application).copied()?;
        let least = self.floor(application).max(LEAST_QUOTA);
        let old = self.state.held[application].bounds.quota.map(Share::get);
        let base = old.map_or(ran, |old| old.min(ran.max(least)));
        // Whole per cents: a quota that differs by less is the same one.
        let new = ((base * QUOTA_STEP).max(least) * 100.0).ceil() / 100.0;
        (new < base && old.is_none_or(|old| new < old)).then_some(new)
    }

    /// A bound on memory, if memory is short and this application has the most of it.
    fn memory_high(&self, application: usize) -> Option<u64> {
        let has = self.signal.memory_kib[application]?;
        let most = self.signal.memory_kib.iter().flatten().max()?;
        let is_short = self.signal.memory_pressure.is_some_and(|share| share >= MEMORY_SHORT);
        let high = ((has as f64 * MEMORY_STEP) as u64).max(LEAST_MEMORY_KIB);
        let old = self.state.held[application].bounds.memory_high_kib;
        let is_step = high < has && old.is_none_or(|old| high < old);
        (is_short && has == *most && is_step).then_some(high)
    }
}

fn numbers(cpus: &[u32]) -> Vec<String> {
    cpus.iter().map(u32::to_string).collect()
}
