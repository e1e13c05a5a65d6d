//! Looks again and again: the old default of drivers.

use super::{Ended, Step, Wait};

/// Looks until it is done, interrupts masked meanwhile. It sees the end at once, and has its CPU to itself for as
/// long as it takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Busy;

impl Wait for Busy {
    fn begin(&mut self, _now_ns: u64, _kind: usize) {}

    fn step(&mut self, _now_ns: u64) -> Step {
        Step::Look
    }

    fn end(&mut self, _ended: Ended) {}

    fn masks(&self) -> bool {
        true
    }
}
