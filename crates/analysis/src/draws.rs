//! How comparisons that are drawn from a pool of real pairs are decided: what the lab finds of a difference that is
//! known, and how often it cries wolf where there is none.
//!
//! Each draw is six pairs of the pool, none twice, or all in another order, of which the judge looks at more and more
//! until it has decided; it goes to the judge of real comparisons ([`crate::judge`]). Draws share pairs and are not
//! independent: they say what this pool gives, no finer than its pairs are many. Pure; draws are seeded.

use std::collections::BTreeSet;

use model::{
    random::Random,
    run::Run,
    trial::Trial,
    verdict::{Expect, FEWEST_PAIRS, Pairs, Verdict},
};

use crate::{
    figures::Part,
    judge::{self, Evidence, Look, Question, sequential},
    measured::Measured,
    verdicts::{Finding, Judgement},
};

#[derive(Clone, Debug, PartialEq)]
pub struct Asked<'a> {
    /// The variant that is compared with.
    pub base: &'a str,
    /// The variant that may differ from it.
    pub variant: &'a str,
    pub clients: u32,
    pub expect: Expect,
    /// Whether a comparison goes on until it is decided, as far as the pool reaches; else it has six pairs.
    pub looks: bool,
    /// Comparisons at most; all that there are where they are fewer.
    pub comparisons: usize,
}

/// What the comparisons of one pool said.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drawn {
    /// Pairs of the pool, each of two real trials.
    pub pairs: u32,
    pub comparisons: u32,
    pub dearer: u32,
    pub cheaper: u32,
    /// Comparisons that called it the same within the margin.
    pub same: u32,
    pub passed: u32,
    /// Comparisons that called subject, load and others together dearer.
    pub together_dearer: u32,
    /// The pool's steady difference as a share of the base; `None` where periods are not compared.
    pub steady: Option<f64>,
    /// The pool's total difference as a share of the base.
    pub total: f64,
    /// The standard deviation of the differences of the pool's pairs that decide, as a share of the base.
    pub spread: f64,
    /// The base, µs of CPU a second.
    pub base_us_per_second: f64,
}

/// What comparisons drawn from a study's repetitions say; `None` where a question has fewer than six valid pairs.
pub fn of(run: &Run, trials: &[Trial], asked: &[Asked<'_>]) -> Vec<Option<Drawn>> {
    let measured = Measured::of(run, trials);
    asked.iter().map(|asked| drawn(&measured, asked)).collect()
}

fn drawn(measured: &Measured, asked: &Asked<'_>) -> Option<Drawn> {
    let question = Question {
        part: Part::Subject,
        expect: asked.expect,
        changes: Vec::new(),
        ..Question::between(measured, [asked.base, asked.variant], asked.clients)
    };
    let evidence = Evidence::of(measured, &question);
    let pairs = evidence.judged.whole.len();
    if pairs < FEWEST_PAIRS as usize {
        return None;
    }
    let judge = |places: &[usize]| judge::of(&question, &evidence, Look::ONLY, places);
    let all: Vec<usize> = (0..pairs).collect();
    let mut drawn = pool(&judge(&all));
    if asked.looks {
        for order in orders(pairs, asked.comparisons) {
            let all = Pairs::UpTo(pairs as u32);
            drawn.count(&sequential::looked(&question, &evidence, all, &order).judgement);
        }
    } else {
        sixes(pairs, asked.comparisons).iter().for_each(|six| drawn.count(&judge(six)));
    }
    Some(drawn)
}

/// What all pairs say together.
fn pool(all: &Judgement) -> Drawn {
    let base = all.before.map_or(0.0, |before| before.mean);
    let after = all.after.map_or(0.0, |after| after.mean);
    let of_base = |us_per_second: f64| us_per_second / base;
    Drawn {
        pairs: all.pairs,
        steady: all.split.as_ref().map(|split| of_base(split.steady.mean)),
        total: of_base(after - base),
        spread: all.absolute.and_then(|absolute| absolute.sd).map_or(0.0, of_base),
        base_us_per_second: base,
        ..Drawn::default()
    }
}

impl Drawn {
    fn count(&mut self, judgement: &Judgement) {
        let together = judgement.together.map(|together| together.finding);
        self.comparisons += 1;
        self.dearer += u32::from(judgement.finding == Finding::Dearer);
        self.cheaper += u32::from(judgement.finding == Finding::Cheaper);
        self.same += u32::from(judgement.finding == Finding::Equivalent);
        self.passed += u32::from(judgement.verdict == Verdict::Pass);
        self.together_dearer += u32::from(together == Some(Finding::Dearer));
    }
}

/// Different seeded orders of this many places.
fn orders(places: usize, orders: usize) -> Vec<Vec<usize>> {
    let mut random = Random::seeded(places as u64);
    let mut order: Vec<usize> = (0..places).collect();
    let next = |_| {
        random.shuffle(&mut order);
        order.clone()
    };
    (0..orders).map(next).collect()
}

/// Six places out of so many: all choices there are, or so many different seeded ones.
pub(crate) fn sixes(places: usize, most: usize) -> Vec<Vec<usize>> {
    let chosen = FEWEST_PAIRS as usize;
    let all = (0..chosen).fold(1u128, |all, at| all * (places - at) as u128 / (at + 1) as u128);
    let mut random = Random::seeded(places as u64);
    let mut found = BTreeSet::new();
    while found.len() < most.min(usize::try_from(all).unwrap_or(most)) {
        found.insert(random.choose(chosen, places));
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::test_data::{CLIENTS, compared, pairs};

    /// What is drawn from these pairs, by six or looked at more and more; `None` where they are too few.
    fn drawn(values: &[(f64, f64)], expect: Expect, looks: bool) -> Option<Drawn> {
        let (mut run, trials) = compared(values);
        run.versus = None;
        let [base, variant] = ["before", "after"];
        let asked = Asked { base, variant, clients: CLIENTS, expect, looks, comparisons: 100 };
        of(&run, &trials, &[asked]).remove(0)
    }

    #[test]
    fn every_choice_is_taken_once_where_there_are_few() {
        assert_eq!(sixes(6, 100), [vec![0, 1, 2, 3, 4, 5]]);
        assert_eq!((sixes(9, 100).len(), sixes(20, 2000).len()), (84, 2000));
        assert!(sixes(9, 100).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn what_differs_is_found_and_what_does_not_is_not() {
        let found = drawn(&pairs(12, 0.002, 0.000_2, 3), Expect::NoSlower, false).unwrap();
        assert_eq!((found.pairs, found.comparisons, found.dearer), (12, 100, 100));
        assert!((found.total - 0.002).abs() < 2e-4 && found.spread < 5e-4, "{found:?}");
        let found = drawn(&pairs(12, 0.0, 0.000_2, 4), Expect::Same, false).unwrap();
        assert!(found.dearer + found.cheaper <= 10 && found.passed >= 90, "{found:?}");
        assert_eq!(drawn(&pairs(5, 0.0, 0.001, 1), Expect::Same, false), None);
    }

    #[test]
    fn a_comparison_that_goes_on_passes_where_six_pairs_cannot() {
        let pairs = pairs(16, 0.0, 0.004, 5);
        let passed = |looks| drawn(&pairs, Expect::Same, looks).unwrap().passed;
        assert!(passed(true) > passed(false), "{} {}", passed(true), passed(false));
    }
}
