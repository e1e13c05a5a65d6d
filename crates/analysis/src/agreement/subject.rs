//! What a subject says of its clients: any of the four ways in which programs tell it.
//!
//! | the text begins with | it is |
//! | --- | --- |
//! | `{` | a JSON object a line, each of one client, which `MACAddress` names |
//! | `Station ` | `iw station dump` |
//! | an address alone | `hostapd_cli all_sta` |
//! | anything else | OpenMetrics; series with `mac_address` are of a client |

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{
    station::{self, as_address},
    table::{self, Table},
    value::Value,
};

/// Values by their names, of each client by its address in small letters. What is unknown has none.
pub(super) type Clients = BTreeMap<String, BTreeMap<String, Value>>;

/// What was said, and the table that its names are from.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) clients: Clients,
    pub(super) table: &'static Table,
}

pub(super) fn read(text: &str) -> Result<Statement, String> {
    let said = |clients, table| Ok(Statement { clients, table });
    match Form::of(text) {
        Form::Json => json(text),
        Form::Iw => said(in_words(station::iw(text)), &table::IW),
        Form::Hostapd => said(in_words(station::hostapd(text).1), &table::HOSTAPD),
        Form::Metrics => said(metrics(text), &table::NODE_EXPORTER),
    }
}

/// Which of the four ways it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Iw,
    Hostapd,
    Metrics,
}

impl Form {
    pub(super) fn of(text: &str) -> Self {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        match first {
            _ if first.starts_with('{') => Self::Json,
            _ if first.starts_with("Station ") => Self::Iw,
            _ if as_address(first).is_some() => Self::Hostapd,
            _ => Self::Metrics,
        }
    }
}

fn json(text: &str) -> Result<Statement, String> {
    let mut clients = Clients::new();
    let tables = [&table::BRIEF, &table::STATION, &table::FULL];
    // The least that has every key of every client, or the largest.
    let mut which = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(Json::Object(object)) = serde_json::from_str(line) else {
            return Err(format!("it says `{}`, which is no JSON object", shortened(line)));
        };
        let lacks = |table: &Table| object.keys().any(|key| table.entry(key).is_none());
        while which + 1 < tables.len() && lacks(tables[which]) {
            which += 1;
        }
        let address = object.get(table::ADDRESS).and_then(Json::as_str).and_then(as_address);
        let Some(address) = address else {
            return Err(format!("`{}` has no address in {}", shortened(line), table::ADDRESS));
        };
        let values = object.into_iter().filter_map(|(key, value)| Some((key, of_json(value)?)));
        if clients.insert(address.clone(), values.collect()).is_some() {
            return Err(format!("it says {address} twice"));
        }
    }
    Ok(Statement { clients, table: tables[which] })
}

fn of_json(value: Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => Value::Flag(flag),
        Json::String(text) => Value::Text(text),
        Json::Number(number) => {
            let whole = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            whole.map_or_else(|| Value::Text(number.to_string()), Value::Whole)
        }
        other => Value::Text(other.to_string()),
    })
}

fn in_words(stations: station::Stations) -> Clients {
    let values = |words: station::Words| {
        words.into_iter().map(|(name, words)| (name, Value::Text(words))).collect()
    };
    stations.into_iter().map(|(address, words)| (address, values(words))).collect()
}

/// Series of clients: `name{device="wlan0",mac_address="02:…"} 1.5e+06`.
fn metrics(text: &str) -> Clients {
    let mut clients = Clients::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let Some((name, labels)) = series.split_once('{') else { continue };
        let Some(address) = address_behind("mac_address=\"", labels) else { continue };
        let client = clients.entry(address).or_default();
        client.insert(name.to_owned(), Value::Text(value.to_owned()));
    }
    clients
}

/// The address right behind these words of a line.
pub(super) fn address_behind(words: &str, line: &str) -> Option<String> {
    line.split_once(words).and_then(|(_, rest)| rest.get(..17)).and_then(as_address)
}

pub(super) fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use proptest::prelude::*;

    use super::*;

    const A: &str = "02:00:00:00:01:0a";

    #[test]
    fn four_ways_to_say_the_same_are_understood() {
        let node = "# HELP x y\nnode_wifi_interface_frequency_hertz{device=\"wlan0\"} 2.412e+09\n\
                    node_wifi_station_signal_dbm{device=\"wlan0\",mac_address=\"02:00:00:00:01:0a\"} -30\n";
        let cases: [(&str, &Table, &str, Option<Value>); 7] = [
            ("\"TxBytes\":7", &table::BRIEF, "TxBytes", Some(Value::Whole(7))),
            ("\"SignalNoiseRatio\":null", &table::BRIEF, "SignalNoiseRatio", None),
            ("\"Active\":true", &table::STATION, "Active", Some(Value::Flag(true))),
            ("\"HtCapabilities\":\"\"", &table::FULL, "HtCapabilities", Some("".into())),
            (
                "Station 02:00:00:00:01:0a (on wlan0)\n\ttx bytes:\t7\n",
                &table::IW,
                "tx bytes",
                Some("7".into()),
            ),
            ("02:00:00:00:01:0a\ntx_bytes=7\n", &table::HOSTAPD, "tx_bytes", Some("7".into())),
            (node, &table::NODE_EXPORTER, "node_wifi_station_signal_dbm", Some("-30".into())),
        ];
        for (text, table, key, value) in cases {
            let object = format!("{{\"MACAddress\":\"02:00:00:00:01:0A\",{text}}}\n");
            let said = read(if text.starts_with('"') { &object } else { text }).unwrap();
            assert!(ptr::eq(said.table, table), "{text}");
            assert_eq!(
                (said.clients.len(), said.clients[A].get(key)),
                (1, value.as_ref()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_client_is_refused() {
        let why = |text: &str| read(text).unwrap_err();
        assert_eq!(why("{\"TxBytes\":7}"), "`{\"TxBytes\":7}` has no address in MACAddress");
        assert_eq!(why("{}\n7"), "`{}` has no address in MACAddress");
        assert_eq!(why("{\"MACAddress\""), "it says `{\"MACAddress\"`, which is no JSON object");
        let twice = format!("{{\"MACAddress\":\"{A}\"}}\n").repeat(2);
        assert_eq!(why(&twice), format!("it says {A} twice"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text: String, tail in "[a-z_{}\"=:0-9 .\n]{0,120}") {
            for text in [text.as_str(), &format!("{{{text}"), &format!("x{{mac_address=\"{tail}"), &tail] {
                let _ = read(text);
            }
        }
    }
}
