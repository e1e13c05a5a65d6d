//! stationd with the few system calls that it needs.

use std::{fs, os::unix::net::UnixDatagram, time::Duration};

use serde_json::json;

use crate::program::Daemon;

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
