//! The full reply: `getStationStats`, all that is known of each station of an access point.
//!
//! Names and units are those of the field's `WiFi.AccessPoint.{i}.AssociatedDevice.{i}.`; what nl80211 and hostapd do not
//! tell is absent, and never 0.

use std::time::{Duration, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;
use linux::nl80211::{Address, Rate};

use crate::{
    address,
    identity::Identity,
    points::Point,
    table::{CounterKind, Gauge, Station, Table, kbps, mhz},
};

/// What a station takes, roughly, bytes.
pub const STATION: usize = 1200;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    Signed(i64),
    /// A number of which the field has 32 bits.
    Unsigned(u64),
    /// A number of which it has 64.
    Total(u64),
    /// A moment, ns since boot: the wall clock may jump, and then this is still the same moment.
    Time(u64),
    Address(Address),
    Word(&'static str),
    Text(String),
}

/// A parameter of a station: its name, and its value where it is known.
pub type Parameter = (&'static str, fn(&Station, &Point) -> Option<Value>);

#[rustfmt::skip]
pub static PARAMETERS: [Parameter; 38] = [
    ("Active", |_, _| Some(Value::Bool(true))),
    ("ActiveNumberOfAffiliatedSta", |station, _| links(station).map(Value::Unsigned)),
    ("AssociationTime", |station, _| Some(Value::Time(station.session.began_ns()))),
    ("AuthenticationState", |station, _| authenticated(station).map(Value::Bool)),
    ("AvgSignalStrength", |station, _| station.gauge(Gauge::SignalAverage).map(Value::Signed)),
    ("AvgSignalStrengthByChain", |station, _| mean_of_chains(station).map(Value::Signed)),
    ("ConnectionDuration", |station, _| gauge(station, Gauge::ConnectedS).map(Value::Unsigned)),
    ("DownlinkBandwidth", |station, _| number(mhz(station.tx_rate))),
    ("DownlinkMCS", |station, _| number(station.tx_rate?.mcs)),
    ("DownlinkRateSpec", |station, _| station.tx_rate.map(rate_spec).map(Value::Text)),
    ("DownlinkShortGuard", |station, _| station.tx_rate.map(Rate::has_short_guard).map(Value::Bool)),
    ("EncryptionMode", |station, _| identity(station)?.encryption().map(Value::Word)),
    ("Inactive", |station, _| gauge(station, Gauge::InactiveMs).map(|ms| Value::Unsigned(ms / 1000))),
    ("LastDataDownlinkRate", |station, _| number(kbps(station.tx_rate))),
    ("LastDataUplinkRate", |station, _| number(kbps(station.rx_rate))),
    ("LastStateChange", |station, _| Some(Value::Time(station.session.began_ns()))),
    ("LinkBandwidth", |station, _| link_width(station).map(Value::Word)),
    ("MACAddress", |station, _| Some(Value::Address(station.address()))),
    ("Noise", |_, point| point.noise_dbm.map(|dbm| Value::Signed(dbm.into()))),
    ("OperatingStandard", |station, point| identity(station)?.standard(point.frequency).map(Value::Word)),
    ("RxBytes", |station, _| station.counter(CounterKind::RxBytes).map(Value::Total)),
    ("RxErrors", |station, _| station.counter(CounterKind::RxDropped).map(Value::Total)),
    ("RxPacketCount", |station, _| station.counter(CounterKind::RxPackets).map(Value::Unsigned)),
    ("SecurityModeEnabled", |station, _| identity(station)?.security().map(Value::Word)),
    ("SignalNoiseRatio", |station, point| station.snr_db(point).map(Value::Signed)),
    ("SignalStrength", |station, _| station.gauge(Gauge::Signal).map(Value::Signed)),
    ("SignalStrengthByChain", |station, _| signal_by_chain(station).map(Value::Text)),
    ("SignalStrengthHistory", |station, _| signal_history(station).map(Value::Text)),
    ("TxBytes", |station, _| station.counter(CounterKind::TxBytes).map(Value::Total)),
    ("TxErrors", |station, _| station.counter(CounterKind::TxFailed).map(Value::Unsigned)),
    ("TxPacketCount", |station, _| station.counter(CounterKind::TxPackets).map(Value::Unsigned)),
    ("TxUnicastPacketCount", |station, _| station.counter(CounterKind::TxPackets).map(Value::Unsigned)),
    ("Tx_Retransmissions", |station, _| station.counter(CounterKind::TxRetries).map(Value::Unsigned)),
    ("Tx_RetransmissionsFailed", |station, _| station.counter(CounterKind::TxFailed).map(Value::Unsigned)),
    ("UplinkBandwidth", |station, _| number(mhz(station.rx_rate))),
    ("UplinkMCS", |station, _| number(station.rx_rate?.mcs)),
    ("UplinkRateSpec", |station, _| station.rx_rate.map(rate_spec).map(Value::Text)),
    ("UplinkShortGuard", |station, _| station.rx_rate.map(Rate::has_short_guard).map(Value::Bool)),
];

fn identity(station: &Station) -> Option<&Identity> {
    station.identity.as_deref()
}

fn number(value: Option<impl Into<u64>>) -> Option<Value> {
    value.map(|value| Value::Unsigned(value.into()))
}

/// Appends `[[{…}, …]]`: a list of one element, which is the list of stations, as the field's monitor expects it.
pub fn reply(point: &Point, table: &Table, wall_offset_ns: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[[");
    for (place, station) in table.stations(point.id).enumerate() {
        out.extend_from_slice(if place == 0 { b"{" } else { b",{" });
        let known =
            PARAMETERS.iter().filter_map(|(name, read)| Some((name, read(station, point)?)));
        for (place, (name, value)) in known.enumerate() {
            out.extend_from_slice(if place == 0 { b"\"" } else { b",\"" });
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            value.write_json(wall_offset_ns, out);
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]]");
}

impl Value {
    /// Appends it as JSON; no text of ours has anything that JSON would want to be escaped.
    fn write_json(&self, wall_offset_ns: i64, out: &mut Vec<u8>) {
        let mut quoted = |text: &[u8]| {
            out.push(b'"');
            out.extend_from_slice(text);
            out.push(b'"');
        };
        match self {
            Self::Address(address) => quoted(&address::upper(*address)),
            Self::Word(text) => quoted(text.as_bytes()),
            Self::Text(text) => quoted(text.as_bytes()),
            Self::Time(boot_ns) => quoted(rfc3339(*boot_ns, wall_offset_ns).as_bytes()),
            Self::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Signed(value) => {
                out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
            }
            Self::Unsigned(value) | Self::Total(value) => {
                out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
            }
        }
    }
}

/// RFC 3339 in UTC, to the second below, of a moment in ns since boot; 1970 where it is before that.
pub(crate) fn rfc3339(boot_ns: u64, wall_offset_ns: i64) -> String {
    let since_1970 = boot_ns.checked_add_signed(wall_offset_ns).unwrap_or(0);
    format_rfc3339_seconds(UNIX_EPOCH + Duration::from_nanos(since_1970)).to_string()
}

/// A gauge that is never below 0.
fn gauge(station: &Station, which: Gauge) -> Option<u64> {
    station.gauge(which).and_then(|value| u64::try_from(value).ok())
}

/// Whether data may pass. The kernel's word at the last reading, hostapd's at the association.
fn authenticated(station: &Station) -> Option<bool> {
    let authorised = station.identity.as_ref().is_some_and(|identity| identity.has("AUTHORIZED"));
    station.flags.map(|flags| flags.authorised()).or(authorised.then_some(true))
}

fn links(station: &Station) -> Option<u64> {
    Some(u64::from(station.links())).filter(|links| *links > 0)
}

/// The wider of the two last rates.
fn link_width(station: &Station) -> Option<&'static str> {
    let rates = station.tx_rate.into_iter().chain(station.rx_rate);
    Some(match rates.map(|rate| rate.width_mhz).max()? {
        20 => "20MHz",
        40 => "40MHz",
        80 => "80MHz",
        160 => "160MHz",
        320 => "320MHz",
        _ => return None,
    })
}

/// Weakest, strongest and mean of what was seen, and the driver's own average where it has one.
fn signal_history(station: &Station) -> Option<String> {
    let seen = station.signal_history()?;
    let (weakest, strongest, mean) = (seen.min, seen.max, seen.mean());
    Some(match station.gauge(Gauge::SignalAverage) {
        Some(average) => format!("{weakest},{strongest},{mean},{average}"),
        None => format!("{weakest},{strongest},{mean}"),
    })
}

/// With one decimal, which the kernel's whole dBm do not fill.
fn signal_by_chain(station: &Station) -> Option<String> {
    let texts: Vec<_> = station.chains.iter().map(|(_, dbm)| format!("{dbm}.0")).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

/// dBm, to the nearest.
fn mean_of_chains(station: &Station) -> Option<i64> {
    let (count, sum) = station
        .chains
        .iter()
        .fold((0, 0), |(count, sum), (_, dbm)| (count + 1, sum + i64::from(dbm)));
    (count > 0).then(|| (2 * sum - count) / (2 * count))
}

fn rate_spec(rate: Rate) -> String {
    let mut text = format!("{} {}MHz", rate.mode.name(), rate.width_mhz);
    if let Some(scheme) = rate.mcs {
        text += &format!(" mcs{scheme}");
    }
    if let Some(streams) = rate.streams {
        text += &format!(" {streams}x");
    }
    if rate.has_short_guard() {
        text += " sgi";
    }
    text
}

#[cfg(test)]
mod tests {
    use linux::nl80211::{Count, RateMode, StationReading};
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::{brief, table::tests::poll};

    /// 2026-11-21T00:00:00Z, for a machine that has just started.
    const WALL_OFFSET_NS: i64 = 1_795_219_200_000_000_000;

    /// What the kernel says of station `last`: every counter another number.
    fn reading(last: u8) -> StationReading {
        let rate = |kbps, width_mhz| {
            Some(Rate {
                kbps: Some(kbps),
                width_mhz,
                mode: RateMode::Vht,
                mcs: Some(9),
                streams: Some(2),
                short_guard: true,
                ..Rate::default()
            })
        };
        StationReading {
            address: [2, 0, 0, 0, 1, last],
            associated_at_boottime_ns: Some(30_999_999_999),
            inactive_ms: Some(1999),
            connected_s: Some(31),
            rx_bytes: Some(Count { value: 11, wide: true }),
            tx_bytes: Some(Count { value: 5_000_000_000, wide: true }),
            rx_packets: Some(13),
            tx_packets: Some(14),
            tx_retries: Some(15),
            tx_failed: Some(16),
            rx_dropped: Some(17),
            signal_dbm: Some(-40),
            signal_average_dbm: Some(-41),
            tx_rate: rate(866_700, 80),
            rx_rate: rate(400_000, 40),
            ..StationReading::default()
        }
    }

    fn table(readings: &[StationReading]) -> Table {
        let mut table = Table::default();
        poll(&mut table, 0, readings);
        table
    }

    fn full(point: &Point, table: &Table) -> Json {
        let mut out = Vec::new();
        reply(point, table, WALL_OFFSET_NS, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    fn brief(point: &Point, table: &Table) -> Json {
        let mut out = Vec::new();
        brief::reply(point, table, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    fn point() -> Point {
        Point { noise_dbm: Some(-95), frequency: Some(5180), ..Point::default() }
    }

    #[test]
    fn a_station_is_told_with_all_that_is_known() {
        let mut table = table(&[reading(1)]);
        let answer = "02:00:00:00:01:01\nflags=[AUTH][ASSOC][AUTHORIZED][VHT]\n\
                      AKMSuiteSelector=00-0f-ac-8\ndot11RSNAStatsSelectedPairwiseCipher=00-0f-ac-4\n";
        table.identify(0, Identity::parse(answer).unwrap());
        let expected = json!({
            "Active": true, "AssociationTime": "2026-11-21T00:00:30Z", "AuthenticationState": true,
            "AvgSignalStrength": -41, "ConnectionDuration": 31, "DownlinkBandwidth": 80,
            "DownlinkMCS": 9, "DownlinkRateSpec": "vht 80MHz mcs9 2x sgi", "DownlinkShortGuard": true,
            "EncryptionMode": "AES", "Inactive": 1, "LastDataDownlinkRate": 866_700,
            "LastDataUplinkRate": 400_000, "LastStateChange": "2026-11-21T00:00:30Z",
            "LinkBandwidth": "80MHz", "MACAddress": "02:00:00:00:01:01", "Noise": -95,
            "OperatingStandard": "ac", "RxBytes": 11, "RxErrors": 17, "RxPacketCount": 13,
            "SecurityModeEnabled": "WPA3-Personal", "SignalNoiseRatio": 55, "SignalStrength": -40,
            "SignalStrengthHistory": "-40,-40,-40,-41", "TxBytes": 5_000_000_000_u64,
            "TxErrors": 16, "TxPacketCount": 14, "TxUnicastPacketCount": 14,
            "Tx_Retransmissions": 15, "Tx_RetransmissionsFailed": 16, "UplinkBandwidth": 40,
            "UplinkMCS": 9, "UplinkRateSpec": "vht 40MHz mcs9 2x sgi", "UplinkShortGuard": true,
        });
        assert_eq!(full(&point(), &table), json!([[expected]]));
    }

    #[test]
    fn the_unknown_is_left_out_or_null_and_never_0() {
        let bare = StationReading { address: [2, 0, 0, 0, 1, 0xab], ..StationReading::default() };
        let (point_of_none, table_of_one) = (Point::default(), table(&[bare]));
        let told = brief(&point_of_none, &table_of_one);
        let brief = told[0][0].as_object().unwrap();
        assert_eq!((brief.len(), &brief["MACAddress"]), (14, &json!("02:00:00:00:01:AB")));
        assert_eq!(brief.values().filter(|value| value.is_null()).count(), 13);
        let told = full(&point_of_none, &table_of_one);
        let names: Vec<_> = told[0][0].as_object().unwrap().keys().collect();
        assert_eq!(names, ["Active", "AssociationTime", "LastStateChange", "MACAddress"]);
        assert_eq!(full(&point(), &Table::default()), json!([[]]));
    }

    #[test]
    fn boot_and_wall_clock_add_up_to_the_second_below() {
        assert_eq!(rfc3339(600_000_000, 500_000_000), "1970-01-01T00:00:01Z");
        assert_eq!(rfc3339(0, -1), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn the_fourteen_values_are_the_brief_replys() {
        let (point, table) = (point(), table(&[reading(1), reading(2)]));
        let (brief, full) = (brief(&point, &table), full(&point, &table));
        for number in 0..2 {
            for (key, value) in brief[0][number].as_object().unwrap() {
                assert_eq!(full[0][number][key], *value, "{key}");
            }
        }
    }
}
