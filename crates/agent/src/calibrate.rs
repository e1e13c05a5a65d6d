//! What one hit of a user probe costs here: a function of ours is called with and without one.
//!
//! Talks to [`linux::perf`]. The cost is that of the exception and of single-stepping the instruction
//! that the breakpoint replaced, so it is the machine's rather than the function's.

use std::{hint::black_box, path::Path};

use linux::{
    maps,
    perf::{
        event::{Event, Target},
        probe::{self, End},
    },
};
use rustix::time::ClockId;

/// Calls in a pass.
const CALLS: u64 = 2_000;

/// What a hit costs, ns of CPU; `None` where that cannot be measured.
pub(crate) fn hit_ns() -> Option<u64> {
    let offset = offset_of(called as fn(u64) -> u64 as usize as u64)?;
    let attributes = probe::user(Path::new("/proc/self/exe"), offset, End::Entry).ok()?;
    let without_ns = pass();
    let event = Event::open(&attributes, Target::Thread(0)).ok()?;
    event.enable().ok()?;
    let with_ns = pass();
    let hits = event.read().ok()?.count;
    (hits == CALLS).then(|| with_ns.saturating_sub(without_ns) / CALLS)
}

/// Where an address lies in our executable, bytes.
fn offset_of(address: u64) -> Option<u64> {
    let mappings = maps::of(std::process::id()).ok()?;
    let mapping = mappings.iter().find(|map| (map.start..map.end).contains(&address))?;
    Some(address - mapping.start + mapping.offset)
}

/// CPU time of so many calls, ns.
fn pass() -> u64 {
    let from = thread_ns();
    for number in 0..CALLS {
        black_box(called(black_box(number)));
    }
    thread_ns() - from
}

/// What is called.
#[inline(never)]
fn called(number: u64) -> u64 {
    black_box(number).wrapping_mul(3)
}

fn thread_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    // Neither part is negative: the clock starts with the thread.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_costs_something_between_a_system_call_and_a_millisecond() {
        match hit_ns() {
            Some(cost) => {
                eprintln!("{cost} ns a hit");
                assert!((50..1_000_000).contains(&cost), "{cost} ns");
            }
            None => eprintln!("skipped: no user probe can be put in place here"),
        }
    }
}
