//! Sleeps until the other side signals.

use super::{Ended, KINDS, Step, Wait};

/// Until something was learnt, a signal is expected within this, ns.
const UNKNOWN_NS: u64 = 2_000_000;
/// A signal is taken for lost after this many times the longest wait of late, and this many ns on top.
const TIMES: u64 = 4;
const ON_TOP_NS: u64 = 1_000_000;
/// The longest wait of late shrinks by this part with every shorter one.
const FADES: u64 = 64;

/// Sleeps until the signal. Where it does not come within a few times the usual, it looks for itself, and then
/// again after twice that: a signal that was lost costs a delay and no more. What nothing depends on it does not
/// wait for at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    longest_ns: [Option<u64>; KINDS],
    begun_ns: u64,
    kind: usize,
    /// When the signal is taken for lost, and how long was waited for it.
    next: Option<(u64, u64)>,
}

impl Wait for Event {
    fn begin(&mut self, now_ns: u64, kind: usize) {
        self.begun_ns = now_ns;
        self.kind = kind.min(KINDS - 1);
        let usual = self.longest_ns[self.kind];
        let patience = usual
            .map_or(UNKNOWN_NS, |longest| longest.saturating_mul(TIMES).saturating_add(ON_TOP_NS));
        self.next = Some((now_ns.saturating_add(patience), patience));
    }

    fn step(&mut self, now_ns: u64) -> Step {
        let (until_ns, patience) = self.next.unwrap_or((now_ns, UNKNOWN_NS));
        if now_ns < until_ns {
            return Step::Await { until_ns };
        }
        let patience = patience.saturating_mul(2);
        let until_ns = now_ns.saturating_add(patience);
        self.next = Some((until_ns, patience));
        Step::Await { until_ns }
    }

    fn defers(&self) -> bool {
        true
    }

    fn end(&mut self, ended: Ended) {
        let (until_ns, _) = self.next.take().unwrap_or((0, 0));
        // What was seen only because a signal was lost says nothing of how long it takes.
        if !ended.done || ended.at_ns >= until_ns {
            return;
        }
        let took = ended.at_ns.saturating_sub(self.begun_ns);
        let longest = &mut self.longest_ns[self.kind];
        *longest = Some(longest.map_or(took, |known| took.max(known - known / FADES)));
    }
}
