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
    Lab, plan,
    run_folder::{self, Recorded},
    runner,
};
use model::{
    event::Event,
    trial::{PlannedTrial, Purpose},
};
use report::Pending;

use crate::{
    commands::{analysed::Analysed, study::estimate},
    options::Options,
    run_path::PAGE,
};

/// The page is as old as this before it is written again.
const EVERY: Duration = Duration::from_secs(5);
/// Of all time at most one part in so many goes into it.
const SHARE: u32 = 20;
/// With less of the trials done than this share, nothing is known of their pace.
const ENOUGH: f64 = 0.02;

/// When it was written, and what it said.
#[derive(Debug, Default)]
struct Before {
    due: Option<Instant>,
    /// The words of the last headline, without its figures.
    words: String,
}

/// A lab whose runs of this kind can be read while they go on.
pub(crate) fn shown(lab: Lab, options: &Options) -> Lab {
    let (options, before) = (options.clone(), Mutex::new(Before::default()));
    lab.with_onlooker(Box::new(move |folder| {
        // A thread that finds it being written continues with its trials.
        let mut before = before.try_lock().ok()?;
        let began = Instant::now();
        if before.due.is_some_and(|due| began < due) {
            return None;
        }
        // The page at the end is written whatever became of this one.
        let headline = write(&options, folder);
        before.due = Some(Instant::now() + EVERY.max(began.elapsed() * SHARE));
        let headline = headline.filter(|headline| before.has_other_words(headline))?;
        Some(Event::SoFar { headline })
    }))
}

/// Takes what is still to come from the page of a run that ends here, whole or not.
pub(crate) fn ended(folder: &Path) {
    // A run that failed says so itself; its page can be made again.
    let _ = run_folder::read(folder).ok().and_then(|recorded| write_page(&recorded, None));
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
fn write(options: &Options, folder: &Path) -> Option<String> {
    let mut recorded = run_folder::read(folder).ok()?;
    let pending = pending(options, &recorded);
    // What is there is all that was asked so far, and lacks nothing.
    let done: Vec<_> = recorded.trials.iter().map(|trial| trial.planned.id.clone()).collect();
    recorded.run.plan.retain(|planned| done.contains(&planned.id));
    let so_far = write_page(&recorded, Some(&pending))?;
    (!recorded.trials.is_empty()).then(|| so_far.headline().to_owned())
}

fn write_page(recorded: &Recorded, pending: Option<&Pending>) -> Option<Analysed> {
    let so_far = Analysed::so_far(recorded, pending).ok()?;
    let page = so_far.page(recorded, pending).ok()?;
    run_folder::write_whole(&recorded.path.join(PAGE), page.as_bytes()).ok()?;
    Some(so_far)
}

fn pending(options: &Options, recorded: &Recorded) -> Pending {
    let left = runner::left(recorded);
    let planned = recorded.run.plan.len();
    let study = &recorded.run.study;
    let (mut done, mut took) = (Vec::new(), Duration::ZERO);
    for trial in recorded.trials.iter().filter(|trial| trial.same_as.is_none()) {
        done.push(trial.planned.clone());
        took += Duration::from_millis(trial.cost.restore_ms + trial.cost.measure_ms);
    }
    // What each of them took holds against an estimate of one at a time.
    let done = plan::estimate(study, &done, 1);
    let time = paced(estimate(options, study, &left).trials(), done, took);
    Pending {
        trials: ((planned - left.len()) as u32, planned as u32),
        to_come: to_come(&left),
        left: (!left.is_empty()).then(|| format!("about {}", HumanDuration(time))),
    }
}

/// How long the rest takes at the pace of what was done, by estimates of both; as estimated where too little was.
fn paced(left: Duration, done: Duration, took: Duration) -> Duration {
    if done.as_secs_f64() <= ENOUGH * (left + done).as_secs_f64() {
        return left;
    }
    took.mul_f64(left.as_secs_f64() / done.as_secs_f64())
}

/// Trials by what they are for, in their order.
fn to_come(left: &[PlannedTrial]) -> Vec<String> {
    let mut stages: Vec<(&'static str, u32)> = Vec::new();
    // A study that has trials for figures alone names no stage.
    let has_one = left.iter().all(|planned| planned.order.contends());
    for stage in left.iter().filter(|_| !has_one).map(stage) {
        match stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, trials)) => *trials += 1,
            None => stages.push((stage, 1)),
        }
    }
    stages.into_iter().map(|(stage, trials)| format!("{trials} {stage}")).collect()
}

fn stage(planned: &PlannedTrial) -> &'static str {
    match planned.id.purpose {
        Purpose::Cpu => "for CPU figures",
        Purpose::Counts => "that count calls",
        Purpose::Stacks => "that record stacks",
        Purpose::Pause => "that pause a consumer",
        Purpose::Parity => "that check whether the job is still done",
        Purpose::Peers => "that look which processes talk to each other",
        Purpose::Caches => "with modelled caches",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_was_done_did() {
        let seconds = Duration::from_secs;
        assert_eq!(paced(seconds(50), seconds(50), seconds(30)), seconds(30));
        assert_eq!(paced(seconds(75), seconds(25), seconds(50)), seconds(150));
        assert_eq!(paced(seconds(99), seconds(1), seconds(5)), seconds(99), "one trial is no pace");
    }

    #[test]
    fn a_headline_is_said_again_when_its_words_change() {
        let mut before = Before::default();
        assert!(before.has_other_words("`bulk` costs 6.4 ms"));
        assert!(!before.has_other_words("`bulk` costs 6.3 ms"));
        assert!(before.has_other_words("`bulk` costs 640 µs"));
    }
}
