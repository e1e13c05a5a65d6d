//! `stationd --check` on a real access point, with a broker that is not ours: alone, beside a stationd, and as somebody
//! who may do little. Nothing is left of it.

use crate::harness::{Parts, Place, with_broker};

const CHECKS: &str = r#"
broker
there() { find /run /tmp | sort; client list | sort; }
check() { code=0; stationd --check --set ubus=/tmp/ubus.sock "$@" || code=$?; echo "code $code"; }
before=$(there)
part alone; check
[ "$before" = "$(there)" ]
daemon --set ubus=/tmp/ubus.sock
within 20 sh -c '/run/headroom/put/ubus-client -s /tmp/ubus.sock list | grep -q stationd.hostapd.wlan2'
before=$(there)
part running; check
[ "$before" = "$(there)" ]
part pid; echo $daemon
part json; brief wlan0
part somebody
busybox start-stop-daemon -S -q -p /nonexistent -c nobody:nogroup -x "$(command -v stationd)" -- \
    --check --set ubus=/tmp/ubus.sock --set socket=/run/other.sock || echo "code $?"
kill -9 $broker; wait $broker || :
rm /tmp/ubus.sock
part absent; check --set interfaces=wlan0,wlan9 --set hostapd=/run/nowhere
"#;

/// The lines of a part about something, without what it is about.
fn lines<'a>(parts: &'a Parts, part: &str, about: &str) -> Vec<&'a str> {
    let lines = parts.text(part).lines();
    lines.filter(|line| line.get(9..).is_some_and(|rest| rest.starts_with(about))).collect()
}

fn has(parts: &Parts, part: &str, words: &str) {
    let text = parts.text(part);
    assert!(text.lines().any(|line| line.contains(words)), "no `{words}` in {text}");
}

#[test]
fn each_thing_has_its_line_and_nothing_is_left() {
    let place = Place::with_guests();
    let Some(parts) = with_broker(&place, 6, CHECKS) else { return };
    has(&parts, "alone", "code 0");
    for words in [
        "works    kernel        nl80211 answers",
        "works    access point  wlan0: number 1, 02:00:00:00:00:00, ",
        " MHz, 2 stations",
        "works    hostapd       /run/hostapd/wlan2 answers",
        "works    socket        /run/stationd.sock is free",
        "works    metrics       127.0.0.1:9810 is free",
        "works    ubus          a broker is at /tmp/ubus.sock",
        "works    seccomp       the kernel takes the filter",
    ] {
        has(&parts, "alone", words);
    }
    assert_eq!(lines(&parts, "alone", "access point").len(), 3);
    has(&parts, "running", "code 0");
    let pid = parts.number("pid");
    has(
        &parts,
        "running",
        &format!("/run/stationd.sock is in use by a running stationd (process {pid})"),
    );
    has(&parts, "running", "127.0.0.1:9810 is in use by a running stationd");
    assert_eq!(parts.result("json")[0].as_array().unwrap().len(), 2, "it serves on");
    somebody_who_may_do_little(&parts);
    has(&parts, "absent", "code 0");
    has(&parts, "absent", "absent   access point  wlan9 is no interface in AP mode at present");
    has(&parts, "absent", "absent   hostapd       /run/nowhere is not there");
    has(&parts, "absent", "absent   ubus          no broker is at /tmp/ubus.sock");
    assert_eq!(place.left(), []);
}

fn somebody_who_may_do_little(parts: &Parts) {
    has(parts, "somebody", "works    user          number 65534, without root's rights");
    has(parts, "somebody", "works    kernel        nl80211 answers");
    for words in [
        "MISSING  hostapd       /run/hostapd/wlan0 may not be asked by this user",
        "MISSING  socket        /run/other.sock cannot be made: /run cannot be written to",
    ] {
        has(parts, "somebody", words);
    }
    has(parts, "somebody", "code 4");
}
