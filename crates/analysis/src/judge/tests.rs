//! Decisions on made-up pairs, and their sentences.

mod plants;

use model::{
    study::{Count, Function},
    trial::Outcome,
};

use super::*;
use crate::{
    analyse, fixture,
    judge::test_data::{
        compared, compared_by_periods, counted, only as judged, pairs, recording, versus,
    },
};

#[track_caller]
fn decided(found: &Judgement, finding: Finding, verdict: Verdict) {
    let judged = (found.finding, found.verdict);
    assert_eq!(judged, (finding, verdict), "{}", found.sentence);
}

#[track_caller]
fn says(found: &Judgement, words: &str) {
    assert!(found.sentence.contains(words), "{}", found.sentence);
}

fn of(values: &[(f64, f64)], expect: Expect) -> Judgement {
    let (mut run, trials) = compared(values);
    versus(&mut run).expect = expect;
    judged(&run, &trials)
}

#[test]
fn an_effect_has_its_finding_and_each_question_its_verdict() {
    use Verdict::{Fail, Pass};
    let small = pairs(8, 0.002, 0.000_2, 3);
    for (values, finding, verdicts) in [
        (pairs(6, -0.2, 0.001, 1), Finding::Cheaper, [Pass, Pass, Fail]),
        (pairs(6, 0.02, 0.001, 2), Finding::Dearer, [Fail; 3]),
        // By less than the margin.
        (small.clone(), Finding::Dearer, [Pass, Fail, Pass]),
    ] {
        for (expect, verdict) in
            [Expect::NoSlower, Expect::Faster, Expect::Same].into_iter().zip(verdicts)
        {
            let found = of(&values, expect);
            decided(&found, finding, verdict);
        }
    }
    let sentence = of(&small, Expect::Same).sentence;
    assert!(sentence.contains("different from `before`"), "{sentence}");
    assert!(sentence.contains("by less than the margin of 0.50 %"), "{sentence}");
}

#[test]
fn the_same_is_shown_by_the_equivalence_test() {
    // Symmetrical about 0, so that the interval holds it.
    let values: Vec<_> = (0..8)
        .map(|at| (10_000.0 + f64::from(at - 4) + 0.5, 10_000.0 + 0.1 * f64::from(at)))
        .collect();
    let found = of(&values, Expect::Same);
    decided(&found, Finding::Equivalent, Verdict::Pass);
    assert!(found.p_equivalence.unwrap() < 1e-4 && found.p.unwrap() > 0.05);
    assert_eq!(of(&values, Expect::Faster).verdict, Verdict::Fail);
}

#[test]
fn a_wide_spread_decides_nothing_and_says_what_it_would_take() {
    let found = of(&pairs(6, 0.0, 0.01, 5), Expect::NoSlower);
    decided(&found, Finding::Undecided, Verdict::Invalid);
    let needed = found.pairs_needed.unwrap();
    assert!(needed > 6);
    assert!(found.sentence.ends_with(&format!("it would probably take {needed} pairs")));
    assert!(found.detectable.unwrap() > 0.005);
}

#[test]
fn pairs_that_are_equal_in_many_states_are_the_same_and_in_one_state_nothing() {
    let many: Vec<_> =
        (0..6).map(|at| (10_000.0 + f64::from(at), 10_000.0 + f64::from(at))).collect();
    let found = of(&many, Expect::Same);
    decided(&found, Finding::Equivalent, Verdict::Pass);
    assert_eq!((found.p, found.detectable), (Some(1.0), Some(0.0)));
    let one = of(&[(10_100.0, 10_000.0); 6], Expect::NoSlower);
    decided(&one, Finding::NotComparable, Verdict::Invalid);
    says(&one, "one frozen state");
}

#[test]
fn five_pairs_are_too_few() {
    let found = of(&pairs(5, -0.2, 0.001, 1), Expect::Faster);
    assert_eq!((found.verdict, found.pairs), (Verdict::Invalid, 5));
    assert!(found.sentence.starts_with("invalid: only 5 of 5 planned pairs are valid"));
}

#[test]
fn an_invalid_trial_takes_its_pair_with_it_and_is_reported() {
    let (run, mut trials) = compared(&pairs(8, -0.2, 0.001, 1));
    trials[3].outcome = Outcome::Invalid { why: "it died".to_owned(), console: Vec::new() };
    let found = judged(&run, &trials);
    assert_eq!((found.verdict, found.pairs, found.differences.len()), (Verdict::Pass, 7, 7));
    says(&found, "7 of 8 planned pairs");
    let found = judged(&run, &trials[..8]);
    assert_eq!((found.verdict, found.pairs), (Verdict::Invalid, 3), "{}", found.sentence);
}

#[test]
fn a_change_that_never_ran_is_a_no_op_whatever_the_figures_say() {
    let (mut run, mut trials) = compared(&pairs(6, -0.2, 0.001, 1));
    versus(&mut run).changes = vec!["apply".to_owned()];
    let found = judged(&run, &trials);
    assert_eq!((found.verdict, found.ran[0].calls), (Verdict::Pass, None), "no one counted it");
    trials.push(counted(&trials, "after", "apply", 0));
    let found = judged(&run, &trials);
    decided(&found, Finding::NoOp, Verdict::Invalid);
    assert!(found.sentence.starts_with("no-op: this code never ran here: `apply` was"));
    let counts = recording(trials.last_mut().unwrap()).counts.as_mut().unwrap();
    counts.probes[0].hits = 3;
    let found = judged(&run, &trials);
    assert_eq!((found.verdict, found.ran[0].calls), (Verdict::Pass, Some(3)));
    let counts = recording(trials.last_mut().unwrap()).counts.as_mut().unwrap();
    counts.probes[0] =
        model::instrument::Counted { hits: 0, probed: 0, ..counts.probes[0].clone() };
    assert_eq!(judged(&run, &trials).ran[0].calls, None, "a probe that is nowhere counts nothing");
}

#[test]
fn what_is_counted_on_both_sides_is_reported_as_rates_and_found_by_its_symbol() {
    let (mut run, mut trials) = compared(&pairs(6, -0.2, 0.001, 1));
    versus(&mut run).changes = vec!["model::apply".to_owned()];
    let function = Function {
        name: "transactions".to_owned(),
        symbol: Some("model::apply".to_owned()),
        of: None,
        kernel: None,
        per: None,
        census: false,
        argument: None,
    };
    run.study.count = Some(Count {
        repetitions: 1,
        clients: Vec::new(),
        variants: Vec::new(),
        functions: vec![function],
    });
    for (side, hits) in [("before", 400), ("after", 100)] {
        trials.push(counted(&trials, side, "transactions", hits));
    }
    let found = judged(&run, &trials);
    // A cure that spares calls leaves them to the base.
    assert_eq!(found.ran[0].calls, Some(400));
    let rate = &found.rates[0];
    assert_eq!((rate.function.as_str(), rate.before, rate.after), ("transactions", 20.0, 5.0));
}

#[test]
fn what_differs_next_to_the_named_makes_it_invalid() {
    let (run, mut trials) = compared(&pairs(6, -0.2, 0.001, 1));
    recording(&mut trials[5]).facts.governor = Some("powersave".to_owned());
    let found = judged(&run, &trials);
    decided(&found, Finding::NotComparable, Verdict::Invalid);
    assert_eq!(found.strangers, ["the governor: unknown in `before`, powersave in `after`"]);
    says(&found, "the governor");
}

#[test]
fn a_study_judges_fixes_and_no_rivals() {
    let run = fixture::run();
    assert_eq!(analyse(&run, &fixture::trials(&run)).judgements, [], "it names no bases");
    let run = fixture::stations();
    let found = analyse(&run, &fixture::trials(&run)).judgements;
    let reported: Vec<_> = found
        .iter()
        .map(|one| (one.variant.as_str(), one.base.as_str(), one.part, one.finding))
        .collect();
    assert_eq!(
        reported,
        [
            ("trace-gate", "found", Part::Subject, Finding::Cheaper),
            ("write-on-change", "trace-gate", Part::Subject, Finding::Cheaper),
            ("brief", "write-on-change", Part::Subject, Finding::Cheaper),
            ("bulk", "brief", Part::Subject, Finding::Cheaper),
            ("slower-cadence", "bulk", Part::Subject, Finding::Cheaper),
        ]
    );
    assert!(
        found.iter().all(|one| one.clients == 114 && one.pairs == 6 && one.level == ERROR / 2.0)
    );
}

#[test]
fn sentences_are_read_as_they_are_written() {
    let show = |n, effect, expect| of(&pairs(n, effect, 0.001, 7), expect).sentence;
    let all = [
        show(6, -0.361, Expect::Faster),
        show(6, 0.02, Expect::NoSlower),
        show(8, 0.002, Expect::Same),
        show(12, 0.0, Expect::Same),
        of(&pairs(6, 0.001, 0.006, 7), Expect::Same).sentence,
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// Six pairs of 20 seconds around 4 ms, each from a state of its own: the variant costs `more` µs in each second and
/// what `event` says on top.
fn rounds(more: f64, event: impl Fn(usize, usize) -> [f64; 2]) -> Vec<Vec<(f64, f64)>> {
    let second = |pair: usize, second: usize| {
        let base = 4_000.0 + 10.0 * pair as f64 + (second % 3) as f64;
        let [of_variant, of_base] = event(pair, second);
        (base + more + of_variant, base + of_base)
    };
    (0..6).map(|pair| (0..20).map(|at| second(pair, at)).collect()).collect()
}

/// The same, as a counter of whole microseconds has it: each period is the difference of two counts, rounded down.
fn rounded(more: f64, event: impl Fn(usize, usize) -> [f64; 2]) -> Vec<Vec<(f64, f64)>> {
    let pairs = rounds(more, event).into_iter().zip(1..);
    let rounded = pairs.map(|(periods, pair)| {
        let (variant, base): (Vec<f64>, Vec<f64>) = periods.into_iter().unzip();
        let [variant, base] =
            [variant, base].map(|costs| plants::counted(&costs, 0.37 * f64::from(pair) % 1.0));
        variant.into_iter().zip(base).collect()
    });
    rounded.collect()
}

fn by_periods(values: &[Vec<(f64, f64)>], expect: Expect) -> Judgement {
    let (mut run, trials) = compared_by_periods(values);
    versus(&mut run).expect = expect;
    judged(&run, &trials)
}

/// An interrupt's work in one second of every second window, on either side, 757 µs: what was measured of the lab.
fn interrupts(pair: usize, second: usize) -> [f64; 2] {
    match (pair, second) {
        (0, 3) | (2, 17) | (5, 9) => [757.0, 0.0],
        (1, 5) | (2, 2) | (4, 11) | (5, 1) => [0.0, 757.0],
        _ => [0.0, 0.0],
    }
}

#[test]
fn a_small_cost_is_found_next_to_rare_events() {
    let found = by_periods(&rounds(2.0, interrupts), Expect::Same);
    assert_eq!((found.finding, found.basis), (Finding::Dearer, Basis::Steady), "{found:?}");
    // 0.05 % is below the margin of 0.5 %, and what seven events add is not: 6 µs a second, with 30 above and below.
    assert_eq!(found.verdict, Verdict::Invalid, "{}", found.sentence);
    assert!(found.pairs_needed.is_some_and(|pairs| (7..30).contains(&pairs)), "{found:?}");
    let split = found.split.unwrap();
    assert_eq!((split.variant.count, split.base.count, split.periods), (3, 4, 120));
    assert!((split.steady.mean - 2.0).abs() < 1e-3, "{split:?}");
    insta::assert_snapshot!(found.sentence);
}

#[test]
fn the_same_is_the_same_where_what_rare_events_may_add_is_within_the_margin() {
    // Of a hundredth in place of half of one: what was seen of them bounds it to 0.75 %.
    for (margin, found, verdict) in
        [(0.01, Finding::Equivalent, Verdict::Pass), (0.005, Finding::Undecided, Verdict::Invalid)]
    {
        let (mut run, trials) = compared_by_periods(&rounds(0.0, interrupts));
        let versus = versus(&mut run);
        (versus.expect, versus.margin) = (Expect::Same, model::share::Share::of(margin));
        let judgement = judged(&run, &trials);
        assert_eq!((judgement.finding, judgement.verdict), (found, verdict), "{judgement:?}");
        assert_eq!(judgement.detectable, Some(0.0), "{}", judgement.sentence);
    }
}

#[test]
fn steady_cost_and_events_are_the_total() {
    let found = by_periods(&rounds(-3.0, interrupts), Expect::Faster);
    let split = found.split.unwrap();
    assert!((split.steady.mean + split.events.mean - split.total.mean).abs() < 1e-9, "{split:?}");
    let means = found.after.unwrap().mean - found.before.unwrap().mean;
    assert!((split.total.mean - means).abs() < 1e-6, "{split:?}");
}

/// Measured in `bulk` at 114 clients: a loop of 0.4 µs a round. The median of whole microseconds was 0 in all pairs.
#[test]
fn a_cost_below_the_counters_grain_is_found() {
    let found = by_periods(&rounded(0.43, interrupts), Expect::Same);
    assert_eq!((found.finding, found.basis), (Finding::Dearer, Basis::Steady), "{found:?}");
    let steady = found.split.unwrap().steady;
    assert!((steady.mean - 0.43).abs() < 0.05, "{steady:?}");
    let same = by_periods(&rounded(0.0, |_, _| [0.0; 2]), Expect::Same);
    assert_eq!(same.finding, Finding::Equivalent, "{}", same.sentence);
}

#[test]
fn bursts_that_pay_for_a_cheaper_round_are_not_cheaper() {
    // Fifty rounds' worth once in 15 rounds, in a phase of each pair's own.
    let burst =
        |pair: usize, second: usize| [if (second + pair) % 15 == 7 { 2e5 } else { 0.0 }, 0.0];
    let found = by_periods(&rounds(-400.0, burst), Expect::Faster);
    assert_eq!((found.finding, found.basis), (Finding::Dearer, Basis::Total), "{}", found.sentence);
    assert_eq!(found.verdict, Verdict::Fail);
    insta::assert_snapshot!(found.sentence);
}

/// Measured in `bulk` at 114 clients: bursts of 214 µs in two of 20 rounds, a steady round that is 0.05 µs cheaper, and
/// interrupts of 757 µs on either side, in whose sum the bursts are lost.
#[test]
fn bursts_that_are_smaller_than_the_labs_own_events_are_seen_by_their_number() {
    let bursts = |pair: usize, second: usize| {
        let [variant, base] = interrupts(pair, second);
        [variant + if second % 10 == 6 { 214.0 } else { 0.0 }, base]
    };
    let found = by_periods(&rounds(-0.05, bursts), Expect::Faster);
    assert!(found.split.as_ref().unwrap().differ, "{}", found.sentence);
    decided(&found, Finding::Undecided, Verdict::Invalid);
    let without = by_periods(&rounds(-0.05, interrupts), Expect::Faster);
    assert!(!without.split.as_ref().unwrap().differ, "{}", without.sentence);
    decided(&without, Finding::Undecided, Verdict::Invalid);
    says(&without, "the steady cost of `after` is lower");
}

/// One pair of six has as many events on either side.
#[test]
fn a_total_on_the_other_side_of_nothing_decides() {
    let bursts = |pair: usize, second: usize| match (pair, second) {
        (3, 1) => [0.0, 250.0],
        (_, 6) => [214.0, 0.0],
        (3, 16) => [0.0, 10.5],
        (_, 16) => [214.0, 0.0],
        _ => [0.0, 0.0],
    };
    let found = by_periods(&rounds(-0.05, bursts), Expect::Faster);
    assert_eq!((found.finding, found.basis), (Finding::Dearer, Basis::Total), "{}", found.sentence);
    assert_eq!(found.verdict, Verdict::Fail);
}

#[test]
fn one_burst_that_takes_everything_back_leaves_it_undecided() {
    let burst =
        |pair: usize, second: usize| [if (pair, second) == (3, 7) { 2e5 } else { 0.0 }, 0.0];
    for expect in [Expect::Faster, Expect::NoSlower] {
        let found = by_periods(&rounds(-400.0, burst), expect);
        decided(&found, Finding::Undecided, Verdict::Invalid);
        says(&found, "but what rare events add is not known");
    }
}

#[test]
fn where_sides_are_not_in_step_means_are_compared_and_it_is_said() {
    let (run, mut trials) = compared_by_periods(&rounds(400.0, interrupts));
    let of_after = trials.iter_mut().filter(|trial| trial.planned.id.variant == "after");
    of_after.for_each(|trial| {
        trial.planned.order.load.as_mut().unwrap().every = model::span::Span::from_secs(5);
    });
    assert_eq!(judged(&run, &trials).basis, Basis::Mean(NoPeriods::OutOfStep));
    trials.iter_mut().for_each(|trial| trial.planned.mode = model::study::Mode::RealTime);
    let found = judged(&run, &trials);
    assert_eq!((found.basis, found.split.is_none()), (Basis::Mean(NoPeriods::RealTime), true));
    says(&found, "means are compared: time is real");
}

#[test]
fn a_cost_that_moves_to_another_process_is_no_saving() {
    let (mut run, mut trials) = compared_by_periods(&rounds(-400.0, interrupts));
    versus(&mut run).expect = Expect::Faster;
    assert_eq!(judged(&run, &trials).verdict, Verdict::Pass);
    // What the load's programs take, 1 ms a second on one side and 2 ms on the other.
    for trial in &mut trials {
        let each_ns = if trial.planned.id.variant == "after" { 2_000_000 } else { 1_000_000 };
        for (at, sample) in (0..).zip(&mut recording(trial).samples) {
            let group = model::sample::Group { usage_ns: at * each_ns, ..Default::default() };
            sample.load = Some(model::sample::Account { group: Some(group), ..Default::default() });
        }
    }
    let found = judged(&run, &trials);
    decided(&found, Finding::Cheaper, Verdict::Fail);
    assert!(found.together.unwrap().pays);
    insta::assert_snapshot!(found.sentence);
}
