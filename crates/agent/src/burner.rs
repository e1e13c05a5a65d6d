//! A program that burns a known CPU time: what is recorded of it proves the recorder.
//!
//! A [`Twin`] that burns, says how long that took, and ends.

use std::{hint::black_box, io};

use rustix::time::ClockId;

use crate::twin::{self, Twin};

/// The word that makes the agent a burner, followed by the CPU time, ns.
pub const WORD: &str = "--burn";

/// So many steps between two looks at the clock, which costs a system call.
const STEPS: u32 = 1 << 17;

#[derive(Debug)]
pub(crate) struct Burner(Twin);

impl Burner {
    /// Starts one and waits until it is there.
    pub(crate) fn start(cpu_ns: u64) -> io::Result<Self> {
        Ok(Self(Twin::start(&[WORD, &cpu_ns.to_string()])?))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Lets it burn: the CPU time that it took by its own clock, ns.
    pub(crate) fn burn(&mut self) -> io::Result<u64> {
        let took_ns = u64::from_le_bytes(self.0.go()?);
        self.0.end(0)?;
        Ok(took_ns)
    }
}

/// The burner's whole life.
pub fn run(cpu_ns: u64) -> io::Result<()> {
    twin::stand_ready()?;
    twin::say(&burn(cpu_ns).to_le_bytes())
}

/// Burns; how long it took by the process's clock, ns.
#[inline(never)]
pub fn burn(cpu_ns: u64) -> u64 {
    let from = process_ns();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        for _ in 0..STEPS {
            state = state.rotate_left(7) ^ state.wrapping_mul(0xff51_afd7_ed55_8ccd);
        }
        black_box(state);
        let took = process_ns() - from;
        if took >= cpu_ns {
            return took;
        }
    }
}

fn process_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    // Neither part is negative: the clock starts with the process.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_burns_what_it_is_reported_and_little_more() {
        let took = burn(5_000_000);
        assert!((5_000_000..100_000_000).contains(&took), "{took} ns");
    }
}
