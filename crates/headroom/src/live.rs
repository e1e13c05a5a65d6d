//! The page while a run goes on: written again as trials end, with what is still to come, and at the end without. Its
//! headline is said when it first has one, and when its words change.
//!
//! The lab says when nothing is being made that would feel it. A page that cannot be written stops no run; the one at
//! the end says why.

use std::{
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::HumanDuration;
use lab::{
    Lab,
    run_folder::{self, Recorded},
    runner,
};
use model::{event::Event, experiment::Planned};
use report::Pending;

use crate::{
    commands::kinds::{SoFar, Verbs},
    options::Options,
    run_path::PAGE,
};

/// The page is as old as this before it is written again.
const EVERY: Duration = Duration::from_secs(5);
/// Of all time at most one part in so many goes into it.
const SHARE: u32 = 20;
/// With less of the trials done than this share, nothing is known of their pace.
const ENOUGH: f64 = 0.02;

/// When it was written, and how far the run was before its first trial now.
#[derive(Debug, Default)]
struct Before {
    due: Option<Instant>,
    began: Option<(Instant, Duration)>,
    /// The words of the last headline, without its figures.
    words: String,
}

/// A lab whose runs of this kind can be read while they go on.
pub(crate) fn shown<K: Verbs>(lab: Lab, options: &Options) -> Lab {
    let (options, before) = (options.clone(), Mutex::new(Before::default()));
    lab.with_onlooker(Box::new(move |folder| {
        // Whoever finds it being written goes on with the trials.
        let mut before = before.try_lock().ok()?;
        let began = Instant::now();
        if before.due.is_some_and(|due| began < due) {
            return None;
        }
        // The page at the end is written whatever became of this one.
        let headline = write::<K>(&options, folder, &mut before);
        before.due = Some(Instant::now() + EVERY.max(began.elapsed() * SHARE));
        let headline = headline.filter(|headline| before.has_other_words(headline))?;
        Some(Event::SoFar { headline })
    }))
}

/// Takes what is still to come from the page of a run that ends here, whole or not.
pub(crate) fn ended<K: Verbs>(folder: &Path) {
    if let Ok(recorded) = run_folder::read::<K>(folder)
        && let Ok(so_far) = K::so_far(&recorded, None)
    {
        // A run that failed says so itself; its page can be made again.
        let _ = run_folder::write_whole(&folder.join(PAGE), so_far.page.as_bytes());
    }
}

impl Before {
    /// Whether a headline says something else than the last one, and not only with other figures; it is the last now.
    fn has_other_words(&mut self, headline: &str) -> bool {
        let words: String = headline.chars().filter(|letter| letter.is_alphabetic()).collect();
        let differs = words != self.words;
        self.words = words;
        differs
    }
}

/// Writes the page; its headline, once a trial has ended.
fn write<K: Verbs>(options: &Options, folder: &Path, before: &mut Before) -> Option<String> {
    let mut recorded = run_folder::read::<K>(folder).ok()?;
    let pending = pending(options, &recorded, before);
    // What is there is all that was asked so far, and lacks nothing.
    let done: Vec<String> = recorded.trials.iter().map(|trial| trial.planned.id()).collect();
    recorded.run.plan.retain(|planned| done.contains(&planned.id()));
    let SoFar { page, headline } = K::so_far(&recorded, Some(&pending)).ok()?;
    run_folder::write_whole(&folder.join(PAGE), page.as_bytes()).ok()?;
    (!recorded.trials.is_empty()).then_some(headline)
}

fn pending<K: Verbs>(options: &Options, recorded: &Recorded<K>, before: &mut Before) -> Pending {
    let left = runner::left(recorded);
    let planned = recorded.run.plan.len();
    let time = K::estimate(options, &recorded.run.study, &left).trials();
    // Access points are raised before the first trial; what that takes says nothing of the others' pace.
    let is_first = recorded.trials.is_empty();
    let (began, then) = *before.began.get_or_insert((Instant::now(), time));
    if is_first {
        before.began = None;
    }
    let time = paced(time, then, began.elapsed()).unwrap_or(time);
    Pending {
        trials: ((planned - left.len()) as u32, planned as u32),
        to_come: to_come::<K>(&left),
        left: (!left.is_empty()).then(|| format!("about {}", HumanDuration(time))),
    }
}

/// How long the rest takes at the pace of what was done; `None` where too little was.
fn paced(left: Duration, then: Duration, took: Duration) -> Option<Duration> {
    let done = then.saturating_sub(left).as_secs_f64();
    (done > ENOUGH * then.as_secs_f64()).then(|| took.mul_f64(left.as_secs_f64() / done))
}

/// Trials by what they are for, in their order.
fn to_come<K: Verbs>(left: &[K::Planned]) -> Vec<String> {
    let mut stages: Vec<(&'static str, u32)> = Vec::new();
    for stage in left.iter().filter_map(K::stage) {
        match stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, trials)) => *trials += 1,
            None => stages.push((stage, 1)),
        }
    }
    stages.into_iter().map(|(stage, trials)| format!("{trials} {stage}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_was_done_did() {
        let seconds = Duration::from_secs;
        assert_eq!(paced(seconds(50), seconds(100), seconds(30)), Some(seconds(30)));
        assert_eq!(paced(seconds(75), seconds(100), seconds(50)), Some(seconds(150)));
        assert_eq!(paced(seconds(99), seconds(100), seconds(5)), None, "one trial is no pace");
    }

    #[test]
    fn a_headline_is_said_again_when_its_words_change() {
        let mut before = Before::default();
        assert!(before.has_other_words("`bulk` costs 6.4 ms"));
        assert!(!before.has_other_words("`bulk` costs 6.3 ms"));
        assert!(before.has_other_words("`bulk` costs 640 µs"));
    }
}
