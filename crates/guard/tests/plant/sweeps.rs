//! Random machines and random readings: what must hold on all of them.
//!
//! The seed is fixed, so that a failure comes again.

use guard::{
    decide::{Condition, Decision, Outcome, State, decide},
    reading::{Application, Cpu, Interface, Reading, Worker, WorkerKind},
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::{
    machine::{App, Dice, Machine},
    story::{Story, policy},
};

fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// A machine whose Wi-Fi work is saturated by its CPUs, with one to three applications.
fn harmed() -> impl Strategy<Value = Machine> {
    let app = (1..9usize, 0.3..1.0f64);
    let text = (any::<bool>(), 0.0..0.05f64, 0.0..0.3f64, 0.0..0.3f64);
    (1..5usize, prop::collection::vec(app, 1..4), text, any::<u64>()).prop_map(
        |(cpus, apps, (split, noise, endpoints, cache_penalty), seed)| {
            let named = apps.into_iter().enumerate().map(|(at, (threads, demand))| {
                let mut app = App::new(&format!("app{at}"), threads);
                app.demand = demand;
                app
            });
            let mut machine = Machine::new(cpus, named.collect());
            machine.sensors.split = split;
            machine.sensors.noise = noise;
            machine.endpoints = endpoints;
            machine.cache_penalty = cache_penalty;
            machine.dice = Dice(seed | 1);
            machine
        },
    )
}

/// How much of Wi-Fi's CPU time was really kept, beside what no lever gives back (the cache).
fn held(story: &Story, from: f64, to: f64) -> f64 {
    let kept: Vec<f64> = story.between(from, to).filter_map(|one| one.decision.kept).collect();
    kept.iter().sum::<f64>() / kept.len() as f64
}

#[test]
fn at_constant_load_the_target_is_held_floors_are_kept_and_bounds_settle() {
    let strategy = (harmed(), 0..101u8);
    runner(24)
        .run(&strategy, |(machine, aggressiveness)| {
            let mut story = Story::new(machine, &format!("aggressiveness = {aggressiveness}"));
            story.run(150.0);
            let target = story.last().target;
            let kept = held(&story, 30.0, 150.0);
            let line = target - 0.15 * (1.0 - target) - 0.002;
            prop_assert!(kept >= line, "{aggressiveness}: {kept} of {target}\n{}", story.text());
            let writes = story.writes(60.0, 150.0);
            prop_assert!(writes <= 9, "{aggressiveness}: {writes} writes\n{}", story.text());
            let late = story.protected_by(1.0);
            prop_assert!(late >= line - 0.02, "{aggressiveness}: {late}\n{}", story.text());
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_harder_knob_never_keeps_less_of_wifi_nor_leaves_applications_more() {
    runner(5)
        .run(&harmed(), |machine| {
            let mut before: Option<(f64, f64)> = None;
            for aggressiveness in [0, 25, 50, 75, 100] {
                let mut story =
                    Story::new(machine.clone(), &format!("aggressiveness = {aggressiveness}"));
                story.run(90.0);
                let kept = held(&story, 60.0, 90.0);
                let work: f64 = (0..machine.apps.len()).map(|at| story.ran(at, 60.0, 90.0)).sum();
                if let Some((kept_before, work_before)) = before {
                    prop_assert!(
                        kept >= kept_before - 0.02,
                        "{aggressiveness}: {kept} {kept_before}"
                    );
                    let most = work_before + 0.03 * machine.cpus as f64;
                    prop_assert!(work <= most, "{aggressiveness}: {work} {work_before}");
                }
                before = Some((kept, work));
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn loads_that_come_and_go_never_leave_a_bound_behind() {
    let phases = prop::collection::vec((0.0..2.0f64, any::<bool>(), 1.0..15.0f64), 3..8);
    runner(12)
        .run(&(harmed(), phases), |(machine, phases)| {
            let mut story = Story::new(machine, "aggressiveness = 100");
            for (demand, runs, seconds) in phases {
                story.machine.set_demand(demand);
                story.machine.apps[0].runs = runs;
                story.run(seconds);
            }
            story.machine.set_demand(0.0);
            story.run(12.0);
            prop_assert_eq!(story.last().condition, Condition::Idle);
            prop_assert!(story.last().bounds.iter().all(guard::bounds::Bounds::are_none));
            Ok(())
        })
        .unwrap();
}

/// Any number, with the ends more often than chance would have them.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(u64::MAX), 0..400_000_000u64, any::<u64>()]
}

fn any_reading() -> impl Strategy<Value = Reading> {
    let share = prop_oneof![Just(None), (0.0..1.0f64).prop_map(Some), Just(Some(f64::MAX))];
    let maybe = || prop::option::of(number());
    let interface = (number(), number(), maybe(), share).prop_map(
        |(packets, rx_bytes, backlog_bytes, air_busy)| Interface {
            packets,
            rx_bytes,
            backlog_bytes,
            air_busy,
            ..Interface::default()
        },
    );
    let cpu = (any::<u32>(), number(), number(), maybe()).prop_map(
        |(cpu, user_ns, dropped, canary_late_ns)| Cpu {
            cpu,
            user_ns,
            softirq_ns: dropped,
            idle_ns: user_ns,
            dropped,
            squeezed: dropped,
            canary_late_ns,
            ..Cpu::default()
        },
    );
    let worker = (any::<u32>(), number(), maybe()).prop_map(|(cpu, ran_ns, waited_ns)| Worker {
        cpu,
        ran_ns,
        waited_ns,
        kind: WorkerKind::Napi,
        ..Worker::default()
    });
    let application = (any::<bool>(), number(), prop::collection::vec(number(), 0..4), maybe())
        .prop_map(|(runs, ran_ns, ran_by_cpu_ns, waited_ns)| Application {
            name: "app0".to_owned(),
            runs,
            ran_ns,
            ran_by_cpu_ns,
            waited_ns,
            memory_kib: waited_ns,
            ..Application::default()
        });
    let lists = (
        prop::collection::vec(interface, 0..3),
        prop::collection::vec(cpu, 0..4),
        prop::collection::vec(worker, 0..4),
        prop::collection::vec(application, 0..3),
    );
    (number(), number(), lists, maybe()).prop_map(
        |(at_ns, span_ns, (interfaces, cpus, workers, applications), memory_pressure_ns)| Reading {
            at_ns,
            span_ns,
            interfaces,
            cpus,
            workers,
            applications,
            memory_pressure_ns,
            ..Reading::default()
        },
    )
}

fn is_sound(decision: &Decision) -> bool {
    let weights = decision.bounds.iter().map(|bounds| bounds.weight);
    decision.bounds.len() == 2
        && weights.into_iter().all(|weight| (2..=1024).contains(&weight))
        && decision.bounds.iter().all(|bounds| bounds.cpus.as_ref().is_none_or(|c| !c.is_empty()))
        && decision.kept.is_none_or(|kept| (0.0..=1.0).contains(&kept))
        && !decision.reason.is_empty()
        && decision.reason.lines().count() == 1
}

#[test]
fn any_reading_gets_a_sound_decision_and_the_same_one_again() {
    let policy = policy("aggressiveness = 100\napplication-floor = \"10%\"", &["app0", "app1"]);
    runner(200)
        .run(&prop::collection::vec(any_reading(), 1..12), |readings| {
            let mut state = State::default();
            for reading in readings {
                let (next, decision) = decide(&policy, &state, &reading, &Outcome::default());
                let again = decide(&policy, &state, &reading, &Outcome::default());
                prop_assert_eq!(&(next.clone(), decision.clone()), &again);
                prop_assert!(is_sound(&decision), "{:?}", decision);
                state = next;
            }
            Ok(())
        })
        .unwrap();
}
