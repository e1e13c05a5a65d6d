//! A program that forks, starts threads and starts programs fails in nothing on a virtual access point, whatever
//! measures it, and each of its calls is counted: functions of its own and of the kernel.
//!
//! On the machine that runs the tests that is asked by the agent's own `harm.rs`, with an sshd alongside it.

use std::process::Command;

use lab::vm::snapshot::Snapshot;
use model::{
    instrument::{Counts, CountsOrder, Detail, Instrument, Place as At, Probe, Scope, StacksOrder},
    pause::{PauseOrder, PauseSpan, PauseState, Target},
    span::Span,
    trial::{HostCost, Recording},
    wire::{LoadOrder, Measure, StartOrder, SubjectOrder, Work},
};

use crate::harness::{
    Place,
    guest::{self, Guest, Program},
    offset_in,
};

const BREEDER: Program =
    Program { name: "breeder", source: "breeder.c", flags: &["-O1", "-static", "-pthread"] };

/// Where it says what it did.
const SAID: &str = "/run/said";

/// Calls of `work` in a batch, and births: `programs/breeder.c` has 40 threads, 10 children, 5 lines of 3
/// generations, 10 programs, and 5 threads with a child each, of which the threads themselves call nothing.
const CALLS: u64 = 40 + 10 + 5 * 3 + 10 + 5;
const BIRTHS: u64 = CALLS + 5;

const BATCHES: u64 = 3;

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// A batch every 2 s, the breeder as the subject.
fn measure(instrument: Option<Instrument>) -> Measure {
    let command = words(&format!("{} {SAID}", BREEDER.path()));
    Measure {
        subject: SubjectOrder {
            process: BREEDER.name.to_owned(),
            start: Some(StartOrder { command, ready: None }),
        },
        others: Vec::new(),
        load: Some(LoadOrder {
            work: Work::Rounds(vec![words("busybox killall -USR1 breeder")]),
            every: Span::from_secs(2),
        }),
        background: None,
        offset: Span::default(),
        warm_up: Span::from_secs(2),
        window: Span::from_secs(2 * BATCHES),
        sample_every: Span::from_secs(2),
        instrument,
        topology: None,
        identify: true,
        state: None,
        witness: None,
    }
}

/// Probes on a function of the breeder and on two of the kernel, which every birth calls.
fn counts(place: &Place) -> CountsOrder {
    let path = place.path(BREEDER.name);
    let sum = Command::new("sha256sum").arg(&path).output().unwrap().stdout;
    let work = At::User {
        path: BREEDER.path(),
        sha256: String::from_utf8(sum).unwrap().split(' ').next().unwrap().parse().unwrap(),
        offset: offset_in(&path, |name| name == "work"),
    };
    let probe = |name: &str, place: &At, detail| Probe {
        name: name.to_owned(),
        place: place.clone(),
        detail,
    };
    let kernel = |name: &str| At::Kernel(name.to_owned());
    CountsOrder {
        scope: Scope::Subject,
        probes: vec![
            probe("calls", &work, Detail::Hits),
            probe("calls with times", &work, Detail::Spans(Some(0))),
            probe("births", &kernel("wake_up_new_task"), Detail::Hits),
            probe("births with times", &kernel("kernel_clone"), Detail::Spans(None)),
        ],
        read: Some(words(&format!("cat {SAID}"))),
    }
}

fn stacks() -> Instrument {
    Instrument::Stacks(StacksOrder { scope: Scope::Subject, frequency: 499, stack_bytes: 32_768 })
}

/// The breeder is a consumer that is stopped, in the midst of what it does, and resumed.
fn paused() -> Measure {
    let states = [PauseState::Runs, PauseState::Stopped, PauseState::Runs, PauseState::Sham];
    let instrument = Instrument::Pause(PauseOrder {
        target: Target::Process(BREEDER.name.to_owned()),
        spans: states.map(|state| PauseSpan { state, intervals: 1 }).to_vec(),
        longest: Span::from_secs(60),
    });
    let script = "while sleep 0.7; do busybox killall -USR1 breeder; done";
    let shell = ["busybox", "sh", "-c", script].map(str::to_owned).to_vec();
    let work = Work::LongRunning(vec![words(&format!("{} {SAID}", BREEDER.path())), shell]);
    Measure {
        subject: SubjectOrder { process: "hostapd".to_owned(), start: None },
        load: Some(LoadOrder { work, every: Span::from_secs(2) }),
        window: Span::from_secs(8),
        ..measure(Some(instrument))
    }
}

/// The breeder in a group whose `memory.high` is below what it needs: it waits for reclaim again and again.
fn short_of_memory() -> Measure {
    let script = format!(
        "cd /sys/fs/cgroup && echo +memory > cgroup.subtree_control && mkdir bound && echo 1M > bound/memory.high && \
         echo $$ > bound/cgroup.procs && exec {} {SAID}",
        BREEDER.path()
    );
    let command = ["busybox", "sh", "-c", &script].map(str::to_owned).to_vec();
    let mut order = measure(None);
    order.subject.start = Some(StartOrder { command, ready: None });
    order
}

/// What the breeder has said: its calls, and what failed.
fn said(text: &str) -> (u64, &str) {
    let (calls, failed) = text.trim_end().split_once(' ').unwrap();
    (calls.parse().unwrap(), failed.trim_end())
}

/// What a file says after a window, read by an order of its own.
fn says(guest: &mut Guest, file: &str) -> String {
    let read = Some(words(&format!("cat {file}")));
    let order = CountsOrder { scope: Scope::Subject, probes: Vec::new(), read };
    let subject = SubjectOrder { process: "hostapd".to_owned(), start: None };
    let instrument = Some(Instrument::Counts(order));
    let order = Measure { subject, load: None, ..measure(instrument) };
    let counts = guest.measure(&order, &mut HostCost::default()).counts.unwrap();
    let [_, after] = counts.read.unwrap();
    after
}

/// A window from the snapshot, in which nothing of the breeder may fail; and the guest, for what else it says.
fn unharmed(lab: &lab::Lab, snapshot: &Snapshot, order: &Measure) -> (Recording, Guest) {
    let mut guest = Guest::start(lab, snapshot);
    let recording = guest.measure(order, &mut HostCost::default());
    let says = says(&mut guest, SAID);
    let (calls, failed) = said(&says);
    assert_eq!(failed, "0", "{:?}", order.instrument);
    assert!(calls >= BATCHES * CALLS, "{calls} calls");
    (recording, guest)
}

fn hits(counts: &Counts) -> Vec<u64> {
    counts.probes.iter().map(|counted| counted.hits).collect()
}

#[test]
fn whoever_forks_starts_threads_and_programs_fails_under_no_instrument_and_is_counted() {
    let place = Place::with_guests();
    let lab = guest::lab();
    let snapshot = guest::access_point(&lab, &place, &BREEDER);
    for instrument in [None, Some(stacks()), Some(Instrument::Peers)] {
        unharmed(&lab, &snapshot, &measure(instrument));
    }
    unharmed(&lab, &snapshot, &paused());
    let (_, mut guest) = unharmed(&lab, &snapshot, &short_of_memory());
    let events = says(&mut guest, "/sys/fs/cgroup/bound/memory.events");
    let high = events.lines().find_map(|line| line.strip_prefix("high ")).unwrap();
    assert!(high.parse::<u64>().unwrap() > 0, "its memory was never short: {events}");
    drop(guest);

    let (counted, _) =
        unharmed(&lab, &snapshot, &measure(Some(Instrument::Counts(counts(&place)))));
    let counts = counted.counts.unwrap();
    let [before, after] = counts.read.as_ref().unwrap();
    assert_eq!(said(after).0 - said(before).0, BATCHES * CALLS);
    let (calls, births) = (BATCHES * CALLS, BATCHES * BIRTHS);
    assert_eq!(hits(&counts), [calls, calls, births, births]);
    let paired = |place: usize| counts.probes[place].spans.len() as u64;
    assert_eq!((paired(1), paired(3)), (calls, births));
    assert_eq!(place.left(), []);
}
