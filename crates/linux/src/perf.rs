//! Performance events: which this machine gives, samples of stacks, and probes on functions.
//!
//! ```text
//! sampling, tracing ──attributes──► attached ──► event   one for each thread and CPU
//!                                      ├──────► births  who was born meanwhile
//!                                      └──────► ring    one for each CPU ──records──► whoever reads
//! ```
//!
//! What an event has put in place the kernel takes back when its descriptor is closed, but for a probe's line in tracefs
//! ([`tracing`]).
//!
//! Formats: `perf_event_open(2)`, `include/uapi/linux/perf_event.h`. Minimum kernel: 2.6.31; 3.14 for probes, 5.2 where
//! tracefs is not mounted.

pub mod attached;
pub mod attributes;
mod births;
pub mod error;
pub mod event;
pub mod records;
pub mod registers;
pub mod ring;
pub mod sampling;
pub mod tracing;

use attributes::{Attributes, CPU_CLOCK, HARDWARE, SOFTWARE, flag};
use event::{Event, Target};

/// The hardware events that are asked for, by perf's names, with the kernel's numbers.
const EVENTS: [(&str, u64); 6] = [
    ("cycles", 0),
    ("instructions", 1),
    ("cache-references", 2),
    ("cache-misses", 3),
    ("branches", 4),
    ("branch-misses", 5),
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    pub present: Vec<&'static str>,
    pub absent: Vec<&'static str>,
    /// Whether the software event `cpu-clock` can be opened for sampling.
    pub cpu_clock: bool,
}

/// Asks for every event in turn, for the calling process in user mode, which needs the least right.
pub fn events() -> Events {
    let (present, absent) = EVENTS
        .iter()
        .partition::<Vec<_>, _>(|(_, number)| is_given(&attributes(HARDWARE, *number)));
    let names =
        |events: Vec<&(&'static str, u64)>| events.into_iter().map(|event| event.0).collect();
    Events {
        present: names(present),
        absent: names(absent),
        // A period of 1 ms; the event never runs.
        cpu_clock: is_given(&attributes(SOFTWARE, CPU_CLOCK).period(1_000_000)),
    }
}

fn attributes(kind: u32, config: u64) -> Attributes {
    Attributes::new(kind, config).flags(flag::DISABLED | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HV)
}

fn is_given(attributes: &Attributes) -> bool {
    Event::open(attributes, Target::Thread(0)).is_ok()
}
