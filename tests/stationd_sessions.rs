//! stationd's sessions: what is there of a station while it is associated, what is left when it has
//! gone, and that it comes back as another.

use serde_json::{Value, json};

use crate::harness::{Page, Parts, Place, in_guest};

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
