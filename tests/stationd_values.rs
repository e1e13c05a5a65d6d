//! Every station from every face, up to as many as a radio holds, and what consumers cost.
//!
//! That each value is what `iw` and hostapd say is [`crate::parity`]'s question.

use crate::harness::{Parts, Place, is_long, with_radios};

const LOOK: &str = r#"
each() { for radio in $(seq 0 $((radios - 1))); do "$1" wlan$radio; done; }
kernel() { iw dev $1 station dump | grep ^Station; }
daemon
each brief >/dev/null
part resident; sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$daemon/status
part kernel; each kernel | wc -l
part brief; each brief
part full; each full
part metrics; metrics
"#;

/// Checks this many stations on this many radios, and runs more of a script there.
fn stations(clients: u32, radios: u32, more: &str) -> Parts {
    let place = Place::with_guests();
    let script = format!("radios={radios}\n{LOOK}\n{more}");
    let parts = with_radios(&place, clients, radios, &script);
    assert_eq!(parts.number("kernel"), u64::from(clients));
    for face in ["brief", "full"] {
        let replies = parts.lines(face);
        let addresses = replies.iter().flat_map(|reply| {
            let stations = reply["result"][0].as_array().unwrap();
            stations.iter().map(|station| station["MACAddress"].to_string())
        });
        let addresses: std::collections::BTreeSet<_> = addresses.collect();
        assert_eq!((replies.len(), addresses.len()), (radios as usize, clients as usize), "{face}");
    }
    let page = parts.page("metrics");
    assert_eq!(page.sum("stationd_access_point_stations"), f64::from(clients));
    assert_eq!(page.naming("node_wifi_station_signal_dbm{"), clients as usize);
    let resident = parts.number("resident");
    assert!(page.has("process_resident_memory_bytes"));
    assert!(resident <= 2048 + 2 * u64::from(clients), "{resident} KiB resident");
    assert_eq!(place.left(), []);
    parts
}

/// One consumer, and then ten that ask in the same seconds.
const CONSUMERS: &str = r#"
monitor() { station-monitor --expect 114 --json "$@"; }
part start; metrics
part one-monitor; monitor --every 1s --count 8
part one; metrics
part ten-monitor; monitor --every 1s --count 5 --consumers 10
part ten; metrics
"#;

#[test]
fn each_of_114_stations_is_told_and_ten_consumers_cost_what_one_does() {
    let parts = stations(114, 3, CONSUMERS);
    for monitor in ["one-monitor", "ten-monitor"] {
        assert_eq!(parts.lines(monitor)[0]["faults"], 0, "{}", parts.text(monitor));
    }
    let more = |[from, to]: [&str; 2], metric| parts.page(to).more(&parts.page(from), metric);
    // A page reads too where no one has within the last half second; else a round may share its reading.
    let polls = more(["start", "one"], "stationd_dumps_total") / 3.0;
    assert!((7.0..=9.0).contains(&polls), "{polls} dumps of each radio");
    let ten = |metric| more(["one", "ten"], metric);
    let (dumps, reads) = (ten("stationd_dumps_total"), ten("stationd_reads_total"));
    assert!((12.0..=18.0).contains(&dumps), "{dumps} dumps for ten consumers");
    assert!(reads >= 150.0 && ten("stationd_reads_shared_total") == reads - dumps, "{reads}");
    let asked = more(["start", "ten"], "stationd_hostapd_requests_total");
    assert_eq!(asked, 0.0, "hostapd is asked once for each association");
}

/// As many as three radios have above, and in the long proof as many as three can hold.
#[test]
fn each_of_114_stations_of_one_radio_is_told() {
    let (clients, radios) = if is_long() { (500, 3) } else { (114, 1) };
    stations(clients, radios, "");
}
