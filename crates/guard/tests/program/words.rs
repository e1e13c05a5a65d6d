//! What `check` and wrong words are answered with.

use std::{fs::File, os::fd::OwnedFd, process::Command};

use crate::device::Device;

#[test]
fn check_names_processes_and_groups() {
    let Some(mut device) = Device::set() else { return };
    device.application();
    let policy = device.policy("");
    let ended = device.ended(&["check", policy.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.out.contains(&device.group) && ended.out.contains("load"), "{ended:?}");
    let json = device.ended(&["check", policy.to_str().unwrap(), "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["applications"][0]["pids"].as_array().unwrap().len() >= 5, "{json}");
}

#[test]
fn without_a_guard_there_is_one_line_that_says_so() {
    let Some(device) = Device::set() else { return };
    for words in [&["status"][..], &["set", "5"], &["reload"]] {
        let ended = device.ended(words);
        assert_eq!((ended.code, ended.err.lines().count()), (4, 1), "{ended:?}");
        assert!(ended.err.contains("no guard runs"), "{ended:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error_and_a_reader_who_left_is_none() {
    let guard = |words: &[&str], out: File| {
        let command = &mut Command::new(env!("CARGO_BIN_EXE_guard"));
        command.args(words).stdout(out).output().unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    for words in [&["--help"][..], &["--version"], &["restore", "--state", state]] {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let ended = guard(words, full);
        assert_eq!(ended.status.code(), Some(4), "{words:?}: {ended:?}");
        assert_eq!(
            String::from_utf8(ended.stderr).unwrap(),
            "guard: cannot write the standard output: No space left on device (os error 28)\n"
        );
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let left = guard(words, OwnedFd::from(writer).into());
        assert!(left.status.success() && left.stderr.is_empty(), "{words:?}: {left:?}");
    }
}

#[test]
fn a_policy_that_is_not_there_is_named() {
    let Some(device) = Device::set() else { return };
    let ended = device.ended(&["check", "/none/guard.toml"]);
    assert_eq!(ended.code, 2);
    assert_eq!(
        ended.err,
        "guard: cannot read the policy /none/guard.toml: No such file or directory (os error 2)\n"
    );
}
