//! Single ticks and short stories; the plant in `tests/plant` has the long ones.

use super::*;
use crate::reading::{Application, Cpu, Interface, Worker, WorkerKind};

fn policy(text: &str) -> Policy {
    crate::policy::parse(text, "test").unwrap()
}

/// A policy with two applications.
fn two() -> Policy {
    policy(
        "aggressiveness = 100\nprotect.target = \"95%\"\n[[application]]\nname = \"backup\"\n\
         service = \"backup\"\n[[application]]\nname = \"index\"\nservice = \"index\"\n",
    )
}

fn application(name: &str, ran_by_cpu_ns: Vec<u64>) -> Application {
    Application {
        name: name.to_owned(),
        runs: true,
        ran_ns: ran_by_cpu_ns.iter().sum(),
        ran_by_cpu_ns,
        waited_ns: Some(100_000_000),
        ..Application::default()
    }
}

fn worker(cpu: u32, ran_ns: u64, waited_ns: u64) -> Worker {
    Worker { cpu, ran_ns, waited_ns: Some(waited_ns), kind: WorkerKind::Napi, ..Worker::default() }
}

/// 200 ms on two CPUs: Wi-Fi's thread on CPU 0 had half of what it asked for, and backup the other half; index
/// filled CPU 1.
fn starved(tick: u64) -> Reading {
    let cpu = |cpu| Cpu { cpu, user_ns: 200_000_000, ..Cpu::default() };
    Reading {
        at_ns: 5_000_000_000 + tick * TICK_NS,
        span_ns: TICK_NS,
        interfaces: vec![Interface { packets: 1_000, rx_bytes: 1_500_000, ..Interface::default() }],
        cpus: vec![cpu(0), cpu(1)],
        workers: vec![worker(0, 100_000_000, 100_000_000)],
        applications: vec![
            application("backup", vec![100_000_000, 0]),
            application("index", vec![0, 200_000_000]),
        ],
        ..Reading::default()
    }
}

/// Decides this many starved ticks and gives state and last decision.
fn after(ticks: u64, policy: &Policy, outcome: &Outcome) -> (State, Decision) {
    let mut state = State::default();
    let mut last = Decision::default();
    for tick in 0..ticks {
        (state, last) = decide(policy, &state, &starved(tick), outcome);
    }
    (state, last)
}

#[test]
fn the_first_tick_decides_nothing_and_the_second_says_what_and_why() {
    let policy = two();
    let (_, first) = after(1, &policy, &Outcome::default());
    assert_eq!((first.condition, first.changed), (Condition::Unknown, false));
    let (_, second) = after(2, &policy, &Outcome::default());
    assert_eq!(second.condition, Condition::Starved);
    assert_eq!(
        second.reason,
        "Wi-Fi got 50 % of the CPU time that it asked for (target 95 %); backup took 100 % of what it \
         lost; backup goes from weight 1024 to 64"
    );
    assert_eq!(second.offenders, [("backup".to_owned(), 1.0)]);
    assert!(second.bounds[1].are_none(), "index is on the other CPU");
    assert!((second.kept.unwrap() - 0.5).abs() < 1e-9);
}

#[test]
fn loss_is_what_workers_waited_and_at_most_what_applications_ran_there() {
    let mut reading = starved(0);
    reading.workers[0].waited_ns = Some(900_000_000);
    let signal = Signal::of(&two(), &reading);
    assert!((signal.lost - 0.5).abs() < 1e-9);
    reading.workers[0].waited_ns = Some(20_000_000);
    let signal = Signal::of(&two(), &reading);
    assert!((signal.lost - 0.1).abs() < 1e-9);
    assert!((signal.ran - 0.5).abs() < 1e-9);
}

#[test]
fn softirqs_at_the_tail_of_other_threads_count_as_had_where_ksoftirqd_works() {
    let mut reading = starved(0);
    reading.cpus[0].softirq_ns = 150_000_000;
    let napi = Signal::of(&two(), &reading);
    assert!((napi.ran - 0.5).abs() < 1e-9, "a NAPI thread carries all of it");
    reading.workers[0].kind = WorkerKind::Ksoftirqd;
    let softirq = Signal::of(&two(), &reading);
    assert!((softirq.ran - 0.75).abs() < 1e-9);
}

#[test]
fn without_times_per_cpu_an_application_is_laid_over_the_cpus_where_there_was_room() {
    let mut reading = starved(0);
    for application in &mut reading.applications {
        application.ran_by_cpu_ns.clear();
    }
    // Room beside Wi-Fi's thread: 0.5 on CPU 0, 1 on CPU 1. A third of each application ran on CPU 0.
    let signal = Signal::of(&two(), &reading);
    assert!((signal.lost - 0.5).abs() < 1e-9);
    assert!((signal.blame[0] - 0.5 / 3.0).abs() < 1e-9, "{:?}", signal.blame);
}

#[test]
fn a_lever_that_was_refused_or_overruled_is_as_it_was_found_and_left() {
    let policy = two();
    let refused = Outcome {
        refused: vec![("backup".to_owned(), Lever::Weight, "EINVAL".to_owned())],
        ..Outcome::default()
    };
    let overruled = Outcome {
        overruled: vec!["/sys/fs/cgroup/cpu/headroom-guard/backup/cpu.shares".to_owned()],
        ..Outcome::default()
    };
    for outcome in [refused, overruled] {
        let (state, _) = after(2, &policy, &Outcome::default());
        let (state, next) = decide(&policy, &state, &starved(2), &outcome);
        assert_eq!(next.bounds[0].weight, 1024);
        assert!(state.is_spent("backup", Lever::Weight));
    }
}

#[test]
fn what_is_held_follows_an_application_through_a_change_of_the_policy() {
    let policy = two();
    let (state, _) = after(3, &policy, &Outcome::default());
    let mut other = policy.clone();
    other.applications.reverse();
    let (_, decision) = decide(&other, &state, &starved(3), &Outcome::default());
    assert!(decision.bounds[0].are_none() && decision.bounds[1].weight <= 64, "{decision:?}");
}

#[test]
fn ticks_are_long_only_where_there_is_nothing_to_protect_and_no_one_to_protect_it_from() {
    let policy = two();
    let (_, starving) = after(2, &policy, &Outcome::default());
    assert_eq!(next_tick_ns(&starved(2), &starving), TICK_NS);
    let mut quiet = starved(0);
    quiet.interfaces.clear();
    let idle = Decision { condition: Condition::Idle, ..Decision::default() };
    assert_eq!(next_tick_ns(&quiet, &idle), TICK_NS, "applications could take something at once");
    quiet.applications.clear();
    assert_eq!(next_tick_ns(&quiet, &idle), IDLE_TICK_NS);
}
