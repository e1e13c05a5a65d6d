//! What a poll costs beyond the kernel's part: each step for one station, beside a bare read of the same
//! bytes.
//!
//! `cargo bench -p stationd --bench poll`. The kernel is a recording of 38 real stations, so its own work
//! is not in it. It judges nothing; machines differ, so read the ratios.

use std::{
    hint::black_box,
    io::{self, Write},
    path::Path,
    time::Instant,
};

use linux::{
    netlink::{Recording, Replay},
    nl80211::{InterfaceKind, Nl80211},
};
use stationd::{
    brief,
    engine::{Engine, Settings},
    full,
    table::Table,
};

type Failure = Box<dyn std::error::Error>;

/// Each is measured so often, and the fastest is told: what disturbs only ever adds.
const ROUNDS: usize = 15;

fn main() -> Result<(), Failure> {
    // Anyone who tests all targets wants to know that it runs, not how fast.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let polls = if is_bench { 200 } else { 1 };
    let mut kernel = kernel()?;
    let interfaces = kernel.interfaces()?;
    let is_ap = |kind| kind == InterfaceKind::AccessPoint;
    let points: Vec<u32> =
        interfaces.iter().filter(|each| is_ap(each.kind)).map(|each| each.index).collect();
    let engine = engine()?;
    let stations = engine.table().len().max(1);
    let cost = |work: &mut dyn FnMut()| fastest(polls, work) / stations as f64;

    let bare = cost(&mut || points.iter().for_each(|point| drop(kernel.bare_dump(*point))));
    let parsed = cost(&mut || {
        let read = |point: &u32| {
            kernel.stations(*point, |reading| {
                black_box(*reading);
            })
        };
        points.iter().map(read).for_each(drop);
    });
    let mut table = Table::default();
    let kept = cost(&mut || points.iter().for_each(|point| keep(&mut kernel, &mut table, *point)));
    let briefs = cost(&mut || replies(&engine, false));
    let fulls = cost(&mut || replies(&engine, true));

    let mut out = io::stdout().lock();
    writeln!(out, "one of {stations} stations, the kernel's own work left out")?;
    let mut report =
        |what: &str, ns: f64| writeln!(out, "{what:<44} {ns:9.1} ns {:7.2} ×", ns / bare);
    report("bare read of the messages", bare)?;
    report("read, decoded", parsed)?;
    report("read, decoded, kept in the table", kept)?;
    report("brief reply, all values new", briefs)?;
    Ok(report("full reply, all values new", fulls)?)
}

fn kernel() -> Result<Nl80211, Failure> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../linux/tests/recordings/dump-38.netlink");
    Ok(Nl80211::over(Replay::new(Recording::read(&std::fs::read(path)?)?)?)?)
}

fn engine() -> Result<Engine, Failure> {
    Ok(Engine::over(Settings::default(), kernel()?, None)?)
}

/// What cannot be read is not measured; the recording has all of it.
fn keep(kernel: &mut Nl80211, table: &mut Table, point: u32) {
    let mut poll = table.begin(point as u16, 0);
    let _ = kernel.stations(point, |reading| {
        table.read(&mut poll, reading);
    });
    table.end(poll);
}

/// The replies about all access points, encoded anew.
fn replies(engine: &Engine, whole: bool) {
    let mut out = Vec::with_capacity(1 << 16);
    for point in engine.points().present() {
        if whole {
            full::reply(point, engine.table(), 0, &mut out);
        } else {
            brief::whole(point, engine.table(), &mut out);
        }
    }
    black_box(out);
}

/// Nanoseconds of one poll.
fn fastest(polls: u32, work: &mut dyn FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..polls).for_each(|_| work());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(polls)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
