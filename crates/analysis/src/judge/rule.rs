//! From intervals to a finding, and from a finding to a verdict on what was to be shown.

use model::verdict::{Expect, Verdict};

use crate::{
    paired, power,
    stats::Estimate,
    verdicts::{Basis, Finding, Judgement, Split, Together},
};

/// Whether every pair was one machine state over again: the same base each time, and the same difference.
/// Equal differences of bases that do differ are another thing: the subject did the same in every state.
pub(super) fn is_frozen(judgement: &Judgement) -> bool {
    let still = |estimate: Option<Estimate>| estimate.is_some_and(|one| one.sd == Some(0.0));
    still(judgement.absolute) && still(judgement.before)
}

/// What the interval of a difference shows, and where it shows none, whether both sides are the same within a margin.
pub(crate) fn finding(absolute: &Estimate, is_same: bool) -> Finding {
    match absolute.interval {
        Some(interval) if interval.low > 0.0 => Finding::Dearer,
        Some(interval) if interval.high < 0.0 => Finding::Cheaper,
        Some(_) if is_same => Finding::Equivalent,
        _ => Finding::Undecided,
    }
}

/// Writes finding, verdict, and what it would take where there is none.
pub(super) fn apply(judgement: &mut Judgement) {
    let takes_back = is_put_off(judgement);
    (judgement.finding, judgement.verdict) = Bounds::of(judgement).decide(judgement.expect);
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
        judgement.pairs_needed = pairs_needed(judgement).filter(|all| *all > judgement.pairs);
    }
}

/// The pairs that would probably decide: of the total, where that alone keeps it open.
fn pairs_needed(judgement: &Judgement) -> Option<u32> {
    let Judgement { expect, level, margin, .. } = *judgement;
    let base_us = judgement.before.map_or(0.0, |before| before.mean);
    let total = awaited(judgement).filter(|_| base_us > 0.0).map(|one| one.scaled(1.0 / base_us));
    let expect = match (total, expect) {
        (Some(_), Expect::Faster) => Expect::NoSlower,
        (_, expect) => expect,
    };
    power::pairs_needed(&total.or(judgement.relative)?, margin, expect, level)
}

/// The total, where it keeps a verdict back that the steady difference alone would give. µs of CPU a second.
pub(super) fn awaited(judgement: &Judgement) -> Option<Estimate> {
    let split = judgement.split.as_ref().filter(|_| judgement.basis == Basis::Steady)?;
    let alone = Bounds { split: None, ..Bounds::of(judgement) }.decide(judgement.expect).1;
    (judgement.verdict == Verdict::Invalid && alone != Verdict::Invalid).then_some(split.total)
}

/// Whether too much is put off. Until a verdict rests on it, that is why nothing is refused.
fn is_put_off(judgement: &mut Judgement) -> bool {
    judgement.deferred.as_mut().is_some_and(|deferred| std::mem::take(&mut deferred.takes_back))
}

impl Judgement {
    /// Whether the variant is shown, with this error, to cost less than the base by at least this share of it, rare events
    /// included: what an improvement is accepted by.
    pub fn is_cheaper_by(&self, share: f64, level: f64) -> bool {
        Bounds { level, ..Bounds::of(self) }.is_cheaper_by(share)
    }
}

/// What is known of a difference and its parts, from which everything is decided.
struct Bounds<'a> {
    absolute: Option<Estimate>,
    relative: Option<Estimate>,
    split: Option<&'a Split>,
    base_us: f64,
    margin: f64,
    level: f64,
}

impl<'a> Bounds<'a> {
    fn of(judgement: &'a Judgement) -> Self {
        let Judgement { absolute, relative, margin, level, .. } = *judgement;
        let base_us = judgement.before.map_or(0.0, |before| before.mean);
        Self { absolute, relative, split: judgement.split.as_ref(), base_us, margin, level }
    }

    /// Whether an estimate, µs of CPU a second, is shown to lie below a share of the base.
    fn is_below(&self, part: &Estimate, share: f64) -> bool {
        let p = paired::below(part, share * self.base_us);
        self.relative.is_some() && p.is_some_and(|p| p <= self.level)
    }

    /// Whether all that it costs more is shown to be less than the margin: what comes rarely, too. Turned: all that it
    /// costs less.
    fn is_within(&self, is_turned: bool) -> bool {
        match self.split {
            Some(split) => self.is_below(&split.most(is_turned), self.margin),
            None => self.is_share_below(is_turned, self.margin),
        }
    }

    /// The same of the means of windows, each pair's difference as a share of its base.
    fn is_share_below(&self, is_turned: bool, share: f64) -> bool {
        self.relative.is_some_and(|relative| {
            let shown = if is_turned { relative.turned() } else { relative };
            paired::below(&shown, share).is_some_and(|p| p <= self.level)
        })
    }

    /// Whether it is cheaper by a share: in total; or steadily, where events are not shown to differ and the total shows
    /// that they take back no more than the margin.
    fn is_cheaper_by(&self, share: f64) -> bool {
        let Some(split) = self.split else { return self.is_share_below(false, -share) };
        let most = split.most(false);
        let steadily = !split.differ
            && self.is_below(&split.steady, -share)
            && self.is_below(&most, self.margin - share);
        steadily || self.is_below(&most, -share)
    }

    /// What is found, and whether that is what was to be shown. That it is cheaper or the same is said of all that it
    /// costs; a steady cost that is shown to be higher is dearer, whatever rare events may give back.
    fn decide(&self, expect: Expect) -> (Finding, Verdict) {
        let Some(absolute) = &self.absolute else { return (Finding::Undecided, Verdict::Invalid) };
        let is_no_slower = self.is_within(false);
        let is_same = is_no_slower && self.is_within(true);
        let finding = match finding(absolute, is_same) {
            Finding::Cheaper if self.split.is_some() && !self.is_cheaper_by(0.0) => {
                Finding::Undecided
            }
            finding => finding,
        };
        let verdict = match (expect, finding) {
            (Expect::NoSlower, Finding::Cheaper) => Verdict::Pass,
            (Expect::NoSlower, _) if is_no_slower => Verdict::Pass,
            (Expect::NoSlower, Finding::Dearer) if self.is_beyond() => Verdict::Fail,
            (Expect::Faster, Finding::Cheaper) => Verdict::Pass,
            (Expect::Faster, Finding::Equivalent | Finding::Dearer) => Verdict::Fail,
            (Expect::Same, _) if is_same => Verdict::Pass,
            (Expect::Same, Finding::Cheaper | Finding::Dearer) if self.is_beyond() => Verdict::Fail,
            _ => Verdict::Invalid,
        };
        (finding, verdict)
    }

    /// Whether a difference that was found matters: the whole of its interval lies beyond the margin, or that of the total.
    fn is_beyond(&self) -> bool {
        let total = self.split.map(|split| split.total.scaled(1.0 / self.base_us));
        let mut shares =
            [self.relative, total.filter(|_| self.base_us > 0.0)].into_iter().flatten();
        shares.any(|share| {
            let interval = share.interval;
            interval.is_some_and(|one| one.low > self.margin || one.high < -self.margin)
        })
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
