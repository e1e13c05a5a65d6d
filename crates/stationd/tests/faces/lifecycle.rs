//! How stationd begins and ends, and what it says when it cannot.

use std::{
    os::unix::net::UnixListener,
    process::{Command, Output},
};

use serde_json::Value;

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
    daemon.client().result("getAccessPoints", serde_json::json!({}));
}

#[test]
fn wrong_words_end_with_a_line_that_says_what_is_right() {
    let (code, words) = ended(&stationd(&["--set", "metrics=0.0.0.0:80"]));
    assert_eq!(code, 2);
    assert!(words.contains("can be reached from outside"), "{words}");
    let (code, words) = ended(&stationd(&["--replay", "/none", "--once"]));
    assert_eq!(code, 4);
    assert!(
        words.starts_with("stationd: cannot read the recording /none: No such file"),
        "{words}"
    );
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

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// What it says about something.
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
    assert_eq!(code(&output), Some(4), "{output:?}");
    assert!(line(&output, "socket").starts_with("MISSING "), "{output:?}");
    assert!(line(&output, "metrics").starts_with("off "));
    assert!(line(&output, "ubus").starts_with("absent "), "a broker may come: {output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "stationd: things that are missing: 1; each line says what to do\n");
    let output = check(&["pull=bluk", "seccomp=no"]);
    assert_eq!((code(&output), output.stdout.split(|byte| *byte == b'\n').count()), (Some(2), 3));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "stationd: settings that are wrong: 2; the machine was not looked at\n");
}
