//! What a trace statement costs that says nothing: by either way, beside a bare comparison of integers.
//!
//! `cargo bench -p stationd --bench trace`. It judges nothing; machines differ, so read the ratios.

use std::{
    hint::black_box,
    io::{self, Write},
    time::Instant,
};

use stationd::trace::{Level, Trace, Way};

/// Each is measured so often, and the fastest is told: what disturbs only ever adds.
const ROUNDS: usize = 25;

fn main() -> io::Result<()> {
    // Anyone who tests all targets wants to know that it runs, not how fast.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let checks = if is_bench { 200_000 } else { 100 };
    let (level, walk) = (Trace::new(Way::Level), Trace::new(Way::Walk));
    let bare = fastest(checks, || {
        let is_wanted = black_box(Level::INFO) <= black_box(Level::WARNING);
        black_box(is_wanted);
    });
    let mut out = io::stdout().lock();
    writeln!(out, "a check that says no, of {} zones", stationd::trace::ZONES.len() + 1)?;
    let mut report =
        |what: &str, ns: f64| writeln!(out, "{what:<34} {ns:9.2} ns  {:8.1} ×", ns / bare);
    report("bare comparison", bare)?;
    report("level", fastest(checks, || say(&level, "dmTrans")))?;
    report("walk, first zone of the list", fastest(checks, || say(&walk, "daemon")))?;
    report("walk, a zone near its end", fastest(checks, || say(&walk, "dmTrans")))?;
    report("walk, zone not in the list", fastest(checks, || say(&walk, "vendorSta")))
}

/// A statement as they stand in the daemon, with something to format.
#[inline(always)]
fn say(trace: &Trace, zone: &'static str) {
    black_box(trace).event(zone, black_box(Level::INFO), format_args!("set {}", black_box(45)));
}

fn fastest(checks: u32, check: impl Fn()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..checks).for_each(|_| check());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(checks)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
