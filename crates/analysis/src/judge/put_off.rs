//! Work that is put off until after the window, when the load has ended: what it takes back of what was saved.
//!
//! The rule: what the variant spends after its window beyond what the base does, a mean over pairs, belongs to the
//! difference of the windows. Where it is shown to be more, and takes back more than a tenth of what is saved, or more
//! than the margin where nothing is, the verdict is no pass. Computes; it writes no words.

use crate::{
    figures::TrialFigures,
    stats::Estimate,
    verdicts::{Deferred, Judgement},
};

/// So much of a saving may be spent after the window, as a share.
const MOST: f64 = 0.1;

/// What each pair spent after its windows.
pub(super) struct Pairs {
    /// `(variant, base)`, µs of CPU.
    spent: Vec<(f64, f64)>,
    /// How long a window is, s.
    window_s: f64,
}

impl Pairs {
    /// Of pairs of `[variant, base]`; `None` where one of them was not counted.
    pub(super) fn of(pairs: &[[&TrialFigures; 2]]) -> Option<Self> {
        let spent =
            pairs.iter().map(|[variant, base]| Some((variant.put_off_us?, base.put_off_us?)));
        let window_s = pairs.first()?[0].window_s;
        Some(Self { spent: spent.collect::<Option<_>>()?, window_s })
    }

    /// Of the pairs at these places, against what the windows differ by.
    pub(super) fn at(&self, places: &[usize], judgement: &Judgement) -> Option<Deferred> {
        let pairs: Option<Vec<(f64, f64)>> =
            places.iter().map(|place| self.spent.get(*place).copied()).collect();
        let pairs = pairs?;
        let mean = |of: fn(&(f64, f64)) -> f64| {
            Estimate::of(&pairs.iter().map(of).collect::<Vec<_>>()).map(|one| one.mean)
        };
        let each: Vec<f64> = pairs.iter().map(|(variant, base)| variant - base).collect();
        let difference = Estimate::at(&each, judgement.level)?;
        let saved_us = judgement.absolute.map_or(0.0, |one| -one.mean * self.window_s);
        Some(Deferred {
            base_us: mean(|pair| pair.1)?,
            variant_us: mean(|pair| pair.0)?,
            difference,
            share_of_saving: (saved_us > 0.0).then(|| difference.mean / saved_us),
            takes_back: self.takes_back(&difference, saved_us, judgement),
        })
    }

    /// Whether it is shown that the variant works more after its window, and that this is too much.
    fn takes_back(&self, difference: &Estimate, saved_us: f64, judgement: &Judgement) -> bool {
        let is_shown = difference.interval.is_some_and(|interval| interval.low > 0.0);
        let base_us = judgement.before.map_or(0.0, |before| before.mean * self.window_s);
        let is_much = if saved_us > 0.0 {
            difference.mean > MOST * saved_us
        } else {
            difference.mean - saved_us > judgement.margin * base_us
        };
        is_shown && is_much
    }
}

#[cfg(test)]
mod tests {
    use model::{
        sample::{Group, Sample},
        trial::Trial,
        verdict::{Expect, Verdict},
        witness::Witnessed,
    };

    use crate::{
        judge::test_data::{compared, only, pairs, recording, versus},
        verdicts::Judgement,
    };

    /// A comparison in which the variant costs so much more in its window, and spends so much after it, µs.
    fn compare(effect: f64, after_us: f64) -> Judgement {
        let (mut run, mut trials) = compared(&pairs(6, effect, 0.0005, 1));
        versus(&mut run).expect = Expect::NoSlower;
        for trial in &mut trials {
            let own = if trial.planned.id.variant == "after" { after_us } else { 100.0 };
            // No two trials are alike.
            drain(trial, own + f64::from(trial.planned.id.repetition));
        }
        only(&run, &trials)
    }

    fn drain(trial: &mut Trial, spent_us: f64) {
        let recording = recording(trial);
        let mut drained: Sample = recording.samples.last().cloned().unwrap_or_default();
        let usage_ns = drained.subject.group.unwrap_or_default().usage_ns + (spent_us * 1e3) as u64;
        drained.subject.group = Some(Group { usage_ns, ..Group::default() });
        let drained = Some(Box::new(drained));
        recording.witness = Some(Box::new(Witnessed { rounds: Vec::new(), drained }));
    }

    #[test]
    fn what_is_put_off_is_reported_and_a_little_of_it_changes_nothing() {
        // About 10 ms/s for 20 s: 42 ‰ of that are 8.4 ms.
        let judgement = compare(-0.042, 300.0);
        let deferred = judgement.deferred.unwrap();
        assert_eq!(judgement.verdict, Verdict::Pass, "{}", judgement.sentence);
        assert_eq!((deferred.base_us, deferred.variant_us), (103.5, 303.5));
        assert!((deferred.difference.mean - 200.0).abs() < 0.01);
        let share = deferred.share_of_saving.unwrap();
        assert!((0.02..0.03).contains(&share) && !deferred.takes_back, "{share}");
    }

    #[test]
    fn a_saving_that_is_spent_after_the_window_is_none() {
        let judgement = compare(-0.042, 2_100.0);
        assert_eq!(judgement.verdict, Verdict::Fail, "{}", judgement.sentence);
        let words = ", but puts work off: once the load has ended it takes 2.000 ms more for each window, 24 % of the saving: ";
        assert!(judgement.sentence.contains(words), "{}", judgement.sentence);
        assert!(judgement.deferred.unwrap().takes_back);
    }

    #[test]
    fn where_nothing_is_saved_more_than_the_margin_is_too_much() {
        assert_eq!(compare(0.0, 400.0).verdict, Verdict::Pass);
        let judgement = compare(0.0, 3_000.0);
        assert_eq!(judgement.verdict, Verdict::Fail, "{}", judgement.sentence);
        assert_eq!(judgement.deferred.unwrap().share_of_saving.filter(|share| *share < 1.0), None);
    }

    #[test]
    fn what_fails_anyway_fails_for_its_own_reason() {
        let judgement = compare(0.05, 3_000.0);
        assert_eq!(judgement.verdict, Verdict::Fail);
        assert!(!judgement.deferred.unwrap().takes_back, "{}", judgement.sentence);
    }
}
