//! Burns a known CPU time in a [`Twin`]: what is recorded of it proves the recorder.

use std::{hint::black_box, io};

use linux::system::clock_ns;
use rustix::time::ClockId;

use crate::twin::{self, Twin};

/// Makes the agent a burner, followed by the CPU time, ns.
pub const WORD: &str = "--burn";

/// Steps between two looks at the clock, which costs a system call.
const STEPS: u32 = 1 << 17;

/// Starts one and waits until it is there.
pub(crate) fn start(cpu_ns: u64) -> io::Result<Twin> {
    Twin::start(&[WORD, &cpu_ns.to_string()], None)
}

/// Lets it burn: the CPU time that it took by its own clock, ns.
pub(crate) fn burned(burner: &mut Twin) -> io::Result<u64> {
    let took_ns = u64::from_le_bytes(burner.go()?);
    burner.end(0)?;
    Ok(took_ns)
}

/// The burner's whole life.
pub fn run(cpu_ns: u64) -> io::Result<()> {
    twin::stand_ready()?;
    twin::say(&burn(cpu_ns).to_le_bytes())
}

/// Burns; how long it took by the process's clock, ns.
#[inline(never)]
pub fn burn(cpu_ns: u64) -> u64 {
    let from = clock_ns(ClockId::ProcessCPUTime);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        for _ in 0..STEPS {
            state = state.rotate_left(7) ^ state.wrapping_mul(0xff51_afd7_ed55_8ccd);
        }
        black_box(state);
        let took = clock_ns(ClockId::ProcessCPUTime) - from;
        if took >= cpu_ns {
            return took;
        }
    }
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
