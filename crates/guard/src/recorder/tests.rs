//! The ring keeps its size, and a replay decides as it was decided, whatever is torn or missing.

use std::fs;

use super::*;
use crate::{
    decide::decide,
    reading::{Application, Cpu, Interface, Worker},
};

fn policy(aggressiveness: u8) -> Policy {
    let text = format!(
        "aggressiveness = {aggressiveness}\n[[application]]\nname = \"backup\"\nservice = \"backup\"\n"
    );
    crate::policy::parse(&text, "test").unwrap()
}

/// A tick of 200 ms in which Wi-Fi's work waits; what it got differs from tick to tick.
fn reading(tick: u64, busy: bool) -> Reading {
    let wiggle = (tick * 7_919) % 13_000_001;
    let ran = 80_000_000 + wiggle;
    Reading {
        at_ns: 1_000_000_000_000 + tick * 200_000_000,
        span_ns: 200_000_000,
        interfaces: vec![Interface {
            packets: if busy { 5_000 } else { 0 },
            ..Interface::default()
        }],
        cpus: vec![Cpu { user_ns: 200_000_000 - ran, ..Cpu::default() }],
        workers: vec![Worker {
            ran_ns: if busy { ran } else { 0 },
            waited_ns: Some(if busy { 200_000_000 - ran } else { 0 }),
            ..Worker::default()
        }],
        applications: vec![Application {
            name: "backup".to_owned(),
            runs: true,
            ran_ns: 200_000_000 - ran,
            ran_by_cpu_ns: vec![200_000_000 - ran],
            waited_ns: Some(ran),
            ..Application::default()
        }],
        ..Reading::default()
    }
}

/// Records ticks and gives the recorder and state back.
fn record(
    recorder: &mut Recorder,
    state: &mut State,
    ticks: std::ops::Range<u64>,
    busy: bool,
) -> usize {
    let mut written = 0;
    for tick in ticks {
        let (reading, outcome) = (reading(tick, busy), Outcome::default());
        let (next, decision) = decide(&recorder.policy.clone(), state, &reading, &outcome);
        let seen = Seen { reading: &reading, outcome: &outcome, decision: &decision };
        written += usize::from(recorder.record(state, seen).unwrap());
        *state = next;
    }
    written
}

#[test]
fn a_replay_decides_every_tick_again_as_it_was_decided() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring");
    let mut recorder = Recorder::open(&path, 1 << 20, &policy(100)).unwrap();
    let mut state = State::default();
    record(&mut recorder, &mut state, 0..50, true);
    record(&mut recorder, &mut state, 50..120, false);
    recorder.policy_is(&policy(30));
    record(&mut recorder, &mut state, 120..170, true);
    let report = replay(&path).unwrap();
    assert!(report.is_same(), "{:?}", report.differences.first());
    assert_eq!((report.unknown, report.faults.len()), (0, 0));
    assert!(report.ticks >= 107, "{}", report.ticks);
}

#[test]
fn idle_ticks_are_thinned_to_one_in_ten() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::open(&folder.path().join("ring"), 1 << 20, &policy(100)).unwrap();
    let mut state = State::default();
    assert_eq!(record(&mut recorder, &mut state, 0..2, false), 2);
    assert_eq!(record(&mut recorder, &mut state, 2..102, false), 10);
}

#[test]
fn the_ring_keeps_its_size_and_each_file_can_be_replayed_from_its_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring");
    let mut recorder = Recorder::open(&path, LEAST_BYTES, &policy(100)).unwrap();
    let mut state = State::default();
    record(&mut recorder, &mut state, 0..400, true);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&path) + size(&older(&path)) <= LEAST_BYTES);
    let report = replay(&path).unwrap();
    assert!(report.is_same() && report.unknown == 0 && report.ticks > 20);
    fs::remove_file(older(&path)).unwrap();
    assert_eq!(replay(&path).unwrap().unknown, 0);
}

#[test]
fn torn_and_foreign_lines_are_named_and_the_rest_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring");
    let mut state = State::default();
    let mut recorder = Recorder::open(&path, 1 << 20, &policy(100)).unwrap();
    record(&mut recorder, &mut state, 0..10, true);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let torn = replay(&path).unwrap();
    assert_eq!((torn.ticks, torn.faults.len(), torn.is_same()), (9, 1, true));
    assert!(torn.faults[0].to_string().contains("torn"), "{}", torn.faults[0]);
    // Anyone who goes on begins a line of his own, with a state.
    let mut recorder = Recorder::open(&path, 1 << 20, &policy(100)).unwrap();
    record(&mut recorder, &mut state, 10..20, true);
    let report = replay(&path).unwrap();
    assert_eq!((report.ticks, report.faults.len(), report.is_same()), (19, 1, true));
    assert!(report.faults[0].to_string().contains(&format!("{}:11: ", path.display())));
}

#[test]
fn a_recording_of_another_version_is_named_and_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring");
    let mut recorder = Recorder::open(&path, 1 << 20, &policy(100)).unwrap();
    record(&mut recorder, &mut State::default(), 0..5, true);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\":1", "\"version\":9")).unwrap();
    let report = replay(&path).unwrap();
    assert_eq!((report.ticks, report.unknown), (0, 5));
    assert!(report.faults[0].why.contains("version 9"));
}

#[test]
fn an_edited_decision_and_another_policy_are_found_as_differences() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring");
    let mut recorder = Recorder::open(&path, 1 << 20, &policy(100)).unwrap();
    record(&mut recorder, &mut State::default(), 0..30, true);
    let other = replay_with(&path, &policy(0)).unwrap();
    assert!(other.different > 0 && other.differences[0].replayed.target < 0.71);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replacen("\"condition\":\"starved\",\"kept\"", "\"condition\":\"served\",\"kept\"", 1),
    )
    .unwrap();
    assert_eq!(replay(&path).unwrap().different, 1);
}
