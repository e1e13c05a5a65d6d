//! What a subject says of its clients: any of the four ways in which programs tell it.
//!
//! | the text begins with | it is |
//! | --- | --- |
//! | `{` | a JSON object a line, each of one client, which `MACAddress` names |
//! | `Station ` | `iw station dump` (iw 5.19, `station.c`, `print_sta_handler`) |
//! | an address alone | `hostapd_cli all_sta` |
//! | anything else | OpenMetrics; series with `mac_address` are of a client |

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{
    station::{Words, as_address},
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
    let form = Form::of(text);
    if form == Form::Json {
        return json(text);
    }
    let values =
        |words: Words| words.into_iter().map(|(name, words)| (name, Value::Text(words))).collect();
    let words = form.words(text).into_iter();
    let clients = words.filter_map(|(owner, words)| Some((owner?, values(words)))).collect();
    Ok(Statement { clients, table: form.table() })
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

    pub(super) fn table(self) -> &'static Table {
        match self {
            Self::Json => &table::FULL,
            Self::Iw => &table::IW,
            Self::Hostapd => &table::HOSTAPD,
            Self::Metrics => &table::NODE_EXPORTER,
        }
    }

    /// Whose line it is, behind a line of `before`'s.
    pub(super) fn owner(self, line: &str, before: Option<String>) -> Option<String> {
        match self {
            Self::Json => address_behind(&format!("\"{}\":\"", table::ADDRESS), line),
            Self::Metrics if line.starts_with('#') => None,
            Self::Metrics => address_behind("mac_address=\"", line),
            Self::Iw if line.starts_with("Station ") => address_behind("Station ", line),
            Self::Hostapd => as_address(line.trim_end()).or(before),
            Self::Iw => before,
        }
    }

    /// Each value of a line, with all that is before it and its key.
    pub(super) fn pieces<'a>(self, line: &'a str) -> Vec<(&'a str, &'a str, &'a str)> {
        let split = |text: &'a str, at: Option<usize>, between: &str| {
            let value = at.map_or(0, |at| at + between.len());
            (&text[..value], bare(&text[..at.unwrap_or(0)]), &text[value..])
        };
        let first = |text: &'a str, between| split(text, text.find(between), between);
        match self {
            Self::Json => line.split(",\"").map(|piece| first(piece, "\":")).collect(),
            Self::Iw => vec![first(line, ":")],
            Self::Hostapd => vec![first(line, "=")],
            Self::Metrics => vec![split(line, line.rfind(' '), " ")],
        }
    }

    /// The words of each client by their names; `None` has those about no client.
    pub(super) fn words(self, text: &str) -> BTreeMap<Option<String>, Words> {
        let (mut all, mut owner) = (BTreeMap::<_, Words>::new(), None);
        for line in text.lines() {
            owner = self.owner(line, owner);
            let words = all.entry(owner.clone()).or_default();
            for (_, key, value) in self.pieces(line) {
                words.entry(key.to_owned()).or_insert_with(|| value.trim().to_owned());
            }
        }
        all
    }
}

/// A key without what its way of writing puts around it.
fn bare(key: &str) -> &str {
    key.split_once('{')
        .filter(|(name, _)| !name.is_empty())
        .map_or(key, |(name, _)| name)
        .trim_start_matches("{\"")
        .trim()
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

/// The address right behind these words of a line.
fn address_behind(words: &str, line: &str) -> Option<String> {
    line.split_once(words).and_then(|(_, rest)| rest.get(..17)).and_then(as_address)
}

pub(super) fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use std::ptr;

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
}
