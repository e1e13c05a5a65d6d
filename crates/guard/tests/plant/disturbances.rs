//! What goes wrong: refused levers, applications and interfaces that come and go, clocks that jump, kernels that
//! tell little.

use guard::decide::{Condition, Lever};

use crate::{
    machine::{App, Machine},
    story::Story,
};

const TARGET: &str = "aggressiveness = 100\nprotect.target = \"95%\"";

fn harm() -> Machine {
    Machine::new(1, vec![App::new("backup", 4)])
}

#[test]
fn everything_is_released_within_ten_seconds_of_the_last_packet() {
    let mut story = Story::new(harm(), TARGET);
    story.run(20.0);
    assert!(!story.last().bounds[0].are_none());
    story.machine.set_demand(0.0);
    story.run(10.0);
    assert!(story.last().bounds[0].are_none(), "{}", story.text());
}

#[test]
fn the_second_burst_is_protected_at_once_by_what_the_first_one_taught() {
    let mut story = Story::new(harm(), TARGET);
    story.run(20.0);
    story.machine.set_demand(0.0);
    story.run(20.0);
    story.machine.set_demand(2.0);
    let began = story.moments.last().unwrap().at;
    story.run(10.0);
    let back = story.between(began, began + 1.0).find(|one| one.decision.changed).unwrap();
    assert!(back.at - began <= 0.41, "{}", story.text());
    assert!(back.decision.reason.contains("goes back to the bounds that were enough"));
    assert!(story.protected_after(began, 0.945).unwrap() <= 0.41);
}

#[test]
fn bursts_of_a_second_are_protected_without_a_write_for_each() {
    let mut story = Story::new(harm(), TARGET);
    for _ in 0..60 {
        story.machine.set_demand(2.0);
        story.run(1.0);
        story.machine.set_demand(0.0);
        story.run(1.0);
    }
    assert!(story.writes(20.0, 120.0) <= 10, "{}", story.text());
    assert!(story.kept(20.0, 120.0) >= 0.94);
}

#[test]
fn a_refused_weight_is_not_asked_for_again_and_packing_leaves_wifi_its_cpu() {
    let mut story = Story::new(Machine::new(4, vec![App::new("backup", 8)]), TARGET);
    story.machine.wifi.truncate(1);
    story.refuses.push(Lever::Weight);
    story.run(30.0);
    let asked = story.moments.iter().filter(|one| one.decision.bounds[0].weight < 1024).count();
    assert!(asked <= 3, "{}", story.text());
    assert_eq!(story.last().bounds[0].cpus, Some(vec![1, 2, 3]), "{}", story.text());
    assert!(story.kept(10.0, 30.0) >= 0.94, "{}", story.text());
    assert!(story.ran(0, 10.0, 30.0) > 2.9);
}

#[test]
fn a_jump_of_the_clock_decides_nothing_and_changes_nothing() {
    let mut story = Story::new(harm(), TARGET);
    story.run(20.0);
    let before = story.last().bounds.clone();
    let mut reading = story.machine.run(0.2);
    reading.span_ns = 3_600_000_000_000;
    reading.at_ns += 3_600_000_000_000;
    let (state, decision) =
        guard::decide::decide(&story.policy, &story.state, &reading, &story.outcome);
    assert_eq!((decision.condition, decision.changed), (Condition::Unknown, false));
    assert_eq!(decision.bounds, before);
    let mut reading = story.machine.run(0.2);
    reading.at_ns = 5;
    let (_, decision) = guard::decide::decide(&story.policy, &state, &reading, &story.outcome);
    assert_eq!((decision.condition, decision.changed), (Condition::Unknown, false));
}

#[test]
fn an_application_that_ends_is_released_and_one_that_begins_is_seen() {
    let machine = Machine::new(1, vec![App::new("backup", 4), App::new("index", 4)]);
    let mut story = Story::new(machine, TARGET);
    story.machine.apps[1].runs = false;
    story.run(20.0);
    story.machine.apps[0].runs = false;
    story.machine.apps[1].runs = true;
    story.run(20.0);
    let bounds = &story.last().bounds;
    assert!(bounds[0].are_none() && !bounds[1].are_none(), "{}", story.text());
    assert!(story.protected_after(20.0, 0.94).unwrap() <= 1.0, "{}", story.text());
}

#[test]
fn interfaces_that_vanish_release_and_their_return_starts_again() {
    let mut story = Story::new(harm(), TARGET);
    story.run(10.0);
    story.machine.interfaces = false;
    story.machine.set_demand(0.0);
    story.run(10.0);
    assert!(story.last().bounds[0].are_none());
    story.machine.interfaces = true;
    story.machine.set_demand(2.0);
    story.run(5.0);
    assert!(!story.last().bounds[0].are_none());
}

#[test]
fn a_kernel_that_reports_no_waiting_is_steered_by_the_canary_or_by_drops() {
    for canary in [true, false] {
        for split in [true, false] {
            let mut machine = harm();
            machine.sensors.waits = false;
            machine.sensors.canary = canary;
            machine.sensors.split = split;
            let mut story = Story::new(machine.demand(0.8), TARGET);
            story.run(60.0);
            let kept = story.kept(10.0, 60.0);
            assert!(kept >= 0.93, "canary {canary}, split {split}: {kept}\n{}", story.text());
            let writes = story.writes(30.0, 60.0);
            assert!(writes <= 4, "canary {canary}, split {split}: {writes}\n{}", story.text());
        }
    }
}

#[test]
fn a_rate_is_defended_only_as_far_as_it_goes() {
    let mut story = Story::new(harm(), "aggressiveness = 100\nprotect.target = \"70 Mb/s\"");
    story.run(60.0);
    let kept = story.kept(10.0, 60.0);
    assert!((0.68..=0.78).contains(&kept), "{kept}\n{}", story.text());
}
