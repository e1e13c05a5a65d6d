//! stationd in bad weather: hostapd goes, comes and is not there; interfaces vanish and change their
//! names; clocks jump; and events are lost.

use serde_json::json;

use crate::harness::{Parts, Place, in_guest};

/// hostapd by hand, with the configurations that pid 1 wrote; and questions about one station.
const WORDS: &str = r#"
first=02:00:00:01:00:00
hostapd_begins() { hostapd -B /run/headroom/hostapd-wlan?.conf >/tmp/hostapd.log; }
associated() { [ $(for n in 0 1 2; do iw dev wlan$n station dump; done | grep -c 'authorized:.yes') = $1 ]; }
stations() { [ $(metrics | awk '/^stationd_access_point_stations/ { n += $2 } END { print n + 0 }') = $1 ]; }
lives() { kill -0 $daemon; }
"#;

fn guest(place: &Place, clients: u32, script: &str) -> Parts {
    in_guest(place, clients, &format!("{WORDS}{script}"))
}

/// The stations in the brief replies about all access points.
fn stations(parts: &Parts, part: &str) -> usize {
    let replies = parts.lines(part);
    replies.iter().map(|reply| reply["result"][0].as_array().unwrap().len()).sum()
}

/// No counter of any page of these fell, whatever happened between them.
fn never_fell(parts: &Parts, pages: &[&str]) {
    let pages: Vec<_> = pages.iter().map(|name| parts.page(name)).collect();
    for pair in pages.windows(2) {
        let totals = pair[0].totals().filter(|(series, _)| pair[1].has(series));
        for (series, before) in totals {
            assert!(pair[1].value(series) >= before, "{series} fell from {before}");
        }
    }
}

/// hostapd ends and begins again; the wall clock jumps; an interface vanishes and another changes its name.
const SIX: &str = r#"
page() { busybox wget -qO- --header 'Accept: application/openmetrics-text' http://127.0.0.1:9810/metrics; }
now() { part $1-now; date +%s; part $1; page; }
daemon --set max-age=50ms
within 5 stations 6
now before
kill -KILL $(pidof hostapd)
sleep 1
part killed; metrics; brief wlan0
hostapd_begins
within 60 associated 6
within 10 stations 6
asked() { [ $(full wlan0 | grep -o 'SecurityModeEnabled' | wc -l) = 2 ]; }
within 20 asked
now after
part full; full wlan0
part brief; for n in 0 1 2; do brief wlan$n; done
station-monitor --every 100ms --count 90 --interfaces wlan0 --json >/tmp/summary &
monitor=$!
station-monitor --every 100ms --count 90 --json >/tmp/others 2>&1 &
others=$!
date -s '2031-05-01 12:00:00' >/dev/null
sleep 2
now later
date -s '1999-05-01 12:00:00' >/dev/null
sleep 2
now earlier
part jumped; full wlan0
listen
iw dev wlan2 del
ip link set wlan1 down
ip link set wlan1 name ap5
sleep 11
part points; ask getAccessPoints '{}'
part gone; brief wlan2
part renamed; brief ap5
part path; ask getStationStatsBrief '{"path":"WiFi.AccessPoint.2.","max-age-ms":0}'
part end; metrics
wait $monitor || :
wait $others || :
part monitor; cat /tmp/summary
part told; told
lives
"#;

#[test]
fn hostapd_may_begin_again_the_clock_jump_and_interfaces_vanish_while_everybody_polls() {
    let place = Place::with_guests();
    let parts = guest(&place, 6, SIX);
    never_fell(&parts, &["before", "killed", "after", "later", "earlier", "end"]);
    let after = parts.page("after");
    assert_eq!(after.sum("stationd_access_point_sessions_ended_total"), 6.0);
    assert_eq!(stations(&parts, "brief"), 6);
    assert_eq!(parts.result("full")[0][0]["SecurityModeEnabled"], "WPA2-Personal");
    for page in ["before", "after", "later", "earlier"] {
        let began = parts.page(page).value("process_start_time_seconds");
        let age = parts.number(&format!("{page}-now")) as f64 - began;
        // `date` shows whole seconds.
        assert!((-1.0..120.0).contains(&age), "{page}: it began {age} s ago");
    }
    let since = &parts.result("jumped")[0][0]["AssociationTime"];
    assert!(since.as_str().unwrap().starts_with("1999-05-01T11:5"), "{since}");
    let points = parts.result("points");
    let names: Vec<_> =
        points.as_array().unwrap().iter().map(|one| (&one["name"], &one["number"])).collect();
    assert_eq!(names, [(&json!("wlan0"), &json!(1)), (&json!("ap5"), &json!(2))]);
    assert_eq!(parts.lines("gone")[0]["error"]["code"], -32001);
    for reply in ["renamed", "path"] {
        let reply = parts.result(reply);
        assert_eq!(reply, json!([[]]), "hostapd was taken down with its link");
    }
    let page = parts.page("end");
    assert_eq!((page.naming("device=\"wlan1\""), page.naming("device=\"wlan2\"")), (0, 0));
    // Anyone who polls another interface does not notice.
    assert_eq!(parts.lines("monitor")[0]["faults"], 0);
    let told = parts.lines("told");
    let left = told.iter().filter(|one| one["params"]["event"] == "disassoc").count();
    assert_eq!(left, 4, "{told:?}");
}

/// As many clients as other tests have, and so their access point.
#[test]
fn lost_events_are_made_up_for() {
    let place = Place::with_guests();
    let parts = guest(
        &place,
        114,
        r#"
daemon
within 10 stations 114
part before; metrics
kill -STOP $daemon
for round in 1 2; do
    for n in 0 1 2; do hostapd_cli -i wlan$n deauthenticate ff:ff:ff:ff:ff:ff; done
    within 120 associated 114
done
kill -CONT $daemon
within 5 stations 114
part after; metrics
part brief; for n in 0 1 2; do brief wlan$n; done
lives
"#,
    );
    never_fell(&parts, &["before", "after"]);
    let (before, after) = (parts.page("before"), parts.page("after"));
    assert!(after.sum("stationd_netlink_overruns_total") >= 1.0, "nothing was lost");
    assert!(after.sum("stationd_access_point_sessions_ended_total") >= 114.0);
    assert!(after.more(&before, "stationd_access_point_receive_bytes_total") > 0.0);
    assert_eq!(stations(&parts, "brief"), 114);
}
