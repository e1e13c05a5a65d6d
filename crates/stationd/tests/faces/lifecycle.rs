//! How stationd begins and ends, and what it says when it cannot.

use std::{
    fs,
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
fn a_signal_ends_it_and_its_sockets_go() {
    let mut daemon = Daemon::start(&[]);
    let (rpc, http) = (daemon.rpc_path(), daemon.http_path());
    assert!(rpc.exists() && http.exists());
    assert!(daemon.end().success());
    assert!(!rpc.exists() && !http.exists());
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conf");
    fs::write(&path, "max-age = 1s\ninterface = a\n").unwrap();
    let path = path.display().to_string();
    let words =
        format!("stationd: {path}:2: unknown key \"interface\": did you mean \"interfaces\"?\n");
    assert_eq!(ended(&stationd(&["--config", &path])), (2, words));
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
