//! A made-up run whose figures are known.

use model::{
    transmit::{Outcome, Strategy},
    verdict::Verdict,
};

use super::*;

fn analysed() -> Transmit {
    analyse(&made::run(), &made::trials())
}

fn near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 0.01
}

#[test]
fn busy_waits_rate_times_completion_time() {
    let transmit = analysed();
    let curve = transmit.curve("ap", "small", Strategy::Busy);
    assert_eq!(curve.iter().map(|point| point.rate).collect::<Vec<_>>(), [440, 7000]);
    assert!(near(curve[0].waiting.mean, 440.0 * 150e-6), "{:?}", curve[0].waiting);
    assert!(curve[0].error.unwrap().mean.abs() < 1e-9);
    assert!(near(curve[0].path.mean, 440.0 * 158e-6) && near(curve[0].rest_us.unwrap().mean, 8.05));
    let one = &transmit.saturations[0];
    assert!(near(one.sent.mean, 1e6 / 158.0) && near(one.by_waiting.mean, 1e6 / 150.0), "{one:?}");
}

#[test]
fn a_strategy_that_takes_less_is_shown_to_and_one_that_is_not_tried_often_enough_is_not() {
    let transmit = analysed();
    assert_eq!(transmit.versus.len(), 3 * 4, "three others at four rates");
    let event = &transmit.versus[0];
    assert_eq!((event.variant, event.verdict), (Strategy::Event, Verdict::Pass), "{event:?}");
    assert!(near(event.ratio.unwrap().mean, 8.05 / 158.05));
    let mut trials = made::trials();
    trials.retain(|trial| trial.block < 3);
    let few = analyse(&made::run(), &trials);
    assert!(few.versus.iter().all(|one| one.verdict == Verdict::Invalid));
    assert!(few.versus[0].sentence.contains("too few pairs"), "{}", few.versus[0].sentence);
}

#[test]
fn the_task_is_compared_with_itself_alone_and_strategies_by_its_time() {
    let transmit = analysed();
    let point = transmit.curve("ap", "task", Strategy::Busy)[0];
    let expected = 1.0 / (1.0 - 990.0 * 158.05e-6);
    assert!(near(point.task.as_ref().unwrap().slowdown.unwrap().mean, expected));
    let by = |load: &str| transmit.versus.iter().find(|one| one.load == load).unwrap().by;
    assert_eq!((by("task"), by("full")), (By::Task, By::Path));
    assert!((transmit.alone[0].wall_s.mean - 2.0).abs() < 1e-9);
}

#[test]
fn targets_are_decided_by_bounds_and_a_miss_has_its_cause() {
    let transmit = analysed();
    let told: Vec<_> =
        transmit.targets.iter().map(|one| (one.name.as_str(), one.verdict)).collect();
    let expected = [
        ("busy waits rate × completion time", Verdict::Pass),
        ("busy saturates at 1 ÷ completion time", Verdict::Fail),
        ("event takes a tenth of busy’s CPU at 440/s", Verdict::Pass),
        ("busy slows the task as the report says", Verdict::Fail),
        ("event slows the task little", Verdict::Pass),
        ("hybrid slows the task less", Verdict::Pass),
        ("hybrid’s median latency is busy’s", Verdict::Pass),
        ("no frame is forgotten", Verdict::Pass),
        ("counted time repeats", Verdict::Pass),
    ];
    assert_eq!(told, expected);
    let cause = |at: usize| transmit.targets[at].cause.as_deref().unwrap_or_default();
    assert!(cause(1).contains("also costs the driver 8 µs"), "{}", cause(1));
    assert!(cause(3).contains("15") && transmit.targets[0].cause.is_none(), "{}", cause(3));
}

#[test]
fn frames_that_are_not_accounted_for_fail_and_repeats_that_differ_do_too() {
    let mut trials = made::trials();
    let Outcome::Measured(first) = &mut trials[0].outcome else { panic!() };
    first.accepted += 3;
    first.driver_ns += first.driver_ns / 100;
    let transmit = analyse(&made::run(), &trials);
    let target = |name: &str| transmit.targets.iter().find(|one| one.name == name).unwrap();
    assert!(target("no frame is forgotten").found.contains("3 unaccounted for"));
    assert_eq!(target("no frame is forgotten").verdict, Verdict::Fail);
    assert_eq!(target("counted time repeats").verdict, Verdict::Fail);
    assert_eq!(transmit.repeats[0].figure, "CPU of the transmit path");
}

#[test]
fn a_run_without_a_trial_has_no_figures_and_no_verdicts() {
    let transmit = analyse(&made::run(), &[]);
    assert!(transmit.points.is_empty() && transmit.versus.is_empty() && transmit.counted == 0);
    assert!(transmit.targets.iter().all(|target| target.verdict == Verdict::Invalid));
    assert_eq!(transmit.answer, ["No trial that would answer it has been made yet."]);
}

#[test]
fn a_trial_that_failed_is_left_out_with_its_reason() {
    let mut trials = made::trials();
    trials[3].outcome = Outcome::Failed("the air was gone".to_owned());
    let transmit = analyse(&made::run(), &trials);
    assert_eq!(transmit.left_out.len(), 1);
    assert_eq!(transmit.left_out[0].name, "440/s batch of small at ap, block 1");
    assert_eq!(transmit.counted as usize, trials.len() - 1);
}

#[test]
fn the_census_adds_up_over_trials() {
    let transmit = analysed();
    let busy = &transmit.commands[0];
    assert_eq!((busy.name.as_str(), busy.strategy, busy.failed), ("transmit", Strategy::Busy, 0));
    assert_eq!((busy.mean_us, busy.least_us, busy.most_us), (150.0, 149.0, 160.0));
}

#[test]
fn the_reports_figures_stand_beside_ours() {
    let transmit = analysed();
    let ours: Vec<f64> =
        transmit.published.iter().map(|one| one.ours.map_or(0.0, |ours| ours.mean)).collect();
    assert!(near(ours[0], 0.066) && near(ours[1], 6_667.0), "{ours:?}");
    assert!(near(ours[2], 1.1855) && near(ours[5], 8.05 / 158.05), "{ours:?}");
}

#[test]
fn an_interval_across_the_limit_is_neither_kept_nor_missed() {
    let mut trials = made::trials();
    for trial in &mut trials {
        let Outcome::Measured(measured) = &mut trial.outcome else { continue };
        // Every other block has a task beside event that another process slowed.
        let is_slowed = trial.order.strategy == Some(Strategy::Event) && trial.block % 2 == 0;
        if is_slowed {
            measured.task_wall_ns = measured.task_wall_ns.map(|wall| wall + wall / 4);
        }
    }
    let transmit = analyse(&made::run(), &trials);
    let verdict =
        |name: &str| transmit.targets.iter().find(|one| one.name == name).unwrap().verdict;
    assert_eq!(verdict("event slows the task little"), Verdict::Invalid);
    assert_eq!(verdict("hybrid slows the task less"), Verdict::Pass);
}
