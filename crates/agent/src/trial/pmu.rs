//! Counters of the CPU's own monitoring unit over everybody, where it has one.
//!
//! Each event is opened on every online CPU and summed. An event that the CPU does not have is `None`; where
//! it has none of them there are no counters at all. More events than the unit has places for are shared in
//! time by the kernel, which then counts short; six to eight fit.

use linux::{
    perf::{
        attributes::{Attributes, HARDWARE},
        event::{Event, Target},
    },
    system,
};
use model::traffic::Counters;

/// `PERF_TYPE_HW_CACHE`, and how its events are put together: cache, operation, result.
const CACHE: u32 = 3;
const fn cache(which: u64, operation: u64, result: u64) -> u64 {
    which | (operation << 8) | (result << 16)
}

/// perf's names and the kernel's numbers.
const EVENTS: [(&str, u32, u64); 9] = [
    ("cycles", HARDWARE, 0),
    ("instructions", HARDWARE, 1),
    ("branches", HARDWARE, 4),
    ("branch-misses", HARDWARE, 5),
    ("L1-dcache-loads", CACHE, cache(0, 0, 0)),
    ("L1-dcache-load-misses", CACHE, cache(0, 0, 1)),
    ("L1-icache-load-misses", CACHE, cache(1, 0, 1)),
    ("LLC-loads", CACHE, cache(2, 0, 0)),
    ("LLC-load-misses", CACHE, cache(2, 0, 1)),
];

/// An event's name, and what it has counted.
pub(super) type Count = (&'static str, Option<u64>);

/// Open events.
#[derive(Debug)]
pub(super) struct Pmu {
    events: Vec<(&'static str, Option<Vec<Event>>)>,
}

impl Pmu {
    /// Opens what there is; `None` where there is nothing.
    pub(super) fn open() -> Option<Self> {
        let cpus = system::cpus();
        let on_all = |kind, number| {
            let attributes = Attributes::new(kind, number);
            let open = |cpu: &u32| Event::open(&attributes, Target::Cpu(*cpu)).ok();
            cpus.iter().map(open).collect::<Option<Vec<_>>>()
        };
        let events: Vec<_> = EVENTS.map(|(name, kind, number)| (name, on_all(kind, number))).into();
        events.iter().any(|(_, events)| events.is_some()).then_some(Self { events })
    }

    /// What they have counted so far.
    pub(super) fn read(&self) -> Vec<Count> {
        let sum = |events: &Vec<Event>| {
            events.iter().map(|event| event.read().ok().map(|reading| reading.count)).sum()
        };
        self.events.iter().map(|(name, events)| (*name, events.as_ref().and_then(sum))).collect()
    }
}

/// What was counted between two readings.
pub(super) fn between(before: &[Count], after: &[Count]) -> Counters {
    let event = |((name, before), (_, after)): (&Count, &Count)| {
        let count = before.zip(*after).map(|(before, after)| after.saturating_sub(before));
        ((*name).to_owned(), count)
    };
    Counters { events: before.iter().zip(after).map(event).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_absent_stays_absent() {
        let before = [("cycles", Some(10)), ("LLC-loads", None)];
        let after = [("cycles", Some(25)), ("LLC-loads", None)];
        let counters = between(&before, &after);
        assert_eq!(counters.events[0], ("cycles".to_owned(), Some(15)));
        assert_eq!(counters.events[1].1, None);
    }
}
