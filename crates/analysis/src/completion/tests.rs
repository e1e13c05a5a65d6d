//! A made-up run whose figures are known.

use model::{
    completion::{Measured, Period, Strategy},
    limit::Limits,
    share::Share,
    span::Span,
    study::Mode,
    trial::Outcome,
    verdict::{Difference, Expect, Verdict},
};

use super::*;
use crate::verdicts::{Basis, NoPeriods};

fn analyse(run: &Run, trials: &[Trial]) -> Completion {
    super::analyse(run, trials, &Baselines::new())
}

fn analysed() -> Completion {
    analyse(&test_data::run(), &test_data::trials())
}

fn near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 0.01
}

#[test]
fn busy_waits_rate_times_completion_time() {
    let completion = analysed();
    let curve = completion.curve("ap", "small", Strategy::Busy);
    assert_eq!(curve.iter().map(|point| point.rate).collect::<Vec<_>>(), [440, 7000]);
    assert!(near(curve[0].waiting.mean, 440.0 * 150e-6), "{:?}", curve[0].waiting);
    assert!(curve[0].error.unwrap().mean.abs() < 1e-9);
    assert!(near(curve[0].path.mean, 440.0 * 158e-6) && near(curve[0].rest_us.unwrap().mean, 8.05));
    let one = &completion.saturations[0];
    assert!(near(one.sent.mean, 1e6 / 158.0) && near(one.by_waiting.mean, 1e6 / 150.0), "{one:?}");
}

#[test]
fn a_strategy_that_takes_less_is_shown_to_and_one_that_is_not_tried_often_enough_is_not() {
    let completion = analysed();
    assert_eq!(completion.versus.len(), 3 * 4, "three others at four rates");
    let event = &completion.versus[0];
    assert_eq!((event.variant, event.verdict), (Strategy::Event, Verdict::Pass), "{event:?}");
    assert!(near(event.ratio.unwrap().mean, 8.05 / 158.05));
    let mut trials = test_data::trials();
    trials.retain(|trial| trial.planned.block < 3);
    let few = analyse(&test_data::run(), &trials);
    assert!(few.versus.iter().all(|one| one.verdict == Verdict::Invalid));
    let sentence = &few.versus[0].sentence;
    assert!(sentence.contains("a verdict needs at least 6"), "{sentence}");
}

fn question(expect: Expect) -> judge::Question {
    judge::Question {
        base: "old".to_owned(),
        variant: "new".to_owned(),
        by: By::Path,
        load: "full".to_owned(),
        rate: 440,
        difference: Difference::Variants,
        expect,
        mode: Mode::Counted,
        margin: judge::MARGIN,
        planned: 6,
    }
}

/// Two sides that need no strategy: of each pair the variant takes so many parts in a thousand more.
fn asked(expect: Expect, more: [u64; 6]) -> crate::verdicts::Judgement {
    let question = question(expect);
    let took = |ns| Measured { window_ns: 1_000_000, driver_ns: ns, ..Measured::default() };
    let base = |pair: u64| 100_000 + 100 * pair;
    let pairs: Vec<[Measured; 2]> = (0..)
        .zip(more)
        .map(|(pair, more)| [took(base(pair)), took(base(pair) * (1000 + more) / 1000)])
        .collect();
    let sides: Vec<_> = pairs.iter().map(|pair| pair.each_ref()).collect();
    judge::judge(&question, &sides)
}

#[test]
fn any_two_sides_are_judged_by_what_is_to_be_shown_of_them() {
    let verdict = |expect, more| asked(expect, more).verdict;
    let (little, much) = ([1, 2, 3, 2, 1, 2], [50, 52, 51, 50, 53, 52]);
    assert_eq!(verdict(Expect::Same, little), Verdict::Pass);
    assert_eq!(verdict(Expect::NoSlower, little), Verdict::Pass);
    assert_eq!(verdict(Expect::Faster, little), Verdict::Fail);
    assert_eq!(verdict(Expect::Same, much), Verdict::Fail);
    assert_eq!(verdict(Expect::NoSlower, much), Verdict::Fail);
    assert_eq!(verdict(Expect::Same, [0, 40, 0, 30, 0, 10]), Verdict::Invalid);
    let reported = asked(Expect::Same, little).sentence;
    let claim = "pass: the transmit path takes more time under `new` than under `old`, and by less than the margin of 1.0 %, at 440 frames/s of full: 1.001";
    assert!(reported.starts_with(claim), "{reported}");
    let before = asked(Expect::Same, little).before.unwrap();
    assert!((before.mean - 100_250.0).abs() < 1e-6, "µs of CPU a second");
}

/// Six pairs, part by part: `[base, variant]` of each pair's ten parts, ns of CPU in 50 ms.
fn by_parts(expect: Expect, parts: impl Fn(u64, u64) -> [u64; 2]) -> crate::verdicts::Judgement {
    let question = judge::Question { planned: 6, ..question(expect) };
    let trial = |parts: Vec<u64>| Measured {
        window_ns: 500_000_000,
        driver_ns: parts.iter().sum(),
        periods: parts
            .into_iter()
            .map(|driver_ns| Period { window_ns: 50_000_000, driver_ns, ..Period::default() })
            .collect(),
        ..Measured::default()
    };
    let pair = |pair: u64| {
        [0, 1].map(|side: usize| trial((0..10).map(|part| parts(pair, part)[side]).collect()))
    };
    let pairs: Vec<[Measured; 2]> = (0..6).map(pair).collect();
    judge::judge(&question, &pairs.iter().map(|pair| pair.each_ref()).collect::<Vec<_>>())
}

#[test]
fn windows_are_compared_part_by_part_and_a_rare_interrupt_is_no_difference() {
    // 40 µs of interrupts in one part of one side: 1.1 % of the window, and nothing of the steady cost.
    let parts = |pair, part| {
        let base = 350_000 + 100 * pair + part;
        [base, base + if (pair, part) == (2, 3) { 40_000 } else { 0 }]
    };
    let found = by_parts(Expect::Same, parts);
    assert_eq!((found.verdict, found.basis), (Verdict::Pass, Basis::Steady), "{}", found.sentence);
    let split = found.split.unwrap();
    assert_eq!((split.periods, split.variant.count, split.base.count), (60, 1, 0));
    assert_eq!((split.period_s, split.steady.mean), (0.05, 0.0));
    // 40 µs in one of six half seconds.
    assert!((split.total.mean - 80.0 / 6.0).abs() < 1e-3, "{split:?}");
    insta::assert_snapshot!(found.sentence);
}

#[test]
fn a_strategy_with_dear_parts_in_every_pair_is_judged_by_the_total() {
    let parts = |pair: u64, part| {
        let base = 350_000 + 100 * pair;
        [base, base - 2_000 + if part == pair { 100_000 } else { 0 }]
    };
    let found = by_parts(Expect::Faster, parts);
    assert_eq!((found.verdict, found.basis), (Verdict::Fail, Basis::Total), "{}", found.sentence);
    assert_eq!(found.finding, crate::verdicts::Finding::Dearer);
}

#[test]
fn where_parts_cannot_be_compared_means_are_and_it_says_why() {
    let means = |change: &dyn Fn(&mut judge::Question, &mut Measured)| {
        let mut question = question(Expect::Same);
        let period = Period { window_ns: 50_000_000, driver_ns: 5_000_000, ..Period::default() };
        let mut one = Measured {
            window_ns: 500_000_000,
            driver_ns: 50_000_000,
            periods: vec![period; 10],
            task_wall_ns: Some(1),
            ..Measured::default()
        };
        let base = one.clone();
        change(&mut question, &mut one);
        judge::judge(&question, &[[&base, &one]]).basis
    };
    let why = |why| Basis::Mean(why);
    assert_eq!(means(&|_, _| ()), Basis::Steady);
    assert_eq!(means(&|one, _| one.mode = Mode::RealTime), why(NoPeriods::RealTime));
    assert_eq!(means(&|one, _| one.by = By::Task), why(NoPeriods::NoRounds));
    assert_eq!(means(&|_, one| one.periods.truncate(9)), why(NoPeriods::OutOfStep));
}

#[test]
fn a_study_may_say_what_its_comparisons_show_and_within_what() {
    let mut run = test_data::run();
    (run.study.completion.expect, run.study.completion.margin) =
        (Some(Expect::Same), Some(Share::of(0.99)));
    let versus = analyse(&run, &test_data::trials()).versus;
    assert_eq!((versus[0].variant, versus[0].verdict), (Strategy::Event, Verdict::Pass));
    assert!(versus[0].sentence.contains("less than the margin of 99"), "{}", versus[0].sentence);
}

#[test]
fn the_task_is_compared_with_itself_alone_and_strategies_by_its_time() {
    let completion = analysed();
    let point = completion.curve("ap", "task", Strategy::Busy)[0];
    let expected = 1.0 / (1.0 - 990.0 * 158.05e-6);
    assert!(near(point.task.as_ref().unwrap().slowdown.unwrap().mean, expected));
    let by = |load: &str| completion.versus.iter().find(|one| one.load == load).unwrap().by;
    assert_eq!((by("task"), by("full")), (By::Task, By::Path));
    assert!((completion.alone[0].wall_s.mean - 2.0).abs() < 1e-9);
}

#[test]
fn limits_are_decided_by_bounds_and_a_miss_has_its_cause() {
    let completion = analysed();
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
    let Outcome::Measured(first) = &mut trials[0].outcome else { panic!() };
    first.accepted += 3;
    first.driver_ns += first.driver_ns / 100;
    let completion = analyse(&test_data::run(), &trials);
    let target = |name: &str| completion.targets.iter().find(|one| one.name == name).unwrap();
    assert!(target("faults <= 0").cause.as_ref().unwrap().contains("3 unaccounted for"));
    assert_eq!(target("faults <= 0").verdict, Verdict::Fail);
    assert_eq!(target("repeat-error <= 0.1%").verdict, Verdict::Fail);
    assert_eq!(completion.repeats[0].figure, "CPU of the transmit path");
}

#[test]
fn a_run_without_a_trial_has_no_figures_and_no_verdicts() {
    let completion = analyse(&test_data::run(), &[]);
    assert!(
        completion.points.is_empty() && completion.versus.is_empty() && completion.counted == 0
    );
    assert!(completion.targets.iter().all(|target| target.verdict == Verdict::Invalid));
    assert_eq!(completion.answer, ["No result yet: no trial that would answer it is done."]);
}

#[test]
fn a_trial_that_failed_is_left_out_with_its_reason() {
    let mut trials = test_data::trials();
    trials[3].outcome = Outcome::invalid("the air was gone");
    let completion = analyse(&test_data::run(), &trials);
    assert_eq!(completion.left_out.len(), 1);
    assert_eq!(completion.left_out[0].name, "440/s batch of small at ap, block 1");
    assert_eq!(completion.counted as usize, trials.len() - 1);
}

#[test]
fn the_census_adds_up_over_trials() {
    let completion = analysed();
    let busy = &completion.commands[0];
    assert_eq!((busy.name.as_str(), busy.strategy, busy.failed), ("transmit", Strategy::Busy, 0));
    assert_eq!([busy.mean_us, busy.least_us, busy.most_us], [150.0, 149.0, 160.0].map(Some));
}

#[test]
fn what_was_published_stands_next_to_ours_as_the_study_says() {
    let mut run = test_data::run();
    let mut absent = run.study.published[3].clone();
    absent.ours = "busy: slowdown at bus".to_owned();
    run.study.published.push(absent);
    let published = analyse(&run, &test_data::trials()).published;
    let ours: Vec<f64> =
        published.iter().map(|one| one.ours.map_or(0.0, |ours| ours.mean)).collect();
    assert_eq!(ours.len(), 4, "there is no bus in this study");
    assert!(near(ours[0], 0.066) && near(ours[1], 6_667.0), "{ours:?}");
    assert!(near(ours[3], 1.1855) && near(ours[2], 8.05 / 158.05), "{ours:?}");
    let words: Vec<&str> = published.iter().map(|one| one.published.as_str()).collect();
    assert_eq!(words, ["6.6 %", "6,700", "“about one tenth”", "7.8 s → 17.2 s"]);
    run.study.published[1].words = None;
    assert_eq!(analyse(&run, &test_data::trials()).published[1].published, "6700");
}

#[test]
fn a_task_over_a_slow_bus_is_another_point() {
    let mut run = test_data::run();
    let mut trials = test_data::trials();
    // The load with the task once more, over a bus: everything takes twice as long there.
    let mut slow = run.study.loads[2].clone();
    (slow.name, slow.bus_word) = ("bus".to_owned(), Some(Span::from_nanos(1_500)));
    run.study.loads.push(slow);
    const SLOWED: &str = "busy: slowdown at bus >= 1.5x";
    run.study.gates = Some(Limits { limits: vec![SLOWED.to_owned()] });
    let also: Vec<_> = trials.iter().filter(|trial| trial.planned.load == 2).cloned().collect();
    for mut trial in also {
        (trial.planned.load, trial.planned.number) = (3, trials.len() as u32 + 1);
        if let (Outcome::Measured(one), Some(_)) =
            (&mut trial.outcome, trial.planned.order.strategy)
        {
            one.task_wall_ns = one.task_wall_ns.map(|wall| 2 * wall);
        }
        trials.push(trial);
    }
    let completion = analyse(&run, &trials);
    assert_eq!(completion.targets[0].verdict, Verdict::Pass);
    assert!(completion.answer.iter().any(|one| one.contains("1.50 µs for 16 bits")));
}

#[test]
fn an_interval_across_the_limit_is_neither_kept_nor_missed() {
    let mut trials = test_data::trials();
    for trial in &mut trials {
        let Outcome::Measured(measured) = &mut trial.outcome else { continue };
        // Every other block has a task alongside event that another process slowed.
        let is_slowed =
            trial.planned.order.strategy == Some(Strategy::Event) && trial.planned.block % 2 == 0;
        if is_slowed {
            measured.task_wall_ns = measured.task_wall_ns.map(|wall| wall + wall / 4);
        }
    }
    let completion = analyse(&test_data::run(), &trials);
    let verdict =
        |name: &str| completion.targets.iter().find(|one| one.name == name).unwrap().verdict;
    assert_eq!(verdict("event: slowdown at task <= 1.15x"), Verdict::Invalid);
    assert_eq!(verdict("hybrid: slowdown at task <= 1.08x"), Verdict::Pass);
}
