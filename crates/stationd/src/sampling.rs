//! When stations are read although no one asks for them.
//!
//! Two reasons: the configuration says so, or a driver's byte counters have 32 bits and would pass their end unseen.
//! What is asked for anyway counts: nothing is read twice. Reading is the engine's.

use crate::{points::Points, table::Table};

/// A 32-bit byte counter passes its end in 3.4 s at 10 Gb/s; a fall below half its range is seen then.
const NARROW_EVERY_NS: u64 = 1_000_000_000;

/// When they were read last for one of these reasons, and how often that is wanted, ns.
#[derive(Debug, Default)]
pub(crate) struct Sampling {
    every_ns: Option<u64>,
    sampled_ns: u64,
}

/// An access point that wants to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) point: u16,
    /// From one reading to the next, ns.
    pub(crate) every_ns: u64,
    /// When, ns since boot.
    due_ns: u64,
}

impl Sampling {
    /// Everybody is read so often; `None`: only those whose counters are narrow.
    pub(crate) fn new(every_ns: Option<u64>) -> Self {
        Self { every_ns, sampled_ns: 0 }
    }

    /// When the first wants to be read.
    pub(crate) fn due_ns(&self, points: &Points, table: &Table) -> Option<u64> {
        self.wanted(points, table).map(|wanted| wanted.due_ns).min()
    }

    /// Whom to read now: all who want it at all, where one of them is due, so that they stay together.
    pub(crate) fn take(&mut self, points: &Points, table: &Table, now_ns: u64) -> Vec<Wanted> {
        if self.due_ns(points, table).is_none_or(|due_ns| due_ns > now_ns) {
            return Vec::new();
        }
        let wanted = self.wanted(points, table).collect();
        // One that cannot be read is tried again as seldom as the others.
        self.sampled_ns = now_ns;
        wanted
    }

    fn wanted<'a>(
        &'a self,
        points: &'a Points,
        table: &'a Table,
    ) -> impl Iterator<Item = Wanted> + 'a {
        points.present().filter_map(|point| {
            let narrow = table.is_narrow(point.id).then_some(NARROW_EVERY_NS);
            let every_ns = narrow.into_iter().chain(self.every_ns).min()?;
            let last_ns = point.read_ns.unwrap_or(0).max(self.sampled_ns);
            Some(Wanted { point: point.id, every_ns, due_ns: last_ns + every_ns })
        })
    }
}
