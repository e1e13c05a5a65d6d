//! From intervals to a finding, and from a finding to a verdict on what was to be shown.
//!
//! Pure arithmetic on a judgement's figures. It writes no words.

use model::verdict::{Expect, Verdict};

use crate::{
    paired, power,
    stats::Estimate,
    verdicts::{Basis, Finding, Judgement, Together},
};

/// Whether every pair was one machine state over again: the same base each time, and the same difference.
/// Equal differences of bases that do differ are another thing: the subject did the same in every state.
pub(super) fn is_frozen(judgement: &Judgement) -> bool {
    let still = |estimate: Option<Estimate>| estimate.is_some_and(|one| one.sd == Some(0.0));
    still(judgement.absolute) && still(judgement.before)
}

/// What the interval of the difference shows, and where it shows none, the equivalence test.
pub(crate) fn finding(absolute: &Estimate, p_equivalence: Option<f64>, level: f64) -> Finding {
    match absolute.interval {
        Some(interval) if interval.low > 0.0 => Finding::Dearer,
        Some(interval) if interval.high < 0.0 => Finding::Cheaper,
        Some(_) if p_equivalence.is_some_and(|p| p <= level) => Finding::Equivalent,
        _ => Finding::Undecided,
    }
}

/// Writes finding, verdict, and what it would take where there is none.
pub(super) fn apply(judgement: &mut Judgement) {
    let Some(absolute) = judgement.absolute else { return };
    let takes_back = is_put_off(judgement);
    judgement.finding = finding(&absolute, judgement.p_equivalence, judgement.level);
    if may_deceive(judgement) {
        judgement.finding = Finding::Undecided;
        return;
    }
    judgement.verdict = verdict(judgement);
    if others_pay(judgement) {
        judgement.verdict = Verdict::Fail;
        judgement.together = judgement.together.map(|all| Together { pays: true, ..all });
    }
    if let Some(deferred) = &mut judgement.deferred {
        deferred.takes_back = takes_back && judgement.verdict == Verdict::Pass;
        if deferred.takes_back {
            judgement.verdict = Verdict::Fail;
        }
    }
    if judgement.verdict == Verdict::Invalid {
        let Judgement { expect, level, margin, .. } = *judgement;
        judgement.pairs_needed = judgement
            .relative
            .and_then(|relative| power::pairs_needed(&relative, margin, expect, level))
            .filter(|needed| *needed > judgement.pairs);
    }
}

/// Whether too much is put off. Until a verdict rests on it, that is why nothing is refused.
fn is_put_off(judgement: &mut Judgement) -> bool {
    judgement.deferred.as_mut().is_some_and(|deferred| std::mem::take(&mut deferred.takes_back))
}

/// Whether events that are not shown to differ may take back all that the steady difference claims.
pub(super) fn may_deceive(judgement: &Judgement) -> bool {
    let base = judgement.before.map_or(0.0, |before| before.mean);
    let split = judgement.split.as_ref().filter(|_| judgement.basis == Basis::Steady);
    split.is_some_and(|split| split.may_deceive(base))
}

fn verdict(judgement: &Judgement) -> Verdict {
    let level = judgement.level;
    let relative = judgement.relative;
    let mean = relative.map(|relative| relative.mean);
    // The upper end of the interval at 1 − 2α lies below the margin.
    let below = relative.and_then(|relative| paired::below(&relative, judgement.margin));
    let below = below.is_some_and(|p| p <= level);
    let same = judgement.p_equivalence.is_some_and(|p| p <= level);
    let differs = matches!(judgement.finding, Finding::Cheaper | Finding::Dearer);
    match (judgement.expect, judgement.finding) {
        (Expect::NoSlower, Finding::Cheaper) => Verdict::Pass,
        (Expect::NoSlower, _) if below => Verdict::Pass,
        (Expect::NoSlower, Finding::Dearer) if mean.is_some_and(|mean| mean > judgement.margin) => {
            Verdict::Fail
        }
        (Expect::Faster, Finding::Cheaper) => Verdict::Pass,
        (Expect::Faster, Finding::Equivalent | Finding::Dearer) => Verdict::Fail,
        (Expect::Same, _) if same => Verdict::Pass,
        (Expect::Same, _) if differs && mean.is_some_and(|mean| mean.abs() > judgement.margin) => {
            Verdict::Fail
        }
        _ => Verdict::Invalid,
    }
}

/// Whether a verdict that the subject would pass is not passed, because all together cost more: by anything where it
/// was to be faster, else by more than the margin.
fn others_pay(judgement: &Judgement) -> bool {
    let Some(together) = &judgement.together else { return false };
    let more = together.relative.map_or(f64::INFINITY, |relative| relative.mean);
    let least = if judgement.expect == Expect::Faster { 0.0 } else { judgement.margin };
    judgement.verdict == Verdict::Pass && together.finding == Finding::Dearer && more > least
}
