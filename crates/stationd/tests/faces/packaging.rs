//! What is shipped beside the programs: OpenWrt's init script and its files, systemd's unit.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

fn packaging(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "packaging", path].iter().collect()
}

/// What OpenWrt's init script tells procd, with the functions of procd and of rc.common that it calls played by a shell:
/// a line for each, its words apart by tabs.
const PROCD: &str = r#"
say() { name=$1; shift; printf '%s' "$name"; printf '\t%s' "$@"; echo; }
for name in procd_set_param procd_append_param procd_add_jail procd_add_jail_mount procd_add_jail_mount_rw user_add; do
    eval "$name() { say $name \"\$@\"; }"
done
alias start-stop-daemon='say start-stop-daemon'
procd_open_instance() { :; }; procd_close_instance() { :; }
user_exists() { false; }; group_add_next() { echo 101; }
chown() { say chown "$@"; }; mkdir() { say mkdir "$@"; }; chmod() { say chmod "$@"; }
config_load() { :; }; config_list_foreach() { for one in phy0-ap0 phy1-ap0; do "$3" $one; done; }
config_get_bool() { eval "$1=$4"; }
config_get() {
    case $3 in
        hostapd) eval "$1=$HR_HOSTAPD" ;;
        ubus) eval "$1=$HR_UBUS" ;;
        max_age) eval "$1=250ms" ;;
        *) eval "$1=\${4:-}" ;;
    esac
}
. "$HR_SCRIPT"
JAIL=$HR_JAIL CAPABILITIES=$HR_CAPABILITIES
$HR_CALLS
"#;

/// On a router with or without a jail, with its broker at this path.
fn procd(has_jail: bool, ubus: &str, calls: &str) -> Vec<Vec<String>> {
    let files = packaging("openwrt/files/etc");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", PROCD]).env("HR_SCRIPT", files.join("init.d/stationd"));
    shell.env("HR_JAIL", if has_jail { "/bin/sh" } else { "/none/ujail" });
    shell.env("HR_HOSTAPD", &files).env("HR_UBUS", ubus).env("HR_CALLS", calls);
    shell.env("HR_CAPABILITIES", files.join("capabilities/stationd.json"));
    let output = shell.output().unwrap();
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
        let ubus = "/proc/self/ubus.sock";
        let lines = procd(is_jailed, ubus, "start_service");
        for words in [
            ["user_add", "stationd", "", "101"].as_slice(),
            &["chown", "stationd:network", "/var/run/stationd"],
            &["procd_set_param", "user", "stationd"],
            &["procd_set_param", "group", "network"],
            &["procd_set_param", "no_new_privs", "1"],
            &["procd_append_param", "command", "--set", "max-age=250ms"],
            &["procd_append_param", "command", "--set", "ubus=/proc/self/ubus.sock"],
            &["procd_append_param", "command", "--set", "interfaces=phy0-ap0,phy1-ap0"],
        ] {
            assert!(has(&lines, words), "{words:?} in {lines:?}");
        }
        assert_eq!(has(&lines, &["procd_add_jail", "stationd", "procfs"]), is_jailed);
        let mounts = lines.iter().find(|line| line[0] == "procd_add_jail_mount_rw");
        assert_eq!(mounts.map(|line| line[1].as_str()), is_jailed.then_some("/var/run/stationd"));
        assert_eq!(has(&lines, &["procd_add_jail_mount", "/proc/self"]), is_jailed);
        assert_eq!(lines.iter().any(|line| line[1] == "capabilities"), is_jailed);
    }
    let sets = json_of("openwrt/files/etc/capabilities/stationd.json");
    assert!(sets.as_object().unwrap().values().all(|set| set == &json!([])), "{sets}");
}

#[test]
fn without_the_brokers_folder_there_is_no_jail_and_without_ubus_no_folder() {
    let lines = |ubus| procd(true, ubus, "start_service");
    let absent = lines("/none/ubus.sock");
    assert!(!absent.iter().any(|line| line[0].starts_with("procd_add_jail")), "{absent:?}");
    let off = lines("off");
    assert!(has(&off, &["procd_add_jail", "stationd", "procfs"]));
    assert!(!off.iter().any(|line| line[0] == "procd_add_jail_mount"), "{off:?}");
}

#[test]
fn openwrts_script_checks_as_the_user_that_serves() {
    let lines = procd(true, "off", "check");
    let last = lines.last().unwrap().join(" ");
    let expected = "start-stop-daemon -S -q -p /nonexistent -c stationd:network -x /usr/sbin/stationd -- --check --set ";
    assert!(last.starts_with(expected), "{last}");
    assert!(last.contains("--set max-age=250ms"), "{last}");
    assert!(last.ends_with("--set interfaces=phy0-ap0,phy1-ap0"), "{last}");
}

fn json_of(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(packaging(path)).unwrap()).unwrap()
}

#[test]
fn the_brokers_rules_have_every_name_of_ours_and_nobody_elses() {
    let rules = json_of("openwrt/files/usr/share/acl.d/stationd.json");
    assert_eq!(rules["user"], json!("stationd"));
    let publish: Vec<_> =
        rules["publish"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    // As ubusd reads them: a star at the end stands for any rest.
    let may = |name: &str| {
        publish.iter().any(|one| match one.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == *one,
        })
    };
    let field = ["iwinfo", "hostapd.phy0-ap0", "WiFi.AccessPoint.12"];
    for name in field {
        assert!(may(name) && may(&format!("stationd.{name}")), "{name}");
    }
    assert!(may("stationd"));
    for name in ["system", "network.device", "hostapd", "wpa_supplicant", "stationdx"] {
        assert!(!may(name), "{name}");
    }
    assert_eq!(rules.as_object().unwrap().len(), 2, "it calls nobody and hears nobody");
}

#[test]
fn shells_have_nothing_to_say_of_the_init_scripts() {
    let crates = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let scripts = ["stationd", "guard"]
        .map(|name| crates.join(name).join("packaging/openwrt/files/etc/init.d").join(name));
    for script in &scripts {
        let output = Command::new("sh").arg("-n").arg(script).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    // OpenWrt's shell is busybox's ash, which is dash's kin; rc.common reads the variables.
    let shellcheck =
        Command::new("shellcheck").args(["-s", "dash", "-e", "SC2034"]).args(&scripts).output();
    match shellcheck {
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{words}");
        }
        Err(error) => skip::skip!("no shellcheck here: {error}"),
    }
}

/// The most that `systemd-analyze security` may find, in tenths; it finds 1.4.
const MOST_EXPOSED: &str = "--threshold=15";

#[test]
fn systemd_has_nothing_to_say_of_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("stationd.service");
    let text = fs::read_to_string(packaging("systemd/stationd.service")).unwrap();
    let begin = "ExecStart=/usr/bin/stationd ";
    assert!(text.contains(begin));
    // The program has to be there.
    let here = format!("ExecStart={} ", env!("CARGO_BIN_EXE_stationd"));
    fs::write(&unit, text.replace(begin, &here)).unwrap();
    let analyze = |words: &[&str]| {
        let output = Command::new("systemd-analyze").args(words).arg(&unit).output()?;
        assert!(output.status.success(), "{words:?}: {output:?}");
        std::io::Result::Ok(output)
    };
    match analyze(&["verify", "--man=no"]) {
        Ok(output) => assert!(output.stderr.is_empty(), "{output:?}"),
        Err(error) => return skip::skip!("no systemd here: {error}"),
    }
    analyze(&["security", "--offline=yes", "--no-pager", MOST_EXPOSED]).unwrap();
}
