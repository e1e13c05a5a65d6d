//! stationd with as little as it needs: no privilege, no capability, few system calls.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, chown},
        net::UnixDatagram,
    },
    process::Command,
    time::Duration,
};

use serde_json::json;

use crate::program::{Daemon, STATIONS, recording};

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
fn who_does_not_want_the_filter_gets_none() {
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
        let (length, from) = hostapd.recv_from(&mut question).unwrap();
        let address = String::from_utf8_lossy(&question[4..length]).into_owned();
        assert!(question.starts_with(b"STA ") && address.len() == 17, "{address}");
        let answer = format!("{address}\nflags=[AUTH][ASSOC][AUTHORIZED]\naid=1\n");
        hostapd.send_to_addr(answer.as_bytes(), &from).unwrap();
        // The next one finds a socket whose other end has gone.
        fs::remove_file(&path).unwrap();
    }
    assert!(daemon.sample("stationd_hostapd_requests_total") >= 2.0);
}

/// Any user but root, and no member of anything.
const NOBODY: u32 = 65534;

#[test]
fn it_serves_as_a_user_without_any_capability() {
    if !rustix::process::geteuid().is_root() {
        skip::skip!("only root can become somebody else");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    chown(&run, Some(NOBODY), Some(NOBODY)).unwrap();
    // A copy that this user may reach, and the recording with it: this folder may be no one's but ours.
    let program = folder.path().join("stationd");
    fs::copy(env!("CARGO_BIN_EXE_stationd"), &program).unwrap();
    let copy = folder.path().join("recording");
    fs::copy(recording(), &copy).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]);
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]).arg(program);
    let settings = [
        format!("socket={}", run.join("rpc").display()),
        format!("metrics=unix:{}", run.join("http").display()),
    ];
    command.arg("--replay").arg(copy);
    let mut daemon = Daemon::start_by(command, &settings.each_ref().map(String::as_str));
    for set in ["CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh"] {
        assert_eq!(daemon.status(set), "0000000000000000", "{set}");
    }
    assert!(daemon.status("Uid").starts_with("65534\t65534"));
    assert_eq!((daemon.status("Groups").as_str(), daemon.status("Seccomp").as_str()), ("", FILTER));
    let points = daemon.client().result("getAccessPoints", json!({}));
    let stations = points.as_array().unwrap().iter().map(|one| one["stations"].as_u64().unwrap());
    assert_eq!(stations.sum::<u64>(), STATIONS as u64);
    assert_eq!(daemon.sample("stationd_access_point_stations{device=\"wlan0\"}"), 13.0);
    assert!(daemon.end().success());
    assert_eq!(fs::read_dir(run).unwrap().count(), 0, "its sockets are gone");
}
