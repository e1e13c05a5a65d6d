//! A reply as a monitor understands it: the frame, the nesting, and the values of each station.
//!
//! Pure. The brief reply must have exactly its fourteen keys, with `null` for what is unknown; the full
//! one leaves out what is unknown, and has many more. Whether values make sense from one reply to the next
//! is [`super::check`]'s to say.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};

/// Counters that only rise within an association, in the order of [`Station::counters`].
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

/// What both replies tell of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Station<'a> {
    /// As it was written.
    pub address: &'a str,
    /// Counters that only rise, in the order of [`COUNTERS`].
    pub counters: [Option<u64>; COUNTERS.len()],
    /// dBm.
    pub signal: Option<i64>,
    /// MHz.
    pub bandwidth: Option<u64>,
    /// From the access point, kbit/s.
    pub downlink_rate: Option<u64>,
    /// To the access point, kbit/s.
    pub uplink_rate: Option<u64>,
    pub signal_noise_ratio: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Got {
    pub polls: u64,
    pub stations: u64,
    pub bytes: u64,
}

/// All that a reply tells of a station, by its keys.
pub type Object = serde_json::Map<String, serde_json::Value>;

/// Reads a reply: its stations.
pub fn read<'a, S: Deserialize<'a>>(line: &'a [u8], id: u64) -> Result<Vec<S>, String> {
    let reply: Reply<'a, S> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if reply.jsonrpc != "2.0" {
        return Err(format!("the reply speaks JSON-RPC {}", reply.jsonrpc));
    }
    if reply.id != Some(id) {
        return Err(format!("the reply is to {:?} and not to {id}", reply.id));
    }
    if let Some(error) = reply.error {
        return Err(format!("stationd says {}: {}", error.code, error.message));
    }
    let [list] = reply.result.ok_or("the reply has no result")?;
    Ok(list)
}

#[derive(Deserialize)]
struct Reply<'a, S> {
    jsonrpc: &'a str,
    id: Option<u64>,
    // One element: the list of the stations.
    result: Option<[Vec<S>; 1]>,
    #[serde(borrow)]
    error: Option<ErrorObject<'a>>,
}

#[derive(Deserialize)]
struct ErrorObject<'a> {
    code: i64,
    #[serde(borrow)]
    message: Cow<'a, str>,
}

/// A value that must be there, though it may be `null`.
#[derive(Clone, Copy, Debug)]
struct Known<T>(Option<T>);

/// A station of a reply, by the keys of the brief one.
macro_rules! station {
    ($(#[$about:meta])* $name:ident, $value:ident) => {
        #[derive(Deserialize)]
        $(#[$about])*
        #[serde(rename_all = "PascalCase")]
        #[serde(bound = "'de: 'a")]
        pub struct $name<'a> {
            #[serde(rename = "MACAddress")]
            mac_address: &'a str,
            tx_bytes: $value<u64>,
            rx_bytes: $value<u64>,
            tx_errors: $value<u64>,
            rx_errors: $value<u64>,
            tx_packet_count: $value<u64>,
            rx_packet_count: $value<u64>,
            tx_unicast_packet_count: $value<u64>,
            #[serde(rename = "Tx_Retransmissions")]
            tx_retransmissions: $value<u64>,
            last_data_downlink_rate: $value<u64>,
            last_data_uplink_rate: $value<u64>,
            downlink_bandwidth: $value<u64>,
            signal_noise_ratio: $value<i64>,
            signal_strength: $value<i64>,
        }

        impl<'a> From<$name<'a>> for Station<'a> {
            fn from(station: $name<'a>) -> Self {
                let counters = [
                    station.tx_bytes,
                    station.rx_bytes,
                    station.tx_packet_count,
                    station.rx_packet_count,
                    station.tx_unicast_packet_count,
                    station.tx_retransmissions,
                    station.tx_errors,
                    station.rx_errors,
                ];
                Self {
                    address: station.mac_address,
                    counters: counters.map(Into::into),
                    signal: station.signal_strength.into(),
                    bandwidth: station.downlink_bandwidth.into(),
                    downlink_rate: station.last_data_downlink_rate.into(),
                    uplink_rate: station.last_data_uplink_rate.into(),
                    signal_noise_ratio: station.signal_noise_ratio.into(),
                }
            }
        }
    };
}

station!(
    /// One station of the brief reply: these keys and no others.
    #[serde(deny_unknown_fields)]
    Brief,
    Known
);
station!(
    /// One station of the full reply; of its parameters those that the brief one has too.
    Full,
    Option
);

impl<T> From<Known<T>> for Option<T> {
    fn from(Known(value): Known<T>) -> Self {
        value
    }
}

impl<'de, T: TryFrom<i64> + TryFrom<u64>> Deserialize<'de> for Known<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Not as an option: serde would take a key that is not there for `null`.
        from.deserialize_any(KnownVisitor(std::marker::PhantomData))
    }
}

struct KnownVisitor<T>(std::marker::PhantomData<T>);

impl<T: TryFrom<i64> + TryFrom<u64>> Visitor<'_> for KnownVisitor<T> {
    type Value = Known<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a whole number or null")
    }

    fn visit_unit<E>(self) -> Result<Known<T>, E> {
        Ok(Known(None))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Known<T>, E> {
        let value = T::try_from(value).map_err(|_| E::custom("a number is out of range"))?;
        Ok(Known(Some(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Known<T>, E> {
        let value = T::try_from(value).map_err(|_| E::custom("a number is out of range"))?;
        Ok(Known(Some(value)))
    }
}

/// One access point, as `getAccessPoints` tells it.
#[derive(Debug, Deserialize)]
pub struct AccessPoint {
    pub name: String,
}

/// Reads the reply to `getAccessPoints`.
pub fn access_points(line: &[u8]) -> serde_json::Result<Vec<AccessPoint>> {
    #[derive(Deserialize)]
    struct Points {
        result: Vec<AccessPoint>,
    }
    serde_json::from_slice(line).map(|Points { result }| result)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: &str = r#"{"MACAddress":"02:00:00:00:01:00","TxBytes":1,"RxBytes":2,"TxErrors":3,"RxErrors":4,"TxPacketCount":5,"RxPacketCount":6,"TxUnicastPacketCount":7,"Tx_Retransmissions":8,"LastDataDownlinkRate":9,"LastDataUplinkRate":10,"DownlinkBandwidth":20,"SignalNoiseRatio":null,"SignalStrength":-40}"#;

    fn framed(result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#)
    }

    fn wrong(line: &str) -> String {
        read::<Brief>(line.as_bytes(), 7).map(|_| ()).unwrap_err()
    }

    #[test]
    fn a_station_is_read() {
        let line = framed(&format!("[[{STATION}]]"));
        let [brief] = read::<Brief>(line.as_bytes(), 7).unwrap().try_into().ok().unwrap();
        let expected = Station {
            address: "02:00:00:00:01:00",
            counters: [1, 2, 5, 6, 7, 8, 3, 4].map(Some),
            signal: Some(-40),
            bandwidth: Some(20),
            downlink_rate: Some(9),
            uplink_rate: Some(10),
            signal_noise_ratio: None,
        };
        assert_eq!(Station::from(brief), expected);
        let [full] = read::<Full>(line.as_bytes(), 7).unwrap().try_into().ok().unwrap();
        assert_eq!(Station::from(full), expected);
        let [whole] = read::<Object>(line.as_bytes(), 7).unwrap().try_into().unwrap();
        assert_eq!((whole.len(), &whole["SignalStrength"]), (14, &serde_json::json!(-40)));
    }

    #[test]
    fn the_brief_reply_has_all_its_keys_and_no_others() {
        let without = STATION.replace(",\"SignalNoiseRatio\":null", "");
        assert!(
            wrong(&framed(&format!("[[{without}]]"))).contains("missing field `SignalNoiseRatio`")
        );
        let more = STATION.replace("{\"MAC", "{\"Active\":true,\"MAC");
        assert!(wrong(&framed(&format!("[[{more}]]"))).contains("unknown field `Active`"));
        let text = STATION.replace("\"TxBytes\":1", "\"TxBytes\":\"1\"");
        assert!(wrong(&framed(&format!("[[{text}]]"))).contains("expected a whole number or null"));
        let negative = STATION.replace("\"TxBytes\":1", "\"TxBytes\":-1");
        assert!(wrong(&framed(&format!("[[{negative}]]"))).contains("out of range"));
    }

    #[test]
    fn the_nesting_is_a_list_of_one_list() {
        assert!(wrong(&framed("[]")).contains("array of length 1"));
        assert!(wrong(&framed("[[],[]]")).contains("trailing"));
        assert!(wrong(&framed(&format!("[{STATION}]"))).contains("expected a sequence"));
        assert!(read::<Brief>(framed("[[]]").as_bytes(), 7).unwrap().is_empty());
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
