//! stationd's values, from everywhere at once: its two replies, `iw` and hostapd, of the same stations
//! in the same frozen state.
//!
//! A state is frozen when `iw` says the same before and after; else the guest looks again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Parts, Place, in_guest, is_long, on_one_radio};

/// The keys of the brief reply.
const KEYS: [&str; 14] = [
    "MACAddress",
    "TxBytes",
    "RxBytes",
    "TxErrors",
    "RxErrors",
    "TxPacketCount",
    "RxPacketCount",
    "TxUnicastPacketCount",
    "Tx_Retransmissions",
    "LastDataDownlinkRate",
    "LastDataUplinkRate",
    "DownlinkBandwidth",
    "SignalNoiseRatio",
    "SignalStrength",
];

/// Pings of several sizes, so that stations differ; then everybody's words about the same state of `$radios` radios.
const LOOK: &str = r#"
still() { iw dev $1 station dump | grep -v -e inactive -e 'connected time' -e 'current time' -e 'associated at:'; }
look() {
    for try in 1 2 3 4 5; do
        still $1 >/tmp/before || :
        iw dev $1 station dump >/tmp/iw
        brief $1 >/tmp/brief
        full $1 >/tmp/full
        hostapd_cli -i $1 all_sta >/tmp/hostapd
        still $1 >/tmp/after || :
        cmp -s /tmp/before /tmp/after && break
        sleep 0.5
    done
    cmp /tmp/before /tmp/after
    for source in iw brief full hostapd; do part $source-$1; cat /tmp/$source; done
}
daemon
for sta in 0 1 2 3 4 5 6 7 8 9 10 11; do
    ip netns exec clients ping -q -c $((sta + 1)) -i 0.002 -W 1 -s $((90 * sta)) -I sta$sta \
        10.$((sta % radios)).0.1 >/dev/null 2>&1 || :
done
sleep 1
for radio in $(seq 0 $((radios - 1))); do brief wlan$radio >/dev/null; done
part resident; sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$daemon/status
for radio in $(seq 0 $((radios - 1))); do look wlan$radio; done
part metrics; metrics
"#;

type Stations = BTreeMap<String, BTreeMap<&'static str, Value>>;

/// The stations of a reply.
fn of_reply(reply: &Value) -> Stations {
    let [stations] = reply.as_array().unwrap().as_slice() else { panic!("{reply}") };
    let values = |station: &Value| {
        let of_key = |key: &&'static str| (*key, station[*key].clone());
        (text(&station["MACAddress"]), KEYS.iter().map(of_key).collect())
    };
    stations.as_array().unwrap().iter().map(values).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// `iw station dump`: all but the noise, and what iw has no word for.
fn of_iw(dump: &str) -> Stations {
    let blocks = dump.split("Station ").skip(1).map(|block| block.split_once(' ').unwrap());
    let stations = blocks.map(|(address, block)| {
        let values = block.lines().filter_map(|line| line.split_once(':'));
        let values: BTreeMap<_, _> =
            values.map(|(key, value)| (key.trim(), value.trim())).collect();
        let whole = |key| json!(values[key].split(' ').next().unwrap().parse::<i64>().unwrap());
        let rate = |key| {
            json!((values[key].split(' ').next().unwrap().parse::<f64>().unwrap() * 1000.0).round()
                as u64)
        };
        let mut widths =
            values["tx bitrate"].split(' ').filter_map(|word| word.strip_suffix("MHz"));
        let width = widths.next().map_or(20, |width| width.parse().unwrap());
        let address = address.to_uppercase();
        let message = [
            ("MACAddress", json!(address)),
            ("TxBytes", whole("tx bytes")),
            ("RxBytes", whole("rx bytes")),
            ("TxErrors", whole("tx failed")),
            ("RxErrors", whole("rx drop misc")),
            ("TxPacketCount", whole("tx packets")),
            ("RxPacketCount", whole("rx packets")),
            ("TxUnicastPacketCount", whole("tx packets")),
            ("Tx_Retransmissions", whole("tx retries")),
            ("LastDataDownlinkRate", rate("tx bitrate")),
            ("LastDataUplinkRate", rate("rx bitrate")),
            ("DownlinkBandwidth", json!(width)),
            ("SignalStrength", whole("signal")),
        ];
        (address, message.into())
    });
    stations.collect()
}

/// `hostapd_cli all_sta`: an address alone on its line begins a station. It tells eight of the fourteen.
fn of_hostapd(message: &str) -> Stations {
    let mut stations = Stations::new();
    let mut address = String::new();
    for line in message.lines() {
        let Some((key, value)) = line.split_once('=') else {
            address = line.to_uppercase();
            stations.insert(address.clone(), [("MACAddress", json!(address))].into());
            continue;
        };
        let number = || value.split(' ').next().unwrap().parse::<i64>().unwrap();
        let (key, value) = match key {
            "tx_bytes" => ("TxBytes", number()),
            "rx_bytes" => ("RxBytes", number()),
            "tx_packets" => ("TxPacketCount", number()),
            "rx_packets" => ("RxPacketCount", number()),
            "signal" => ("SignalStrength", number()),
            "tx_rate_info" => ("LastDataDownlinkRate", number() * 100),
            "rx_rate_info" => ("LastDataUplinkRate", number() * 100),
            _ => continue,
        };
        stations.get_mut(&address).unwrap().insert(key, json!(value));
    }
    stations
}

/// How many stations on how many radios.
#[derive(Clone, Copy)]
struct Many {
    clients: u32,
    radios: u32,
}

/// Compares all sources; how many values were compared.
fn compare(parts: &Parts, many: Many) -> usize {
    let (mut compared, mut there) = (0, 0);
    for radio in (0..many.radios).map(|radio| format!("wlan{radio}")) {
        let reply = parts.result(&format!("brief-{radio}"));
        for station in reply[0].as_array().unwrap() {
            let keys: Vec<_> = station.as_object().unwrap().keys().collect();
            assert!(
                keys.len() == 14 && KEYS.iter().all(|key| station.get(*key).is_some()),
                "{keys:?}"
            );
            // hwsim surveys no channel that is in use, so no one knows the noise; never 0.
            assert_eq!(station["SignalNoiseRatio"], json!(null));
        }
        let brief = of_reply(&reply);
        there += brief.len();
        let others = [
            ("full", of_reply(&parts.result(&format!("full-{radio}"))), 14),
            ("iw", of_iw(parts.text(&format!("iw-{radio}"))), 13),
            ("hostapd", of_hostapd(parts.text(&format!("hostapd-{radio}"))), 8),
        ];
        for (source, stations, keys) in others {
            let (ours, theirs): (Vec<_>, Vec<_>) =
                (brief.keys().collect(), stations.keys().collect());
            assert_eq!(ours, theirs, "{source} on {radio}");
            for (address, values) in &stations {
                assert_eq!(values.len(), keys, "{source}: {values:?}");
                for (key, value) in values {
                    assert_eq!(
                        brief[address][key], *value,
                        "{key} of {address}: brief and {source}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(there, many.clients as usize);
    compared
}

fn the_same_with(many: Many) -> Parts {
    let place = Place::with_guests();
    let Many { clients, radios } = many;
    let raised = if radios == 1 { on_one_radio } else { in_guest };
    let parts = raised(&place, clients, &format!("radios={radios}\n{LOOK}"));
    let compared = compare(&parts, many);
    let page = parts.page("metrics");
    assert_eq!(page.sum("stationd_access_point_stations"), f64::from(clients));
    assert_eq!(page.naming("node_wifi_station_signal_dbm{"), clients as usize);
    let resident = parts.number("resident");
    let after = page.value("process_resident_memory_bytes") / 1024.0;
    eprintln!(
        "{clients} clients: {compared} values compared; {resident} KiB resident, {after} after full replies"
    );
    assert_eq!(place.left(), []);
    parts
}

#[test]
fn without_stations_every_source_is_empty() {
    let parts = the_same_with(Many { clients: 0, radios: 3 });
    assert_eq!(parts.result("brief-wlan0"), json!([[]]));
    assert_eq!(parts.result("full-wlan0"), json!([[]]));
    assert_eq!(parts.page("metrics").naming("mac_address"), 0);
}

#[test]
fn the_fourteen_values_of_one_station_are_the_same_from_everywhere() {
    the_same_with(Many { clients: 1, radios: 3 });
}

#[test]
fn the_fourteen_values_of_114_stations_are_the_same_from_everywhere() {
    let parts = the_same_with(Many { clients: 114, radios: 3 });
    // Pings made them differ; else one station's values could be another's.
    let brief = of_reply(&parts.result("brief-wlan1"));
    let bytes: std::collections::BTreeSet<_> =
        brief.values().map(|one| one["RxBytes"].to_string()).collect();
    assert!(bytes.len() > 3, "{bytes:?}");
}

/// What 500 stations are to each of three radios: every reply is as long, and joining takes a third.
#[test]
fn the_fourteen_values_of_167_stations_of_one_radio_are_the_same_from_everywhere() {
    the_same_with(Many { clients: 167, radios: 1 });
}

#[test]
fn the_fourteen_values_of_500_stations_are_the_same_from_everywhere() {
    if !is_long() {
        return eprintln!("not run: the 167 of one radio are; `make long-proofs` runs it");
    }
    the_same_with(Many { clients: 500, radios: 3 });
}
