//! Parses stationd's replies: the frame, the nesting, and the keys of each station.
//!
//! The brief reply must have exactly its fourteen keys, with `null` for what is unknown; the full
//! one leaves out what is unknown, and has many more.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Counters that only rise within an association.
pub const COUNTERS: [&str; 8] = [
    "TxBytes",
    "RxBytes",
    "TxPacketCount",
    "RxPacketCount",
    "TxUnicastPacketCount",
    "Tx_Retransmissions",
    "TxErrors",
    "RxErrors",
];

/// What else the brief reply has of a station.
const OTHERS: [&str; 6] = [
    "MACAddress",
    "LastDataDownlinkRate",
    "LastDataUplinkRate",
    "DownlinkBandwidth",
    "SignalNoiseRatio",
    "SignalStrength",
];

/// A station of a reply: its keys, and their values as they were written.
#[derive(Debug)]
pub struct Station<'a>(Vec<(&'a str, &'a RawValue)>);

impl<'a> Station<'a> {
    /// The JSON of a value; `None` if it is `null` or missing.
    fn text(&self, key: &str) -> Option<&'a str> {
        let (_, value) = self.0.iter().find(|(name, _)| *name == key)?;
        Some(value.get()).filter(|text| *text != "null")
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    pub fn address(&self) -> Option<&'a str> {
        self.text("MACAddress")?.strip_prefix('"')?.strip_suffix('"')
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Station<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Station<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a station")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut keys = Vec::with_capacity(COUNTERS.len() + OTHERS.len());
                while let Some(entry) = map.next_entry()? {
                    keys.push(entry);
                }
                Ok(Station(keys))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl Serialize for Station<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

#[derive(Deserialize)]
struct Reply<'a> {
    jsonrpc: &'a str,
    id: Option<u64>,
    // One element: the list of the stations.
    #[serde(borrow)]
    result: Option<[Vec<Station<'a>>; 1]>,
    #[serde(borrow)]
    error: Option<ErrorObject<'a>>,
}

#[derive(Deserialize)]
struct ErrorObject<'a> {
    code: i64,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

/// Reads the reply to a request: its stations.
/// Fails with what is wrong.
pub fn read(line: &[u8], id: u64, is_full: bool) -> Result<Vec<Station<'_>>, String> {
    let reply: Reply<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if reply.jsonrpc != "2.0" {
        return Err(format!("the reply speaks JSON-RPC {}", reply.jsonrpc));
    }
    if reply.id != Some(id) {
        return Err(format!("the reply is to {:?} and not to {id}", reply.id));
    }
    if let Some(error) = reply.error {
        return Err(format!("stationd says {}: {}", error.code, error.message));
    }
    let [stations] = reply.result.ok_or("the reply has no result")?;
    stations.iter().try_for_each(|station| examine(station, is_full))?;
    Ok(stations)
}

/// One pass over a station's keys: a monitor does this for every station of every reply.
fn examine(station: &Station<'_>, is_full: bool) -> Result<(), String> {
    let keys = || COUNTERS.iter().chain(&OTHERS);
    let mut seen = 0_u32;
    for (key, value) in &station.0 {
        let Some(place) = keys().position(|known| known == key) else {
            if is_full {
                continue;
            }
            return Err(format!("a station with the unknown key `{key}`"));
        };
        seen |= 1 << place;
        let text = value.get();
        let is_right = match *key {
            "MACAddress" => text.starts_with('"'),
            "SignalNoiseRatio" | "SignalStrength" => text.parse::<i64>().is_ok(),
            _ => text.parse::<u64>().is_ok(),
        };
        if !is_right && text != "null" {
            return Err(format!("`{key}` is {text}"));
        }
    }
    let missing = (0..).zip(keys()).find(|(place, _)| !is_full && seen & 1 << place == 0);
    missing.map_or(Ok(()), |(_, key)| Err(format!("a station without `{key}`")))
}

/// Reads the reply to `getAccessPoints`: their names.
pub fn access_points(line: &[u8]) -> serde_json::Result<Vec<String>> {
    #[derive(Deserialize)]
    struct AccessPoint {
        name: String,
    }
    #[derive(Deserialize)]
    struct Points {
        result: Vec<AccessPoint>,
    }
    let Points { result } = serde_json::from_slice(line)?;
    Ok(result.into_iter().map(|point| point.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: &str = r#"{"MACAddress":"02:00:00:00:01:00","TxBytes":1,"RxBytes":2,"TxErrors":3,"RxErrors":4,"TxPacketCount":5,"RxPacketCount":6,"TxUnicastPacketCount":7,"Tx_Retransmissions":8,"LastDataDownlinkRate":9,"LastDataUplinkRate":10,"DownlinkBandwidth":20,"SignalNoiseRatio":null,"SignalStrength":-40}"#;

    fn framed(result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)
    }

    fn wrong(line: &str) -> String {
        read(line.as_bytes(), 7, false).unwrap_err()
    }

    #[test]
    fn the_brief_reply_has_all_its_keys_and_no_others() {
        let of = |from, to| framed(&format!("[[{}]]", STATION.replace(from, to)));
        assert_eq!(read(of("", "").as_bytes(), 7, false).unwrap()[0].0.len(), 14);
        let more = of("{\"MAC", "{\"Active\":true,\"MAC");
        assert_eq!(read(more.as_bytes(), 7, true).unwrap()[0].text("Active"), Some("true"));
        assert_eq!(wrong(&more), "a station with the unknown key `Active`");
        let without = of(",\"SignalNoiseRatio\":null", "");
        assert_eq!(wrong(&without), "a station without `SignalNoiseRatio`");
        assert_eq!(wrong(&of("\"TxBytes\":1", "\"TxBytes\":\"1\"")), "`TxBytes` is \"1\"");
        assert_eq!(wrong(&of("\"TxBytes\":1", "\"TxBytes\":-1")), "`TxBytes` is -1");
    }

    #[test]
    fn the_nesting_is_a_list_of_one_list() {
        assert!(wrong(&framed("[]")).contains("array of length 1"));
        assert!(wrong(&framed("[[],[]]")).contains("trailing"));
        assert!(wrong(&framed(&format!("[{STATION}]"))).contains("expected a sequence"));
        assert!(read(framed("[[]]").as_bytes(), 7, false).unwrap().is_empty());
    }

    #[test]
    fn the_frame_is_json_rpc_and_the_reply_is_ours() {
        let other = framed("[[]]").replace("\"id\":7", "\"id\":8");
        assert_eq!(wrong(&other), "the reply is to Some(8) and not to 7");
        let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"no \"wlan9\""}}"#;
        assert_eq!(wrong(error), "stationd says -32001: no \"wlan9\"");
        assert_eq!(wrong(r#"{"jsonrpc":"2.0","id":7}"#), "the reply has no result");
    }
}
