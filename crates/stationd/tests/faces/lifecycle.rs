//! How stationd begins and ends, and what it says when it cannot.

use std::{
    fs, io,
    os::unix::net::{UnixDatagram, UnixListener},
    process::{Command, Output},
    time::Duration,
};

use serde_json::{Value, json};

use crate::program::{Daemon, STATIONS, recording, stationd};

fn ended(output: &Output) -> (i32, String) {
    (output.status.code().unwrap(), String::from_utf8(output.stderr.clone()).unwrap())
}

fn on_socket(path: &str) -> (i32, String) {
    let socket = format!("socket={path}");
    ended(&stationd(&["--replay", &recording(), "--set", &socket, "--set", "metrics=off"]))
}

#[test]
fn a_socket_in_use_is_refused_and_goes_on() {
    let daemon = Daemon::start(&[]);
    let path = daemon.rpc_path().display().to_string();
    let words = format!("stationd: {path} is in use by a daemon that runs: give another path\n");
    assert_eq!(on_socket(&path), (4, words));
    daemon.client().result("getAccessPoints", json!({}));
}

#[test]
fn wrong_words_end_with_a_line_that_says_what_is_right() {
    let (code, words) = ended(&stationd(&["--set", "metrics=0.0.0.0:80"]));
    assert_eq!(code, 2);
    assert!(words.contains("can be reached from outside"), "{words}");
    let (code, words) = ended(&stationd(&["--replay", "/none", "--once"]));
    assert_eq!(code, 4);
    assert!(words.starts_with("stationd: cannot replay /none: No such file"), "{words}");
}

#[test]
fn once_prints_every_station_and_ends() {
    let output = stationd(&["--once", "--replay", &recording(), "--set", "hostapd=off"]);
    assert!(output.status.success());
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = printed["accessPoints"].as_array().unwrap();
    let stations: usize =
        points.iter().map(|point| point["stations"].as_array().unwrap().len()).sum();
    assert_eq!((points.len(), stations), (3, STATIONS));
    assert_eq!(points[0]["name"], "wlan0");
    assert_eq!(points[0]["stations"][0]["MACAddress"], "02:00:00:01:00:00");
}

#[test]
fn help_and_version_cannot_fail() {
    let help = stationd(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    assert!(help.status.success() && text.contains("Examples:"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(stationd(&["--version"]).status.success());
}

#[test]
fn a_reader_who_leaves_early_is_no_failure() {
    let stationd = [&["--help"][..], &["--version"], &["--once", "--replay", &recording()]]
        .map(|words| unread(env!("CARGO_BIN_EXE_stationd"), words));
    let monitor = unread(env!("CARGO_BIN_EXE_station-monitor"), &["--help"]);
    for output in stationd.iter().chain([&monitor]) {
        assert_eq!(ended(output), (0, String::new()));
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_in_one_line() {
    let (daemon, monitor) = (env!("CARGO_BIN_EXE_stationd"), env!("CARGO_BIN_EXE_station-monitor"));
    let once = ["--once", "--replay", &recording(), "--set", "hostapd=off"];
    for (program, words) in [
        (daemon, &["--help"][..]),
        (daemon, &["--version"]),
        (daemon, &["--check"]),
        (daemon, &once),
        (monitor, &["--help"]),
    ] {
        let full = std::fs::File::options().read(true).write(true).open("/dev/full").unwrap();
        let (code, said) = ended(&Command::new(program).args(words).stdout(full).output().unwrap());
        assert_eq!((code, said.lines().count()), (4, 1), "{words:?}: {said}");
        assert!(said.contains("No space left on device"), "{words:?}: {said}");
    }
}

/// A program whose standard output no one reads.
fn unread(program: &str, words: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Command::new(program).args(words).stdout(writer).output().unwrap()
}

/// Looks with these settings, without hostapd and with a recording for a kernel.
fn check(settings: &[&str]) -> Output {
    let recording = recording();
    let mut words = vec!["--check", "--replay", &recording, "--set", "hostapd=off"];
    words.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    stationd(&words)
}

fn line<'a>(output: &'a Output, about: &str) -> &'a str {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    let found = text.lines().find(|line| line.split_whitespace().nth(1) == Some(about));
    found.unwrap_or_else(|| panic!("nothing about {about} in {output:?}"))
}

#[test]
fn what_is_missing_ends_with_its_code_and_a_wrong_setting_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let _other = UnixListener::bind(&path).unwrap();
    // Nobody answers there, and it says so after 2 s.
    let socket = format!("socket={}", path.display());
    let output = check(&[&socket, "metrics=off", "ubus=/none/ubus.sock"]);
    assert!(line(&output, "socket").starts_with("MISSING "), "{output:?}");
    assert!(line(&output, "metrics").starts_with("off "));
    assert!(line(&output, "ubus").starts_with("absent "), "a broker may come: {output:?}");
    let missing = "stationd: things that are missing: 1; each line says what to do\n".to_owned();
    assert_eq!(ended(&output), (4, missing));
    let output = check(&["pull=bluk", "seccomp=no"]);
    assert_eq!(output.stdout.split(|byte| *byte == b'\n').count(), 3);
    let wrong = "stationd: settings that are wrong: 2; the machine was not looked at\n".to_owned();
    assert_eq!(ended(&output), (2, wrong));
}

/// `SECCOMP_MODE_FILTER` of the kernel's `include/uapi/linux/seccomp.h`.
const FILTER: &str = "2";

#[test]
fn system_calls_that_it_does_not_need_are_refused_and_it_serves() {
    let mut daemon = Daemon::start(&[]);
    daemon.until("the filter is set", || (daemon.status("Seccomp") == FILTER).then_some(()));
    assert_eq!(daemon.status("NoNewPrivs"), "1");
    let mut client = daemon.client();
    client.result("getStationStats", json!({"interface": "wlan0"}));
    assert_eq!(daemon.sample("stationd_access_point_stations{device=\"wlan0\"}"), 13.0);
    let (rpc, http) = (daemon.rpc_path(), daemon.http_path());
    assert!(daemon.end().success());
    assert!(!rpc.exists() && !http.exists());
}

#[test]
fn seccomp_off_sets_no_filter() {
    let daemon = Daemon::start(&["seccomp=off"]);
    daemon.client().result("getAccessPoints", json!({}));
    assert_eq!(daemon.status("Seccomp"), "0");
}

#[test]
fn a_hostapd_that_begins_later_and_again_is_asked_through_the_filter() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(&[&format!("hostapd={}", folder.path().display())]);
    daemon.until("the filter is set", || (daemon.status("Seccomp") == FILTER).then_some(()));
    for _ in 0..2 {
        let path = folder.path().join("wlan0");
        let hostapd = UnixDatagram::bind(&path).unwrap();
        hostapd.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut question = [0; 64];
        let (length, from) = loop {
            match hostapd.recv_from(&mut question) {
                // A pause of this process ends a call that has a timeout.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                heard => break heard.unwrap(),
            }
        };
        let address = String::from_utf8_lossy(&question[4..length]).into_owned();
        assert!(question.starts_with(b"STA ") && address.len() == 17, "{address}");
        let answer = format!("{address}\nflags=[AUTH][ASSOC][AUTHORIZED]\naid=1\n");
        hostapd.send_to_addr(answer.as_bytes(), &from).unwrap();
        // The next one finds a socket whose other end has gone.
        fs::remove_file(&path).unwrap();
    }
    assert!(daemon.sample("stationd_hostapd_requests_total") >= 2.0);
}
