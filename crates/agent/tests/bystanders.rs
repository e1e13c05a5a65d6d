//! A window in which somebody else fails as programs fail that an instrument harms is refused.
//!
//! By itself, because the whole machine is watched: what fails here would fail every other test's window.

#![expect(
    clippy::unwrap_used,
    reason = "what a test cannot do ends the test, and a skip is printed"
)]

#[expect(dead_code, reason = "the other tests of the agent use the rest")]
#[path = "agent/dialogue.rs"]
mod dialogue;

use std::{
    fs,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use dialogue::{Agent, Subject, measure, sha256_of};
use linux::perf::tracing::Tracing;
use model::{
    instrument::{CountsOrder, Detail, Instrument, Place, Probe, Scope, StacksOrder},
    wire::{Order, TrialOrder},
};

/// What a fork that is harmed answers: a call with arguments that lead nowhere, from Python.
const CANNOT_FORK: &str = "import ctypes; ctypes.CDLL(None).syscall(435, 1, 88)";

/// An end by a fault.
const DIES: &str = "import os; os.kill(os.getpid(), 11)";

/// One test after the other: each sees what fails in the others.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The refusal of a window in which a bystander runs a script of Python; `None` where nothing is watched here.
fn refused(instrument: Instrument, script: &str) -> Option<String> {
    if Tracing::open().is_err() {
        skip::skip!("no tracefs here");
        return None;
    }
    let subject = Subject::idle();
    let measure = TrialOrder { instrument: Some(instrument), ..measure(&subject.name, 10) };
    let mut agent = Agent::opened(&Order::trial(measure))
        .inspect_err(|refusal| skip::skip!("{refusal}"))
        .ok()?;
    let _ = Command::new("python3").args(["-c", script]).status().unwrap();
    Some(agent.refused().to_string())
}

fn counts() -> Instrument {
    // A program of our own that never runs: a kernel puts no probe into the head of a file that a process has mapped.
    let path = format!("{}/never-run", env!("CARGO_TARGET_TMPDIR"));
    fs::copy(agent::programs::resolve("sleep").unwrap(), &path).unwrap();
    let sha256 = sha256_of(&path);
    let place = Place::User { path, sha256, offset: 0x40 };
    let probes = vec![Probe { name: "head".to_owned(), place, detail: Detail::Hits }];
    Instrument::Counts(CountsOrder { scope: Scope::Subject, probes, read: None })
}

#[test]
fn a_fork_that_fails_while_probes_are_on_ends_the_trial() {
    let _turn = turn();
    let Some(reported) = refused(counts(), CANNOT_FORK) else { return };
    assert!(reported.contains("(forks or threads failed: 1): `python3` (pid "), "{reported}");
    assert!(
        reported.contains(") could not fork or start a thread (clone3: Bad address"),
        "{reported}"
    );
}

#[test]
fn a_subject_that_dies_by_a_fault_is_reported_with_its_signal() {
    let _turn = turn();
    let subject = Subject::idle();
    let measure = TrialOrder { instrument: Some(counts()), ..measure(&subject.name, 100) };
    let Ok(mut agent) = Agent::opened(&Order::trial(measure)) else {
        return skip::skip!("nothing can be probed here");
    };
    let pid = subject.pid();
    assert!(Command::new("kill").args(["-SEGV", &pid.to_string()]).status().unwrap().success());
    let reported = agent.refused().to_string();
    assert!(reported.contains(&format!("`{}` (pid {pid}) ended ", subject.name)), "{reported}");
    assert!(reported.ends_with(&format!("(pid {pid}) ended by signal 11 (SIGSEGV)")), "{reported}");
}

#[test]
fn a_process_that_dies_by_a_fault_ends_the_trial() {
    let _turn = turn();
    let stacks = StacksOrder { scope: Scope::Subject, frequency: 99, stack_bytes: 1024 };
    for instrument in [counts(), Instrument::Stacks(stacks)] {
        let Some(reported) = refused(instrument, DIES) else { return };
        assert!(
            reported.contains("(processes ended by a fault: 1): `python3` (pid "),
            "{reported}"
        );
        assert!(reported.contains(") ended by signal 11 (SIGSEGV)"), "{reported}");
    }
}
