//! What each way of waiting costs, and how late it is, for waits of several lengths.
//!
//! What is waited for is done at a moment that is known beforehand and drawn from a seed, and the end of a sleep
//! stands for its interrupt. Everything is measured in one run and told against `busy` of that run,
//! so that another machine, or a busy one, changes both sides. Nothing is asserted.
//!
//! `cargo bench -p txd` prints a table; `docs/guide/waiting.md` has one.

use std::io::Write;

use model::random::Random;
use txd::wait::{
    Bound, Host, Strategy, Wait,
    clock::{Clock, thread_cpu_ns},
    wait_for,
};

/// Lengths of waits, ns; and how long a length is tried, ns.
const LENGTHS: [u64; 7] = [2_000, 10_000, 50_000, 150_000, 500_000, 2_000_000, 5_000_000];
const TRIED_NS: u64 = 500_000_000;
/// Waits that only teach.
const TAUGHT: usize = 300;

/// What a strategy took for a length.
struct Found {
    cpu_ns: f64,
    half_late_ns: u64,
    most_late_ns: u64,
}

/// The world, in which a device signals when it is done: the end of a sleep, as an interrupt is the end of one.
struct Device {
    clock: Clock,
    done_ns: u64,
}

impl Host for Device {
    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn sleep_until(&mut self, until_ns: u64) {
        self.clock.sleep_until(until_ns);
    }

    fn await_signal(&mut self, until_ns: u64) -> bool {
        self.clock.sleep_until(until_ns.min(self.done_ns));
        self.done_ns <= until_ns
    }
}

/// Waits of a length, with an exponential tail of this many ns on average.
fn measure(wait: &mut Wait, length: u64, tail: u64) -> Found {
    let mut host = Device { clock: Clock::default(), done_ns: 0 };
    let mut random = Random::seeded(1);
    let times = (TRIED_NS / (length + 5_000)) as usize;
    let mut late = Vec::with_capacity(times);
    let mut before = 0;
    for round in 0..times + TAUGHT {
        if round == TAUGHT {
            before = thread_cpu_ns();
        }
        // The inverse of the distribution function; 1 − u is never 0.
        let behind = -(1.0 - random.unit()).ln() * tail as f64;
        let done = host.now() + length + behind as u64;
        host.done_ns = done;
        let waited = wait_for(wait, &mut host, Bound::of_ms(100), |now| now >= done);
        waited.expect("it is done in time");
        if round >= TAUGHT {
            late.push(host.now().saturating_sub(done));
        }
    }
    let cpu = thread_cpu_ns() - before;
    late.sort_unstable();
    Found {
        cpu_ns: cpu as f64 / times as f64,
        half_late_ns: late[late.len() / 2],
        most_late_ns: late[late.len() * 99 / 100],
    }
}

fn main() {
    // Without the right the kernel may be 50 µs late, and the table shows it.
    let _ = Clock::precise();
    let mut out = std::io::stdout().lock();
    let mut say = |line: String| writeln!(out, "{line}").expect("somebody reads");
    say(format!(
        "{:>9} {:>8} {:>8}  {:>13} {:>8} {:>10} {:>10}",
        "wait", "spread", "strategy", "CPU a wait", "of busy", "half late", "99 % late"
    ));
    for length in LENGTHS {
        for (name, tail) in [("none", 0), ("tail", length / 4)] {
            let mut busy = 1.0;
            for strategy in [Strategy::Busy, Strategy::Event, Strategy::Hybrid] {
                let found = measure(&mut Wait::new(strategy), length, tail);
                if strategy == Strategy::Busy {
                    busy = found.cpu_ns;
                }
                let strategy = strategy.name();
                say(format!(
                    "{:>6} µs {name:>8} {strategy:>8}  {:>10.1} µs {:>8.2} {:>7.1} µs {:>7.1} µs",
                    length / 1000,
                    found.cpu_ns / 1e3,
                    found.cpu_ns / busy,
                    found.half_late_ns as f64 / 1e3,
                    found.most_late_ns as f64 / 1e3
                ));
            }
        }
    }
}
