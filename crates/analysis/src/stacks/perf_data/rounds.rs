//! Records in order of time. Each CPU has a ring of its own, so they come in order by ring only.
//!
//! After a round, in which every ring was emptied once, no record can come any more that is older than
//! the newest one of the round before (`tools/perf/util/ordered-events.c`). So two rounds are held.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::records::Record;

/// A recording without rounds is reported in pieces of this size, bytes: memory has an end.
const MOST: usize = 64 << 20;

/// Memory that is not worth giving back, bytes.
const SMALL: usize = 256;

/// What a record takes alongside its body: its slot, its place in the order, and the allocator's own.
const AROUND: usize = 96;

/// Records that wait for their turn.
#[derive(Default)]
pub(super) struct Rounds {
    /// Time, place in the recording, and the slot of the record.
    waiting: BinaryHeap<Reverse<(u64, u64, usize)>>,
    slots: Vec<Record>,
    free: Vec<usize>,
    bytes: usize,
    taken: u64,
    newest: u64,
    newest_before: u64,
    newest_reported: u64,
    /// Records that came after a later one was reported.
    pub(super) late: u64,
}

impl Rounds {
    /// Takes a record and leaves another one, to be written over. What may be reported then.
    pub(super) fn put(&mut self, time: u64, record: &mut Record) -> Option<u64> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Record::default());
            self.slots.len() - 1
        });
        self.late += u64::from(time < self.newest_reported);
        self.newest = self.newest.max(time);
        if record.body.capacity() > 4 * record.body.len() + SMALL {
            record.body.shrink_to_fit();
        }
        self.bytes += weight(record);
        std::mem::swap(&mut self.slots[slot], record);
        self.waiting.push(Reverse((time, self.taken, slot)));
        self.taken += 1;
        (self.bytes > MOST).then_some(u64::MAX)
    }

    /// A round is over: what may be reported up to which time.
    pub(super) fn finish_round(&mut self) -> u64 {
        std::mem::replace(&mut self.newest_before, self.newest)
    }

    /// The oldest record that is not newer than `until`.
    pub(super) fn next(&mut self, until: u64) -> Option<&Record> {
        let Reverse((time, _, slot)) = *self.waiting.peek()?;
        if time > until {
            return None;
        }
        self.waiting.pop();
        self.newest_reported = self.newest_reported.max(time);
        self.free.push(slot);
        self.bytes -= weight(&self.slots[slot]);
        Some(&self.slots[slot])
    }
}

/// Bytes of memory that a record takes: what its body's were once given counts, whatever is in them.
fn weight(record: &Record) -> usize {
    record.body.capacity() + AROUND
}
