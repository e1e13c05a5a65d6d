//! Recordings that perf 6.1 made (`perf record -e cpu-clock -F 1999` of a shell that counts to 3,000).
//!
//! How many samples there are is what `perf report -D` says of the same file.

use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
};

use analysis::stacks::{
    happening::{Happening, Head},
    perf_data::{Recording, Summary},
};

#[derive(Default)]
struct Seen {
    kernel: usize,
    chain: usize,
    registers: usize,
    stack: usize,
    maps: Vec<String>,
    names: Vec<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/perf_data")
}

fn seen(name: &str) -> (Head, Summary, Seen) {
    let file = fs::read(folder().join(name)).unwrap();
    let mut recording = Recording::open(Cursor::new(&file)).unwrap();
    let mut seen = Seen::default();
    let mut last = 0;
    let mut take = |happening: Happening| match happening {
        Happening::Sample(sample) => {
            assert!(sample.time_ns >= last, "in order of time");
            last = sample.time_ns;
            seen.kernel += sample.kernel.len();
            seen.chain += sample.chain.len();
            seen.registers += usize::from(sample.registers.is_some());
            seen.stack += sample.stack.len();
        }
        Happening::Map(map) => seen.maps.push(map.path.to_owned()),
        Happening::Name { name, .. } => seen.names.push(name.to_owned()),
        _ => (),
    };
    recording.each(&mut take).unwrap();
    (recording.head().clone(), recording.summary().clone(), seen)
}

#[test]
fn chains_by_frame_pointers_are_read() {
    let (head, reported, seen) = seen("chains");
    assert_eq!((reported.samples, reported.faults), (10, vec![]));
    assert_eq!(
        (head.event.as_str(), head.frequency, head.stack_bytes),
        ("cpu-clock", Some(1999), 0)
    );
    assert!(head.command.unwrap().contains("perf record -q -e cpu-clock"));
    assert_eq!(head.build_ids.len(), 4);
    assert!(seen.kernel > 0 && seen.chain > 10);
    assert!(seen.maps.contains(&"/usr/bin/dash".to_owned()), "{:?}", seen.maps);
    assert_eq!(seen.names.last().map(String::as_str), Some("sh"));
}

#[test]
fn copies_of_stacks_are_read() {
    let (head, reported, seen) = seen("copies");
    assert_eq!((reported.samples, seen.registers, seen.stack), (10, 10, 5_120));
    assert_eq!((head.stack_bytes, reported.faults), (512, vec![]));
}

#[test]
fn compressed_records_are_refused_with_what_to_do() {
    let file = fs::read(folder().join("packed")).unwrap();
    let mut recording = Recording::open(Cursor::new(&file)).unwrap();
    let error = recording.each(&mut |_| ()).unwrap_err().to_string();
    assert!(error.ends_with("its records are compressed; record without `-z`"), "{error}");
}

#[test]
fn a_pipe_is_read() {
    let (head, reported, seen) = seen("pipe");
    assert_eq!((reported.samples, head.event.as_str()), (9, "cpu-clock"));
    assert!(head.command.is_some() && seen.chain > 0 && reported.faults.is_empty());
}

#[test]
fn of_several_events_the_first_one_is_reported_and_the_others_are_named() {
    let (head, reported, _) = seen("several");
    assert_eq!((reported.samples, head.event.as_str()), (9, "cpu-clock"));
    assert_eq!(reported.faults, ["of several events only cpu-clock is shown, not page-faults"]);
}
