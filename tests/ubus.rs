//! stationd on ubus, with a broker and a client that are not ours, on real stations.
//!
//! The broker and its client are those of [`with_broker`].

use serde_json::{Value, json};

use crate::harness::{Parts, Place, with_broker};

const SHAPES: &str = r#"
broker
daemon --set ubus=/tmp/ubus.sock --set ubus-names=field
there hostapd.wlan2
call() { part $1-$2; client call "$@"; echo; }
for try in 1 2 3 4 5; do
    iw dev wlan0 station dump | grep -v -e inactive -e time -e associated >/tmp/before
    call WiFi.AccessPoint.1 getStationStatsBrief '{"max-age-ms":0}' >/tmp/replies
    call WiFi.AccessPoint.1 getStationStats >>/tmp/replies
    call hostapd.wlan0 get_clients >>/tmp/replies
    call iwinfo assoclist '{"device":"wlan0"}' >>/tmp/replies
    call usteer get_clients >>/tmp/replies
    call stationd associations '{"device":"wlan0"}' >>/tmp/replies
    brief wlan0 >/tmp/json
    full wlan0 >/tmp/full
    iw dev wlan0 station dump | grep -v -e inactive -e time -e associated >/tmp/after
    cmp -s /tmp/before /tmp/after && break
done
cmp /tmp/before /tmp/after
cat /tmp/replies
part json; cat /tmp/json
part full; cat /tmp/full
part wrong
client call iwinfo assoclist '{"device":"wlan9"}' || echo "code $?"
client call iwinfo assoclist '{"device":7}' || echo "code $?"
client call stationd no_such_method || echo "code $?"
"#;

/// Replies of a call, each a line.
fn replies(parts: &Parts, name: &str) -> Vec<Value> {
    let lines = parts.text(name).lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_shape_has_the_values_of_the_socket_at_the_same_moment() {
    let place = Place::with_guests();
    let Some(parts) = with_broker(&place, 6, SHAPES) else { return };
    let own: Value = parts.result("json");
    let stations = own[0].as_array().unwrap();
    assert_eq!(stations.len(), 2);
    let brief = replies(&parts, "WiFi.AccessPoint.1-getStationStatsBrief");
    assert_eq!(brief[0]["retval"], own[0], "prplOS's brief reply");
    assert_eq!(brief[1..], [json!({}), json!({ "amxd-error-code": 0 })]);
    let full = replies(&parts, "WiFi.AccessPoint.1-getStationStats");
    assert_eq!(full[0]["retval"].as_array().unwrap().len(), 2);
    let clients = &replies(&parts, "hostapd.wlan0-get_clients")[0];
    let listed = &replies(&parts, "iwinfo-assoclist")[0]["results"];
    let steered = &replies(&parts, "usteer-get_clients")[0];
    let associated = &replies(&parts, "stationd-associations")[0]["associations"];
    assert_eq!(steered.as_object().unwrap().len(), 6, "those of all radios: {steered}");
    for (at, station) in stations.iter().enumerate() {
        let address = station["MACAddress"].as_str().unwrap().to_lowercase();
        let client = &clients["clients"][&address];
        assert_eq!(client["authorized"], json!(true), "{client}");
        assert_eq!(client["bytes"], json!({ "rx": station["RxBytes"], "tx": station["TxBytes"] }));
        assert_eq!(client["signal"], station["SignalStrength"]);
        let one = &listed[at];
        assert_eq!(one["mac"], station["MACAddress"]);
        assert_eq!(one["tx"]["bytes"], station["TxBytes"]);
        assert_eq!(one["rx"]["rate"], station["LastDataUplinkRate"]);
        let node = &steered[&address]["hostapd.wlan0"];
        assert_eq!(
            (&node["connected"], &node["signal"]),
            (&json!(true), &station["SignalStrength"])
        );
        assert_eq!(associated[at]["station"], json!(address));
        assert_eq!(associated[at]["rx_packets"], station["RxPacketCount"]);
    }
    assert!(clients["freq"].is_number(), "{clients}");
    let codes = |line: &&str| line.starts_with("code ");
    let wrong: Vec<_> = parts.text("wrong").lines().filter(codes).collect();
    assert_eq!(wrong, ["code 4", "code 2", "code 3"], "not found, no argument, no method");
    assert_eq!(place.left(), []);
}

/// A station leaves, with a subscriber who reads, a hundred who do not, and a broker that is killed.
const EVENTS: &str = r#"
broker
daemon --set ubus=/tmp/ubus.sock
there stationd.hostapd.wlan2
client -n 2 subscribe stationd >/tmp/heard &
for deaf in $(seq 100); do client subscribe stationd >/dev/null & kill -STOP $! ; done
sleep 1
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$daemon/status; }
resident >/tmp/before
hostapd_cli -i wlan0 deauthenticate "$(hostapd_cli -i wlan0 list_sta | head -1)"
within 20 grep -q disassoc /tmp/heard
part heard; cat /tmp/heard
part events; client call stationd events '{"since":0}'; echo
for time in $(seq 40); do
    client call stationd.WiFi.AccessPoint.1 getStationStatsBrief '{"max-age-ms":0}' >/dev/null
done
resident >/tmp/after
part resident; cat /tmp/before /tmp/after
for time in 1 2 3; do
    kill -9 $broker; wait $broker || :
    rm -f /tmp/ubus.sock
    broker
    there stationd.hostapd.wlan2
    client call stationd.iwinfo assoclist '{"device":"wlan1"}' >/dev/null
done
kill -9 $broker; wait $broker || :
rm -f /tmp/ubus.sock
# Somebody else's socket, who talks nonsense.
socat UNIX-LISTEN:/tmp/ubus.sock,fork SYSTEM:'head -c 100000 /dev/urandom' &
sleep 3
part json; brief wlan1
"#;

#[test]
fn who_comes_and_goes_is_heard_whatever_the_broker_does() {
    let place = Place::with_guests();
    let Some(parts) = with_broker(&place, 6, EVENTS) else { return };
    let heard = replies(&parts, "heard");
    let left = heard.iter().find(|line| line.to_string().contains("disassoc")).unwrap();
    assert!(left.to_string().contains("\"exact\":true"), "{left}");
    let events = &replies(&parts, "events")[0];
    let kinds: Vec<_> =
        events["events"].as_array().unwrap().iter().map(|one| one["event"].clone()).collect();
    assert_eq!(kinds.len(), 7, "six that were there, and one that left: {events}");
    assert_eq!(kinds[6], json!("disassoc"));
    assert_eq!((&events["missed"], &events["next"]), (&json!(0), &json!(7)));
    // The shell says there, too, whom it has killed.
    let resident: Vec<u64> =
        parts.text("resident").lines().filter_map(|line| line.parse().ok()).collect();
    let [before, after] = resident[..] else { panic!("{}", parts.text("resident")) };
    assert!(after <= before + 512, "{resident:?} KiB");
    assert_eq!(parts.result("json")[0].as_array().unwrap().len(), 2);
    assert_eq!(place.left(), []);
}
