//! The CPU task: integer arithmetic in rounds, which nothing but other work on its CPU makes slower.
//!
//! It touches no memory and makes no system call while it works.

use std::hint::black_box;

use crate::wait::clock::{monotonic_ns, thread_cpu_ns};

/// Steps of a round: about ten microseconds on a CPU of a few GHz.
const STEPS: u32 = 10_000;

#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// From its start to its end, ns.
    pub wall_ns: u64,
    pub ran_ns: u64,
    pub rounds: u64,
}

pub fn work(rounds: u64) -> Done {
    let (begun, before) = (monotonic_ns(), thread_cpu_ns());
    let mut state = 1;
    for _ in 0..rounds {
        state = round(black_box(state));
    }
    black_box(state);
    Done { wall_ns: monotonic_ns() - begun, ran_ns: thread_cpu_ns() - before, rounds }
}

/// One round: xorshift (Marsaglia, Xorshift RNGs, 2003), each step of which needs the one before.
#[inline(never)]
fn round(mut state: u64) -> u64 {
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_its_rounds_and_says_so() {
        let done = work(3);
        assert_eq!(done.rounds, 3);
        assert!(done.wall_ns > 0 && done.ran_ns > 0);
    }
}
