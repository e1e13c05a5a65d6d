//! Comparisons of a made-up run, and how they are reported.

use std::path::PathBuf;

use analysis::completion::{analyse, test_data};
use model::{
    completion::{PlannedTrial, Rounds, Strategy, TaskWork},
    share::Share,
    trial::Outcome,
};
use report::verdict_lines;

use super::*;

/// A comparison at one rate of one load, with the made-up trials of it in the order of its plan.
fn recorded(base: Strategy, variant: Option<Strategy>, load: usize) -> Recorded<Completions> {
    let mut run = test_data::run();
    let rate = 440.max(run.study.loads[load].rates[0]);
    let shape = &mut run.study.completion;
    shape.strategies = [Some(base), variant].into_iter().flatten().collect();
    shape.versus = Some(Versus { base, variant });
    let all = test_data::trials();
    run.study.loads = vec![run.study.loads[load].clone()];
    run.study.loads[0].rates = vec![rate];
    let why = None;
    let work = TaskWork { place: "ap".to_owned(), ms: 2000, rounds: Some(1_000_000), why };
    let rounds = Rounds(vec![work]);
    run.plan = plan::trials(&run.study, &rounds);
    let made = |planned: &PlannedTrial| {
        let is_it = |one: &&Trial| {
            let one = &one.planned;
            let key = (one.load, one.block, one.order.strategy, one.order.rate);
            key == (load, planned.block, planned.order.strategy, rate)
        };
        let mut found = all.iter().find(is_it).unwrap().clone();
        let first = &mut found.planned;
        (first.number, first.repeats, first.load) = (planned.number, planned.repeats, 0);
        found
    };
    let trials = run.plan.iter().map(made).collect();
    Recorded {
        path: PathBuf::new(),
        run,
        trials,
        edited: Vec::new(),
        calibration: rounds,
        study_text: String::new(),
    }
}

fn compared(recorded: &Recorded<Completions>) -> (Comparison, Completion) {
    let mut completion = analyse(&recorded.run, &recorded.trials, &Baselines::new());
    let comparison = Comparison::of(recorded).unwrap();
    comparison.lead(&mut completion, recorded, &Limits::default());
    (comparison, completion)
}

/// More time of the driver in these trials.
fn dearer(recorded: &mut Recorded<Completions>, which: impl Fn(&Trial) -> bool, share: f64) {
    for trial in recorded.trials.iter_mut().filter(|trial| which(trial)) {
        let Outcome::Measured(measured) = &mut trial.outcome else { panic!() };
        let more = |ns: &mut u64| *ns = (*ns as f64 * (1.0 + share)) as u64;
        more(&mut measured.driver_ns);
        measured.periods.iter_mut().for_each(|period| more(&mut period.driver_ns));
    }
}

#[test]
fn a_strategy_that_costs_less_passes_and_is_reported_as_other_comparisons_are() {
    let recorded = recorded(Strategy::Busy, Some(Strategy::Event), 1);
    let (comparison, completion) = compared(&recorded);
    assert_eq!((comparison.verdict, comparison.finding), (Verdict::Pass, Finding::Cheaper));
    assert_eq!((comparison.pairs, comparison.p), (6, Some(2.0 / 64.0)));
    assert!(comparison.relative.unwrap().interval.unwrap().high < -0.9);
    assert!(comparison.detectable.unwrap() < 0.01);
    let lines = comparison.lines(&completion);
    insta::assert_snapshot!(verdict_lines::plain(&lines, &overall(&lines), false));
    assert_eq!(completion.targets.iter().filter(|one| one.verdict == Verdict::Pass).count(), 3);
    assert!(
        completion.answer[0].starts_with("The transmit path takes less"),
        "{:?}",
        completion.answer
    );
    assert_eq!(completion.targets.len(), 3, "what else a study is to show was not tried");
}

#[test]
fn next_to_a_task_its_time_is_compared() {
    let (comparison, _) = compared(&recorded(Strategy::Busy, Some(Strategy::Hybrid), 2));
    assert_eq!((comparison.by, comparison.verdict), (By::Task, Verdict::Pass));
    assert!(comparison.sentence.contains(" s before, "), "{}", comparison.sentence);
    assert!(comparison.before.unwrap().mean > 2.0, "seconds");
}

#[test]
fn a_strategy_that_costs_more_fails() {
    let (comparison, completion) = compared(&recorded(Strategy::Event, Some(Strategy::Busy), 1));
    assert_eq!((comparison.verdict, comparison.finding), (Verdict::Fail, Finding::Dearer));
    assert_eq!(overall(&comparison.lines(&completion)).verdict, Verdict::Fail);
}

#[test]
fn the_same_twice_is_the_same_and_one_that_is_not_is_found_out() {
    let same = || recorded(Strategy::Event, None, 1);
    let (comparison, completion) = compared(&same());
    assert_eq!((comparison.verdict, comparison.finding), (Verdict::Pass, Finding::Equivalent));
    assert_eq!((comparison.variant.as_str(), comparison.pairs), ("event-again", 6));
    assert!(completion.targets.iter().all(|one| one.verdict == Verdict::Pass));
    insta::assert_snapshot!(comparison.sentence);

    // The side in question, and not whichever comes second.
    let mut off = same();
    let versus = off.run.study.completion.versus.unwrap();
    dearer(&mut off, |trial| !plan::is_base(&versus, &trial.planned), 0.05);
    let (comparison, _) = compared(&off);
    assert_eq!((comparison.verdict, comparison.finding), (Verdict::Fail, Finding::Dearer));
    insta::assert_snapshot!(comparison.sentence);

    let mut later = same();
    dearer(&mut later, |trial| trial.planned.repeats.is_some(), 0.05);
    assert_eq!(compared(&later).0.verdict, Verdict::Invalid, "sides take turns at being later");

    let mut a_little = same();
    dearer(&mut a_little, |trial| !plan::is_base(&versus, &trial.planned), 0.002);
    assert_eq!(compared(&a_little).0.verdict, Verdict::Pass, "below the margin");
}

#[test]
fn two_strategies_may_be_asked_to_be_the_same_or_no_slower_within_a_margin() {
    let asked = |expect, margin: f64| {
        let mut recorded = recorded(Strategy::Event, Some(Strategy::Batch), 1);
        dearer(&mut recorded, |trial| trial.planned.order.strategy == Some(Strategy::Batch), 0.03);
        let shape = &mut recorded.run.study.completion;
        (shape.expect, shape.margin) = (Some(expect), Some(Share::of(margin)));
        compared(&recorded)
    };
    for expect in [Expect::Same, Expect::NoSlower] {
        assert_eq!(asked(expect, 0.05).0.verdict, Verdict::Pass, "{expect:?}");
        assert_eq!(asked(expect, 0.01).0.verdict, Verdict::Fail, "{expect:?}");
    }
    let (comparison, completion) = asked(Expect::Same, 0.05);
    assert_eq!(completion.targets[0].name, "batch costs the same as event");
    assert_eq!(completion.targets[0].limit, "within 5.0 % by its bounds");
    assert_eq!(completion.versus[0].verdict, comparison.verdict, "the page says one thing");
    assert_eq!(asked(Expect::NoSlower, 0.05).1.targets[0].name, "batch costs no more than event");
}

#[test]
fn pairs_that_are_not_whole_make_it_invalid_and_are_reported() {
    let mut recorded = recorded(Strategy::Busy, Some(Strategy::Event), 1);
    recorded.trials[3].outcome = Outcome::invalid("the machine was silent");
    let (comparison, completion) = compared(&recorded);
    assert_eq!((comparison.verdict, comparison.pairs), (Verdict::Invalid, 5));
    let lines = comparison.lines(&completion);
    assert!(lines.iter().any(|line| line.sentence.contains("1 of 13 trials missing")), "{lines:?}");
    const TOO_FEW: &str =
        "invalid: only 0 of 6 planned pairs are valid; a verdict needs at least 6";
    recorded.trials.clear();
    let (comparison, completion) = compared(&recorded);
    assert_eq!(comparison.sentence, TOO_FEW);
    assert_eq!(overall(&comparison.lines(&completion)).verdict, Verdict::Invalid);
}

#[test]
fn frames_that_are_forgotten_speak_against_any_verdict() {
    let mut recorded = recorded(Strategy::Busy, Some(Strategy::Event), 1);
    let Outcome::Measured(measured) = &mut recorded.trials[0].outcome else { panic!() };
    measured.missing = 7;
    let (comparison, completion) = compared(&recorded);
    let lines = comparison.lines(&completion);
    assert_eq!((comparison.verdict, overall(&lines).verdict), (Verdict::Pass, Verdict::Fail));
    assert!(overall(&lines).sentence.contains("7 missing"), "{lines:?}");
}

#[test]
fn what_every_comparison_keeps_is_known_to_its_studies() {
    for text in KEPT {
        test_data::study().known().check(&model::limit::parse(text).unwrap()).unwrap();
    }
}
