//! What a path has counted by a moment, as whoever started it asks for it.
//!
//! The path's own thread writes a mark down between two steps, so that everything in it belongs to one moment; whoever
//! asks waits for it, within a bound.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::eventfd;
use crate::driver::census::Counters;

/// A path answers within this; it never waits longer for anything.
const ANSWERS: Duration = Duration::from_secs(15);

/// What a path has counted by a moment.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    /// The moment, ns.
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
    /// Frames that were lost on the air.
    pub lost: u64,
    /// Frames that are somewhere between the two interfaces.
    pub queued: u64,
    /// Whether the card is up.
    pub running: bool,
}

/// Where marks are asked for and answered.
#[derive(Debug)]
pub struct Marks {
    asked: AtomicBool,
    stop: AtomicBool,
    wake: OwnedFd,
    answer: Mutex<Option<Mark>>,
    /// The last one, after which there will be none.
    last: Mutex<Option<Mark>>,
    answered: Condvar,
}

impl Marks {
    /// Nothing is asked yet.
    ///
    /// # Errors
    ///
    /// `EMFILE`.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            asked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            wake: eventfd()?,
            answer: Mutex::new(None),
            last: Mutex::new(None),
            answered: Condvar::new(),
        })
    }

    /// Asks for a mark; that of its end where the path has ended, `None` where it does not answer.
    pub fn ask(&self) -> Option<Mark> {
        let mut answer = locked(&self.answer);
        *answer = None;
        self.asked.store(true, Ordering::SeqCst);
        self.signal();
        loop {
            if let Some(mark) = answer.take().or_else(|| locked(&self.last).clone()) {
                return Some(mark);
            }
            let waited = self.answered.wait_timeout(answer, ANSWERS);
            let (kept, late) = waited.unwrap_or_else(PoisonError::into_inner);
            answer = kept;
            if late.timed_out() && answer.is_none() && locked(&self.last).is_none() {
                return None;
            }
        }
    }

    /// Asks the path to end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.asked.store(true, Ordering::SeqCst);
        self.signal();
    }

    fn signal(&self) {
        // It fails only where it has been signalled very often already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// What ends the path's sleep.
    pub(super) fn wake(&self) -> &OwnedFd {
        &self.wake
    }

    /// Whether something is asked.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Answers what is asked; whether the path is to end.
    pub(super) fn answer(&self, mark: impl FnOnce() -> Mark) -> bool {
        let _ = rustix::io::read(&self.wake, &mut [0; 8][..]);
        self.asked.store(false, Ordering::SeqCst);
        *locked(&self.answer) = Some(mark());
        self.answered.notify_all();
        self.stop.load(Ordering::SeqCst)
    }

    /// The path has ended.
    pub(super) fn ended(&self, mark: Mark) {
        // The lock of the answer is what whoever asks sleeps with.
        let _answer = locked(&self.answer);
        *locked(&self.last) = Some(mark);
        self.answered.notify_all();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
