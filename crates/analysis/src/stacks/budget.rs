//! How many bytes the explanation of stacks may take: one budget for a report, passed to whatever reads or unpacks.
//!
//! A file of a few KiB can say that it unpacks to gigabytes, and a table of a few MiB can name one string a million
//! times. Code that unpacks or copies asks here first, and does without where the answer is no: that is a doubt of the
//! recording, never the end of the report.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bytes that one recording's explanation may hold: files, what is unpacked out of them, and their symbols.
/// `docs/design/stacks.md` says what that leaves of 256 MiB.
pub const HELD: u64 = 128 << 20;

/// The same for all recordings of a report, one after the other.
pub const REPORT: u64 = 4 << 30;

/// Bytes that may still be taken. Copies share them.
#[derive(Clone, Debug)]
pub struct Budget {
    held: Arc<AtomicU64>,
    report: Arc<AtomicU64>,
    refusals: Arc<AtomicU64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(HELD, REPORT)
    }
}

impl Budget {
    fn of(held: u64, report: u64) -> Self {
        let [held, report, refusals] = [held, report, 0].map(|value| Arc::new(value.into()));
        Self { held, report, refusals }
    }

    /// For the next recording of the same report: what the one before held is dropped by now.
    #[must_use]
    pub fn for_next_recording(&self) -> Self {
        Self { report: Arc::clone(&self.report), ..Self::of(HELD, 0) }
    }

    /// Takes bytes; whether there were as many. A refusal takes nothing.
    #[must_use]
    pub fn take(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        if self.report.fetch_update(Relaxed, Relaxed, less).is_err() {
            self.refusals.fetch_add(1, Relaxed);
            return false;
        }
        if self.held.fetch_update(Relaxed, Relaxed, less).is_err() {
            self.report.fetch_add(bytes, Relaxed);
            self.refusals.fetch_add(1, Relaxed);
            return false;
        }
        true
    }

    /// How often bytes were refused.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_than_is_left_and_a_refusal_takes_nothing() {
        let budget = Budget::of(10, 15);
        let copy = budget.clone();
        assert!(budget.take(6) && !copy.take(5) && copy.take(4) && !budget.take(1));
        assert_eq!(budget.refusals(), 2);
    }

    #[test]
    fn recordings_share_the_reports_bytes() {
        let report = Budget::of(10, HELD + 1);
        assert!(report.for_next_recording().take(HELD));
        assert!(!report.for_next_recording().take(2) && report.for_next_recording().take(1));
        assert_eq!(report.refusals(), 0, "each recording has its own");
    }
}
