//! What can go wrong with the access point in a trial: the trial is invalid and says why, the code
//! is 3, the report is made all the same, and nothing is left running.

use std::time::Duration;

use crate::harness::{Ended, Place, RunFolder, Study};

/// A study of one trial whose load does this in its window.
///
/// With a load every second and one second of warm-up the window opens 1.5 s after the load's start,
/// so what happens after three seconds happens within it.
fn in_the_window(place: &Place, command: &str) -> Ended {
    place.run_study(&faulty(command)).run()
}

fn faulty(command: &str) -> Study {
    Study::small().repetitions(1).load("fault", command)
}

/// The one trial's reason and console, after the run said so and still made its report.
fn the_reason(ended: &Ended, run: &RunFolder) -> (String, Vec<String>) {
    ended.code(3).prints("report: ");
    run.report();
    let mut invalid = run.invalid();
    assert_eq!(invalid.len(), 1, "{ended}");
    let (why, console) = invalid.remove(0);
    ended.says(&why);
    (why, console)
}

#[test]
fn a_subject_that_is_not_running_is_reported_with_what_runs() {
    let place = Place::with_guests();
    let ended = place.run_study(&Study::small().process("wld").idle().repetitions(1)).run();
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.contains("no process named `wld` runs on the access point"), "{why}");
    assert!(why.contains("hostapd") && why.contains("wpa_supplicant"), "{why}");
    assert_eq!(place.left(), []);
}

#[test]
fn a_subject_that_dies_in_the_window_is_reported_with_its_process() {
    let place = Place::with_guests();
    let ended = in_the_window(&place, "sh -c 'sleep 3; pkill -x hostapd'");
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.starts_with("`hostapd` (pid "), "{why}");
    assert!(why.ends_with("after the window opened"), "{why}");
    assert_eq!(place.left(), []);
}

#[test]
fn a_guest_that_panics_is_reported_with_its_consoles_end() {
    let place = Place::with_guests();
    let ended = in_the_window(&place, "sh -c 'sleep 3; echo c > /proc/sysrq-trigger'");
    let (why, console) = the_reason(&ended, &place.run());
    assert!(why.contains("kernel panicked: Kernel panic - not syncing"), "{why}");
    assert!(console.iter().any(|line| line.contains("sysrq")), "{console:#?}");
    let kept = place.run().text("consoles/fault@6#1.log");
    assert!(kept.contains("Kernel panic"), "{kept}");
    assert_eq!(place.left(), []);
}

#[test]
fn an_agent_that_goes_silent_is_given_up_when_patience_ends() {
    let place = Place::with_guests();
    let study = faulty("sh -c 'sleep 3; pkill -STOP headroom-agent'");
    // It is also the patience with an access point that is raised first, alongside whatever else runs here.
    let ended = place.run_study(&study).words(["--patience", "15s"]).run();
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.contains("silent for 15 s while waiting for the next sample"), "{why}");
    assert_eq!(place.left(), []);
}

#[test]
fn a_guest_that_powers_off_is_reported_as_qemus_end() {
    let place = Place::with_guests();
    let ended = in_the_window(&place, "sh -c 'sleep 3; busybox poweroff -f'");
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.contains("QEMU ended unasked"), "{why}");
    assert_eq!(place.left(), []);
}

#[test]
fn qemu_killed_by_hand_is_reported_and_the_other_trials_go_on() {
    let place = Place::with_guests();
    let study = Study::small().idle().window("300s");
    let mut running = place.run_study(&study).words(["--json", "--jobs", "1"]).start();
    running.event("trial-started");
    let guest = place.guest();
    // A moment into the trial, so that it is the window that breaks and not the restore.
    std::thread::sleep(Duration::from_millis(1500));
    guest.kill();
    let ended = running.end();
    assert_eq!(ended.code(3).last_json()["valid"], 1);
    let invalid = place.run().invalid();
    assert_eq!(invalid.len(), 1, "{ended}");
    let (why, _) = &invalid[0];
    assert!(why.contains("QEMU ended unasked (signal: 9"), "{why}");
    assert!(place.run().path("consoles/idle@6#1.log").exists());
    place.run().report();
    // What could not be measured is measured again, and nothing else.
    place.resume().run().code(0).says("2 trials, 1 done before");
    assert_eq!(place.run().invalid().len(), 0);
    assert_eq!(place.left(), []);
}

#[test]
fn a_load_that_cannot_be_started_is_reported_by_its_name() {
    let place = Place::with_guests();
    let ended = in_the_window(&place, "frobnicate --all");
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.starts_with("cannot start the load `frobnicate --all`: "), "{why}");
    assert_eq!(place.left(), []);
}

#[test]
fn a_load_that_always_fails_answers_no_question() {
    let place = Place::with_guests();
    let ended = in_the_window(&place, "sh -c 'echo no such table >&2; exit 1'");
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.contains("the first with exit status: 1: no such table"), "{why}");
    assert_eq!(place.left(), []);
}

#[test]
fn a_client_that_leaves_in_the_window_makes_the_trial_invalid() {
    let place = Place::with_guests();
    let leave = "sh -c 'sleep 3; ip netns exec clients ip link set sta0 down'";
    let ended = in_the_window(&place, leave);
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.contains("wlan0 has 1 client by the kernel and 1 client by hostapd"), "{why}");
    assert_eq!(place.left(), []);
}

#[test]
fn a_radio_that_stops_makes_the_trial_invalid() {
    let place = Place::with_guests();
    let ended = in_the_window(&place, "hostapd_cli -i wlan0 disable");
    let (why, _) = the_reason(&ended, &place.run());
    assert!(why.contains("2 access-point interfaces, 3 planned"), "{why}");
    assert_eq!(place.left(), []);
}
