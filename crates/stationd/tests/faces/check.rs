//! `--check`: what it says alone and beside a stationd that runs, and that nothing is left of it.

use std::{fs, os::unix::net::UnixListener, path::Path, process::Output};

use serde_json::json;

use crate::program::{Daemon, recording, stationd};

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

fn names(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_stationd_that_runs_is_named_and_not_disturbed() {
    let folder = tempfile::tempdir().unwrap();
    let setting = |key: &str, name: &str| format!("{key}{}", folder.path().join(name).display());
    let settings = [setting("socket=", "rpc"), setting("metrics=unix:", "http")];
    let settings = settings.each_ref().map(String::as_str);
    let free = check(&settings);
    assert!(line(&free, "socket").ends_with("/rpc is free"), "{free:?}");
    assert_eq!((code(&free), names(folder.path())), (Some(0), 0));
    let daemon = Daemon::start(&settings);
    let mut client = daemon.client();
    let taken = check(&settings);
    assert_eq!(code(&taken), Some(0), "{taken:?}");
    let process = daemon.status("Pid");
    for (about, name) in [("socket", "rpc"), ("metrics", "http")] {
        let said = line(&taken, about);
        let expected = format!("{name} is in use by a running stationd (process {process})");
        assert!(said.starts_with("works ") && said.ends_with(&expected), "{said}");
    }
    assert!(line(&taken, "seccomp").ends_with("the kernel takes the filter"), "the rest is said");
    client.result("getAccessPoints", json!({}));
    assert_eq!(names(folder.path()), 2);
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
    assert_eq!(said, "stationd: 1 thing is missing; its line says what to do\n");
    let output = check(&["pull=bluk", "seccomp=no"]);
    assert_eq!((code(&output), output.stdout.split(|byte| *byte == b'\n').count()), (Some(2), 3));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "stationd: 2 settings are wrong; the machine was not looked at\n");
}
