//! Stacks, recorded for real: the proof, a busy program, and what is refused.

use std::process::Command;

use linux::perf::records::{kind, kind_of, u32_at, u64_at};
use model::{
    instrument::{Instrument, Recorded, Recorder, Scope, StacksOrder},
    perf_data::file_start,
    sample::Sample,
    wire::{Order, Part, TrialOrder},
};

use crate::{
    dialogue::{Agent, Answer, Copied, Subject, eventually, measure, starting},
    run_ns,
};

const FREQUENCY: u32 = 499;
const STACK: u32 = 16_384;

/// All that a window of stacks gave.
struct Capture {
    recorder: Recorder,
    samples: Vec<Sample>,
    records: Vec<u8>,
    recorded: Recorded,
}

fn with(scope: Scope, measure: TrialOrder) -> Order {
    let stacks = StacksOrder { scope, frequency: FREQUENCY, stack_bytes: STACK };
    Order::trial(TrialOrder { instrument: Some(Instrument::Stacks(stacks)), ..measure })
}

/// Carries out the order; `None`, with the reason, where this machine does not let anybody record.
fn capture(order: &Order, samples: usize) -> Option<Capture> {
    let answer = match Agent::ordered(order).answer() {
        Ok(answer) => answer,
        Err(refusal) => {
            skip::skip!("{refusal}");
            return None;
        }
    };
    assert_eq!(answer.samples.len(), samples);
    let Answer { recorder, samples, records, .. } = &answer;
    let (recorder, samples, records) = (recorder.clone(), samples.clone(), records.clone());
    let recorder = recorder.expect("the recorder is reported");
    let recorded = |part| if let Part::Recorded(recorded) = part { Some(*recorded) } else { None };
    Some(Capture { recorder, samples, records, recorded: answer.part(recorded) })
}

/// Type and bytes of each record; all of them are whole.
fn records(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let length = usize::from(u16::from_ne_bytes([bytes[6], bytes[7]]));
        assert!(length >= 8 && length.is_multiple_of(8), "a record of {length} bytes");
        let (record, rest) = bytes.split_at(length);
        records.push((kind_of(record).unwrap(), record));
        bytes = rest;
    }
    records
}

/// Process and moment of each sample.
fn samples_of(bytes: &[u8]) -> Vec<(u32, u64)> {
    let samples = records(bytes).into_iter().filter(|(kind, _)| *kind == kind::SAMPLE);
    samples.map(|(_, record)| (u32_at(record, 16).unwrap(), u64_at(record, 24).unwrap())).collect()
}

/// How near samples come to CPU time on a machine that others use: where a host takes time from a virtual
/// one, clocks go on that CPU time does not count. (59 samples of 50.8 were seen.) In the counted guest
/// nobody takes any, and `tests/profile.rs` asks for the proof itself.
const NEAR: std::ops::Range<f64> = 0.7..1.4;

#[test]
fn the_proof_has_the_samples_that_its_cpu_time_must_give() {
    let subject = Subject::idle();
    let Some(capture) = capture(&with(Scope::Subject, measure(&subject.name, 2)), 3) else {
        return;
    };
    let proof = &capture.recorder.proof;
    let expected = proof.cpu_ns as f64 / 1e9 * f64::from(FREQUENCY);
    let given = proof.samples as f64;
    eprintln!("{}: {given} samples, {expected:.1} expected", capture.recorder.event);
    assert!(NEAR.contains(&(given / expected)), "{given} samples, {expected} expected");
    assert_eq!(samples_of(&proof.records).len() as u64, proof.samples);
    assert_eq!(proof.lost, 0);
    let own = proof.files.iter().find(|file| file.path.ends_with("headroom-agent")).unwrap();
    assert!(own.sha256.is_some() && own.oddity.is_none());
    assert_eq!(capture.recorder.attributes.len(), 112);
    // An idle subject gives nothing, and that is said.
    assert_eq!((capture.recorded.samples, capture.recorded.lost), (0, 0));
}

#[test]
fn a_busy_subject_gives_samples_for_its_cpu_time_between_the_first_and_the_last_sample() {
    let subject = Subject::busy();
    let Some(capture) = capture(&with(Scope::Subject, measure(&subject.name, 10)), 11) else {
        return;
    };
    let (first, last) = (&capture.samples[0], &capture.samples[10]);
    let expected = (run_ns(last) - run_ns(first)) as f64 / 1e9 * f64::from(FREQUENCY);
    let samples = samples_of(&capture.records);
    assert_eq!(samples.len() as u64, capture.recorded.samples);
    let share = samples.len() as f64 / expected;
    assert!(NEAR.contains(&share), "{} samples, {expected} expected", samples.len());
    assert!(samples.iter().all(|&(pid, _)| pid == subject.pid()));
    // The counters are read right after the events are switched.
    let slack = 20_000_000;
    assert!(samples.iter().all(|&(_, at)| (first.at_ns - slack..=last.at_ns).contains(&at)));
    assert_eq!((capture.recorded.lost, capture.recorded.throttled), (0, 0));
    let shell = capture.recorded.files.iter().find(|file| file.path.ends_with(&subject.name));
    assert!(shell.unwrap().sha256.is_some());
    let kinds: Vec<u32> = records(&capture.records).into_iter().map(|(kind, _)| kind).collect();
    assert!([3, 10, 68].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    // Trimmed: a shell's stack is far shorter than what was ordered.
    assert!(capture.records.len() / samples.len() < STACK as usize, "{}", capture.records.len());
}

#[test]
fn perf_reads_what_is_sent() {
    if Command::new("perf").arg("--version").output().is_err() {
        return skip::skip!("no perf here");
    }
    let subject = Subject::busy();
    let Some(capture) = capture(&with(Scope::Subject, measure(&subject.name, 3)), 4) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for (name, records, samples) in [
        ("window", &capture.records, capture.recorded.samples),
        ("proof", &capture.recorder.proof.records, capture.recorder.proof.samples),
    ] {
        let file = folder.path().join(name);
        let mut bytes = file_start(&capture.recorder.attributes, records.len() as u64);
        bytes.extend(records);
        std::fs::write(&file, bytes).unwrap();
        let mut perf = Command::new("perf");
        perf.args(["script", "--ns", "-F", "comm,pid,time,event,ip", "-i"]).arg(&file);
        let output = perf.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let heads =
            text.lines().filter(|line| line.contains("cpu-clock") || line.contains("cycles"));
        let comm = if name == "window" { subject.name.as_str() } else { "exe" };
        let heads: Vec<&str> = heads.collect();
        assert_eq!(heads.len() as u64, samples, "{errors}");
        let named = heads.iter().filter(|line| line.trim_start().starts_with(comm)).count();
        assert_eq!(named, heads.len(), "{:?}", heads.first());
        let dump = Command::new("perf").args(["report", "-D", "-i"]).arg(&file).output().unwrap();
        let dump = String::from_utf8_lossy(&dump.stdout);
        assert!(dump.contains("PERF_RECORD_FINISHED_ROUND") && dump.contains("r-xp"));
    }
}

#[test]
fn children_that_come_and_go_are_recorded_with_their_programs() {
    let shell = Copied::of("sh");
    let other = Copied::of("sh");
    // A child lives for several of the sampling clock's periods, or no sample falls into it.
    let work = "i=0; while [ $i -lt 15000 ]; do i=$((i+1)); done";
    let script = format!("while :; do {} -c '{work}'; done", other.path().display());
    // Guests may have this machine meanwhile, and the children a small part of it.
    let start = starting(&shell.name, 40, &[shell.path().to_str().unwrap(), "-c", &script]);
    let Some(capture) = capture(&with(Scope::Subject, start), 41) else { return };
    let mut pids: Vec<u32> = samples_of(&capture.records).iter().map(|sample| sample.0).collect();
    pids.sort_unstable();
    pids.dedup();
    assert!(pids.len() > 2, "{pids:?}");
    let file = capture.recorded.files.iter().find(|file| file.path.ends_with(&other.name));
    let file = file.expect("the children's program was mapped");
    assert!(file.sha256.is_some() && file.oddity.is_none(), "{file:?}");
    let forks = records(&capture.records).into_iter().filter(|(kind, _)| *kind == 7).count();
    assert!(forks > 2, "{forks} births");
}

#[test]
fn the_whole_machine_is_recorded_with_the_agent_in_it() {
    let subject = Subject::busy();
    let Some(capture) = capture(&with(Scope::Machine, measure(&subject.name, 5)), 6) else {
        return;
    };
    let samples = samples_of(&capture.records);
    assert!(samples.iter().any(|&(pid, _)| pid == subject.pid()));
    assert!(samples.iter().all(|&(pid, _)| pid != 0), "idle time is nobody's");
    let files = &capture.recorded.files;
    assert!(files.iter().any(|file| file.path.ends_with("headroom-agent")));
    assert!(files.len() > 3);
}

#[test]
fn a_control_group_is_recorded_and_no_other() {
    let Some(tree) = linux::cgroup::Mounts::find().unwrap().of_events() else {
        return skip::skip!("no hierarchy for performance events is mounted");
    };
    let name = format!("headroom-test.{}", std::process::id());
    let group = tree.mount.join(&name);
    if let Err(error) = linux::cgroup::create(&group) {
        return skip::skip!("{error}");
    }
    let (inside, outside) = (Subject::busy(), Subject::busy());
    linux::cgroup::enter(&group, inside.pid()).unwrap();
    let order = with(Scope::Group(format!("/{name}")), measure(&outside.name, 15));
    let capture = capture(&order, 16);
    let pid = inside.pid();
    drop(inside);
    eventually(|| linux::cgroup::remove(&group).ok());
    let Some(capture) = capture else { return };
    let samples = samples_of(&capture.records);
    assert!(samples.len() > 20, "{} samples", samples.len());
    assert!(samples.iter().all(|sample| sample.0 == pid));
}

#[test]
fn what_cannot_be_recorded_is_refused_with_what_can() {
    let subject = Subject::idle();
    for (frequency, stack_bytes) in [(0, 8192), (99, 8191), (99, 65_536), (10_000_000, 8192)] {
        let stacks = StacksOrder { scope: Scope::Subject, frequency, stack_bytes };
        let instrument = Some(Instrument::Stacks(stacks));
        let order = Order::trial(TrialOrder { instrument, ..measure(&subject.name, 2) });
        let refusal = Agent::ordered(&order).refused();
        assert!(!refusal.why.is_empty(), "{refusal}");
    }
}
