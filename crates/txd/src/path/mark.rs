//! What a path has counted by a moment, as anyone who started it asks for it, and in the parts of a window.
//!
//! The path's own thread writes a mark down between two steps, so that everything in it belongs to one moment; anyone who
//! asks ends its sleeps until it has, within a bound.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use linux::interrupt::{self, Interruptible};
use model::card::Period;

use crate::driver::census::Counters;

/// A path answers within this; it never waits longer for anything.
const ANSWERS: Duration = Duration::from_secs(15);
/// Its sleep is ended again after this, where it had just not begun to sleep.
const AGAIN: Duration = Duration::from_millis(2);
/// More periods are not kept: a window has about ten.
const MOST_PERIODS: usize = 1000;

/// What a path has counted by a moment.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    pub at_ns: u64,
    /// CPU time of its thread, ns.
    pub cpu_ns: u64,
    /// Of it, for what the model does and no driver, ns.
    pub air_ns: u64,
    /// Of it, in loops that read the command register, ns.
    pub spun_ns: u64,
    /// The driver's.
    pub counters: Counters,
    /// Frames that came out of the second interface.
    pub sent: u64,
    /// Frames that the second interface did not take.
    pub undelivered: u64,
    /// Frames that are somewhere between the two interfaces.
    pub queued: u64,
    pub running: bool,
    /// Parts of the window that are over.
    pub periods: Vec<Period>,
}

/// Where marks are asked for and answered.
#[derive(Debug, Default)]
pub struct Marks {
    asked: AtomicBool,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The path's thread, while it runs.
    thread: Option<Interruptible>,
    stops: bool,
    /// The next mark opens a window with a part every so many ns; 0: it opens none.
    opens_ns: u64,
    answer: Option<Mark>,
    /// The last one, after which there will be none.
    last: Option<Mark>,
}

impl Marks {
    /// Asks for a mark; that of its end where the path has ended, `None` where it does not answer.
    pub fn ask(&self) -> Option<Mark> {
        let mut state = self.lock();
        state.answer = None;
        self.asked.store(true, Ordering::SeqCst);
        let until = Instant::now() + ANSWERS;
        loop {
            if let Some(mark) = state.answer.take().or_else(|| state.last.clone()) {
                return Some(mark);
            }
            if Instant::now() >= until {
                return None;
            }
            // It fails only where the thread has ended, which its last mark says.
            let _ = state.thread.map(|thread| thread.interrupt());
            let waited = self.answered.wait_timeout(state, AGAIN);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The next mark that is asked for opens a window with a part every so many ns.
    pub fn open(&self, every_ns: u64) {
        self.lock().opens_ns = every_ns;
    }

    /// How long the parts of a window are that opens now, ns.
    pub(super) fn opening(&self) -> Option<u64> {
        Some(std::mem::take(&mut self.lock().opens_ns)).filter(|every_ns| *every_ns > 0)
    }

    /// Asks the path to end, and waits until it has, within a bound.
    pub fn stop(&self) {
        self.lock().stops = true;
        self.ask();
    }

    /// The calling thread is the path's from now on.
    pub(super) fn begin(&self) {
        // Where this fails, it answers when the next frame comes.
        self.lock().thread = interrupt::this_thread().ok();
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Answers what is asked; whether the path is to end.
    pub(super) fn answer(&self, mark: Mark) -> bool {
        let mut state = self.lock();
        self.asked.store(false, Ordering::SeqCst);
        state.answer = Some(mark);
        self.answered.notify_all();
        state.stops
    }

    pub(super) fn ended(&self, mark: Mark) {
        let mut state = self.lock();
        (state.thread, state.last) = (None, Some(mark));
        self.answered.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was counted between two marks.
fn period(begin: &Mark, end: &Mark) -> Period {
    let air_ns = end.air_ns.saturating_sub(begin.air_ns);
    Period {
        window_ns: end.at_ns - begin.at_ns,
        sent: end.sent - begin.sent,
        driver_ns: (end.cpu_ns - begin.cpu_ns).saturating_sub(air_ns),
        air_ns,
        interrupts: end.counters.interrupts - begin.counters.interrupts,
    }
}

/// Parts of a window that are over, and the one that runs. No one wakes the path's thread for that: where a part would
/// end while it sleeps, nothing is spent until it wakes, and the part ends then.
#[derive(Clone, Debug, Default)]
pub(super) struct Periods {
    every_ns: u64,
    ends_ns: u64,
    opened: Option<Mark>,
    closed: Vec<Period>,
}

impl Periods {
    /// A window opens with a mark, and has a part every so many ns; 0: none.
    pub(super) fn open(&mut self, mark: &Mark, every_ns: u64) {
        let opened = (every_ns > 0).then(|| mark.clone());
        *self = Self { every_ns, ends_ns: mark.at_ns + every_ns, opened, closed: Vec::new() };
    }

    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.opened.is_some() && now_ns >= self.ends_ns && self.closed.len() < MOST_PERIODS
    }

    /// The part that runs is over.
    pub(super) fn close(&mut self, mark: &Mark) {
        self.closed.extend(self.opened.replace(mark.clone()).map(|begin| period(&begin, mark)));
        // One that was slept through is a part of the one before.
        let passed = mark.at_ns.saturating_sub(self.ends_ns) / self.every_ns.max(1);
        self.ends_ns += (passed + 1) * self.every_ns;
    }

    pub(super) fn closed(&self) -> &[Period] {
        &self.closed
    }
}
