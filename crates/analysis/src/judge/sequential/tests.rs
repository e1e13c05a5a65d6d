//! When comparisons stop, and that looking often does not make them wrong more often.

use model::{random::Random, verdict::Expect};

use super::*;
use crate::{
    judge::test_data::{compared, pairs, recording, versus},
    paired::Paired,
    stats::t_quantile_at,
};

fn up_to(values: &[(f64, f64)], expect: Expect) -> (Run, Vec<Trial>) {
    let (mut run, trials) = compared(values);
    let most = values.len() as u32;
    let versus = versus(&mut run);
    (versus.pairs, versus.expect) = (Pairs::UpTo(most), expect);
    (run, trials)
}

fn so_far(run: &Run, trials: &[Trial]) -> Progress {
    progress(&Measured::of(run, trials), run.versus.as_ref().unwrap())
}

/// Whether it is over, the pairs that it looked at, and which look that was.
fn stage(run: &Run, trials: &[Trial]) -> (bool, u32, Option<(u32, u32)>) {
    let Progress { judgement, is_over } = so_far(run, trials);
    (is_over, judgement.pairs, judgement.look)
}

#[test]
fn a_large_effect_is_decided_at_the_first_look_and_later_pairs_do_not_change_that() {
    let (run, trials) = up_to(&pairs(24, -0.2, 0.001, 1), Expect::Faster);
    // Half a pair is no pair.
    for done in 0..12 {
        assert!(!so_far(&run, &trials[..done]).is_over, "{done}");
    }
    let at_six = so_far(&run, &trials[..12]);
    assert_eq!(stage(&run, &trials[..12]), (true, 6, Some((1, 5))), "6, 8, 12, 16, 24");
    // Of five looks each, and of each the steady part and the total.
    assert_eq!(at_six.judgement.level, 0.05 / 5.0 / 2.0);
    assert_eq!((at_six.judgement.verdict, so_far(&run, &trials)), (Verdict::Pass, at_six));
}

#[test]
fn it_is_looked_only_where_it_was_fixed_before_and_a_spent_budget_ends_it() {
    let (run, mut trials) = up_to(&pairs(12, 0.0, 0.05, 3), Expect::Same);
    let looked = |pairs: usize| stage(&run, &trials[..2 * pairs]);
    assert_eq!(looked(6), looked(7));
    assert_eq!((looked(8), looked(11)), ((false, 8, Some((2, 3))), (false, 8, Some((2, 3)))));
    assert_eq!(looked(12), (true, 12, Some((3, 3))));
    assert_eq!(so_far(&run, &trials).judgement.verdict, Verdict::Invalid);
    // One that died does not keep a run from ending.
    trials[4].outcome = model::trial::Outcome::invalid("it died");
    assert_eq!(stage(&run, &trials), (true, 11, Some((3, 3))));
}

#[test]
fn pairs_count_in_the_order_of_the_plan() {
    let (run, mut trials) = up_to(&pairs(24, -0.2, 0.001, 1), Expect::Faster);
    let sixth = trials.remove(10);
    assert!(!so_far(&run, &trials[..14]).is_over, "the sixth pair is not done");
    trials.push(sixth);
    trials.reverse();
    assert_eq!(stage(&run, &trials), (true, 6, Some((1, 5))));
}

#[test]
fn a_fixed_number_is_waited_for() {
    let (run, trials) = compared(&pairs(8, -0.2, 0.001, 1));
    assert!(!so_far(&run, &trials[..14]).is_over);
    assert_eq!(stage(&run, &trials), (true, 8, None));
    assert_eq!(so_far(&run, &trials).judgement.level, ERROR / 2.0);
}

#[test]
fn what_more_pairs_cannot_change_ends_at_once_and_without_a_comparison_there_is_no_end() {
    let (mut run, mut trials) = up_to(&pairs(24, -0.2, 0.001, 1), Expect::Faster);
    recording(&mut trials[1]).facts.clk_tck = 250;
    let found = so_far(&run, &trials[..2]);
    assert_eq!((found.is_over, found.judgement.finding), (true, Finding::NotComparable));
    run.versus = None;
    assert!(!is_decided(&run, &trials));
}

/// The mean of these differences by its standard error: what the interval of the rule compares
/// with a quantile. The quantiles of a simulation are the same every time, so they are computed once.
fn t(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let differences = || pairs.iter().map(|(variant, base)| variant - base);
    let mean = differences().sum::<f64>() / n;
    let squares: f64 = differences().map(|one| (one - mean).powi(2)).sum();
    mean / (squares / (n - 1.0) / n).sqrt()
}

#[test]
fn the_simulation_asks_what_the_rule_asks() {
    let pairs = pairs(8, 0.002, 0.002, 9);
    let level = 0.01;
    let interval = Paired::of(&pairs, level).unwrap().absolute;
    let estimate = t_quantile_at(7, 1.0 - level / 2.0);
    assert_eq!(interval.differs_from_zero(), t(&pairs).abs() > estimate);
    let half = interval.interval.unwrap().half();
    assert!((interval.mean / half * estimate - t(&pairs)).abs() < 1e-9);
}

/// The share of experiments without any effect in which some look calls the sides different.
fn wrong(experiments: u32, looks: &[u32], level: f64) -> f64 {
    let quantile =
        |look: &u32| (*look as usize, t_quantile_at(*look as usize - 1, 1.0 - level / 2.0));
    let looks: Vec<_> = looks.iter().map(quantile).collect();
    let mut random = Random::seeded(2026);
    let wrong = (0..experiments).filter(|_| {
        let pairs = pairs(24, 0.0, 0.01, random.bits());
        looks.iter().any(|(look, quantile)| t(&pairs[..*look]).abs() > *quantile)
    });
    wrong.count() as f64 / f64::from(experiments)
}

#[test]
fn over_all_looks_together_the_same_twice_is_called_different_in_at_most_one_of_twenty() {
    let looks = Pairs::UpTo(24).looks();
    let rate = wrong(4000, &looks, ERROR / looks.len() as f64);
    assert!(rate <= 0.05, "{rate}");
    assert!(rate > 0.005, "{rate}: looks that see nothing at all prove nothing");
}
