//! The parts of a window, as the path's own thread closes them.
//!
//! No one wakes it for that: where a part would end while it sleeps, nothing is spent until it wakes, and the part ends
//! then.

use model::completion::Period;

use super::Mark;

/// More are not kept: a window has about ten.
const MOST: usize = 1000;

/// What a path has counted when a part begins.
#[derive(Clone, Copy, Debug)]
struct Opened {
    at_ns: u64,
    cpu_ns: u64,
    air_ns: u64,
    sent: u64,
    interrupts: u64,
}

impl Opened {
    fn of(mark: &Mark) -> Self {
        let Mark { at_ns, cpu_ns, air_ns, sent, .. } = *mark;
        Self { at_ns, cpu_ns, air_ns, sent, interrupts: mark.counters.interrupts }
    }

    fn until(&self, end: &Self) -> Period {
        let air_ns = end.air_ns.saturating_sub(self.air_ns);
        Period {
            window_ns: end.at_ns - self.at_ns,
            sent: end.sent - self.sent,
            driver_ns: (end.cpu_ns - self.cpu_ns).saturating_sub(air_ns),
            air_ns,
            interrupts: end.interrupts - self.interrupts,
        }
    }
}

/// Parts of a window that are over, and the one that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Periods {
    every_ns: u64,
    ends_ns: u64,
    opened: Option<Opened>,
    closed: Vec<Period>,
}

impl Periods {
    /// A window opens with a mark, and has a part every so many ns; 0: none.
    pub(super) fn open(&mut self, mark: &Mark, every_ns: u64) {
        let opened = (every_ns > 0).then(|| Opened::of(mark));
        *self = Self { every_ns, ends_ns: mark.at_ns + every_ns, opened, closed: Vec::new() };
    }

    /// Whether the part that runs is over.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.opened.is_some() && now_ns >= self.ends_ns && self.closed.len() < MOST
    }

    /// The part that runs is over.
    pub(super) fn close(&mut self, mark: &Mark) {
        let end = Opened::of(mark);
        self.closed.extend(self.opened.replace(end).map(|begun| begun.until(&end)));
        // One that was slept through is a part of the one before.
        let passed = mark.at_ns.saturating_sub(self.ends_ns) / self.every_ns.max(1);
        self.ends_ns += (passed + 1) * self.every_ns;
    }

    /// Those that are over.
    pub(super) fn closed(&self) -> &[Period] {
        &self.closed
    }
}
