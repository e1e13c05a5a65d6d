//! Decisions on made-up pairs, and their sentences.

use model::{
    study::{Count, Function},
    trial::Outcome,
};

use super::*;
use crate::{
    analyse, fixture,
    judge::test_data::{compared, counted, pairs, recording, versus},
};

fn judged(run: &Run, trials: &[Trial]) -> Judgement {
    let mut found = judgements(run, trials);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn of(values: &[(f64, f64)], expect: Expect) -> Judgement {
    let (mut run, trials) = compared(values);
    versus(&mut run).expect = expect;
    judged(&run, &trials)
}

#[test]
fn what_is_cheaper_passes_whatever_was_asked_but_sameness() {
    let values = pairs(6, -0.2, 0.001, 1);
    for (expect, verdict) in [
        (Expect::NoSlower, Verdict::Pass),
        (Expect::Faster, Verdict::Pass),
        (Expect::Same, Verdict::Fail),
    ] {
        let found = of(&values, expect);
        assert_eq!(
            (found.finding, found.verdict),
            (Finding::Cheaper, verdict),
            "{}",
            found.sentence
        );
    }
}

#[test]
fn what_is_dearer_by_more_than_the_margin_fails() {
    let values = pairs(6, 0.02, 0.001, 2);
    for expect in [Expect::NoSlower, Expect::Faster, Expect::Same] {
        let found = of(&values, expect);
        assert_eq!(
            (found.finding, found.verdict),
            (Finding::Dearer, Verdict::Fail),
            "{}",
            found.sentence
        );
    }
}

#[test]
fn what_is_dearer_by_less_than_the_margin_is_told_and_passes() {
    let values = pairs(8, 0.002, 0.000_2, 3);
    let found = of(&values, Expect::Same);
    assert_eq!((found.finding, found.verdict), (Finding::Dearer, Verdict::Pass));
    assert!(found.sentence.contains("different from `before`"), "{}", found.sentence);
    assert!(found.sentence.contains("by less than the margin of 0.50 %"), "{}", found.sentence);
    assert_eq!(of(&values, Expect::NoSlower).verdict, Verdict::Pass);
    assert_eq!(of(&values, Expect::Faster).verdict, Verdict::Fail);
}

#[test]
fn the_same_is_shown_by_the_equivalence_test() {
    // Symmetrical about 0, so that the interval holds it.
    let values: Vec<_> = (0..8)
        .map(|at| (10_000.0 + f64::from(at - 4) + 0.5, 10_000.0 + 0.1 * f64::from(at)))
        .collect();
    let found = of(&values, Expect::Same);
    assert_eq!(
        (found.finding, found.verdict),
        (Finding::Equivalent, Verdict::Pass),
        "{}",
        found.sentence
    );
    assert!(found.p_equivalence.unwrap() < 1e-4 && found.p.unwrap() > 0.05);
    assert_eq!(of(&values, Expect::Faster).verdict, Verdict::Fail);
}

#[test]
fn a_wide_spread_decides_nothing_and_says_what_it_would_take() {
    let found = of(&pairs(6, 0.0, 0.01, 5), Expect::NoSlower);
    assert_eq!(
        (found.finding, found.verdict),
        (Finding::Undecided, Verdict::Invalid),
        "{}",
        found.sentence
    );
    let needed = found.pairs_needed.unwrap();
    assert!(needed > 6);
    assert!(
        found.sentence.ends_with(&format!("it would probably take {needed} pairs")),
        "{}",
        found.sentence
    );
    assert!(found.detectable.unwrap() > 0.005);
}

#[test]
fn pairs_that_are_equal_in_many_states_are_the_same_and_in_one_state_nothing() {
    let many: Vec<_> =
        (0..6).map(|at| (10_000.0 + f64::from(at), 10_000.0 + f64::from(at))).collect();
    let found = of(&many, Expect::Same);
    assert_eq!((found.finding, found.verdict), (Finding::Equivalent, Verdict::Pass));
    assert_eq!((found.p, found.detectable), (Some(1.0), Some(0.0)));
    let one = of(&[(10_100.0, 10_000.0); 6], Expect::NoSlower);
    assert_eq!((one.finding, one.verdict), (Finding::NotComparable, Verdict::Invalid));
    assert!(one.sentence.contains("one frozen state"), "{}", one.sentence);
}

#[test]
fn five_pairs_are_too_few() {
    let found = of(&pairs(5, -0.2, 0.001, 1), Expect::Faster);
    assert_eq!((found.verdict, found.pairs), (Verdict::Invalid, 5));
    assert!(
        found.sentence.starts_with("invalid: too few pairs: 5 of 5 planned are whole"),
        "{}",
        found.sentence
    );
}

#[test]
fn an_invalid_trial_takes_its_pair_with_it_and_is_told() {
    let (run, mut trials) = compared(&pairs(8, -0.2, 0.001, 1));
    trials[3].outcome = Outcome::Invalid { why: "it died".to_owned(), console: Vec::new() };
    let found = judged(&run, &trials);
    assert_eq!((found.verdict, found.pairs, found.differences.len()), (Verdict::Pass, 7, 7));
    assert!(found.sentence.contains("7 of 8 planned pairs"), "{}", found.sentence);
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
    assert_eq!((found.finding, found.verdict), (Finding::NoOp, Verdict::Invalid));
    assert!(
        found.sentence.starts_with("no-op: this code never ran here: `apply` was"),
        "{}",
        found.sentence
    );
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
fn what_is_counted_on_both_sides_is_told_as_rates_and_found_by_its_symbol() {
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
        read: None,
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
fn what_differs_beside_the_named_makes_it_invalid() {
    let (run, mut trials) = compared(&pairs(6, -0.2, 0.001, 1));
    recording(&mut trials[5]).facts.governor = Some("powersave".to_owned());
    let found = judged(&run, &trials);
    assert_eq!((found.finding, found.verdict), (Finding::NotComparable, Verdict::Invalid));
    assert_eq!(found.strangers, ["the governor: unknown in `before`, powersave in `after`"]);
    assert!(found.sentence.contains("the governor"), "{}", found.sentence);
}

#[test]
fn a_study_judges_fixes_and_no_rivals() {
    let run = fixture::stations();
    let found = analyse(&run, &fixture::trials(&run)).judgements;
    let told: Vec<_> = found
        .iter()
        .map(|one| (one.variant.as_str(), one.base.as_str(), one.part, one.finding))
        .collect();
    assert_eq!(
        told,
        [
            ("trace-gate", "found", Part::Subject, Finding::Cheaper),
            ("write-on-change", "trace-gate", Part::Subject, Finding::Cheaper),
            ("brief", "write-on-change", Part::Subject, Finding::Cheaper),
            ("bulk", "brief", Part::Subject, Finding::Cheaper),
            ("slower-cadence", "bulk", Part::Subject, Finding::Cheaper),
        ]
    );
    assert!(found.iter().all(|one| one.clients == 114 && one.pairs == 6 && one.level == ERROR));
}

#[test]
fn a_study_that_names_no_bases_judges_nothing() {
    let run = fixture::run();
    assert_eq!(analyse(&run, &fixture::trials(&run)).judgements, []);
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
