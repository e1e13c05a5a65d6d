//! The work of CPU tasks: so many rounds of `txd`'s own loop as take a wanted time alone at a place.
//!
//! A few rounds are timed, then as many more as should take the time, until one attempt was long enough to be
//! believed. In counted time the answer is the same every time.

use model::{
    completion::{Rounds, TaskWork},
    experiment::Completion,
    trial::Outcome,
};

use super::plan;
use crate::{
    Error,
    procedure::{Site, TrialFiles},
};

/// Rounds of the first attempt: quick on any machine.
const FIRST: u64 = 1_000;

/// From one attempt to the next the work grows no more than this.
const MOST_GROWTH: f64 = 100.0;

/// An attempt of this share of the wanted time tells what a round takes.
const LONG_ENOUGH: f64 = 0.2;

/// Attempts. Four reach a minute from a round of a nanosecond.
const ATTEMPTS: u32 = 6;

/// Finds what is not known yet, and keeps it.
///
/// # Errors
///
/// [`Error`] of the host. A trial that fails leaves its task without rounds, and is no error.
pub(super) fn find(site: &Site<'_, Completion>, mut known: Rounds) -> Result<Rounds, Error> {
    // What could not be found then is looked for again now.
    known.0.retain(|work| work.rounds.is_some());
    for (place, ms) in plan::tasks(&site.run.study) {
        let name = &site.run.study.places[place].name;
        if known.of(name, ms).is_none() {
            let (rounds, why) = match found(site, place, ms)? {
                Ok(rounds) => (Some(rounds), None),
                Err(why) => (None, Some(why)),
            };
            known.0.push(TaskWork { place: name.clone(), ms, rounds, why });
            site.folder.keep_calibration(&known)?;
        }
    }
    Ok(known)
}

/// The rounds, or why there are none.
fn found(site: &Site<'_, Completion>, place: usize, ms: u32) -> Result<Result<u64, String>, Error> {
    let mut rounds = FIRST;
    for attempt in 1..=ATTEMPTS {
        let order = plan::alone(&site.run.study, rounds);
        let name = format!("rounds-{}-{ms}-{attempt}", site.run.study.places[place].name);
        let files = TrialFiles::of(site.folder, &name);
        let took_ns = match super::made(site, place, &order, &files)?.outcome {
            Outcome::Invalid { why, .. } => return Ok(Err(why)),
            Outcome::Measured(reading) => {
                reading.card.and_then(|card| card.task_wall_ns).filter(|took| *took > 0)
            }
        };
        let Some(took_ns) = took_ns else {
            return Ok(Err("txd did not say how long the task took".to_owned()));
        };
        let (next, is_known) = next(rounds, took_ns, ms);
        if is_known {
            return Ok(Ok(next));
        }
        rounds = next;
    }
    Ok(Err(format!("no number of rounds took {ms} ms in {ATTEMPTS} attempts")))
}

/// The rounds that should take the time, and whether an attempt of so many ns is believed.
fn next(rounds: u64, took_ns: u64, ms: u32) -> (u64, bool) {
    let wanted = f64::from(ms) * 1e6;
    let growth = wanted / took_ns as f64;
    let next = (rounds as f64 * growth.min(MOST_GROWTH)).round().max(1.0);
    (next as u64, took_ns as f64 >= LONG_ENOUGH * wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_grows_until_an_attempt_is_long_enough_and_then_fits() {
        // 2 µs a round, 40 ms alongside: what a start costs is not a round's.
        let takes = |rounds: u64| 40_000_000 + rounds * 2_000;
        let (mut rounds, mut attempts) = (FIRST, 0);
        let fits = loop {
            attempts += 1;
            let (then, is_known) = next(rounds, takes(rounds), 2_000);
            rounds = then;
            if is_known {
                break rounds;
            }
        };
        assert!(attempts <= ATTEMPTS, "{attempts}");
        let off = takes(fits) as f64 / 2e9 - 1.0;
        assert!(off.abs() < 0.1, "{off}");
    }

    #[test]
    fn a_round_that_takes_no_time_does_not_grow_for_ever() {
        assert_eq!(next(1_000, 1, 1_000), (100_000, false));
    }
}
