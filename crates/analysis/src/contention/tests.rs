//! What the analysis of a contention run says of chosen figures.

use model::{
    cell::Role,
    figure::Figure,
    name::VariantName,
    run::Run,
    study::{Gates, Mode},
    traffic::TrafficReading,
    trial::{ALONE, APPLICATION, Outcome, Trial},
    verdict::Verdict,
};

use super::Cell;
use crate::{
    fixture::contention::{Shares, block, one_cell as run, trial},
    judge::test_data::recording,
    limited::Limited,
    metrics::{Target, baseline::Baselines},
    verdicts::{Basis, Finding, Judgement, NoPeriods},
};

const CONTROLS: [&str; 4] = ["shares-512", "weight-2", "guard-100", "quota-20"];

/// Three blocks that differ a little, as phases do.
fn three(arms: &[(&str, f64, f64)]) -> Vec<Trial> {
    let nudged = |number: u32| {
        let nudge = 1.0 + f64::from(number) * 0.001;
        let arms: Vec<_> =
            arms.iter().map(|(name, kept, work)| (*name, kept * nudge, work * nudge)).collect();
        block(number, 0.0, &arms)
    };
    (0..3).flat_map(nudged).collect()
}

fn usual() -> Vec<Trial> {
    three(&[
        ("none", 0.60, 0.40),
        ("shares-512", 0.70, 0.30),
        ("weight-2", 0.98, 0.02),
        ("guard-100", 0.97, 0.03),
        ("quota-20", 0.80, 0.10),
    ])
}

/// The run with these limits.
fn asking(limits: &[&str]) -> Run {
    let mut run = run(&CONTROLS);
    let limits = limits.iter().map(|text| (*text).to_owned()).collect();
    run.study.gates = Some(Gates { limits, ..Gates::default() });
    run
}

const KEPT: &str = "guard-100: kept at harmed cells >= 95%";

fn target<'a>(analysis: &'a Limited, name: &str) -> &'a Target {
    analysis.targets.iter().find(|target| target.name == name).unwrap()
}

/// A trial's traffic.
fn traffic(trial: &mut Trial) -> &mut TrafficReading {
    recording(trial).traffic.as_mut().unwrap()
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 0.005
}

fn analyse(run: &Run, trials: &[Trial]) -> Limited {
    crate::limited::analyse(run, trials, &Baselines::new())
}

/// The first cell.
fn cell(run: &Run, trials: &[Trial]) -> Cell {
    first(&analyse(run, trials)).clone()
}

fn first(analysis: &Limited) -> &Cell {
    &analysis.traffic.as_ref().unwrap().cells[0]
}

#[test]
fn kept_restored_and_work_are_ratios_inside_blocks() {
    let cell = cell(&run(&CONTROLS), &usual());
    let guard = cell.arm("guard-100").unwrap();
    assert!(close(guard.mean(Figure::Kept).unwrap(), 0.971));
    assert!(close(guard.mean(Figure::Restored).unwrap(), (0.971 - 0.601) / (1.0 - 0.601)));
    assert!(close(guard.mean(Figure::Work).unwrap(), 0.03));
    assert_eq!(cell.alone.as_ref().unwrap().received.mean, 120e6);
}

#[test]
fn harm_is_shown_by_the_bound_and_named() {
    let harm = cell(&run(&CONTROLS), &usual()).harm.unwrap();
    assert_eq!(harm.shown, Some(true), "{}", harm.why);
    assert!(harm.mechanism.contains("ksoftirqd"), "{}", harm.mechanism);
    let cases = [
        (three(&[("none", 0.98, 0.4)]), "In none of 1 cell does an application harm Wi-Fi."),
        (
            // One block is no bound.
            block(0, 0.0, &[("none", 0.3, 0.4)]),
            "Not decided yet in 1 of 1 cell whether an application harms Wi-Fi: Wi-Fi keeps 30.0 % of its traffic in 1 \
             block.",
        ),
    ];
    for (trials, sentence) in cases {
        let analysis = analyse(&run(&CONTROLS), &trials);
        assert_eq!(analysis.headline.sentence, sentence);
        let is_undecided = sentence.starts_with("Not");
        assert_eq!(
            (first(&analysis).is_harmed(), first(&analysis).is_undecided()),
            (false, is_undecided)
        );
    }
}

#[test]
fn two_blocks_far_apart_decide_neither_harm_nor_how_many_cells_are_harmed() {
    let apart: Vec<Trial> = [0.50, 0.62]
        .into_iter()
        .zip(0..)
        .flat_map(|(kept, number)| block(number, 0.0, &[("none", kept, 0.4)]))
        .collect();
    let limits = ["harmed-cells >= 1", "harmed-cells <= 1"];
    let analysis = analyse(&asking(&limits), &apart);
    assert!(analysis.headline.sentence.starts_with("Not decided yet in 1 of 1 cell"));
    let verdicts = limits.map(|name| target(&analysis, name).verdict);
    assert_eq!(verdicts, [Verdict::Invalid, Verdict::Pass], "none or one");
}

#[test]
fn without_all_trials_of_the_plan_nothing_passes() {
    let mut run = asking(&["harmed-cells >= 1"]);
    let trials = usual();
    run.plan = trials.iter().map(|trial| trial.planned.clone()).collect();
    let overall = |trials: &[Trial]| crate::metrics::overall(&analyse(&run, trials).targets, 9);
    assert_eq!(overall(&trials).0, Verdict::Pass);
    assert_eq!(overall(&trials[..trials.len() - 1]).0, Verdict::Invalid);
}

#[test]
fn limits_on_cells_and_controls_that_were_left_out_are_not_asked() {
    let limits =
        ["harmed-cells >= 6", "agreement >= 100%", "guard-100: kept at paced cells >= 99%", KEPT];
    let mut run = asking(&limits);
    let verdicts = |run: &Run| limits.map(|name| target(&analyse(run, &usual()), name).verdict);
    use Verdict::{Fail, Invalid, Measured, Pass};
    assert_eq!(verdicts(&run), [Fail, Invalid, Invalid, Pass]);
    run.overrides = vec!["cell = [1]".to_owned()];
    assert_eq!(verdicts(&run), [Measured, Measured, Measured, Pass]);
    run.study.entries[0].variants = vec![VariantName::literal("none")];
    assert_eq!(verdicts(&run)[3], Measured, "no cell has the control");
}

#[test]
fn a_loss_of_endpoints_that_waited_is_no_harm() {
    let mut trials = usual();
    for trial in trials.iter_mut().filter(|trial| trial.planned.id.variant != *ALONE) {
        if let Some(sender) = traffic(trial).threads.get_mut(1) {
            sender.waited_ns = Some(2_000_000_000);
        }
    }
    let harm = cell(&run(&CONTROLS), &trials).harm.unwrap();
    assert_eq!(harm.shown, None);
    assert!(harm.why.contains("endpoints'"), "{}", harm.why);
}

#[test]
fn more_than_alone_is_no_win() {
    let trials = three(&[("none", 0.6, 0.4), ("guard-100", 1.17, 0.1)]);
    let analysis = analyse(&run(&CONTROLS), &trials);
    let arm = first(&analysis).arm("guard-100").unwrap();
    assert_eq!(arm.mean(Figure::Kept), Some(1.0));
    assert!(arm.mean(Figure::KeptUncapped).unwrap() > 1.1);
}

#[test]
fn the_oracle_is_the_best_fixed_setting_that_keeps_as_much() {
    let analysis = analyse(&run(&CONTROLS), &usual());
    let oracle = first(&analysis).oracle.as_ref().unwrap();
    assert_eq!(oracle.control, "weight-2");
    assert!(close(oracle.regret.unwrap().mean, 1.0 - 0.03 / 0.02));
}

#[test]
fn guard_is_compared_in_measured_points_only() {
    let cell = cell(&run(&CONTROLS), &usual());
    let against = |name: &str| cell.contests.iter().find(|one| one.against == name).unwrap();
    // Its one setting keeps more Wi-Fi than these, and has the work that it has.
    assert_eq!(against("shares-512").setting.as_deref(), Some("guard-100"));
    assert!(close(against("shares-512").ratio.unwrap().mean, 0.1));
    assert!(close(against("quota-20").ratio.unwrap().mean, 0.3));
    // No setting keeps as much as this one.
    assert_eq!((against("weight-2").setting.as_deref(), against("weight-2").ratio), (None, None));
}

#[test]
fn where_no_other_control_keeps_as_much_there_is_no_regret_and_the_figure_says_why() {
    const REGRET: &str = "guard-100: worst regret at harmed cells <= 20%";
    let trials = three(&[("none", 0.6, 0.4), ("shares-512", 0.7, 0.3), ("guard-100", 0.97, 0.03)]);
    let analysis = analyse(&asking(&[REGRET]), &trials);
    assert!(first(&analysis).oracle.is_none());
    assert_eq!(target(&analysis, REGRET).verdict, Verdict::Invalid);
    let regret = analysis.table.iter().find(|one| one.name == "regret").unwrap();
    assert!(regret.cause.as_ref().unwrap().contains("no other control"), "{regret:?}");
}

#[test]
fn the_front_and_its_knee_are_controls_that_were_measured() {
    let usual = cell(&run(&CONTROLS), &usual());
    // The quota keeps more than shares of 512 and leaves less: on the front as well.
    assert_eq!(usual.front, ["none", "shares-512", "quota-20", "guard-100", "weight-2"]);
    assert_eq!(usual.knee, None, "all of it lies on the straight way or below");
    let bent = three(&[("none", 0.6, 0.4), ("quota-20", 0.9, 0.35), ("guard-100", 0.97, 0.03)]);
    assert_eq!(cell(&run(&CONTROLS), &bent).knee.as_deref(), Some("quota-20"));
    let one = cell(&run(&CONTROLS), &three(&[("none", 0.6, 0.4)]));
    assert_eq!((one.front.len(), one.knee), (1, None));
}

#[test]
fn limits_are_decided_by_bounds_and_nothing_is_asked_that_the_study_does_not_ask() {
    const MEDIAN: &str = "guard-100: median work-against-shares-512 at harmed cells >= 1.25x";
    const CPU: &str = "guard-100: guard-cpu <= 0.5%";
    assert!(analyse(&run(&CONTROLS), &usual()).targets.is_empty());
    let one = ["harmed-cells >= 1", "harmed-cells >= 6", KEPT, CPU, MEDIAN];
    let analysis = analyse(&asking(&one), &usual());
    let verdicts: Vec<Verdict> = one.map(|name| target(&analysis, name).verdict).to_vec();
    use Verdict::{Fail, Invalid, Pass};
    assert_eq!(verdicts, [Pass, Fail, Pass, Invalid, Fail], "one cell can pass by its own gates");
    assert!(target(&analysis, MEDIAN).cause.as_ref().unwrap().contains("saturated path"));
}

#[test]
fn no_name_of_a_control_means_anything() {
    let renamed = |name: &str| match name {
        "guard-100" => "protector".to_owned(),
        "shares-512" => "the-reports".to_owned(),
        other => other.to_owned(),
    };
    let mut other = run(&CONTROLS);
    let other_name = |name: &VariantName| VariantName::literal(&renamed(name));
    other.study.variants.iter_mut().for_each(|one| one.name = other_name(&one.name));
    let mut trials = usual();
    for trial in &mut trials {
        trial.planned.id.variant = other_name(&trial.planned.id.variant);
    }
    let (ours, theirs) = (cell(&run(&CONTROLS), &usual()), cell(&other, &trials));
    assert_eq!(theirs.cure().unwrap().control, "protector");
    assert_eq!(theirs.oracle.unwrap().regret, ours.oracle.unwrap().regret);
    assert_eq!(theirs.contests[0].ratio, ours.contests[0].ratio);
    assert_eq!(theirs.contests[0].against, "the-reports");
}

#[test]
fn a_real_time_block_whose_baselines_drift_is_left_out() {
    let mut run = run(&CONTROLS);
    run.study.access_point.mode = Mode::RealTime;
    let mut trials = usual();
    trials.extend(block(3, 0.2, &[("none", 0.6, 0.4)]));
    let analysis = analyse(&run, &trials);
    assert_eq!(first(&analysis).blocks, 3);
    assert!(analysis.left_out.iter().all(|trial| trial.repetition == 4), "{:?}", analysis.left_out);
    assert_eq!(analysis.left_out.len(), 4);
}

#[test]
fn the_baseline_of_a_turn_lies_on_the_line_between_both_ends() {
    let mut trials = block(0, 0.04, &[("none", 0.51, 0.4)]);
    // Turn 2 of 0 to 3: the baseline is two thirds of the way from 1 to 1.04.
    let analysis = analyse(&run(&CONTROLS), &trials);
    let kept = first(&analysis).arm("none").unwrap().mean(Figure::Kept).unwrap();
    assert!((kept - 0.51 / (1.0 + 0.04 * 2.0 / 3.0)).abs() < 1e-6, "{kept}");
    trials.clear();
    assert_eq!(cell(&run(&CONTROLS), &trials).arms.len(), 0);
}

#[test]
fn a_trial_that_failed_is_named() {
    let mut trials = usual();
    let mut failed = trial(0, "none", [7, 2], &Shares::default());
    failed.outcome = Outcome::invalid("no veth");
    trials.push(failed);
    let analysis = analyse(&run(&CONTROLS), &trials);
    assert_eq!(analysis.left_out[0].why, "no veth");
    assert_eq!(first(&analysis).blocks, 3);
}

#[test]
fn load_that_comes_and_goes_is_judged_over_whole_rounds() {
    const CHANGING: &str = "guard-100: kept at changing cells >= 95%";
    let mut run = asking(&[CHANGING]);
    run.study.entries[0].role = Role::Changing;
    let mut trials = usual();
    for trial in &mut trials {
        for second in traffic(trial).seconds.iter_mut().step_by(2) {
            second.busy = false;
            second.received_bytes = 0;
        }
    }
    let analysis = analyse(&run, &trials);
    let kept = target(&analysis, CHANGING);
    assert_eq!(kept.verdict, Verdict::Pass);
}

/// Six blocks of `none` and `weight-64`, of which each second of a side is what `bytes` says, in Mb/s.
fn by_seconds(window: u64, megabits: impl Fn(u32, usize) -> [f64; 2]) -> Judgement {
    let mut run = run(&CONTROLS);
    run.study.trial.repetitions = 6;
    let mut trials = Vec::new();
    for number in 0..6 {
        let mut block = block(number, 0.0, &[("none", 0.6, 1.0), ("shares-512", 0.8, 1.0)]);
        for trial in &mut block {
            let side = match trial.planned.id.variant.as_str() {
                ALONE | APPLICATION => continue,
                name => usize::from(name != "none"),
            };
            let seconds = &mut traffic(trial).seconds;
            seconds.truncate(window as usize);
            for (at, second) in seconds.iter_mut().enumerate() {
                second.received_bytes = (megabits(number, at)[side] * 1e6 / 8.0) as u64;
            }
        }
        trials.extend(block);
    }
    let mut versus = cell(&run, &trials).versus.into_iter().map(|one| one.judgement);
    versus.find(|one| one.variant == "shares-512").unwrap()
}

#[test]
fn controls_are_compared_second_by_second_and_more_is_better() {
    // One second of one block without control has next to nothing.
    let rate = |block: u32, second: usize| {
        let base = 40.0 + 0.1 * f64::from(block) + 0.01 * second as f64;
        [if (block, second) == (2, 3) { 1.0 } else { base }, base + 8.0]
    };
    let found = by_seconds(10, rate);
    assert_eq!((found.finding, found.verdict), (Finding::Cheaper, Verdict::Pass), "{found:?}");
    assert_eq!((found.basis, found.pairs), (Basis::Steady, 6));
    let split = found.split.unwrap();
    assert_eq!((split.periods, split.base.count, split.variant.count), (60, 1, 0));
    assert!((split.steady.mean - 8.0).abs() < 1e-3, "{split:?}");
    assert!((split.steady.mean + split.events.mean - split.total.mean).abs() < 1e-3);
    insta::assert_snapshot!(found.sentence);
}

#[test]
fn a_window_of_few_seconds_is_compared_whole_and_says_why() {
    let rate = |block: u32, _| [40.0 + 0.1 * f64::from(block), 39.0 + 0.2 * f64::from(block)];
    let found = by_seconds(3, rate);
    assert_eq!((found.basis, found.split.is_none()), (Basis::Mean(NoPeriods::TooFew), true));
    assert!(found.sentence.contains("means are compared: a window holds"), "{}", found.sentence);
    assert_eq!(found.finding, Finding::Dearer);
    assert!(found.absolute.unwrap().mean < 0.0, "Mb/s that arrive less");
    assert_eq!(found.verdict, Verdict::Fail);
}
