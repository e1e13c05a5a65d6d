//! The monitor, against the real daemon.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::Duration,
};

use linux::proc;
use rustix::process::{Pid, Signal, kill_process};

use crate::program::Daemon;

fn command(daemon: &Daemon, words: &str) -> Command {
    command_at(&daemon.rpc_path(), words)
}

fn command_at(socket: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_station-monitor"));
    command.arg("--socket").arg(socket).args(words.split_whitespace());
    command
}

fn monitor(daemon: &Daemon, words: &str) -> Output {
    command(daemon, words).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn every_poll_of_every_consumer_is_checked() {
    let daemon = Daemon::start(&[]);
    for reply in ["--brief", "--full"] {
        let words = format!("{reply} --every 5ms --count 10 --consumers 4 --expect 38 --json");
        let output = monitor(&daemon, &words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (summary["polls"].as_u64(), summary["stations"].as_u64()),
            (Some(120), Some(1520))
        );
        assert_eq!(summary["faults"], 0);
    }
}

#[test]
fn a_fault_is_a_line_and_a_code() {
    let daemon = Daemon::start(&[]);
    let output = monitor(&daemon, "--count 1 --interfaces wlan0 --expect 14");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "station-monitor: consumer 0: 13 stations and not 14\n");
    let output = monitor(&daemon, "--count 1 --interfaces wlan9");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no access point \"wlan9\""));
}

#[test]
fn a_signal_ends_it_with_its_summary() {
    let daemon = Daemon::start(&[]);
    let mut command = command(&daemon, "--every 10ms");
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains(" 0 faults"), "{}", text(&output.stdout));
}

#[test]
fn an_answer_that_comes_after_a_stop_in_the_middle_is_no_fault() {
    let daemon = Daemon::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpc");
    let between = UnixListener::bind(&socket).unwrap();
    let mut command = command_at(&socket, "--interfaces wlan0 --count 1 --expect 13");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Whether stationd is there is asked first, over a connection of its own.
    drop(between.accept().unwrap());
    let (asks, mut answers) =
        between.accept().map(|(stream, _)| (stream.try_clone().unwrap(), stream)).unwrap();
    let mut question = String::new();
    BufReader::new(asks).read_line(&mut question).unwrap();
    let pid = Pid::from_child(&child);
    daemon.until("it reads", || is_in(pid, b'S').then_some(()));
    kill_process(pid, Signal::STOP).unwrap();
    daemon.until("it is stopped", || is_in(pid, b'T').then_some(()));
    kill_process(pid, Signal::CONT).unwrap();
    daemon.until("it reads again", || is_in(pid, b'S').then_some(()));
    let mut stationd = UnixStream::connect(daemon.rpc_path()).unwrap();
    stationd.write_all(question.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stationd).read_line(&mut answer).unwrap();
    answers.write_all(answer.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

fn is_in(pid: Pid, state: u8) -> bool {
    let stat = proc::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    proc::stat(&stat).unwrap().state == state
}

#[test]
fn a_daemon_that_ends_is_a_fault_each_round() {
    let mut daemon = Daemon::start(&[]);
    let mut command = command(&daemon, "--every 100ms --count 8");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(250));
    assert!(daemon.end().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot ask: No such file"), "{}", text(&output.stderr));
}

#[test]
fn clients_are_counted_once_for_anyone_who_compares() {
    let daemon = Daemon::start(&[]);
    for (words, count) in [
        ("--clients", "38\n"),
        ("--clients --full", "38\n"),
        ("--clients --interfaces wlan0", "13\n"),
    ] {
        let output = monitor(&daemon, words);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), count), "{words}");
    }
}

#[test]
fn every_value_of_either_reply_is_printed_as_it_was_reported() {
    let daemon = Daemon::start(&[]);
    let [brief, full] = ["--values --brief", "--values --full"].map(|words| {
        let output = monitor(&daemon, words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let objects = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap());
        objects.collect::<Vec<serde_json::Map<String, serde_json::Value>>>()
    });
    assert_eq!((brief.len(), full.len()), (38, 38));
    for (brief, full) in brief.iter().zip(&full) {
        assert_eq!(brief.len(), 14);
        assert!(full.len() > 14 && full.contains_key("Active"), "{full:?}");
    }
}

#[test]
fn an_answer_with_a_fault_is_none() {
    let daemon = Daemon::start(&[]);
    let output = monitor(&daemon, "--clients --interfaces wlan0,wlan9");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    assert!(text(&output.stderr).starts_with("station-monitor: wlan9: stationd says"));
}
