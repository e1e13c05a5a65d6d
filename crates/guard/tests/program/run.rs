//! A guard that lives as it should: bounds, tells, obeys, and leaves nothing behind.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread::sleep,
    time::{Duration, Instant},
};

#[test]
fn a_starved_daemon_is_given_room_and_everything_is_put_back_on_a_signal() {
    let device = busy!();
    let before = device.knobs();
    let policy = device.policy("aggressiveness = 100");
    for (signal, quiet) in [("TERM", None), ("INT", None), ("HUP", Some("--quiet"))] {
        let words: Vec<&str> = policy.to_str().into_iter().chain(quiet).collect();
        let guard = device.run(&words);
        device.until_changed(&before);
        guard.signal(signal);
        let ended = guard.end();
        assert_eq!((ended.code, device.knobs()), (0, before.clone()), "{signal}: {ended:?}");
        let said =
            ["may bound load", "starved by applications", "load: none → weight", "put back:"];
        for said in said {
            assert_eq!(ended.out.contains(said), quiet.is_none(), "{said}: {ended:?}");
        }
    }
}

#[test]
fn the_status_says_who_is_bounded_why_and_what_it_costs() {
    let device = busy!();
    let guard = device.run_with("aggressiveness = 100");
    device.until_bounded();
    let text = device.ended(&["status"]).out;
    for part in ["Wi-Fi", "load", "last step", "of one CPU"] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    let page = device.ended(&["status", "--openmetrics"]).out;
    assert!(page.contains("headroom_guard_application_bounded{application=\"load\"} 1"), "{page}");
    assert!(page.ends_with("# EOF\n"));
    // What it holds is its own to put back while it lives.
    assert_eq!(device.ended(&["restore"]).code, 4);
    guard.signal("TERM");
    assert_eq!(guard.end().code, 0);
}

#[test]
fn the_knob_turns_while_it_runs() {
    let device = device!();
    let guard = device.run_with("aggressiveness = 20");
    assert_eq!(device.status()["aggressiveness"], 20);
    assert_eq!(device.ended(&["set", "90"]).code, 0);
    assert_eq!(device.status()["aggressiveness"], 90);
    assert_eq!(device.ended(&["set", "101"]).code, 2);
    drop(guard);
}

#[test]
fn a_policy_is_read_again_when_asked_and_a_bad_one_is_reported_and_not_taken() {
    let device = device!();
    let path = device.policy("aggressiveness = 20");
    let guard = device.run(&[path.to_str().unwrap()]);
    device.policy("aggressiveness = 40");
    assert_eq!(device.ended(&["reload"]).code, 0);
    assert_eq!(device.status()["aggressiveness"], 40);
    device.policy("agressiveness = 60");
    let refused = device.ended(&["reload"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("agressiveness") && refused.err.contains("holds on"),
        "{refused:?}"
    );
    let status = device.status();
    assert_eq!(status["aggressiveness"], 40);
    assert!(status["policy_refused"].is_string());
    device.policy("aggressiveness = 60");
    guard.signal("USR1");
    device.until("the signal is heard", || (device.status()["aggressiveness"] == 60).then_some(()));
    assert!(device.status()["policy_refused"].is_null());
    guard.signal("TERM");
    assert_eq!(guard.end().code, 0);
}

#[test]
fn a_dry_run_decides_and_writes_nothing() {
    let device = busy!();
    let before = device.knobs();
    let policy = device.policy("aggressiveness = 100");
    let mut command = device.guard(&["run", policy.to_str().unwrap(), "--dry-run"]);
    let mut guard = command.spawn().unwrap();
    let state = device.path("state/dry-run");
    let ask = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_guard"));
        command.args(["status", "--json", "--state"]).arg(&state);
        serde_json::from_slice::<serde_json::Value>(&command.output().unwrap().stdout).ok()
    };
    let status = device.until("it would bound the application", || {
        ask().filter(|status| status["applications"][0]["why"].is_string())
    });
    assert_eq!(status["dry_run"], true);
    assert_eq!(device.knobs(), before);
    guard.kill().unwrap();
    guard.wait().unwrap();
}

#[test]
fn its_time_is_over_when_it_was_reported_so() {
    let device = device!();
    let policy = device.policy("");
    let begin = Instant::now();
    let ended = device.ended(&["run", policy.to_str().unwrap(), "--for", "1s"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(begin.elapsed() >= Duration::from_secs(1));
    let once = device.ended(&["run", policy.to_str().unwrap(), "--once"]);
    assert!(once.code == 0 && once.out.starts_with("guard      pid "), "{once:?}");
}

#[test]
fn metrics_are_served_over_loopback() {
    let device = device!();
    let policy = device.policy("");
    let guard = device.run(&[policy.to_str().unwrap(), "--listen", "127.0.0.1:9811"]);
    let mut stream = TcpStream::connect("127.0.0.1:9811").unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("headroom_guard_ticks_total"), "{answer}");
    drop(guard);
}

#[test]
fn it_stays_small() {
    let device = busy!();
    let guard = device.run_with("");
    device.until_bounded();
    sleep(Duration::from_secs(2));
    let status = device.status();
    let rss = status["own"]["rss_kib"].as_u64().unwrap();
    // This is the debug build; the static one is held to 4 MiB by the bench.
    assert!(rss < 16 * 1024, "{rss} KiB");
    drop(guard);
}
