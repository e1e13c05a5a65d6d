//! What goes wrong: death without a word, a second guard, files and sockets that are not what they should be.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::device::LONG;

#[test]
fn a_guard_that_is_killed_is_followed_by_its_watchdog() {
    let device = busy!();
    let before = device.knobs();
    let guard = device.run_with("aggressiveness = 100");
    device.until_changed(&before);
    guard.signal("KILL");
    let begin = Instant::now();
    device.until("the watchdog restores", || (device.knobs() == before).then_some(()));
    println!("restored {:?} after kill -9", begin.elapsed());
    let dead = device.ended(&["status"]);
    assert!(dead.code == 4 && dead.err.contains("dead"), "{dead:?}");
}

#[test]
fn a_guard_that_is_stuck_is_undone_by_its_watchdog_and_begins_anew() {
    let device = busy!();
    let before = device.knobs();
    let guard = device.run_with("aggressiveness = 100");
    device.until_changed(&before);
    guard.signal("STOP");
    device.until("the watchdog restores", || (device.knobs() == before).then_some(()));
    guard.signal("CONT");
    device.until_changed(&before);
    guard.signal("TERM");
    let ended = guard.end();
    assert!(ended.code == 0 && ended.err.contains("guard was stuck"), "{ended:?}");
    assert_eq!(device.knobs(), before);
}

#[test]
fn a_watchdog_that_is_killed_is_followed_by_another() {
    let device = busy!();
    let before = device.knobs();
    let guard = device.run_with("aggressiveness = 100");
    device.until_changed(&before);
    let first = guard.children();
    first.iter().for_each(|pid| linux::process::kill(*pid).unwrap());
    device.until("another one watches", || {
        let now = guard.children();
        (!now.is_empty() && now.iter().all(|pid| !first.contains(pid))).then_some(())
    });
    guard.signal("KILL");
    device.until("the other watchdog restores", || (device.knobs() == before).then_some(()));
}

#[test]
fn the_next_start_puts_back_what_neither_guard_nor_watchdog_could() {
    let device = busy!();
    let before = device.knobs();
    let policy = device.policy("aggressiveness = 100");
    for verb in ["restore", "run"] {
        let guard = device.run(&[policy.to_str().unwrap()]);
        device.until_bounded();
        // The watchdog first, so that no one is left who could restore.
        guard.children().iter().for_each(|pid| linux::process::kill(*pid).unwrap());
        guard.signal("KILL");
        guard.end();
        if device.knobs() == before {
            // The watchdog was no child of guard's, and has done its work already.
            return skip::skip!("the watchdog cannot be killed with guard");
        }
        let ended = match verb {
            "restore" => device.ended(&["restore"]),
            _ => device.ended(&["run", policy.to_str().unwrap(), "--once", "--dry-run"]),
        };
        if verb == "restore" {
            assert!(ended.code == 0 && ended.out.contains("restored"), "{ended:?}");
        } else {
            let ended = device.ended(&["run", policy.to_str().unwrap(), "--for", "100ms"]);
            assert!(
                ended.code == 0 && ended.err.contains("an earlier guard: restored"),
                "{ended:?}"
            );
        }
        assert_eq!(device.knobs(), before, "{verb}");
    }
    assert!(device.ended(&["restore"]).out.starts_with("nothing to restore"));
}

#[test]
fn two_guards_do_not_share_a_folder() {
    let device = device!();
    let policy = device.policy("");
    let guard = device.run(&[policy.to_str().unwrap()]);
    let second = device.ended(&["run", policy.to_str().unwrap()]);
    assert_eq!(second.code, 4);
    assert!(second.err.contains(&guard.pid().to_string()), "{second:?}");
    assert_eq!(second.err.lines().count(), 1);
    // The first one's socket is still its own.
    assert_eq!(device.status()["pid"], guard.pid());
    drop(guard);
}

#[test]
fn a_socket_that_is_no_socket_is_not_taken() {
    let device = device!();
    let policy = device.policy("");
    fs::create_dir(device.path("state")).unwrap();
    fs::write(device.path("state/control"), "mine").unwrap();
    let ended = device.ended(&["run", policy.to_str().unwrap()]);
    assert!(ended.code == 4 && ended.err.contains("control"), "{ended:?}");
    assert_eq!(ended.err.lines().count(), 1);
    assert_eq!(fs::read_to_string(device.path("state/control")).unwrap(), "mine");
}

#[test]
fn a_policy_that_would_bound_what_keeps_the_device_alive_is_refused() {
    let device = device!();
    for rule in ["process = \"hostapd\"", "group = \"/\"", "process = \"guard\""] {
        let text =
            format!("[protect]\ninterfaces = [\"lo\"]\n[[application]]\nname = \"a\"\n{rule}\n");
        let path = device.file("bad.toml", &text);
        for verb in ["check", "run"] {
            let ended = device.ended(&[verb, path.to_str().unwrap()]);
            assert_eq!((ended.code, ended.err.lines().count()), (2, 1), "{verb} {rule}: {ended:?}");
        }
    }
    assert!(!device.path("state/journal").exists());
}

#[test]
fn an_interface_and_an_application_that_go_away_leave_no_limit() {
    let mut device = busy!();
    let guard = device.run_with("aggressiveness = 100");
    device.until_bounded();
    device.end_application();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(2) {
        assert_eq!(device.ended(&["status"]).code, 0);
    }
    guard.signal("TERM");
    let ended = guard.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(begin.elapsed() < LONG);
}
