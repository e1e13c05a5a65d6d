//! Sleeps for the learnt short side of a wait, and spins for the rest.
//!
//! Two things are learnt: how short a wait of a kind may be, and how much later than it asked for a sleep ends. The
//! sleep is as long as the first less the second; what is left is spun, within a bound. A wait that ends while it
//! sleeps shows nothing but that it was shorter.

use super::{KINDS, Step};

/// Waits shorter than this many hundredths of the others are the short side.
const SHORT_PERCENT: u64 = 10;
/// This many hundredths of the sleeps end within the margin.
const MARGIN_PERCENT: u64 = 85;
/// On top of the margin, ns: a look at the clock and at the device.
const LOOK_NS: u64 = 500;
/// Sleeps shorter than this are not worth a context switch, ns.
const SHORTEST_SLEEP_NS: u64 = 5_000;
/// Spins at most so long in a wait, ns.
const SPIN_BOUND_NS: u64 = 200_000;
/// Then it awaits the signal for so long, ns, and for twice as long each time after.
const PATIENCE_NS: u64 = 1_000_000;
/// A wait of which nothing is known yet is spun through so often.
const UNKNOWN: u32 = 4;

/// The steps of an estimate are this part of it, and at least this many ns.
const STEP_PART: u64 = 16;
const LEAST_STEP_NS: u64 = 64;

/// Where in its wait it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has not slept yet.
    Begun,
    /// It sleeps until a moment.
    Asleep(u64),
    /// It spins since a moment.
    Spinning(u64),
    /// It has spun for its bound and awaits the signal, for twice as long each time.
    Patient(u64, u64),
}

/// What is known of a kind of waits.
#[derive(Clone, Copy, Debug)]
struct Kind {
    short: Quantile,
    seen: u32,
}

/// Sleeps, then spins; see the module.
#[derive(Clone, Copy, Debug)]
pub struct Hybrid {
    kinds: [Kind; KINDS],
    margin: Quantile,
    kind: usize,
    begun_ns: u64,
    stage: Stage,
}

impl Default for Hybrid {
    fn default() -> Self {
        let kind = Kind { short: Quantile::of(SHORT_PERCENT), seen: 0 };
        Self {
            kinds: [kind; KINDS],
            margin: Quantile::of(MARGIN_PERCENT),
            kind: 0,
            begun_ns: 0,
            stage: Stage::Begun,
        }
    }
}

impl Hybrid {
    /// How long a wait of a kind may sleep; `None` where it should not.
    fn sleep_ns(&self) -> Option<u64> {
        let kind = self.kinds[self.kind];
        if kind.seen < UNKNOWN {
            return None;
        }
        let margin = self.margin.get().unwrap_or(0).saturating_add(LOOK_NS);
        let sleep = kind.short.get()?.saturating_sub(margin);
        (sleep >= SHORTEST_SLEEP_NS).then_some(sleep)
    }

    /// A sleep that ends later than the whole wait says no more than that it was too late: one of a busy moment shall
    /// not keep it from sleeping for long.
    fn learn_margin(&mut self, late_ns: u64) {
        let whole = self.kinds[self.kind].short.get().unwrap_or(late_ns);
        self.margin.learn(late_ns.min(whole));
    }

    fn patience(&mut self, now_ns: u64, patience: u64) -> Step {
        let until_ns = now_ns.saturating_add(patience);
        self.stage = Stage::Patient(until_ns, patience);
        Step::Await { until_ns }
    }

    pub(super) fn begin(&mut self, now_ns: u64, kind: usize) {
        (self.begun_ns, self.kind, self.stage) = (now_ns, kind, Stage::Begun);
    }

    pub(super) fn step(&mut self, now_ns: u64) -> Step {
        match self.stage {
            Stage::Begun => match self.sleep_ns() {
                Some(sleep) => {
                    let until_ns = self.begun_ns.saturating_add(sleep);
                    self.stage = Stage::Asleep(until_ns);
                    Step::Sleep { until_ns }
                }
                None => {
                    // A margin that forbids every sleep would never be learnt anew.
                    self.margin.fade();
                    self.stage = Stage::Spinning(now_ns);
                    Step::Look
                }
            },
            // Somebody woke it early: what is left is slept too.
            Stage::Asleep(until_ns) if now_ns < until_ns => Step::Sleep { until_ns },
            Stage::Asleep(until_ns) => {
                self.learn_margin(now_ns - until_ns);
                self.stage = Stage::Spinning(now_ns);
                Step::Look
            }
            Stage::Spinning(since) if now_ns.saturating_sub(since) < SPIN_BOUND_NS => Step::Look,
            Stage::Spinning(_) => self.patience(now_ns, PATIENCE_NS),
            Stage::Patient(until_ns, _) if now_ns < until_ns => Step::Await { until_ns },
            Stage::Patient(_, patience) => self.patience(now_ns, patience.saturating_mul(2)),
        }
    }

    pub(super) fn learn(&mut self, at_ns: u64) {
        let took = at_ns.saturating_sub(self.begun_ns);
        let seen = &mut self.kinds[self.kind].seen;
        *seen = seen.saturating_add(1);
        match self.stage {
            Stage::Asleep(until_ns) => {
                self.learn_margin(at_ns.saturating_sub(until_ns));
                // It was done some time during the sleep: at most this, and perhaps much less. Half the sleep is
                // where the next ones begin to look.
                let asleep = until_ns.saturating_sub(self.begun_ns);
                let slept_past =
                    self.kinds[self.kind].short.get().is_some_and(|short| took > short);
                if !slept_past {
                    self.kinds[self.kind].short.learn(asleep / 2);
                }
            }
            Stage::Begun | Stage::Spinning(_) | Stage::Patient(..) => {
                self.kinds[self.kind].short.learn(took);
            }
        }
    }
}

/// A quantile that is learnt from one value after another, without keeping them, ns.
///
/// Each value moves the estimate up or down by a step, in the ratio of the quantile: it comes to rest where as many
/// values are above it as the quantile says (stochastic approximation, Robbins and Monro 1951). The step follows the
/// estimate, so that it adapts to what has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Quantile {
    percent: u64,
    estimate_ns: Option<u64>,
}

impl Quantile {
    /// Of this many hundredths, 1 to 99.
    const fn of(percent: u64) -> Self {
        Self { percent, estimate_ns: None }
    }

    /// What was learnt; `None` before the first value.
    fn get(self) -> Option<u64> {
        self.estimate_ns
    }

    /// Forgets a little: where what was learnt keeps new values from coming.
    fn fade(&mut self) {
        self.estimate_ns = self.estimate_ns.map(|estimate| estimate - estimate / (4 * STEP_PART));
    }

    fn learn(&mut self, value_ns: u64) {
        let Some(estimate) = self.estimate_ns else {
            self.estimate_ns = Some(value_ns);
            return;
        };
        let step = (estimate / STEP_PART).max(LEAST_STEP_NS);
        self.estimate_ns = Some(match value_ns.cmp(&estimate) {
            // Never beyond the value itself: one that does not vary is met exactly.
            std::cmp::Ordering::Greater => {
                estimate.saturating_add((step * self.percent / 100).max(1)).min(value_ns)
            }
            std::cmp::Ordering::Less => {
                estimate.saturating_sub((step * (100 - self.percent) / 100).max(1)).max(value_ns)
            }
            std::cmp::Ordering::Equal => estimate,
        });
    }
}

#[cfg(test)]
mod tests {
    use model::random::Random;

    use super::*;

    #[test]
    fn a_quantile_comes_to_rest_where_it_should() {
        let mut random = Random::seeded(1);
        let mut low = Quantile::of(10);
        let mut high = Quantile::of(80);
        assert_eq!(low.get(), None);
        for _ in 0..20_000 {
            let value = 100_000 + random.below(100_000);
            low.learn(value);
            high.learn(value);
        }
        let (low, high) = (low.get().unwrap(), high.get().unwrap());
        assert!((100_000..125_000).contains(&low), "{low}");
        assert!((165_000..195_000).contains(&high), "{high}");
    }

    #[test]
    fn it_follows_what_has_changed_and_meets_what_does_not_vary() {
        let mut low = Quantile::of(5);
        (0..100).for_each(|_| low.learn(150_000));
        assert_eq!(low.get(), Some(150_000));
        (0..100).for_each(|_| low.learn(50_000));
        assert_eq!(low.get(), Some(50_000));
        (0..2000).for_each(|_| low.learn(300_000));
        assert_eq!(low.get(), Some(300_000));
    }
}
