//! Every station from every face, with 114 on one radio, and what consumers cost; what is there of a station while
//! it is associated, what is left when it has gone, and that it comes back as another.
//!
//! That each value is what `iw` and hostapd say is [`crate::witness`]'s question.

use serde_json::{Value, json};

use crate::harness::{Page, Parts, Place, in_guest, is_long, with_radios};

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

/// Stations here stay away once they are sent away, until they are asked to come back.
const WORDS: &str = r#"
gone() { ! iw dev $1 station get $2 >/dev/null 2>&1; }
settled() { [ $(hostapd_cli -i $1 sta $2 | grep -c AUTHORIZED) = 1 ]; }
first=02:00:00:01:00:00
second=02:00:00:01:00:03
"#;

fn metric(page: &Page, name: &str) -> f64 {
    page.value(&format!("stationd_access_point_{name}{{device=\"wlan0\"}}"))
}

/// `rx bytes: 7` of a part that `iw` printed.
fn counter(parts: &Parts, part: &str, name: &str) -> u64 {
    let value = parts.text(part).lines().find_map(|line| line.trim().strip_prefix(name));
    value.unwrap().trim_start_matches(':').trim().parse().unwrap()
}

/// The events of the first access point that were told, in their order.
fn told(parts: &Parts) -> Vec<Value> {
    let all = parts.lines("told").into_iter().map(|line| line["params"].clone());
    all.filter(|event| event["ifname"] == "wlan0").collect()
}

/// The stations of a brief or full reply.
fn addresses(parts: &Parts, part: &str) -> Vec<Value> {
    let reply = parts.result(part);
    reply[0].as_array().unwrap().iter().map(|station| station["MACAddress"].clone()).collect()
}

#[test]
fn who_is_sent_away_is_gone_everywhere_and_comes_back_as_another() {
    let place = Place::with_guests();
    let script = WORDS.to_owned()
        + r#"
daemon
listen
wpa_cli -i sta0 sta_autoconnect 0
brief wlan0 >/dev/null
# What is moved now is polled by no one.
ip netns exec clients ping -q -c 5 -i 0.002 -W 1 -s 300 -I sta0 10.0.0.1 >/dev/null
part iw; iw dev wlan0 station get $first
hostapd_cli -i wlan0 deauthenticate $first
within 5 gone wlan0 $first
part brief; brief wlan0
part full; full wlan0
part gone; metrics
wpa_cli -i sta0 reconnect
within 20 settled wlan0 $first
part back; brief wlan0
for sta in 0 3; do wpa_cli -i sta$sta sta_autoconnect 0; done
hostapd_cli -i wlan0 disassociate $second
within 5 gone wlan0 $second
hostapd_cli -i wlan0 disassociate $first
within 5 gone wlan0 $first
part none; brief wlan0
part none-full; full wlan0
part end; metrics
part told; told
"#;
    let parts = in_guest(&place, 6, &script);
    let [first, second] = ["02:00:00:01:00:00", "02:00:00:01:00:03"];
    for reply in ["brief", "full"] {
        assert_eq!(addresses(&parts, reply), [second.to_uppercase()], "{reply}");
    }
    let page = parts.page("gone");
    assert_eq!((page.naming(first), metric(&page, "stations")), (0, 1.0));
    assert_eq!(
        (metric(&page, "sessions_ended_total"), metric(&page, "sessions_ended_exact_total")),
        (1.0, 1.0)
    );
    // The frame that sent it away is the last that was counted: 24 bytes of header, 2 of reason.
    let (rx, tx) = (counter(&parts, "iw", "rx bytes"), counter(&parts, "iw", "tx bytes") + 26);
    assert_eq!(metric(&page, "ended_receive_bytes_total"), rx as f64);
    assert_eq!(metric(&page, "ended_transmit_bytes_total"), tx as f64);
    let told = told(&parts);
    let expected =
        [("disassoc", first), ("assoc", first), ("disassoc", second), ("disassoc", first)];
    let word = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    let events = told.iter().map(|event| (word(event, "event"), word(event, "address")));
    let expected = expected.map(|(event, address)| (event.to_owned(), address.to_owned()));
    assert_eq!(events.collect::<Vec<_>>(), expected);
    let packets = (counter(&parts, "iw", "rx packets"), counter(&parts, "iw", "tx packets") + 1);
    assert_eq!(told[0]["bytes"], json!({"rx": rx, "tx": tx}));
    assert_eq!(told[0]["packets"], json!({"rx": packets.0, "tx": packets.1}));
    assert_eq!(told[0]["exact"], true);
    assert_eq!(addresses(&parts, "back").len(), 2);
    nobody_is_left(&parts, &told);
}

/// After the last station of the first access point was sent away too.
fn nobody_is_left(parts: &Parts, told: &[Value]) {
    for reply in ["none", "none-full"] {
        assert_eq!(addresses(parts, reply), [] as [Value; 0], "{reply}");
    }
    let page = parts.page("end");
    assert_eq!((metric(&page, "stations"), page.sum("stationd_access_point_stations")), (0.0, 4.0));
    assert_eq!((page.naming("02:00:00:01:00:00"), page.naming("02:00:00:01:00:03")), (0, 0));
    assert_eq!(
        (metric(&page, "sessions_ended_total"), metric(&page, "sessions_ended_exact_total")),
        (3.0, 3.0)
    );
    // With no one there, everything that was moved was moved by who has left.
    assert_eq!(metric(&page, "receive_bytes_total"), metric(&page, "ended_receive_bytes_total"));
    let sum: u64 = told.iter().filter_map(|event| event["bytes"]["tx"].as_u64()).sum();
    assert_eq!(metric(&page, "transmit_bytes_total"), sum as f64);
}
