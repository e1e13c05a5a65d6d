//! A made-up run whose figures are known.

use model::{
    card::{CardReading, Period, Strategy},
    name::CellName,
    share::Share,
    span::Span,
    study::{Gates, Variant},
    trial::{Outcome, PlannedTrial, Turn},
    verdict::{Difference, Expect, Pairs, Verdict},
};

use super::*;
use crate::{
    fixture::completion as test_data,
    limited::{self, Limited},
    metrics::baseline::Baselines,
    verdicts::{Basis, Finding, NoPeriods, Quantity},
};

fn analyse(run: &Run, trials: &[Trial]) -> Limited {
    limited::analyse(run, trials, &Baselines::new())
}

fn of(run: &Run, trials: &[Trial]) -> Completion {
    analyse(run, trials).cards.unwrap()
}

fn analysed() -> Completion {
    of(&test_data::run(), &test_data::trials())
}

fn near(found: Option<f64>, expected: f64) -> bool {
    (found.unwrap() / expected - 1.0).abs() < 0.01
}

/// The busy loop's points of a load.
fn busy<'a>(completion: &'a Completion, load: &str) -> Vec<&'a Point> {
    let is_it = |point: &&Point| point.load() == load && point.strategy == Strategy::Busy;
    completion.points.iter().filter(is_it).collect()
}

#[test]
fn busy_waits_rate_times_completion_time() {
    let completion = analysed();
    let curve = busy(&completion, "small");
    assert_eq!(curve.iter().map(|point| point.card.rate).collect::<Vec<_>>(), [440, 7000]);
    assert!(near(curve[0].mean(Figure::Waiting), 440.0 * 150e-6));
    assert!(curve[0].error.unwrap().mean.abs() < 1e-9);
    assert!(near(curve[0].mean(Figure::Path), 440.0 * 158e-6));
    assert!(near(curve[0].mean(Figure::Rest), 8.05e-6));
    assert!(near(curve[1].mean(Figure::Sent), 1e6 / 158.0));
    assert!(near(curve[1].mean(Figure::FullRate), 1e6 / 150.0), "at the rate that is carried");
}

#[test]
fn a_strategy_that_takes_less_is_shown_to_and_one_that_is_not_tried_often_enough_is_not() {
    let completion = analysed();
    assert_eq!(completion.versus.len(), 3 * 4, "three others at four rates");
    let event = &completion.versus[0].judgement;
    assert_eq!((event.variant.as_str(), event.verdict), ("event", Verdict::Pass), "{event:?}");
    assert!(near(completion.points[1].mean(Figure::PathRatio), 8.05 / 158.05));
    let mut trials = test_data::trials();
    trials.retain(|trial| trial.planned.id.repetition <= 3);
    let few = of(&test_data::run(), &trials);
    assert!(few.versus.iter().all(|one| one.judgement.verdict == Verdict::Invalid));
    let sentence = &few.versus[0].judgement.sentence;
    assert!(sentence.contains("a verdict needs at least 6"), "{sentence}");
}

const SIDES: judge::Sides = judge::Sides { has_task: false, is_counted: true };

/// Whether two sides are the same.
fn question() -> crate::judge::Question {
    crate::judge::Question {
        at: "at 440 frames/s of full".to_owned(),
        expect: Expect::Same,
        ..crate::judge::Question::of_sides(&test_data::study(), ["old", "new"], "the transmit path")
    }
}

/// Six pairs, part by part: `[base, variant]` of each pair's ten parts, ns of CPU in 50 ms.
fn by_parts(parts: impl Fn(u64, u64) -> [u64; 2]) -> crate::verdicts::Judgement {
    let trial = |parts: Vec<u64>| CardReading {
        window_ns: 500_000_000,
        driver_ns: parts.iter().sum(),
        periods: parts
            .into_iter()
            .map(|driver_ns| Period { window_ns: 50_000_000, driver_ns, ..Period::default() })
            .collect(),
        ..CardReading::default()
    };
    let pair = |pair: u64| {
        [0, 1].map(|side: usize| trial((0..10).map(|part| parts(pair, part)[side]).collect()))
    };
    let pairs: Vec<[CardReading; 2]> = (0..6).map(pair).collect();
    SIDES.judge(&question(), &pairs.iter().map(|pair| pair.each_ref()).collect::<Vec<_>>())
}

#[test]
fn windows_are_compared_part_by_part_and_a_rare_interrupt_is_no_difference() {
    // 40 µs of interrupts in one part of one side: 1.1 % of the window, and nothing of the steady cost.
    let parts = |pair, part| {
        let base = 350_000 + 100 * pair + part;
        [base, base + if (pair, part) == (2, 3) { 40_000 } else { 0 }]
    };
    let found = by_parts(parts);
    assert_eq!((found.verdict, found.basis), (Verdict::Pass, Basis::Steady), "{}", found.sentence);
    let split = found.split.unwrap();
    assert_eq!((split.periods, split.variant.count, split.base.count), (60, 1, 0));
    assert_eq!((split.period_s, split.steady.mean), (0.05, 0.0));
    // 40 µs in one of six half seconds.
    assert!((split.total.mean - 80.0 / 6.0).abs() < 1e-3, "{split:?}");
    insta::assert_snapshot!(found.sentence);
}

#[test]
fn where_parts_cannot_be_compared_means_are_and_it_says_why() {
    let means = |change: &dyn Fn(&mut judge::Sides, &mut CardReading)| {
        let mut asked = SIDES;
        let period = Period { window_ns: 50_000_000, driver_ns: 5_000_000, ..Period::default() };
        let mut one = CardReading {
            window_ns: 500_000_000,
            driver_ns: 50_000_000,
            periods: vec![period; 10],
            task_wall_ns: Some(1),
            ..CardReading::default()
        };
        let base = one.clone();
        change(&mut asked, &mut one);
        asked.judge(&question(), &[[&base, &one]]).basis
    };
    let why = |why| Basis::Mean(why);
    assert_eq!(means(&|_, _| ()), Basis::Steady);
    assert_eq!(means(&|one, _| one.is_counted = false), why(NoPeriods::RealTime));
    assert_eq!(means(&|one, _| one.has_task = true), why(NoPeriods::NoRounds));
    assert_eq!(means(&|_, one| one.periods.truncate(9)), why(NoPeriods::OutOfStep));
}

#[test]
fn the_task_is_compared_with_itself_alone_and_strategies_by_its_time() {
    let completion = analysed();
    let expected = 1.0 / (1.0 - 990.0 * 158.05e-6);
    assert!(near(busy(&completion, "task")[0].mean(Figure::Slowdown), expected));
    let by = |load: &str| {
        let mut versus = completion.versus.iter().filter(|one| one.cell.contains(load));
        versus.next().unwrap().judgement.quantity
    };
    assert_eq!((by("of task"), by("of full")), (Quantity::Time, Quantity::Cpu));
    assert!((completion.alone[0].wall_s.mean - 2.0).abs() < 1e-9);
}

#[test]
fn limits_are_decided_by_bounds_and_a_miss_has_its_cause() {
    let completion = analyse(&test_data::run(), &test_data::trials());
    let reported: Vec<_> =
        completion.targets.iter().map(|one| (one.name.as_str(), one.verdict)).collect();
    let expected: Vec<_> = test_data::LIMITS
        .iter()
        .map(|text| {
            let misses = ["busy: saturation-error >= -3%"];
            let is_missed = misses.contains(text);
            (*text, if is_missed { Verdict::Fail } else { Verdict::Pass })
        })
        .collect();
    assert_eq!(reported, expected);
    let cause = |at: usize| completion.targets[at].cause.as_deref().unwrap_or_default();
    assert!(cause(2).contains("also costs the driver 8 µs"), "{}", cause(2));
    assert!(completion.targets[0].cause.is_none());
}

#[test]
fn frames_that_are_not_accounted_for_fail_and_repeats_that_differ_do_too() {
    let mut trials = test_data::trials();
    let first = card(&mut trials[0]);
    first.accepted += 3;
    first.driver_ns += first.driver_ns / 100;
    let completion = analyse(&test_data::run(), &trials);
    let target = |name: &str| completion.targets.iter().find(|one| one.name == name).unwrap();
    assert!(target("faults <= 0").cause.as_ref().unwrap().contains("3 unaccounted for"));
    assert_eq!(target("faults <= 0").verdict, Verdict::Fail);
    assert_eq!(target("repeat-error <= 0.1%").verdict, Verdict::Fail);
    assert_eq!(completion.cards.unwrap().repeats[0].figure, "CPU of the transmit path");
}

#[test]
fn a_run_without_a_trial_has_no_figures_and_no_verdicts() {
    let completion = analyse(&test_data::run(), &[]);
    let cards = completion.cards.unwrap();
    assert!(cards.points.is_empty() && cards.versus.is_empty() && completion.counted == 0);
    assert!(completion.targets.iter().all(|target| target.verdict == Verdict::Invalid));
    assert_eq!(completion.answer, ["No result yet: no trial that counts is done."]);
}

#[test]
fn a_trial_that_failed_is_left_out_with_its_reason() {
    let mut trials = test_data::trials();
    trials[3].outcome = Outcome::invalid("the air was gone");
    let completion = analyse(&test_data::run(), &trials);
    assert_eq!(completion.left_out.len(), 1);
    let left = &completion.left_out[0];
    assert_eq!((&*left.cell, &*left.variant, left.repetition), ("440/s of small, vm", "batch", 1));
    assert_eq!(completion.counted as usize, trials.len() - 1);
}

#[test]
fn the_census_adds_up_over_trials() {
    let completion = analysed();
    let busy = &completion.commands[0];
    assert_eq!((&*busy.name, &*busy.variant, busy.failed), ("transmit", "busy", 0));
    assert_eq!([busy.mean_us, busy.least_us, busy.most_us], [150.0, 149.0, 160.0].map(Some));
}

#[test]
fn what_was_published_stands_next_to_ours_as_the_study_says() {
    let mut run = test_data::run();
    let mut absent = run.study.published[3].clone();
    absent.ours = "busy: slowdown at bus".to_owned();
    run.study.published.push(absent);
    let published = of(&run, &test_data::trials()).published;
    let ours: Vec<_> = published.iter().map(|one| one.ours.map(|ours| ours.mean)).collect();
    assert_eq!(ours.len(), 4, "there is no bus in this study");
    assert!(near(ours[0], 0.066) && near(ours[1], 6_667.0), "{ours:?}");
    assert!(near(ours[3], 1.1855) && near(ours[2], 8.05 / 158.05), "{ours:?}");
    let words: Vec<&str> = published.iter().map(|one| one.published.as_str()).collect();
    assert_eq!(words, ["6.6 %", "6,700", "“about one tenth”", "7.8 s → 17.2 s"]);
    run.study.published[1].words = None;
    assert_eq!(of(&run, &test_data::trials()).published[1].published, "6700");
}

#[test]
fn a_task_over_a_slow_bus_is_another_point() {
    let mut run = test_data::run();
    // The entry with the task once more, over a bus: everything takes twice as long there.
    let mut slow = run.study.entries[2].clone();
    slow.name = Some(CellName::literal("bus"));
    slow.card.as_mut().unwrap().bus_word = Some(Span::from_nanos(1_500));
    run.study.entries.push(slow);
    const SLOWED: &str = "busy: slowdown at bus >= 1.5x";
    run.study.gates = Some(Gates { limits: vec![SLOWED.to_owned()], ..Gates::default() });
    let mut trials = test_data::trials_of(&run.study);
    for trial in trials.iter_mut().filter(|trial| trial.planned.id.cell == "bus-990") {
        if trial.planned.order.card.unwrap().strategy.is_some() {
            let one = card(trial);
            one.task_wall_ns = one.task_wall_ns.map(|wall| 2 * wall);
        }
    }
    let completion = analyse(&run, &trials);
    assert_eq!(completion.targets[0].verdict, Verdict::Pass);
    assert!(completion.answer.iter().any(|one| one.contains("1.50 µs for 16 bits")));
}

/// A comparison in one cell, with the made-up trials of it: of one strategy each trial twice.
pub(crate) fn compared(base: &str, variant: &str, load: usize) -> (Run, Vec<Trial>) {
    let mut run = test_data::run();
    let cell = CellName::literal(["small-440", "full-440", "task-990"][load]);
    let is_twice = base == variant;
    let own = run.study.variant(base).unwrap().clone();
    let mut other = run.study.variant(variant).unwrap().clone();
    if is_twice {
        other.name = own.name.with("-again");
    }
    run.versus = Some(model::verdict::Versus {
        base: own.name.to_string(),
        variant: other.name.to_string(),
        cell: cell.clone(),
        clients: 1,
        difference: if is_twice { Difference::Nothing } else { Difference::Variants },
        expect: Expect::Faster,
        margin: Share::of(0.01),
        pairs: Pairs::Fixed(test_data::BLOCKS),
        changes: Vec::new(),
    });
    (run.study.gates, run.study.chosen) = (None, vec![cell.clone()]);
    run.study.variants = vec![own.clone(), other.clone()];
    let all = test_data::trials();
    let of = |side: &Variant| {
        let is_it = |trial: &&Trial| {
            let strategy = trial.planned.order.card.unwrap().strategy;
            trial.planned.id.cell == cell
                && trial.planned.id.turn == Turn::Only
                && strategy == side.strategy
        };
        let mut trials: Vec<Trial> = all.iter().filter(is_it).cloned().collect();
        trials.iter_mut().for_each(|trial| trial.planned.id.variant = side.name.clone());
        trials
    };
    let mut trials = [of(&own), of(&other)].concat();
    if !is_twice {
        let mut again = trials[0].clone();
        again.planned.id.turn = Turn::Again;
        trials.push(again);
    }
    run.plan = trials.iter().map(|trial| trial.planned.clone()).collect();
    (run, trials)
}

fn card(trial: &mut Trial) -> &mut CardReading {
    crate::judge::test_data::recording(trial).card.as_mut().unwrap()
}

/// More time of the driver in these trials.
fn dearer(trials: &mut [Trial], which: impl Fn(&PlannedTrial) -> bool, share: f64) {
    for trial in trials.iter_mut().filter(|trial| which(&trial.planned)) {
        let measured = card(trial);
        let more = |ns: &mut u64| *ns = (*ns as f64 * (1.0 + share)) as u64;
        more(&mut measured.driver_ns);
        measured.periods.iter_mut().for_each(|period| more(&mut period.driver_ns));
    }
}

fn answered(run: &Run, trials: &[Trial]) -> (crate::verdicts::Judgement, Limited) {
    let completion = analyse(run, trials);
    (completion.comparison.clone().unwrap().judgement, completion)
}

/// The sides of a comparison are text of a run folder that may come from anywhere.
#[test]
fn a_comparison_of_sides_that_are_no_variants_of_the_run_has_no_verdict() {
    for name in ["../x", "", "\u{1b}[2J", "polling"] {
        let (mut run, trials) = compared("busy", "event", 1);
        run.versus.as_mut().unwrap().base = name.to_owned();
        let (found, _) = answered(&run, &trials);
        assert_eq!((found.verdict, found.pairs), (Verdict::Invalid, 0), "{name}");
    }
}

#[test]
fn a_comparison_answers_its_question_and_keeps_what_every_comparison_keeps() {
    let (run, trials) = compared("busy", "event", 1);
    let (found, completion) = answered(&run, &trials);
    assert_eq!((found.verdict, found.finding), (Verdict::Pass, Finding::Cheaper));
    assert_eq!((found.pairs, found.p), (6, Some(2.0 / 64.0)));
    assert!(found.relative.unwrap().interval.unwrap().high < -0.9);
    assert!(found.detectable.unwrap() < 0.01);
    insta::assert_snapshot!(found.sentence);
    assert!(completion.targets.iter().all(|one| one.verdict == Verdict::Pass));
    assert_eq!(completion.targets.len(), 3, "what else a study is to show was not tried");
    assert_eq!(completion.answer, [found.sentence]);
    let headline = |limited: &Limited| limited.headline.sentence.clone();
    let headlines = vec![headline(&completion), headline(&analyse(&run, &trials[..7]))];

    let (run, trials) = compared("event", "busy", 1);
    let (found, dearer) = answered(&run, &trials);
    assert_eq!((found.verdict, found.finding), (Verdict::Fail, Finding::Dearer));

    let (run, trials) = compared("busy", "hybrid", 2);
    let (found, of_task) = answered(&run, &trials);
    let headlines = [headlines, vec![headline(&dearer), headline(&of_task)]].concat();
    insta::assert_snapshot!(headlines.join("\n"));
    assert_eq!((found.quantity, found.verdict), (Quantity::Time, Verdict::Pass));
    assert!(found.sentence.contains("the task's time is "), "{}", found.sentence);
    assert!(found.before.unwrap().mean > 2.0, "seconds");
}

#[test]
fn the_same_twice_is_the_same_and_one_that_is_not_is_found_out() {
    let (run, trials) = compared("event", "event", 1);
    let is_again = |planned: &PlannedTrial| planned.id.variant == "event-again";
    let (found, completion) = answered(&run, &trials);
    assert_eq!((found.verdict, found.finding), (Verdict::Pass, Finding::Equivalent));
    assert_eq!((found.variant.as_str(), found.pairs), ("event-again", 6));
    assert!(completion.targets.iter().all(|one| one.verdict == Verdict::Pass));
    insta::assert_snapshot!(found.sentence);
    let off = |which: &dyn Fn(&PlannedTrial) -> bool, share| {
        let mut trials = trials.clone();
        dearer(&mut trials, which, share);
        answered(&run, &trials).0.verdict
    };
    // The side in question, and not whichever comes second.
    assert_eq!(off(&is_again, 0.05), Verdict::Fail);
    assert_eq!(off(&is_again, 0.002), Verdict::Pass, "below the margin");
}

#[test]
fn two_strategies_may_be_asked_to_be_the_same_or_no_slower_within_a_margin() {
    let asked = |expect, margin: f64| {
        let (mut run, mut trials) = compared("event", "batch", 1);
        dearer(
            &mut trials,
            |planned| planned.order.card.unwrap().strategy == Some(Strategy::Batch),
            0.03,
        );
        let shape = &mut run.study.compare;
        (shape.expect, shape.margin) = (Some(expect), Some(Share::of(margin)));
        analyse(&run, &trials).targets.remove(0)
    };
    for (expect, name, limit) in [
        (Expect::Same, "batch costs the same as event", "within 5.0 % by its bounds"),
        (Expect::NoSlower, "batch costs no more than event", "at most 5.0 % more by its bound"),
    ] {
        let kept = asked(expect, 0.05);
        assert_eq!((kept.name.as_str(), kept.limit.as_str()), (name, limit));
        assert_eq!(kept.verdict, Verdict::Pass);
        assert_eq!(asked(expect, 0.01).verdict, Verdict::Fail, "{expect:?}");
    }
}

#[test]
fn what_is_missing_or_forgotten_speaks_against_any_verdict() {
    let (run, mut trials) = compared("busy", "event", 1);
    let measured = card(&mut trials[0]);
    measured.missing = 7;
    let (found, completion) = answered(&run, &trials);
    let faults = completion.targets.iter().find(|one| one.name == "faults <= 0").unwrap();
    assert_eq!((found.verdict, faults.verdict), (Verdict::Pass, Verdict::Fail));
    trials[3].outcome = Outcome::invalid("the machine was silent");
    let (found, completion) = answered(&run, &trials);
    assert_eq!((found.verdict, found.pairs), (Verdict::Invalid, 5));
    let missing = completion.targets.last().unwrap();
    assert_eq!(missing.found, "1 of 13 trials is missing");
    let found = answered(&run, &[]).0;
    let none = "invalid: only 0 of 6 planned pairs are valid; a verdict needs at least 6";
    assert_eq!(found.sentence, none);
}
