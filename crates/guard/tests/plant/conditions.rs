//! Where nothing may be bounded: no demand, the link as the limit, no application, strangers; and who is blamed.

use guard::decide::Condition;

use crate::{
    machine::{App, Machine, Wifi},
    story::Story,
};

const HARD: &str = "aggressiveness = 100";

#[test]
fn an_application_alone_is_never_bounded() {
    for demand in [0.0, 0.000_1] {
        let machine = Machine::new(2, vec![App::new("backup", 8)]).demand(demand);
        let mut story = Story::new(machine, HARD);
        story.machine.latency = 0.5;
        story.run(60.0);
        assert!(!story.ever_bounded(), "{}", story.text());
        assert_eq!(story.last().condition, Condition::Idle);
    }
}

#[test]
fn wifi_alone_bounds_no_one_however_much_it_carries() {
    for demand in [0.1, 0.9, 3.0] {
        let mut app = App::new("backup", 2);
        app.runs = false;
        let mut story = Story::new(Machine::new(2, vec![app]).demand(demand), HARD);
        story.run(30.0);
        assert!(!story.ever_bounded());
        assert_eq!(story.last().condition, Condition::Served);
    }
}

#[test]
fn a_link_that_takes_no_more_bounds_no_one() {
    let mut machine = Machine::new(1, vec![App::new("backup", 4)]);
    machine.wifi[0] = Wifi { demand: 0.3, link: 0.3, ..machine.wifi[0].clone() };
    machine.latency = 0.5;
    for (backlog_bytes, air_busy) in [(Some(200_000), None), (None, Some(0.95))] {
        let mut machine = machine.clone();
        machine.backlog_bytes = backlog_bytes;
        machine.air_busy = air_busy;
        let mut story = Story::new(machine, HARD);
        story.run(30.0);
        assert_eq!(story.last().condition, Condition::LinkLimited);
        assert!(story.writes(1.0, 30.0) == 0, "{}", story.text());
    }
}

#[test]
fn a_shaper_bounds_no_one_though_the_thread_that_fills_its_queue_always_wants_to_run() {
    let mut machine = Machine::new(1, vec![App::new("backup", 4)]);
    machine.wifi[0].demand = 3.0;
    machine.backlog_bytes = Some(200_000);
    let mut free = Story::new(machine.clone(), HARD);
    free.run(10.0);
    assert!(free.ever_bounded(), "a queue without a rate may be the starved thread's own");
    machine.held_back = Some(40);
    let mut story = Story::new(machine, HARD);
    story.run(30.0);
    assert_eq!(story.last().condition, Condition::LinkLimited);
    assert!(!story.ever_bounded(), "{}", story.text());
}

#[test]
fn strangers_are_named_as_the_cause_and_applications_that_sleep_are_left_alone() {
    let mut app = App::new("backup", 1);
    app.demand = 0.0;
    let mut machine = Machine::new(1, vec![app]);
    machine.strangers = 2.0;
    let mut story = Story::new(machine, HARD);
    story.run(20.0);
    assert_eq!(story.last().condition, Condition::StarvedByOthers);
    assert!(story.last().reason.contains("programs that the policy does not name"));
    assert!(!story.ever_bounded());
}

#[test]
fn the_one_that_takes_most_is_bounded_first_and_the_small_one_is_left() {
    let mut small = App::new("dns", 1);
    small.demand = 0.01;
    let machine = Machine::new(1, vec![small, App::new("backup", 4)]);
    let mut story = Story::new(machine, "protect.target = \"90%\"");
    story.run(20.0);
    let bounds = &story.last().bounds;
    assert!(bounds[1].weight < 200, "{}", story.text());
    assert!(bounds[0].are_none(), "{}", story.text());
    let blamed = story.moments.iter().find(|one| one.decision.changed).unwrap();
    assert_eq!(blamed.decision.offenders[0].0, "backup");
}

#[test]
fn without_protected_interfaces_nothing_is_done() {
    let mut story = Story::new(Machine::new(1, vec![App::new("backup", 4)]).demand(0.0), HARD);
    story.machine.interfaces = false;
    story.run(10.0);
    assert!(!story.ever_bounded());
}
