//! `getStationStatsBrief`: fourteen values a station, straight from the live columns.
//!
//! The reply is the field's: a list with one element, the list of the stations, each a map of exactly
//! these keys. Unknown values are `null`.

use crate::{
    points::Point,
    table::{CounterKind, Gauge, Station, Table, kbps, mhz},
};

/// What the keys and values of one station take, roughly, bytes.
pub const STATION: usize = 400;

pub fn reply(point: &Point, table: &Table, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[[");
    for (place, station) in table.stations(point.id).enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(point, station, out);
    }
    out.extend_from_slice(b"]]");
}

fn write(point: &Point, station: &Station, out: &mut Vec<u8>) {
    // Room for all of it, so that it grows once: names, an address and 13 numbers of at most 20 digits.
    out.reserve(768);
    out.extend_from_slice(b"{\"MACAddress\":\"");
    out.extend_from_slice(&station.address_text);
    count(b"\",\"TxBytes\":", station.counter(CounterKind::TxBytes), out);
    count(b",\"RxBytes\":", station.counter(CounterKind::RxBytes), out);
    count(b",\"TxErrors\":", station.counter(CounterKind::TxFailed), out);
    count(b",\"RxErrors\":", station.counter(CounterKind::RxDropped), out);
    count(b",\"TxPacketCount\":", station.counter(CounterKind::TxPackets), out);
    count(b",\"RxPacketCount\":", station.counter(CounterKind::RxPackets), out);
    count(b",\"TxUnicastPacketCount\":", station.counter(CounterKind::TxPackets), out);
    count(b",\"Tx_Retransmissions\":", station.counter(CounterKind::TxRetries), out);
    // kbit/s, MHz, dB, dBm.
    count(b",\"LastDataDownlinkRate\":", kbps(station.tx_rate), out);
    count(b",\"LastDataUplinkRate\":", kbps(station.rx_rate), out);
    count(b",\"DownlinkBandwidth\":", mhz(station.tx_rate), out);
    level(b",\"SignalNoiseRatio\":", station.snr_db(point), out);
    level(b",\"SignalStrength\":", station.gauge(Gauge::Signal), out);
    out.push(b'}');
}

fn count<const N: usize>(name: &[u8; N], value: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    match value {
        // Most counters of most stations: errors, retries.
        Some(value @ 0..10) => out.push(b'0' + value as u8),
        Some(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}

fn level<const N: usize>(name: &[u8; N], value: Option<i64>, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    match value {
        Some(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use linux::nl80211::StationReading;

    use super::*;
    use crate::{replies::Replies, table::tests::poll};

    fn reading(station: u8) -> StationReading {
        StationReading { address: [2, 0, 0, 0, 1, station], ..StationReading::default() }
    }

    #[test]
    fn a_reply_is_shared_until_a_value_changes() {
        let (mut briefs, point) = (Replies::new(STATION, false), Point::default());
        let mut shared = |point: &Point, table: &Table| {
            briefs.reply(point, table, |out| reply(point, table, out))
        };
        let mut table = Table::default();
        poll(&mut table, 0, &[reading(1)]);
        let first = shared(&point, &table);
        poll(&mut table, 0, &[StationReading { inactive_ms: Some(5), ..reading(1) }]);
        assert!(Rc::ptr_eq(&first, &shared(&point, &table)));
        poll(&mut table, 0, &[StationReading { tx_failed: Some(5), ..reading(1) }]);
        let second = shared(&point, &table);
        assert!(!Rc::ptr_eq(&first, &second) && *first != *second);
        let quieter = Point { noise_dbm: Some(-95), ..Point::default() };
        assert!(!Rc::ptr_eq(&second, &shared(&quieter, &table)));
    }
}
