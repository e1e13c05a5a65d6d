//! Sleeps for the learnt short side of a wait, and spins for the rest.
//!
//! Two things are learnt: how short a wait of a kind may be, and how much later than it asked for a sleep ends. The
//! sleep is as long as the first less the second; what is left is spun, within a bound. A wait that ends while it
//! sleeps shows nothing but that it was shorter.

use super::{Ended, KINDS, Step, Wait, learn::Quantile};

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
/// A wait of which nothing is known yet is spun through so often.
const UNKNOWN: u32 = 4;

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
    spin_bound_ns: u64,
    kind: usize,
    begun_ns: u64,
    stage: Stage,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self::within(SPIN_BOUND_NS)
    }
}

impl Hybrid {
    /// One that never spins longer than this in one wait, ns.
    pub fn within(spin_bound_ns: u64) -> Self {
        let kind = Kind { short: Quantile::of(SHORT_PERCENT), seen: 0 };
        Self {
            kinds: [kind; KINDS],
            margin: Quantile::of(MARGIN_PERCENT),
            spin_bound_ns,
            kind: 0,
            begun_ns: 0,
            stage: Stage::Begun,
        }
    }

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
}

impl Wait for Hybrid {
    fn begin(&mut self, now_ns: u64, kind: usize) {
        self.kind = kind.min(KINDS - 1);
        self.begun_ns = now_ns;
        self.stage = Stage::Begun;
    }

    fn step(&mut self, now_ns: u64) -> Step {
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
            Stage::Spinning(since) if now_ns.saturating_sub(since) < self.spin_bound_ns => {
                Step::Look
            }
            Stage::Spinning(_) => self.patience(now_ns, self.spin_bound_ns.max(1_000_000)),
            Stage::Patient(until_ns, _) if now_ns < until_ns => Step::Await { until_ns },
            Stage::Patient(_, patience) => self.patience(now_ns, patience.saturating_mul(2)),
        }
    }

    fn end(&mut self, ended: Ended) {
        if !ended.done {
            return;
        }
        let took = ended.at_ns.saturating_sub(self.begun_ns);
        let seen = &mut self.kinds[self.kind].seen;
        *seen = seen.saturating_add(1);
        match self.stage {
            Stage::Asleep(until_ns) => {
                self.learn_margin(ended.at_ns.saturating_sub(until_ns));
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
