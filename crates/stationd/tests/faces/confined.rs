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

/// What OpenWrt's init script tells procd, with the functions of procd and of rc.common that it calls played by a shell:
/// a line for each, its words apart by tabs.
const PROCD: &str = r#"
say() { name=$1; shift; printf '%s' "$name"; printf '\t%s' "$@"; echo; }
for name in procd_set_param procd_append_param procd_add_jail procd_add_jail_mount_rw user_add; do
    eval "$name() { say $name \"\$@\"; }"
done
procd_open_instance() { :; }; procd_close_instance() { :; }
user_exists() { false; }; group_add_next() { echo 101; }
chown() { say chown "$@"; }; mkdir() { say mkdir "$@"; }; chmod() { say chmod "$@"; }
config_load() { :; }; config_list_foreach() { :; }
config_get_bool() { eval "$1=$4"; }
config_get() {
    case $3 in
        hostapd) eval "$1=$HR_HOSTAPD" ;;
        max_age) eval "$1=250ms" ;;
        *) eval "$1=\${4:-}" ;;
    esac
}
. "$HR_SCRIPT"
JAIL=$HR_JAIL CAPABILITIES=$HR_CAPABILITIES
start_service
"#;

/// The lines of the script, and the file of the capabilities that it may have.
fn procd(is_jailed: bool) -> Vec<Vec<String>> {
    let files = format!("{}/packaging/openwrt/files/etc", env!("CARGO_MANIFEST_DIR"));
    let jail = if is_jailed { "/bin/sh" } else { "/none/ujail" };
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", PROCD]).env("HR_SCRIPT", format!("{files}/init.d/stationd"));
    shell.env("HR_JAIL", jail).env("HR_HOSTAPD", &files);
    let output =
        shell.env("HR_CAPABILITIES", format!("{files}/capabilities/stationd.json")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn has(lines: &[Vec<String>], words: &[&str]) -> bool {
    lines.iter().any(|line| line == words)
}

#[test]
fn openwrts_script_starts_it_as_its_own_user_and_in_a_jail_where_there_is_one() {
    for is_jailed in [false, true] {
        let lines = procd(is_jailed);
        for words in [
            ["user_add", "stationd", "", "101"].as_slice(),
            &["chown", "stationd:network", "/var/run/stationd"],
            &["procd_set_param", "user", "stationd"],
            &["procd_set_param", "group", "network"],
            &["procd_set_param", "no_new_privs", "1"],
            &["procd_append_param", "command", "--set", "max-age=250ms"],
        ] {
            assert!(has(&lines, words), "{words:?} in {lines:?}");
        }
        assert_eq!(has(&lines, &["procd_add_jail", "stationd", "procfs"]), is_jailed);
        let mounts = lines.iter().find(|line| line[0] == "procd_add_jail_mount_rw");
        assert_eq!(mounts.map(|line| line[1].as_str()), is_jailed.then_some("/var/run/stationd"));
        assert_eq!(lines.iter().any(|line| line[1] == "capabilities"), is_jailed);
    }
    let capabilities = include_str!("../../packaging/openwrt/files/etc/capabilities/stationd.json");
    let sets: serde_json::Value = serde_json::from_str(capabilities).unwrap();
    assert!(sets.as_object().unwrap().values().all(|set| set == &json!([])), "{sets}");
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
