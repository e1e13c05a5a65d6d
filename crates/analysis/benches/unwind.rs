//! What one sample costs from registers and stack to frames: by frame, by sample, and alongside a copy of the
//! same stack.
//!
//! `cargo bench -p analysis --bench unwind`. Needs a C compiler; the programs are those of the test
//! `unwinding`. It judges nothing; machines differ, so read the ratios.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench has a clock")]

use std::{
    hint::black_box,
    io::{self, Write},
    time::Instant,
};

use analysis::stacks::{
    happening::{Happening, Head},
    resolve::Resolver,
};

#[path = "../tests/unwinding/program.rs"]
#[expect(dead_code, reason = "the test has more to ask")]
mod program;

use program::{Here, ProcessDump, build};

/// Each is measured so often, and the fastest is reported: what disturbs only ever adds.
const ROUNDS: usize = 7;

fn main() -> io::Result<()> {
    // Anyone who tests all targets wants to know that it runs, not how fast.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let samples = if is_bench { 20_000 } else { 2 };
    let mut out = io::stdout().lock();
    let programs = [
        ("bench", "cc", "-O2"),
        ("bench-static", "cc", "-static"),
        ("bench-musl", "musl-gcc", "-static"),
    ];
    for (name, compiler, flag) in programs {
        let Some(program) = build(name, compiler, &["-O2", flag]) else { continue };
        for mode in ["plain", "qsort", "signal", "recursion"] {
            let dump = ProcessDump::by(&program, &[mode]);
            let (frames, ns) = cost(&dump, samples);
            let stack = dump.happening().stack;
            let copy = fastest(samples, || drop(black_box(black_box(stack).to_vec())));
            writeln!(
                out,
                "{name:<13} {mode:<10} {frames:4} frames {ns:9.1} ns a sample, {:6.1} a frame, {:6.2} × a copy, {:8.0} samples/s",
                ns / frames as f64,
                ns / copy,
                1e9 / ns
            )?;
        }
    }
    Ok(())
}

fn cost(dump: &ProcessDump, samples: u32) -> (usize, f64) {
    let files = Here::default();
    let head = Head { stack_bytes: 65528, ..Head::default() };
    let mut resolver = Resolver::new(&files, &head, Vec::new());
    dump.map(&mut resolver);
    let happening = Happening::Sample(dump.happening());
    let mut frames = Vec::new();
    resolver.take(&happening, &mut frames);
    let ns = fastest(samples, || {
        black_box(resolver.take(black_box(&happening), &mut frames));
    });
    (frames.len(), ns)
}

/// Nanoseconds of one piece of work.
fn fastest(times: u32, mut work: impl FnMut()) -> f64 {
    let mut round = |_| {
        let start = Instant::now();
        (0..times).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(times)
    };
    (0..ROUNDS).map(&mut round).fold(f64::INFINITY, f64::min)
}
