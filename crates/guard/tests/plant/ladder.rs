//! Beyond weights: each rung has to prove itself, and one that does not is taken back.

use guard::{decide::Lever, reading::WorkerKind};
use model::share::Share;

use crate::{
    machine::{App, Machine},
    story::Story,
};

const HARD: &str = "aggressiveness = 100\nprotect.target = \"95%\"";

#[test]
fn a_weight_that_gains_nothing_is_taken_back_and_left_for_a_minute() {
    // Wi-Fi's work waits, whatever the application's weight is: its latency comes from elsewhere.
    let mut machine = Machine::new(1, vec![App::new("backup", 1)]).demand(0.5);
    machine.apps[0].demand = 0.45;
    machine.latency = 1.0;
    let mut story = Story::new(machine, "aggressiveness = 0\nprotect.target = \"95%\"");
    story.run(50.0);
    let text = story.text();
    assert!(text.contains("is taken back and left for 60 s"), "{text}");
    assert!(story.last().bounds[0].are_none(), "{text}");
    assert!(story.changes(10.0, 50.0) == 0, "{text}");
}

#[test]
fn one_cpu_is_never_packed_away_and_a_quota_never_goes_below_the_floor() {
    let lines = "aggressiveness = 100\napplication-floor = \"20%\"\nprotect.target = \"99%\"\nallow.idle = false";
    let mut story = Story::new(Machine::new(1, vec![App::new("backup", 4)]), lines);
    story.refuses.push(Lever::Weight);
    story.run(60.0);
    assert!(story.moments.iter().all(|one| one.decision.bounds[0].cpus.is_none()));
    assert!(story.last().bounds[0].quota.is_some(), "{}", story.text());
    assert!(story.ran(0, 30.0, 60.0) >= 0.19, "{}", story.text());
}

/// A CPU whose packet work is in a thread, alongside four threads of an application, under a policy that has this
/// line.
fn threaded(line: &str) -> Story {
    let mut machine = Machine::new(1, vec![App::new("backup", 4)]);
    machine.wifi[0].kind = WorkerKind::Napi;
    Story::new(machine, &format!("aggressiveness = 100\n{line}"))
}

#[test]
fn an_application_floor_is_the_point_of_the_trade_off_that_the_user_chose() {
    let mut kept_before = 1.0;
    for floor in [2, 5, 10, 20, 30] {
        let mut story = threaded(&format!("application-floor = \"{floor}%\""));
        story.run(40.0);
        let (kept, ran) = (story.kept(20.0, 40.0), story.ran(0, 20.0, 40.0));
        let floor = f64::from(floor) / 100.0;
        assert!(ran >= 0.9 * floor, "{floor}: {ran}\n{}", story.text());
        // What the floor does not take stays with Wi-Fi.
        assert!(
            ran <= floor + 0.03 && kept <= kept_before,
            "{floor}: {ran} {kept}\n{}",
            story.text()
        );
        assert_eq!(story.changes(20.0, 40.0), 0, "{floor}\n{}", story.text());
        kept_before = kept;
    }
}

#[test]
fn a_floor_that_comes_later_takes_nice_values_back_that_leave_too_little() {
    let mut story = threaded("");
    story.run(20.0);
    assert!(story.last().placement.nice.is_some(), "{}", story.text());
    story.policy.application_floor = Some(Share::of(0.3));
    story.run(20.0);
    assert_eq!(story.last().placement.nice, None, "{}", story.text());
    assert!(story.ran(0, 30.0, 40.0) >= 0.27, "{}", story.text());
}

#[test]
fn the_policy_and_the_knob_keep_levers_shut() {
    for lines in [
        "aggressiveness = 0\nprotect.target = \"99%\"",
        "aggressiveness = 100\nprotect.target = \"99%\"\n[allow]\nidle = false\npacking = false\n\
         quota = false\nmemory = false\ncache = false\nplacement = false",
    ] {
        let mut story = Story::new(Machine::new(2, vec![App::new("backup", 4)]), lines);
        story.refuses.push(Lever::Weight);
        story.run(30.0);
        assert!(story.last().bounds[0].are_none(), "{}", story.text());
        assert!(story.last().reason.contains("every lever that is open is used"));
    }
}

#[test]
fn threads_for_napi_come_first_where_they_are_asked_for_and_never_otherwise() {
    let machine = || Machine::new(1, vec![App::new("backup", 4)]);
    let mut story = Story::new(machine(), "aggressiveness = 0\n[allow]\nthreaded-napi = true");
    story.run(30.0);
    let first = story.moments.iter().find(|one| one.decision.changed).unwrap();
    assert_eq!(first.decision.placement.threaded, Some(true));
    // The plant's forwarding gains nothing by threads, so they are taken back and weights do it.
    assert_eq!(story.last().placement.threaded, None);
    assert!(story.kept(10.0, 30.0) >= 0.69, "{}", story.text());
    let mut story = Story::new(machine(), HARD);
    story.run(30.0);
    assert!(story.moments.iter().all(|one| one.decision.placement.threaded.is_none()));
}
