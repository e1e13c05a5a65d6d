//! Puts several pieces of work under one signal.

use super::{Ended, Event, Step, Wait};

/// Pieces of work under one wait, at most.
const MOST: usize = 8;

/// Waits as [`Event`] does, for up to eight pieces of work at once where this many are there: the higher the rate, the
/// fewer wake-ups for each piece. It awaits each signal, because what comes meanwhile goes under the next one.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    event: Event,
    most: usize,
}

impl Batch {
    /// At most this many pieces under one wait.
    pub fn of(most: usize) -> Self {
        Self { event: Event::default(), most: most.max(1) }
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self::of(MOST)
    }
}

impl Wait for Batch {
    fn begin(&mut self, now_ns: u64, kind: usize) {
        self.event.begin(now_ns, kind);
    }

    fn step(&mut self, now_ns: u64) -> Step {
        self.event.step(now_ns)
    }

    fn end(&mut self, ended: Ended) {
        self.event.end(ended);
    }

    fn together(&self, queued: usize) -> usize {
        queued.min(self.most)
    }
}
