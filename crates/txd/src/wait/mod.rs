//! Ways to wait for a device or a peer, from user space: a small library of its own.
//!
//! A [`Wait`] decides; it is pure, and is told the time. A [`Host`] is the world: a clock, a sleep, and a signal
//! that the other side may give. [`wait_for`] brings both together for anyone who just wants to wait:
//!
//! ```
//! use txd::wait::{self, Hybrid, clock::Clock};
//!
//! // Something that is done 200 µs from now, and that gives no signal.
//! let mut host = Clock::default();
//! let done_at = wait::Host::now(&mut host) + 200_000;
//! let mut strategy = Hybrid::default();
//! let waited = wait::wait_for(&mut strategy, &mut host, wait::Bound::of_ms(20), |now| now >= done_at);
//! assert!(waited.is_ok());
//! ```
//!
//! | strategy | right where | costs |
//! | --- | --- | --- |
//! | [`Busy`] | the wait is shorter than two context switches | a CPU for the whole wait |
//! | [`Event`] | the other side signals, and a wake-up's delay does no harm | two context switches |
//! | [`Hybrid`] | waits resemble each other and the end must be seen at once | a wake-up and a short spin |
//! | [`Batch`] | many waits follow each other and one signal may stand for several | two context switches a batch |
//!
//! `docs/guide/waiting.md` has measured figures. Nothing here waits without a bound.

mod batch;
mod busy;
pub mod clock;
mod event;
mod hybrid;
mod learn;
#[cfg(test)]
mod tests;

pub use self::{batch::Batch, busy::Busy, event::Event, hybrid::Hybrid};

/// Kinds of waits that a strategy learns apart; see [`Wait::begin`].
pub const KINDS: usize = 8;

/// What to do next while what is waited for is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Look again, at once.
    Look,
    /// Sleep until a moment, signal or not, and look.
    Sleep {
        /// Until when, ns of the host's clock.
        until_ns: u64,
    },
    /// Sleep until the other side signals, or until a moment, and look.
    Await {
        /// Until when at the latest, ns of the host's clock.
        until_ns: u64,
    },
}

/// How a wait ended, for anyone who learns from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When it was seen, ns of the host's clock.
    pub at_ns: u64,
    /// Whether it was waited for until it was done: false is a wait that was given up or put off.
    pub done: bool,
}

pub trait Wait: std::fmt::Debug + Send {
    /// A wait begins. Waits of one kind (below [`KINDS`]) are expected to take about as long as each other.
    fn begin(&mut self, now_ns: u64, kind: usize);

    /// It is not done yet: what to do next. The caller cuts what this says at its own bound.
    fn step(&mut self, now_ns: u64) -> Step;

    fn end(&mut self, ended: Ended);

    /// How many pieces of work to put under one wait where this many are there; at least one.
    fn together(&self, queued: usize) -> usize {
        queued.min(1)
    }

    /// Whether a wait may be put off while nothing depends on its end. Anyone who waits then asks for no signal and goes
    /// its way, looks when there is more to do, and ends the wait as one that was given up where it is done by then.
    fn defers(&self) -> bool {
        false
    }

    /// Whether interrupts are masked for the whole wait, as in a driver's critical section.
    fn masks(&self) -> bool {
        false
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

    /// Interrupts are masked from now on ([`Wait::masks`]).
    fn mask(&mut self) {}

    /// They are not any more.
    fn unmask(&mut self) {}
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

/// Waits until something is done, by a strategy. The question gets the time at which it is asked, ns.
///
/// # Errors
///
/// [`TimedOut`] after the bound; the answer was still no then.
pub fn wait_for(
    strategy: &mut dyn Wait,
    host: &mut dyn Host,
    bound: Bound,
    mut done: impl FnMut(u64) -> bool,
) -> Result<Waited, TimedOut> {
    let begun = host.now();
    let until = begun.saturating_add(bound.within_ns);
    let masks = strategy.masks();
    strategy.begin(begun, bound.kind);
    if masks {
        host.mask();
    }
    let mut waited = Waited::default();
    let mut now = begun;
    let done = loop {
        if done(now) {
            break true;
        }
        if now >= until {
            break false;
        }
        let asked = now;
        match strategy.step(now) {
            Step::Look => {
                std::hint::spin_loop();
                now = host.now();
                waited.spun_ns += now.saturating_sub(asked);
            }
            Step::Sleep { until_ns } => {
                host.sleep_until(until_ns.min(until));
                waited.slept += 1;
                now = host.now();
            }
            Step::Await { until_ns } => {
                waited.signals += u32::from(host.await_signal(until_ns.min(until)));
                waited.slept += 1;
                now = host.now();
            }
        }
    };
    if masks {
        host.unmask();
    }
    waited.took_ns = now.saturating_sub(begun);
    strategy.end(Ended { at_ns: now, done });
    if done { Ok(waited) } else { Err(TimedOut { waited }) }
}
