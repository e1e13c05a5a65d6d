//! What goes wrong: death without a word, a second guard, files and sockets that are not what they should be.

use std::{
    fs,
    io::Write,
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use crate::scene::LONG;

#[test]
fn a_guard_that_is_killed_is_followed_by_its_watchdog() {
    let mut scene = scene!();
    scene.application();
    scene.traffic();
    let before = scene.knobs();
    let policy = scene.policy("aggressiveness = 100");
    let guard = scene.run(&[policy.to_str().unwrap()]);
    scene.until_changed(&before);
    guard.signal("KILL");
    let begin = Instant::now();
    scene.until("the watchdog restores", || (scene.knobs() == before).then_some(()));
    println!("restored {:?} after kill -9", begin.elapsed());
    let dead = scene.told(&["status"]);
    assert!(dead.code == 4 && dead.err.contains("dead"), "{dead:?}");
}

#[test]
fn the_next_start_puts_back_what_neither_guard_nor_watchdog_could() {
    let mut scene = scene!();
    scene.application();
    scene.traffic();
    let before = scene.knobs();
    let policy = scene.policy("aggressiveness = 100");
    for verb in ["restore", "run"] {
        let guard = scene.run(&[policy.to_str().unwrap()]);
        scene.until_bounded();
        // The watchdog first, so that nobody is left who could restore.
        let children = format!("/proc/{0}/task/{0}/children", guard.pid());
        for child in fs::read_to_string(children).unwrap().split_whitespace() {
            linux::process::kill(child.parse().unwrap()).unwrap();
        }
        guard.signal("KILL");
        guard.end();
        if scene.knobs() == before {
            // The watchdog was no child of guard's, and has done its work already.
            return skip::skip!("the watchdog cannot be killed with guard");
        }
        let told = match verb {
            "restore" => scene.told(&["restore"]),
            _ => scene.told(&["run", policy.to_str().unwrap(), "--once", "--dry-run"]),
        };
        if verb == "restore" {
            assert!(told.code == 0 && told.out.contains("restored"), "{told:?}");
        } else {
            let told = scene.told(&["run", policy.to_str().unwrap(), "--for", "100ms"]);
            assert!(told.code == 0 && told.err.contains("an earlier guard: restored"), "{told:?}");
        }
        assert_eq!(scene.knobs(), before, "{verb}");
    }
    assert!(scene.told(&["restore"]).out.starts_with("nothing to restore"));
}

#[test]
fn two_guards_do_not_share_a_folder() {
    let scene = scene!();
    let policy = scene.policy("");
    let guard = scene.run(&[policy.to_str().unwrap()]);
    let second = scene.told(&["run", policy.to_str().unwrap()]);
    assert_eq!(second.code, 4);
    assert!(second.err.contains(&guard.pid().to_string()), "{second:?}");
    assert_eq!(second.err.lines().count(), 1);
    // The first one's socket is still its own.
    assert_eq!(scene.status()["pid"], guard.pid());
    drop(guard);
}

#[test]
fn a_socket_that_is_no_socket_is_not_taken() {
    let scene = scene!();
    let policy = scene.policy("");
    fs::create_dir(scene.path("state")).unwrap();
    fs::write(scene.path("state/control"), "mine").unwrap();
    let told = scene.told(&["run", policy.to_str().unwrap()]);
    assert!(told.code == 4 && told.err.contains("control"), "{told:?}");
    assert_eq!(told.err.lines().count(), 1);
    assert_eq!(fs::read_to_string(scene.path("state/control")).unwrap(), "mine");
}

#[test]
fn who_stalls_at_the_socket_stops_nobody() {
    let scene = scene!();
    let policy = scene.policy("");
    let guard = scene.run(&[policy.to_str().unwrap()]);
    let mut stalls = UnixStream::connect(scene.path("state/control")).unwrap();
    stalls.write_all(b"stat").unwrap();
    assert_eq!(scene.told(&["status"]).code, 0);
    let before = scene.status()["own"]["ticks"].as_u64();
    scene.until("it ticks on", || (scene.status()["own"]["ticks"].as_u64() > before).then_some(()));
    drop(guard);
}

#[test]
fn a_policy_that_would_bound_what_keeps_the_device_alive_is_refused() {
    let scene = scene!();
    for rule in ["process = \"hostapd\"", "group = \"/\"", "process = \"guard\""] {
        let text =
            format!("[protect]\ninterfaces = [\"lo\"]\n[[application]]\nname = \"a\"\n{rule}\n");
        let path = scene.file("bad.toml", &text);
        for verb in ["check", "run"] {
            let told = scene.told(&[verb, path.to_str().unwrap()]);
            assert_eq!((told.code, told.err.lines().count()), (2, 1), "{verb} {rule}: {told:?}");
        }
    }
    assert!(!scene.path("state/journal").exists());
}

#[test]
fn an_interface_and_an_application_that_go_away_leave_no_limit() {
    let mut scene = scene!();
    scene.application();
    scene.traffic();
    let policy = scene.policy("aggressiveness = 100");
    let guard = scene.run(&[policy.to_str().unwrap()]);
    scene.until_bounded();
    scene.end_application();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(2) {
        assert_eq!(scene.told(&["status"]).code, 0);
    }
    guard.signal("TERM");
    let told = guard.end();
    assert_eq!(told.code, 0, "{told:?}");
    assert!(begin.elapsed() < LONG);
}
