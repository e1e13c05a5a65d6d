//! Windows cut by what was done in them; made-up, with shares that are known.

use model::{
    census::InterfaceCensus,
    name::VariantName,
    pause::{PauseOrder, PauseSpan, Target},
    reading::Reading,
    run::Run,
    sample::{Group, Sample},
};

use super::*;
use crate::{
    analyse,
    judge::test_data::{compared, pairs, planned, recording},
};

const STATES: [PauseState; 5] =
    [PauseState::Runs, PauseState::Stopped, PauseState::Runs, PauseState::Sham, PauseState::Runs];
/// One span, s; samples are a second apart.
const SPAN: u64 = 10;

/// Trials in which the subject takes so much while the consumer runs, is stopped, or seems to be, µs/s.
fn paused(rates: &[[f64; 3]]) -> (Run, Vec<Trial>) {
    let (mut run, mut trials) = compared(&pairs(rates.len(), 0.0, 0.0, 1));
    run.versus = None;
    trials.retain(|trial| trial.planned.id.variant == "before");
    for (trial, rates) in trials.iter_mut().zip(rates) {
        make(trial, *rates);
    }
    run.plan = planned(&trials);
    (run, trials)
}

fn make(trial: &mut Trial, [runs, stopped, sham]: [f64; 3]) {
    trial.planned.id.purpose = Purpose::Pause;
    let span = |state| PauseSpan { state, intervals: SPAN as u32 };
    trial.planned.order.instrument = Some(Instrument::Pause(PauseOrder {
        target: Target::Process("monitor".to_owned()),
        spans: STATES.map(span).to_vec(),
        longest: Span::from_secs(2 * SPAN),
    }));
    let template = recording(trial).samples[0].clone();
    let opened = template.at_ns;
    let mut usage_ns = 0;
    let sample = |second: u64| {
        let mut sample: Sample = template.clone();
        sample.at_ns = opened + second * 1_000_000_000;
        sample.rounds.ended += second;
        if let Some(group) = sample.load.as_mut().and_then(|load| load.group.as_mut()) {
            group.usage_ns += second * 1_000;
        }
        sample.subject.group = Some(Group { usage_ns, ..Group::default() });
        let at = (second / SPAN).min(4) as usize;
        // The first second of a stopped span still ends what was under way.
        let rate = match STATES[at] {
            PauseState::Stopped if second.is_multiple_of(SPAN) => runs,
            PauseState::Stopped => stopped,
            PauseState::Sham => sham,
            PauseState::Runs => runs,
        };
        usage_ns += (rate * 1e3) as u64;
        sample
    };
    let samples = (0..=5 * SPAN).map(sample).collect();
    let at = |span: usize| opened + span as u64 * SPAN * 1_000_000_000 + 3_000_000;
    let done = |(span, state): (usize, PauseState)| Paused {
        state,
        from_ns: at(span),
        to_ns: at(span + 1) - 2_000_000,
    };
    let recording = recording(trial);
    recording.samples = samples;
    recording.pauses = Some(Box::new(Pauses {
        pids: vec![77],
        spans: STATES.into_iter().enumerate().map(done).collect(),
        asked: None,
    }));
}

fn only(run: &Run, trials: &[Trial]) -> PauseFigures {
    let mut found = analyse(run, trials).pauses;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[track_caller]
fn invalid(found: &PauseFigures, words: &str) {
    assert_eq!(found.verdict, Verdict::Invalid, "{}", found.sentence);
    assert!(found.sentence.contains(words), "{}", found.sentence);
}

const USUAL: [[f64; 3]; 3] =
    [[1_000.0, 40.0, 1_000.0], [1_100.0, 41.0, 1_101.0], [1_050.0, 43.0, 1_049.0]];

#[test]
fn the_share_is_what_goes_away_with_the_consumer() {
    let (run, trials) = paused(&USUAL);
    let found = only(&run, &trials);
    let expected = (0.96 + (1.0 - 41.0 / 1_100.0) + (1.0 - 43.0 / 1_050.0)) / 3.0;
    let mean = |estimate: Option<Estimate>| estimate.unwrap().mean;
    assert!((mean(found.share) - expected).abs() < 1e-9, "{found:?}");
    assert!((mean(found.running) - 1_050.0).abs() < 1e-9, "{:?}", found.running);
    assert!((mean(found.stopped) - 124.0 / 3.0).abs() < 1e-9, "what settles is left out");
    assert!(found.sham_share.unwrap().mean.abs() < 1e-3);
    assert_eq!((found.consumer.as_str(), found.trials), ("monitor", 3));
    assert_eq!(found.verdict, Verdict::Pass);
    assert!(found.sentence.starts_with("`monitor` causes 96"), "{}", found.sentence);
}

#[test]
fn the_picture_shows_what_was_done_second_by_second() {
    let (run, trials) = paused(&USUAL);
    let series = only(&run, &trials).series;
    let states: Vec<_> = series.iter().map(|(_, _, state)| state.as_str()).collect();
    assert_eq!(states.len(), 50);
    assert_eq!(
        (states[5], states[15], states[25], states[35]),
        ("runs", "stopped", "runs", "sham")
    );
    assert_eq!(series[15], (16.0, 40.0, "stopped".to_owned()));
}

#[test]
fn what_is_no_effect_fails_and_a_control_that_moves_makes_it_invalid() {
    let cases: [(&str, Verdict, [[f64; 3]; 3]); 4] = [
        (
            "has no measurable effect",
            Verdict::Fail,
            [[1_000.0, 1_003.0, 1_000.0], [1_000.0, 996.0, 1_001.0], [1_000.0, 1_000.0, 999.0]],
        ),
        // Every stopped span lacks a little, and so do the control's, though not in every trial.
        (
            "it causes 0.40 %",
            Verdict::Fail,
            [[1_000.0, 995.0, 997.0], [1_000.0, 996.0, 1_001.0], [1_000.0, 997.0, 993.0]],
        ),
        // Less than a thousandth.
        (
            "it causes 0.0",
            Verdict::Fail,
            [
                [10_000.0, 9_992.0, 10_000.0],
                [10_000.0, 9_993.0, 10_000.0],
                [10_000.0, 9_992.0, 10_000.0],
            ],
        ),
        (
            "the control moved too, by 9.9",
            Verdict::Invalid,
            [[1_000.0, 40.0, 900.0], [1_000.0, 41.0, 902.0], [1_000.0, 41.0, 901.0]],
        ),
    ];
    for (words, verdict, rates) in cases {
        let (run, trials) = paused(&rates);
        let found = only(&run, &trials);
        assert_eq!(found.verdict, verdict, "{}", found.sentence);
        assert!(found.sentence.contains(words), "{words}: {}", found.sentence);
    }
}

/// Of the share or of what counts as nothing, this is so little that it decides nothing.
#[test]
fn a_control_that_hardly_moves_changes_no_conclusion() {
    for (stopped, verdict) in [(0.0, Verdict::Pass), (1_003.0, Verdict::Fail)] {
        let (run, trials) = paused(&[
            [1_000.0, stopped, 1_003.0],
            [1_000.0, stopped, 1_002.0],
            [1_000.0, stopped, 1_003.0],
        ]);
        let found = only(&run, &trials);
        assert_eq!(found.verdict, verdict, "{}", found.sentence);
        assert!(found.sham_share.unwrap().interval.unwrap().high < -STILL);
    }
}

#[test]
fn two_trials_whose_control_says_nothing_decide_nothing_and_whom_the_subject_asks_is_no_cause() {
    let (run, trials) = paused(&[[1_000.0, 0.0, 1_351.0], [1_000.0, 0.0, 799.0]]);
    let found = only(&run, &trials);
    assert_eq!(found.share.unwrap().mean, 1.0);
    invalid(
        &found,
        "is unknown: not decided after 2 trials: it causes 100 % [100, 100], which against the control may be",
    );
    let (run, mut trials) = paused(&USUAL);
    recording(&mut trials[1]).pauses.as_mut().unwrap().asked = Some("unix /run/bus".to_owned());
    invalid(&only(&run, &trials), "its client (unix /run/bus)");
}

/// Seconds in which timers of the kernel's own cost more, the same ones in every trial: two meet the control.
const TIMERS: [u64; 5] = [7, 28, 34, 36, 48];
const TIMERS_US: u64 = 740;

/// A subject of about 4.2 ms a second among such timers, and what its control takes in each of three trials.
fn among_timers(sham: [f64; 3]) -> PauseFigures {
    let [first, second, third] = sham;
    let rates = [[4_200.0, 2_100.0, first], [4_202.0, 2_110.0, second], [4_199.0, 2_095.0, third]];
    let (run, mut trials) = paused(&rates);
    for trial in &mut trials {
        for (at, sample) in (0..).zip(&mut recording(trial).samples) {
            let before = TIMERS.iter().filter(|second| **second < at).count() as u64;
            sample.subject.group.as_mut().unwrap().usage_ns += before * TIMERS_US * 1_000;
        }
    }
    only(&run, &trials)
}

#[test]
fn timers_that_meet_the_control_of_every_trial_are_no_movement() {
    let found = among_timers([4_201.0, 4_200.0, 4_201.0]);
    assert_eq!(found.verdict, Verdict::Pass, "{}", found.sentence);
    let (sham, running) = (found.sham.unwrap().mean, found.running.unwrap().mean);
    assert!(sham > running + 50.0, "the rates have their events: {sham} and {running}");
    // A control that moves among them is seen.
    invalid(&among_timers([4_158.0, 4_159.0, 4_157.0]), "the control moved too");
}

#[test]
fn a_trial_that_cannot_be_used_makes_it_invalid() {
    let (run, trials) = paused(&USUAL);
    invalid(&only(&run, &trials[..2]), "before@60#3.pause: is not done");
    type Change = fn(&mut Reading);
    let cases: [(Change, u32, &str); 3] = [
        (
            |reading| {
                let [_, after] = reading.census.as_mut().unwrap();
                let nobody =
                    |one: &mut InterfaceCensus| (one.kernel, one.hostapd) = (Some(0), Some(0));
                after.interfaces.iter_mut().for_each(nobody);
            },
            2,
            "after the window 0 clients were associated, 60 were expected",
        ),
        (|reading| reading.pauses.as_mut().unwrap().pids.clear(), 2, "no process was stopped"),
        (
            |reading| {
                for span in &mut reading.pauses.as_mut().unwrap().spans {
                    span.to_ns = span.from_ns + 3_000_000_000;
                }
            },
            2,
            "1 of 3 trials cannot be used, before@60#2.pause: no stopped span is next to a running one with two samples \
             in each; pause for longer",
        ),
    ];
    for (change, used, words) in cases {
        let mut trials = trials.clone();
        change(recording(&mut trials[1]));
        let found = only(&run, &trials);
        invalid(&found, words);
        assert_eq!(found.trials, used);
    }
    let (run, mut trials) = paused(&USUAL[..1]);
    invalid(&only(&run, &trials), "one trial has no interval");
    recording(&mut trials[0]).pauses.as_mut().unwrap().pids.clear();
    assert_eq!(only(&run, &trials).share, None);
    let answer = analyse(&run, &trials).answer;
    assert!(answer[0].contains("is unknown: 1 of 1 trial cannot be used"), "{answer:?}");
}

#[test]
fn a_subject_that_alternates_by_itself_is_not_blamed_on_anybody() {
    // It works in every second span, so in the running ones and never in the others.
    let (mut run, mut trials) = paused(&[
        [1_000.0, 400.0, 400.0],
        [1_000.0, 420.0, 410.0],
        [1_000.0, 380.0, 1_200.0],
        [1_000.0, 390.0, 1_100.0],
    ]);
    run.study.pause = Some(model::study::Pause {
        process: Some("monitor".to_owned()),
        group: None,
        variants: Vec::new(),
        clients: Vec::new(),
        repetitions: 4,
        span: Span::from_secs(SPAN),
        settle: Span::from_secs(2),
    });
    for (trial, phase) in trials.iter_mut().zip(0..) {
        let mut usage_ns = 0;
        for (second, sample) in recording(trial).samples.iter_mut().enumerate() {
            sample.subject.group = Some(Group { usage_ns, ..Group::default() });
            let busy = (second as u64 + phase) % (2 * SPAN) < SPAN;
            usage_ns += if busy { 1_000_000 } else { 600_000 };
        }
    }
    let found = only(&run, &trials);
    for words in ["period of 20s", "say --span 20s"] {
        invalid(&found, words);
    }
}

/// The monitor, and an exporter that is stopped in turn.
fn blamed(monitor: &[[f64; 3]], exporter: &[[f64; 3]]) -> Vec<PauseFigures> {
    let (mut run, mut all) = paused(exporter);
    let (_, mut trials) = paused(monitor);
    for trial in &mut all {
        trial.planned.id.variant = VariantName::literal("before.exporter");
        if let Some(Instrument::Pause(order)) = &mut trial.planned.order.instrument {
            order.target = Target::Process("exporter".to_owned());
        }
    }
    all.append(&mut trials);
    run.plan = planned(&all);
    analyse(&run, &all).pauses
}

#[test]
fn consumers_are_ranked_by_what_they_cause() {
    const LITTLE: [[f64; 3]; 3] =
        [[1_000.0, 960.0, 1_000.0], [1_100.0, 1_056.0, 1_100.0], [900.0, 865.0, 900.0]];
    let found = blamed(&USUAL, &LITTLE);
    let names: Vec<_> = found.iter().map(|one| (one.consumer.as_str(), one.verdict)).collect();
    assert_eq!(names, [("monitor", Verdict::Pass), ("exporter", Verdict::Pass)]);
}

#[test]
fn shares_that_are_more_than_all_together_decide_nothing() {
    const THIRD: [[f64; 3]; 3] =
        [[1_000.0, 700.0, 1_000.0], [1_100.0, 771.0, 1_100.0], [900.0, 631.0, 900.0]];
    let words = "`monitor` and `exporter` seem to cause 126 % of it together, more than all";
    blamed(&USUAL, &THIRD).iter().for_each(|one| invalid(one, words));
}
