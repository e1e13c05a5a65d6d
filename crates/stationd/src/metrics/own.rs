//! The daemon itself: its processor time, its memory, and since when it runs.
//!
//! Asks the kernel about this process and nothing else.

use linux::{
    proc::{self, Reader},
    system::{page_size, wall_ns},
};
use rustix::time::{ClockId, clock_gettime};

use super::text::Number;

/// The wall clock is slewed all the time; only a step beyond this moves what was created when.
const STEP_NS: i64 = 1_000_000_000;

#[derive(Debug)]
pub struct Own {
    /// When it began, ns since boot.
    pub began_ns: u64,
    wall_offset_ns: i64,
    /// `/proc/self/statm`, kept open; `None` where there is no `/proc`.
    memory: Option<Reader>,
}

impl Own {
    pub fn new(now_ns: u64) -> Self {
        let memory = Reader::open("/proc/self/statm").ok();
        Self { began_ns: now_ns, wall_offset_ns: offset_ns(now_ns), memory }
    }

    /// What makes wall time of boot time, ns. A moment stays the same from one page to the next while
    /// the wall clock is only slewed, and is corrected where it was stepped.
    pub fn wall_offset_ns(&mut self, now_ns: u64) -> i64 {
        let now = offset_ns(now_ns);
        if (now - self.wall_offset_ns).abs() > STEP_NS {
            self.wall_offset_ns = now;
        }
        self.wall_offset_ns
    }

    pub fn cpu(&self) -> Number {
        let used = clock_gettime(ClockId::ProcessCPUTime);
        Number::from_us(used.tv_sec as u64 * 1_000_000 + used.tv_nsec as u64 / 1000)
    }

    pub fn resident_bytes(&self) -> Option<u64> {
        let pages = self.memory.as_ref()?.parse(&mut Vec::new(), proc::resident_pages).ok()?;
        Some(pages * page_size())
    }
}

fn offset_ns(now_ns: u64) -> i64 {
    wall_ns() - now_ns as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_moves_only_with_a_step_of_the_wall_clock() {
        let mut own = Own::new(1000);
        let first = own.wall_offset_ns(1000);
        assert_eq!(own.wall_offset_ns(900_000_000), first);
        assert_ne!(own.wall_offset_ns(90_000_000_000), first);
    }
}
