//! When comparisons stop. That looking often does not make them wrong more often is in [`super::super::tests`].

use model::verdict::Expect;

use super::*;
use crate::judge::test_data::{compared, pairs, recording, versus};

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
