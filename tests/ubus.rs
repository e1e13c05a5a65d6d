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
    brief wlan0 >/tmp/json
    full wlan0 >/tmp/full
    iw dev wlan0 station dump | grep -v -e inactive -e time -e associated >/tmp/after
    cmp -s /tmp/before /tmp/after && break
done
cmp /tmp/before /tmp/after
part iw; cat /tmp/after
part hostapd; hostapd_cli -i wlan0 all_sta
cat /tmp/replies
part json; cat /tmp/json
part full; cat /tmp/full
part wrong
client call iwinfo assoclist '{"device":"wlan9"}' || echo "code $?"
client call iwinfo assoclist '{"device":7}' || echo "code $?"
client call stationd no_such_method || echo "code $?"
"#;

/// What `iw` or `hostapd_cli` says of one station under a name, up to a space.
fn said<'a>(parts: &'a Parts, who: &str, address: &str, name: &str) -> &'a str {
    let text = parts.text(who);
    let of = text.split_once(address).unwrap_or_else(|| panic!("{address} in {text}")).1;
    let value = of.split_once(name).unwrap_or_else(|| panic!("{name} of {address} in {text}")).1;
    value.trim_start_matches([':', '=', ' ', '\t']).split([' ', '\n', '\r']).next().unwrap()
}

#[test]
fn every_shape_has_the_values_of_iw_hostapd_and_the_socket_at_the_same_moment() {
    let place = Place::with_guests();
    let Some(parts) = with_broker(&place, 6, SHAPES) else { return };
    let own: Value = parts.result("json");
    let stations = own[0].as_array().unwrap();
    assert_eq!(stations.len(), 2);
    let brief = parts.lines("WiFi.AccessPoint.1-getStationStatsBrief");
    assert_eq!(brief[0]["retval"], own[0], "prplOS's brief reply");
    assert_eq!(brief[1..], [json!({}), json!({ "amxd-error-code": 0 })]);
    let full = parts.lines("WiFi.AccessPoint.1-getStationStats");
    assert_eq!(full[0]["retval"].as_array().unwrap().len(), 2);
    let clients = &parts.lines("hostapd.wlan0-get_clients")[0];
    let listed = &parts.lines("iwinfo-assoclist")[0]["results"];
    for (at, station) in stations.iter().enumerate() {
        let address = station["MACAddress"].as_str().unwrap().to_lowercase();
        let client = &clients["clients"][&address];
        assert_eq!(client["authorized"], json!(true), "{client}");
        assert_eq!(client["bytes"], json!({ "rx": station["RxBytes"], "tx": station["TxBytes"] }));
        assert_eq!(client["signal"], station["SignalStrength"]);
        let iw = |name: &str| json!(said(&parts, "iw", &address, name).parse::<i64>().unwrap());
        let hostapd = |name: &str| said(&parts, "hostapd", &address, name);
        assert_eq!(client["bytes"], json!({ "rx": iw("rx bytes"), "tx": iw("tx bytes") }));
        assert_eq!(client["packets"], json!({ "rx": iw("rx packets"), "tx": iw("tx packets") }));
        assert_eq!(client["signal"], iw("signal"));
        assert_eq!(client["aid"].to_string(), hostapd("\naid"));
        for (key, flag) in [("auth", "AUTH"), ("assoc", "ASSOC"), ("wmm", "WMM"), ("ht", "HT")] {
            let flags = hostapd("\nflags");
            assert_eq!(client[key], json!(flags.contains(&format!("[{flag}]"))), "{key}: {flags}");
        }
        assert_eq!(listed[at]["tx"]["retries"], iw("tx retries"));
        assert_eq!(listed[at]["signal"], iw("signal"));
        let one = &listed[at];
        assert_eq!(one["mac"], station["MACAddress"]);
        assert_eq!(one["tx"]["bytes"], station["TxBytes"]);
        assert_eq!(one["rx"]["rate"], station["LastDataUplinkRate"]);
        assert_eq!(one["rx"]["packets"], station["RxPacketCount"]);
    }
    assert!(clients["freq"].is_number(), "{clients}");
    let codes = |line: &&str| line.starts_with("code ");
    let wrong: Vec<_> = parts.text("wrong").lines().filter(codes).collect();
    assert_eq!(wrong, ["code 4", "code 2", "code 3"], "not found, no argument, no method");
}

/// How many stations each method has, all radios together.
const EVERY_METHOD: &str = r#"
broker
daemon --set ubus=/tmp/ubus.sock
there stationd.hostapd.wlan2
count() { part "$1"; grep -o "$2" | wc -l; }
each() { for one in $1; do client call $(echo "$2" | sed "s/ONE/$one/") ${3:+"$(echo "$3" | sed "s/ONE/$one/")"}; done; }
each "1 2 3" "stationd.WiFi.AccessPoint.ONE getStationStatsBrief" | count brief MACAddress
each "1 2 3" "stationd.WiFi.AccessPoint.ONE getStationStats" | count full MACAddress
each "0 1 2" "stationd.hostapd.wlanONE get_clients" | count clients '"packets"'
each "0 1 2" "stationd.iwinfo assoclist" '{"device":"wlanONE"}' | count listed '"mac"'
client call stationd events | tee /tmp/events | count events '"assoc"'
part missed; grep -o '"missed": *[0-9]*' /tmp/events
"#;

/// `HEADROOM_UBUS_CLIENTS` is another number; 500 take minutes to associate.
#[test]
fn every_method_has_every_station() {
    let clients = std::env::var("HEADROOM_UBUS_CLIENTS").ok();
    let clients: u32 = clients.map_or(114, |clients| clients.parse().unwrap());
    let place = Place::with_guests();
    let Some(parts) = with_broker(&place, clients, EVERY_METHOD) else { return };
    let counted = |name| parts.number(name);
    let each = ["brief", "full", "clients", "listed"];
    assert_eq!(each.map(counted), [u64::from(clients); 4]);
    // The last 256 are there.
    assert_eq!(counted("events"), u64::from(clients.min(256)));
}

/// A station leaves, with a subscriber who reads, many who do not, and a broker that is killed again and again.
const EVENTS: &str = r#"
broker
daemon --set ubus=/tmp/ubus.sock
there stationd.hostapd.wlan2
client -n 2 subscribe stationd >/tmp/heard &
deaf=
for one in $(seq DEAF); do client subscribe stationd >/dev/null & deaf="$deaf $!"; done
connections() { [ "$(grep -c /tmp/ubus.sock /proc/net/unix)" -gt DEAF ]; }
within 120 connections
sleep 3
kill -STOP $deaf
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$daemon/status; }
resident >/tmp/before
follow='{"jsonrpc":"2.0","id":1,"method":"getEvents","params":{"since":4,"follow":true}}'
{ echo "$follow"; sleep 30; } | socat - UNIX:/run/stationd.sock >/tmp/followed &
within 10 test -s /tmp/followed
hostapd_cli -i wlan0 deauthenticate "$(hostapd_cli -i wlan0 list_sta | head -1)"
within 20 grep -q disassoc /tmp/heard
part heard; cat /tmp/heard
within 20 grep -q disassoc /tmp/followed
part followed; cat /tmp/followed
part events; client call stationd events '{"since":0}'; echo
for time in $(seq 40); do
    client call stationd.WiFi.AccessPoint.1 getStationStatsBrief '{"max-age-ms":0}' >/dev/null
done
resident >/tmp/after
part resident; cat /tmp/before /tmp/after
headroom-agent --move-clients packets=1s leaves=200ms & mover=$!
sleep 5
kill -TERM $mover; wait $mover
part deaf-resident; resident
station-monitor --every 200ms --json >/tmp/unmoved &
monitor=$!
for time in 1 2 3 4 5 6 7 8 9 10; do
    kill -9 $broker; wait $broker || :
    rm -f /tmp/ubus.sock
    broker
    there stationd.hostapd.wlan2
    client call stationd.iwinfo assoclist '{"device":"wlan1"}' >/dev/null
done
part again; client call stationd events '{"since":6}'; echo
kill -TERM $monitor; wait $monitor || :
part unmoved; cat /tmp/unmoved
resident >/tmp/after-brokers
part resident-after-brokers; cat /tmp/after-brokers
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
    let deaf = std::env::var("HEADROOM_DEAF_SUBSCRIBERS").unwrap_or_else(|_| "100".to_owned());
    let script = EVENTS.replace("DEAF", &deaf);
    let Some(parts) = with_broker(&place, 6, &script) else { return };
    let heard = parts.lines("heard");
    let left = heard.iter().find(|line| line.to_string().contains("disassoc")).unwrap();
    assert!(left.to_string().contains("\"exact\":true"), "{left}");
    let events = &parts.lines("events")[0];
    let followed = parts.lines("followed");
    let numbers = |events: &Value| {
        let events = events.as_array().unwrap().iter();
        events.map(|one| one["number"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&followed[0]["result"]["events"]), [4, 5]);
    assert_eq!(followed[1]["method"], "Event", "{followed:?}");
    assert_eq!(followed[1]["params"], events["events"][6], "the socket and ubus say the same");
    let kinds: Vec<_> =
        events["events"].as_array().unwrap().iter().map(|one| one["event"].clone()).collect();
    // Six that were there, and one that left, and may be back.
    assert!(kinds.len() >= 7, "{events}");
    assert_eq!(kinds[6], json!("disassoc"));
    assert_eq!((&events["missed"], &events["next"]), (&json!(0), &json!(kinds.len())));
    // The shell says there, too, whom it has killed.
    let resident = |name| -> Vec<u64> {
        parts.text(name).lines().filter_map(|line| line.parse().ok()).collect()
    };
    let [before, after] = resident("resident")[..] else { panic!("{}", parts.text("resident")) };
    let last = resident("resident-after-brokers")[0];
    let moved = resident("deaf-resident")[0];
    assert!(after.max(last).max(moved) <= before + 512, "{before}, {after}, {moved}, {last} KiB");
    let again = &parts.lines("again")[0];
    // Who left may be back by now.
    assert_eq!(numbers(&again["events"])[0], 6, "no event is lost with a broker");
    let unmoved = &parts.lines("unmoved")[0];
    assert_eq!(unmoved["faults"], 0, "{unmoved}");
    assert_eq!(parts.result("json")[0].as_array().unwrap().len(), 2);
}
