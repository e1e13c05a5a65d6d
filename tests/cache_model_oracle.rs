//! Compares the cache model with `valgrind --tool=cachegrind` of the same geometry, on a program whose pattern of accesses
//! is known (`programs/cache_patterns.c`).
//!
//! Both count one program by virtual addresses, so every figure can be compared. The two models were written
//! apart and still choose alike: least recently used, allocated by loads and stores, an access across the end
//! of a line is one access.

use std::{fs, path::Path, process::Command};

use lab::cache_model::Attached;
use model::{
    architecture::Architecture,
    cache::{Cache, Geometry, Size},
};

use crate::harness::{
    Place,
    guest::{self, Program},
};

/// How far each figure may be from cachegrind's: a share of it, and beyond that a number of events, for what lies
/// on the stack, whose place the two choose differently.
const APART: f64 = 0.0005;
const EVENTS: u64 = 32;

/// Columns of both, in cachegrind's order, and which of the plugin's columns is which.
const COLUMNS: [(&str, usize); 9] = [
    ("Ir", 0),
    ("I1mr", 1),
    ("ILmr", 6),
    ("Dr", 2),
    ("D1mr", 3),
    ("DLmr", 7),
    ("Dw", 4),
    ("D1mw", 5),
    ("DLmw", 8),
];

/// The program, as the compiler makes it without vector instructions, which the emulator would count as two.
const PROGRAM: Program = Program {
    name: "patterns",
    source: "cache_patterns.c",
    flags: "-O1 -static -nostdlib -ffreestanding -fno-pie -no-pie -mno-sse -fno-stack-protector -fcf-protection=none",
};

/// What the model counts of the whole program, in cachegrind's order.
fn modelled(place: &Place, program: &Path, model: &Attached) -> Vec<u64> {
    let words = format!("{},{}", model.library().display(), model.words().join(","));
    let mut qemu = Command::new("qemu-x86_64");
    let ended = qemu.args(["-plugin", &words]).arg(program).current_dir(place.path("")).status();
    assert!(ended.unwrap().success());
    let text = fs::read_to_string(model.counts()).unwrap();
    let end = text.lines().find_map(|line| line.strip_prefix("end 1 ")).unwrap();
    let counts: Vec<u64> = end.split(' ').map(|word| word.parse().unwrap()).collect();
    // A program alone has no kernel.
    assert_eq!(counts[9..], [0; 9]);
    COLUMNS.iter().map(|(_, column)| counts[*column]).collect()
}

fn cachegrind(place: &Place, program: &Path, geometry: Geometry) -> Vec<u64> {
    let out = place.path("cachegrind.out");
    let option = |name: &str, cache: Cache| {
        format!("--{name}={},{},{}", cache.size.bytes(), cache.ways, cache.line)
    };
    let ended = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--quiet"])
        .args([option("I1", geometry.l1i), option("D1", geometry.l1d)])
        .arg(option("LL", geometry.l2))
        .arg(format!("--cachegrind-out-file={}", out.display()))
        .arg(program)
        .status();
    assert!(ended.unwrap().success());
    let text = fs::read_to_string(out).unwrap();
    let events = text.lines().find_map(|line| line.strip_prefix("events: ")).unwrap();
    assert!(events.split_whitespace().eq(COLUMNS.iter().map(|(name, _)| *name)), "{events}");
    let sums = text.lines().find_map(|line| line.strip_prefix("summary: ")).unwrap();
    sums.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn the_model_counts_what_cachegrind_counts() {
    let place = Place::without_guests();
    let lab = guest::lab();
    let program = place.path(PROGRAM.name);
    PROGRAM.compile(Architecture::X86_64, &program);
    let cache = |kib: u64, ways, line| Cache::new(Size::from_bytes(kib << 10), ways, line).unwrap();
    // A router's caches, smaller ones with shorter lines, and one way each, which leaves no choice.
    for caches in [
        [cache(32, 2, 64), cache(32, 4, 64), cache(512, 16, 64)],
        [cache(16, 4, 32), cache(8, 8, 32), cache(128, 8, 32)],
        [cache(16, 1, 64), cache(16, 1, 64), cache(256, 1, 64)],
    ] {
        let geometry = Geometry::new(caches[0], caches[1], caches[2]).unwrap();
        let model = Attached::new(&lab, geometry, &place.path("counts")).unwrap();
        let ours = modelled(&place, &program, &model);
        let theirs = cachegrind(&place, &program, geometry);
        for ((name, _), (ours, theirs)) in COLUMNS.iter().zip(ours.iter().zip(&theirs)) {
            let apart = ours.abs_diff(*theirs);
            let allowed = EVENTS + (*theirs as f64 * APART) as u64;
            assert!(apart <= allowed, "{name}: {ours}, cachegrind {theirs} ({caches:?})");
            // A figure that nothing moves would agree with anything.
            assert!(*theirs > 1000, "{name}: {theirs}");
        }
    }
}
