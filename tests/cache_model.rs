//! The cache model on a virtual access point: it counts what it should, and leaves the counted figures alone.
//!
//! What it counts is compared with `valgrind --tool=cachegrind` of the same geometry, on a program whose pattern of accesses
//! is known (`programs/cache_patterns.c`). Both count by virtual addresses, so every figure can be compared. The two models
//! were written apart and still choose alike: least recently used, allocated by loads and stores, an access across the end
//! of a line is one access.

use std::{fs, path::Path, process::Command};

use analysis::stacks::{changed, object::Elf, symbols::Symbols};
use lab::{
    Lab,
    cache_model::{self, Attached, CodePart},
    vm::snapshot::Snapshot,
};
use model::{
    architecture::Architecture,
    cache::{Cache, Geometry, Marks, Size, Window},
    reading::Reading,
    sample::Sample,
    span::Span,
    wire::{LoadOrder, SubjectOrder, TrialOrder, Work},
};

use crate::harness::{
    Place,
    guest::{self, Guest, Program},
    has_arm64,
};

/// How far two trials of one state may lie apart in counted time, as `counted` has it.
const APART: f64 = 1e-4;

/// The grain of a group's account, ns: what two trials of one state may lie apart by rounding alone. Of the agent's
/// 5 ms it is more than [`APART`].
const GRAIN_NS: f64 = 1000.0;

/// What opens a window, runs its arguments, and closes it, on the access point.
const PROGRAM: Program =
    Program { name: "cache-window", source: "cache_window.c", flags: "-Os -static" };

const MARKS: Marks = Marks { open: *b"open it!", close: *b"close it" };

/// What sets marks and has no business to.
const FORGER: Program = Program {
    name: "forged-marks",
    source: "forged_marks.c",
    flags: "-Os -static -s -D_GNU_SOURCE",
};

/// An access point's caches: two Cortex-A73 or A53 have about these. KiB, ways, and bytes of a line.
const ROUTER: [(u64, u32, u32); 3] = [(32, 2, 64), (32, 4, 64), (512, 16, 64)];

fn geometry(caches: [(u64, u32, u32); 3]) -> Geometry {
    let [l1i, l1d, l2] = caches
        .map(|(kib, ways, line)| Cache::new(Size::from_bytes(kib << 10), ways, line).unwrap());
    Geometry::new(l1i, l1d, l2).unwrap()
}

/// A command runs in a window of the model, once a second for five seconds, of which four are measured.
fn measure(program: Program, command: &str) -> TrialOrder {
    let words = format!("{} {command}", program.path());
    let words = words.split(' ').map(str::to_owned).collect();
    TrialOrder {
        subject: Some(SubjectOrder { process: "hostapd".to_owned(), start: None }),
        load: Some(LoadOrder { work: Work::Rounds(vec![words]), every: Span::from_secs(1) }),
        warm_up: Span::from_secs(1),
        window: Span::from_secs(4),
        sample_every: Span::from_secs(1),
        ..TrialOrder::default()
    }
}

/// One trial from the snapshot, and what the model counted where there is one.
fn trial(
    lab: &Lab,
    snapshot: &Snapshot,
    order: &TrialOrder,
    model: Option<&Attached>,
) -> (Reading, Option<Window>) {
    let recording = Guest::restored(lab, snapshot, model).measure(order, None);
    let window = model.map(|model| cache_model::window(model.counts()).unwrap());
    (recording, window)
}

/// CPU of the subject, the load and the agent between the first and the last sample, ns.
fn spent(samples: &[Sample]) -> Vec<f64> {
    let used = |sample: &Sample| {
        let accounts = [Some(&sample.subject), sample.load.as_ref(), Some(&sample.agent)];
        accounts.map(|account| {
            let account = account.unwrap();
            let tasks: u64 = account.tasks.iter().filter_map(|task| task.run_ns).sum();
            account.group.map_or(tasks, |group| group.usage_ns) as f64
        })
    };
    let (first, last) = (used(&samples[0]), used(samples.last().unwrap()));
    first.iter().zip(last).map(|(first, last)| last - first).collect()
}

#[test]
fn counted_figures_are_the_same_with_the_model_and_with_forged_marks() {
    figures_are_left_alone(Architecture::X86_64);
}

#[test]
fn counted_figures_are_the_same_with_the_model_and_with_forged_marks_on_arm64() {
    if has_arm64() {
        figures_are_left_alone(Architecture::Arm64);
    }
}

fn figures_are_left_alone(arch: Architecture) {
    let place = Place::with_guests();
    let lab = guest::lab(arch);
    let snapshot = guest::access_point(&lab, &place, &[&PROGRAM, &FORGER]);
    same_with_and_without(&place, &lab, &snapshot);
    forged(&place, &lab, &snapshot);
}

fn same_with_and_without(place: &Place, lab: &Lab, snapshot: &Snapshot) {
    let model = Attached::new(lab, geometry(ROUTER), &place.path("counts")).unwrap().marked(MARKS);
    // Neither asks for the time: a few instructions of the host's making move what stress-ng does by 0.3 %.
    for command in ["iw dev wlan0 station dump", "sha256sum /sbin/iw"] {
        let order = measure(PROGRAM, command);
        let (plain, _) = trial(lab, snapshot, &order, None);
        let (modelled, window) = trial(lab, snapshot, &order, Some(&model));
        assert_eq!(modelled.samples.last().unwrap().rounds.failed, 0, "{command}");
        let (plain, modelled) = (spent(&plain.samples), spent(&modelled.samples));
        for (without, with) in plain.iter().zip(&modelled) {
            assert!((with - without).abs() <= without * APART + GRAIN_NS, "{plain:?} {modelled:?}");
        }
        // The load was there to be moved, and its instructions, of 2 ns each, are what the model counted: in
        // one of its rounds, and of others than the load, too.
        let load = modelled[1] / 2.0 / 4.0;
        let window = window.unwrap().total();
        let counted = window.instructions as f64;
        assert!(load > 1e5, "{modelled:?}");
        assert!((0.5..1.5).contains(&(counted / load)), "{counted} instructions, {modelled:?} ns");
    }
}

fn forged(place: &Place, lab: &Lab, snapshot: &Snapshot) {
    // The agent sets marks that the program does not have, or those that it has.
    let counted = |how: &str, counter: Attached| {
        let marks = Some(counter.marks());
        let recording =
            Guest::restored(lab, snapshot, Some(&counter)).measure(&measure(FORGER, how), marks);
        assert_eq!(recording.samples.last().unwrap().rounds.failed, 0, "{how}");
        let executed = cache_model::instructions(counter.counts()).map(|all| all.total() as f64);
        (executed, spent(&recording.samples)[1])
    };
    let counter = || Attached::counter(lab, &place.path("counts")).unwrap();
    let (nothing, load_ns) = counted("nothing", counter());
    let (marks, _) = counted("marks", counter());
    let (nothing, marks) = (nothing.unwrap(), marks.unwrap());
    // All four rounds are in the window, and whatever else the machine does.
    assert!(nothing > load_ns / 2.0, "{nothing} instructions, {load_ns} ns of load");
    assert!((marks / nothing - 1.0).abs() < 1e-3, "{nothing} {marks}");
    // Who knows them cannot have a window of its own either: then there is none.
    let (known, _) = counted("known", counter().marked(MARKS));
    let why = known.unwrap_err().to_string();
    assert!(why.contains("one opening and one closing mark were expected"), "{why}");
}

/// A function of a file, as a file of parts that are looked for.
fn looked_for(program: &Path, function: &str) -> String {
    let elf = Elf::parse(fs::read(program).unwrap().into()).unwrap();
    let (address, end) = Symbols::of(&elf, None).named(function).unwrap();
    let parts = changed::pages(&elf, &(address..end));
    assert!(!parts.is_empty(), "{function}");
    let line = |part: changed::OnPage<'_>| {
        let changed::OnPage { code, from, content } = part;
        format!("{}\n", CodePart { code, from, known: content.to_vec() })
    };
    parts.into_iter().map(line).collect()
}

#[test]
fn code_that_runs_is_seen_and_code_that_does_not_is_not() {
    let place = Place::with_guests();
    let mut lab = guest::lab(Architecture::X86_64);
    let snapshot = guest::access_point(&lab, &place, &[&PROGRAM, &FORGER]);
    let mut runs = |function: &str| {
        let (code, counts) = (place.path("code"), place.path("counts"));
        fs::write(&code, looked_for(&place.path(PROGRAM.name), function)).unwrap();
        lab.settings.looked_for = Some(code);
        let counter = Attached::counter(&lab, &counts).unwrap();
        let order = measure(PROGRAM, "true");
        Guest::restored(&lab, &snapshot, Some(&counter)).measure(&order, None);
        cache_model::ran(&counts).unwrap()
    };
    assert_eq!(["waitpid", "abort"].map(&mut runs), [true, false]);
}

/// How far each figure may be from cachegrind's: a share of it, and beyond that a number of events, for what lies
/// on the stack, whose place the two choose differently.
const FROM_CACHEGRIND: f64 = 0.0005;
const EVENTS: u64 = 32;

/// Columns of both, in cachegrind's order, and which of the plugin's columns is which.
const COLUMNS: &str = "Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw";
const PLUGINS: [usize; 9] = [0, 1, 6, 2, 3, 7, 4, 5, 8];

/// The program, as the compiler makes it without vector instructions, which the emulator would count as two.
const PATTERNS: Program = Program {
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
    PLUGINS.iter().map(|column| counts[*column]).collect()
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
    assert_eq!(events.trim_end(), COLUMNS);
    let sums = text.lines().find_map(|line| line.strip_prefix("summary: ")).unwrap();
    sums.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn the_model_counts_what_cachegrind_counts() {
    let place = Place::without_guests();
    let lab = guest::lab(Architecture::X86_64);
    let program = place.path(PATTERNS.name);
    PATTERNS.compile(Architecture::X86_64, &program);
    // Beside a router's, smaller ones with shorter lines, and one way each, which leaves no choice.
    for caches in
        [ROUTER, [(16, 4, 32), (8, 8, 32), (128, 8, 32)], [(16, 1, 64), (16, 1, 64), (256, 1, 64)]]
    {
        let geometry = geometry(caches);
        let model = Attached::new(&lab, geometry, &place.path("counts")).unwrap();
        let ours = modelled(&place, &program, &model);
        let theirs = cachegrind(&place, &program, geometry);
        for (name, (ours, theirs)) in COLUMNS.split(' ').zip(ours.iter().zip(&theirs)) {
            let apart = ours.abs_diff(*theirs);
            let allowed = EVENTS + (*theirs as f64 * FROM_CACHEGRIND) as u64;
            assert!(apart <= allowed, "{name}: {ours}, cachegrind {theirs} ({caches:?})");
            // A figure that nothing moves would agree with anything.
            assert!(*theirs > 1000, "{name}: {theirs}");
        }
    }
}
