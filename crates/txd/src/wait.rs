//! Ways to wait for a device or a peer, from user space: a small library of its own.
//!
//! A [`Wait`] decides; it is pure, and is told the time. A [`Host`] is the world: a clock, a sleep, and a signal
//! that the other side may give. [`wait_for`] brings both together for anyone who just wants to wait:
//!
//! ```
//! use txd::wait::{self, Bound, Strategy, Wait, clock::Clock};
//!
//! // Something that is done 200 µs from now, and that gives no signal.
//! let mut host = Clock::default();
//! let done_at = wait::Host::now(&mut host) + 200_000;
//! let mut wait = Wait::new(Strategy::Hybrid);
//! let waited = wait::wait_for(&mut wait, &mut host, Bound::of_ms(20), |now| now >= done_at);
//! assert!(waited.is_ok());
//! ```
//!
//! | strategy | right where | costs |
//! | --- | --- | --- |
//! | `Busy` | the wait is shorter than two context switches | a CPU for the whole wait |
//! | `Event` | the other side signals, and a wake-up's delay does no harm | two context switches |
//! | `Hybrid` | waits resemble each other and the end must be seen at once | a wake-up and a short spin |
//! | `Batch` | many waits follow each other and one signal may stand for several | two context switches a batch |
//!
//! `docs/guide/waiting.md` has measured figures. Nothing here waits without a bound.

pub mod clock;
mod hybrid;
#[cfg(test)]
mod tests;

pub use model::card::Strategy;

use self::hybrid::Hybrid;

/// Kinds of waits that a strategy learns apart; see [`Wait::begin`].
pub const KINDS: usize = 4;
/// Pieces of work under one wait of `Batch`, at most.
const MOST_TOGETHER: usize = 8;
/// Until something was learnt, a signal is expected within this, ns.
const UNKNOWN_NS: u64 = 2_000_000;
/// A signal is taken for lost after this many times the longest wait of late, and this many ns on top.
const TIMES: u64 = 4;
const ON_TOP_NS: u64 = 1_000_000;
/// The longest wait of late shrinks by this part with every shorter one.
const FADES: u64 = 64;

/// What to do next while what is waited for is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Look again, at once.
    Look,
    /// Sleep until a moment, ns of the host's clock, signal or not, and look.
    Sleep { until_ns: u64 },
    /// Sleep until the other side signals, or until a moment at the latest, and look.
    Await { until_ns: u64 },
}

/// A way to wait, and what it has learnt.
#[derive(Clone, Debug)]
pub enum Wait {
    /// Looks until it is done, interrupts masked meanwhile: the old default of drivers.
    Busy,
    /// Sleeps until the signal.
    Event(Event),
    /// Sleeps for the learnt short side of a wait, and spins for the rest.
    Hybrid(Hybrid),
    /// As `Event`, for up to eight pieces of work at once where this many are there: the higher the rate, the fewer
    /// wake-ups for each piece. It awaits each signal, because what comes meanwhile goes under the next one.
    Batch(Event),
}

impl Wait {
    /// One that has learnt nothing yet.
    pub fn new(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Busy => Self::Busy,
            Strategy::Event => Self::Event(Event::default()),
            Strategy::Hybrid => Self::Hybrid(Hybrid::default()),
            Strategy::Batch => Self::Batch(Event::default()),
        }
    }

    /// A wait begins. Waits of one kind (below [`KINDS`]) are expected to take about as long as each other.
    pub fn begin(&mut self, now_ns: u64, kind: usize) {
        match self {
            Self::Busy => {}
            Self::Event(event) | Self::Batch(event) => event.begin(now_ns, kind.min(KINDS - 1)),
            Self::Hybrid(hybrid) => hybrid.begin(now_ns, kind.min(KINDS - 1)),
        }
    }

    /// It is not done yet: what to do next. The caller cuts what this says at its own bound.
    pub fn step(&mut self, now_ns: u64) -> Step {
        match self {
            Self::Busy => Step::Look,
            Self::Event(event) | Self::Batch(event) => event.step(now_ns),
            Self::Hybrid(hybrid) => hybrid.step(now_ns),
        }
    }

    /// The wait has ended at a moment: with what was waited for, or because it was given up or put off.
    pub fn end(&mut self, at_ns: u64, done: bool) {
        match self {
            Self::Event(event) | Self::Batch(event) if done => event.learn(at_ns),
            Self::Hybrid(hybrid) if done => hybrid.learn(at_ns),
            _ => {}
        }
    }

    /// How many pieces of work to put under one wait where this many are there.
    pub fn together(&self, queued: usize) -> usize {
        queued.min(if matches!(self, Self::Batch(_)) { MOST_TOGETHER } else { 1 })
    }

    /// Whether a wait may be put off while nothing depends on its end. Anyone who waits then asks for no signal and goes
    /// its way, looks when there is more to do, and ends the wait as one that was given up where it is done by then.
    pub fn defers(&self) -> bool {
        matches!(self, Self::Event(_))
    }

    /// Whether interrupts are masked for the whole wait, as in a driver's critical section.
    pub fn masks(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

/// Sleeps until the signal. Where it does not come within a few times the usual, it looks for itself, and then
/// again after twice that: a signal that was lost costs a delay and no more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    longest_ns: [Option<u64>; KINDS],
    begun_ns: u64,
    kind: usize,
    /// When the signal is taken for lost, and how long was waited for it.
    until_ns: u64,
    patience_ns: u64,
}

impl Event {
    fn begin(&mut self, now_ns: u64, kind: usize) {
        (self.begun_ns, self.kind) = (now_ns, kind);
        let usual = self.longest_ns[kind];
        let patience = |longest: u64| longest.saturating_mul(TIMES).saturating_add(ON_TOP_NS);
        self.patience_ns = usual.map_or(UNKNOWN_NS, patience);
        self.until_ns = now_ns.saturating_add(self.patience_ns);
    }

    fn step(&mut self, now_ns: u64) -> Step {
        if now_ns >= self.until_ns {
            self.patience_ns = self.patience_ns.saturating_mul(2);
            self.until_ns = now_ns.saturating_add(self.patience_ns);
        }
        Step::Await { until_ns: self.until_ns }
    }

    fn learn(&mut self, at_ns: u64) {
        // What was seen only because a signal was lost says nothing of how long it takes.
        if at_ns < self.until_ns {
            let took = at_ns.saturating_sub(self.begun_ns);
            let longest = &mut self.longest_ns[self.kind];
            *longest = Some(longest.map_or(took, |known| took.max(known - known / FADES)));
        }
    }
}

/// The world in which is waited.
pub trait Host {
    /// The time, ns; it never goes back.
    fn now(&mut self) -> u64;

    /// Sleeps until a moment, as exactly as the world can.
    fn sleep_until(&mut self, until_ns: u64);

    /// Sleeps until the other side signals, or until a moment at the latest; whether it signalled.
    fn await_signal(&mut self, until_ns: u64) -> bool;
}

/// How long a wait may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// From its beginning, ns.
    pub within_ns: u64,
    /// The kind of the wait, below [`KINDS`].
    pub kind: usize,
}

impl Bound {
    /// This many milliseconds, for the first kind of waits.
    pub const fn of_ms(ms: u64) -> Self {
        Self { within_ns: ms * 1_000_000, kind: 0 }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// From its beginning until its end was seen, ns.
    pub took_ns: u64,
    /// Of it, in looking again and again, ns.
    pub spun_ns: u64,
    pub slept: u32,
    /// How often it was signalled.
    pub signals: u32,
}

/// It was not done within its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was not done after {} µs: look whether the other side still lives", .waited.took_ns / 1000)]
pub struct TimedOut {
    pub waited: Waited,
}

/// Waits until something is done. The question gets the time at which it is asked, ns.
/// Fails with [`TimedOut`] after the bound; the answer was still no then.
pub fn wait_for(
    wait: &mut Wait,
    host: &mut impl Host,
    bound: Bound,
    mut done: impl FnMut(u64) -> bool,
) -> Result<Waited, TimedOut> {
    let begun = host.now();
    let until = begun.saturating_add(bound.within_ns);
    wait.begin(begun, bound.kind);
    let mut waited = Waited::default();
    let mut now = begun;
    let done = loop {
        if done(now) {
            break true;
        }
        if now >= until {
            break false;
        }
        let step = wait.step(now);
        let asked = now;
        match step {
            Step::Look => std::hint::spin_loop(),
            Step::Sleep { until_ns } => host.sleep_until(until_ns.min(until)),
            Step::Await { until_ns } => {
                waited.signals += u32::from(host.await_signal(until_ns.min(until)));
            }
        }
        now = host.now();
        match step {
            Step::Look => waited.spun_ns += now.saturating_sub(asked),
            Step::Sleep { .. } | Step::Await { .. } => waited.slept += 1,
        }
    };
    waited.took_ns = now.saturating_sub(begun);
    wait.end(now, done);
    if done { Ok(waited) } else { Err(TimedOut { waited }) }
}
