//! What can go wrong with the access point in a trial: the trial is invalid and says why, the code
//! is 3, the report is made all the same, and nothing is left running.
//!
//! What a subject and a load can do wrong is asked of the agent itself, by its own tests.

use std::time::Duration;

use model::trial::Outcome;

use crate::harness::{Place, Study};

/// What the load of a variant does in its one trial, and what the reason must hold.
///
/// With a load every second and one second of warm-up the window opens 1.5 s after the load's start,
/// so what happens after three seconds happens within it.
const FAULTS: [(&str, &str, &str); 9] = [
    ("dies", "sh -c 'sleep 3; pkill -x hostapd'", "after the window opened"),
    (
        "panics",
        "sh -c 'sleep 3; echo c > /proc/sysrq-trigger'",
        "kernel panicked: Kernel panic - not syncing",
    ),
    (
        "is-silent",
        "sh -c 'sleep 3; pkill -STOP headroom-agent'",
        "silent for 20 s while waiting for the next sample",
    ),
    ("powers-off", "sh -c 'sleep 3; busybox poweroff -f'", "QEMU ended unasked"),
    ("no-load", "frobnicate --all", "cannot start the load `frobnicate --all`: "),
    (
        "fails",
        "sh -c 'echo no such table >&2; exit 1'",
        "the first with exit status: 1: no such table",
    ),
    (
        "leaves",
        "sh -c 'sleep 3; ip netns exec clients ip link set sta0 down'",
        "wlan0 has 1 client by the kernel and 1 client by hostapd",
    ),
    ("stops", "hostapd_cli -i wlan0 disable", "2 access-point interfaces, 3 planned"),
    // `nc` and `awk` are no one's but BusyBox's in this image: what works in a shell there works in a study.
    ("in-order", "sh -c 'nc --help; echo 1 | awk 1'", ""),
];

#[test]
fn each_fault_makes_its_trial_invalid_with_its_reason_and_the_others_go_on() {
    let place = Place::with_guests();
    let study = FAULTS
        .iter()
        .fold(Study::small().repetitions(1), |study, (name, run, _)| study.load(name, run));
    let study = study.variant("absent", "load = \"none\"\nsubject = { process = \"wld\" }");
    // It is also the patience with an access point that is raised first, beside whatever else runs here.
    let ended = place.run_study(&study).words("--patience 20s").run();
    ended.code(3).prints("report: ");
    let run = place.run();
    run.report();
    let trials = run.trials();
    let invalid = |name: &str| {
        let trial = trials.iter().find(|trial| trial.planned.id.variant == *name).unwrap();
        match &trial.outcome {
            Outcome::Measured(_) => None,
            Outcome::Invalid { why, console } => Some((why, console)),
        }
    };
    assert_eq!(invalid("in-order"), None);
    for (name, _, expected) in &FAULTS[..8] {
        let (why, _) = invalid(name).unwrap_or_else(|| panic!("{name} was measured:\n{ended}"));
        assert!(why.contains(expected), "{name}: {why}");
        ended.says(why);
    }
    let (why, _) = invalid("absent").unwrap();
    assert!(why.contains("no process named `wld` runs on the access point"), "{why}");
    assert!(why.contains("hostapd") && why.contains("wpa_supplicant"), "{why}");
    assert!(invalid("dies").unwrap().0.starts_with("`hostapd` (pid "));
    let (_, console) = invalid("panics").unwrap();
    assert!(console.iter().any(|line| line.contains("sysrq")), "{console:#?}");
    assert!(run.text("consoles/panics@6#1.log").contains("Kernel panic"));
}

#[test]
fn qemu_killed_by_hand_is_reported_and_the_other_trials_go_on() {
    let place = Place::with_guests();
    let study = Study::small().idle().window("300s");
    let mut running = place.run_study(&study).words("--json --jobs 1").start();
    running.event("trial-started");
    let guest = place.guest();
    // A moment into the trial, so that it is the window that breaks and not the restore.
    std::thread::sleep(Duration::from_millis(1500));
    guest.kill();
    let ended = running.end();
    assert_eq!(ended.code(3).last_json()["valid"], 1);
    let [(why, _)] = &place.run().invalid()[..] else { panic!("{ended}") };
    assert!(why.contains("QEMU ended unasked (signal: 9"), "{why}");
    assert!(place.run().path("consoles/idle@6#1.log").exists());
    place.run().report();
    // What could not be measured is measured again, and nothing else.
    place.resume().run().code(0).says("2 trials, 1 done before");
    assert_eq!(place.run().invalid().len(), 0);
}
