//! `getStationStatsBrief`: fourteen values a station, straight from the live columns.
//!
//! The reply is the field's: a list with one element, the list of the stations, each a map of exactly
//! these keys. What is not known is `null`. It is encoded when a value has changed, and shared by anyone who
//! asks.

use crate::{
    address, derive,
    points::Point,
    table::{Generation, Row, Table},
};

/// What the keys and values of one station take, roughly, bytes.
pub const STATION: usize = 400;

/// All stations of a point.
pub fn whole(point: &Point, table: &Table, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[[");
    stations(point, table.rows(point.id), out);
    out.extend_from_slice(b"]]");
}

/// The stations that have changed since a generation, and who has not left: a reader forgets the others.
pub fn since(point: &Point, table: &Table, since: Generation, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"generation\":");
    out.extend_from_slice(itoa::Buffer::new().format(table.generation()).as_bytes());
    out.extend_from_slice(b",\"stations\":[");
    stations(point, table.rows(point.id).filter(|row| row.changed() > since), out);
    out.extend_from_slice(b"],\"present\":[");
    for (place, row) in table.rows(point.id).enumerate() {
        out.extend_from_slice(if place == 0 { b"\"" } else { b",\"" });
        out.extend_from_slice(&address::upper(row.address()));
        out.push(b'"');
    }
    out.extend_from_slice(b"]}");
}

fn stations<'a>(point: &Point, rows: impl Iterator<Item = Row<'a>>, out: &mut Vec<u8>) {
    for (place, row) in rows.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        station(point, &row, out);
    }
}

/// One station's map, put together where the length of every name is known, and appended at once.
fn station(point: &Point, row: &Row<'_>, out: &mut Vec<u8>) {
    let mut map = Map::new();
    map.name(b"{\"MACAddress\":\"");
    map.name(&address::upper(row.address()));
    map.name(b"\"");
    counters(row, &mut map);
    rates(point, row, &mut map);
    map.name(b"}");
    out.extend_from_slice(map.bytes());
}

fn counters(row: &Row<'_>, map: &mut Map) {
    map.count(b",\"TxBytes\":", derive::tx_bytes(row));
    map.count(b",\"RxBytes\":", derive::rx_bytes(row));
    map.count(b",\"TxErrors\":", derive::tx_errors(row));
    map.count(b",\"RxErrors\":", derive::rx_errors(row));
    map.count(b",\"TxPacketCount\":", derive::tx_packets(row));
    map.count(b",\"RxPacketCount\":", derive::rx_packets(row));
    map.count(b",\"TxUnicastPacketCount\":", derive::tx_unicast_packets(row));
    map.count(b",\"Tx_Retransmissions\":", derive::tx_retransmissions(row));
}

/// Rates in kbit/s, width in MHz, strengths in dB and dBm.
fn rates(point: &Point, row: &Row<'_>, map: &mut Map) {
    map.count(b",\"LastDataDownlinkRate\":", derive::downlink_rate_kbps(row).map(u64::from));
    map.count(b",\"LastDataUplinkRate\":", derive::uplink_rate_kbps(row).map(u64::from));
    map.count(b",\"DownlinkBandwidth\":", derive::downlink_bandwidth_mhz(row).map(u64::from));
    map.level(b",\"SignalNoiseRatio\":", derive::snr_db(row, point));
    map.level(b",\"SignalStrength\":", derive::signal_dbm(row));
}

/// One station's map as it grows. Its place is fixed: names, an address and 13 numbers of at most 20 digits
/// cannot fill it.
struct Map {
    bytes: [u8; Map::ROOM],
    length: usize,
}

impl Map {
    const ROOM: usize = 768;

    fn new() -> Self {
        Self { bytes: [0; Self::ROOM], length: 0 }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// A text whose length the compiler knows, which makes it a few moves.
    fn name<const N: usize>(&mut self, text: &[u8; N]) {
        if let Some(place) = self.bytes.get_mut(self.length..self.length + N) {
            place.copy_from_slice(text);
            self.length += N;
        }
    }

    fn count<const N: usize>(&mut self, name: &[u8; N], value: Option<u64>) {
        self.name(name);
        match value {
            // Most counters of most stations: errors, retries.
            Some(value @ 0..10) => self.name(&[b'0' + value as u8]),
            Some(value) => self.text(itoa::Buffer::new().format(value).as_bytes()),
            None => self.name(b"null"),
        }
    }

    fn level<const N: usize>(&mut self, name: &[u8; N], value: Option<i64>) {
        self.name(name);
        match value {
            Some(value) => self.text(itoa::Buffer::new().format(value).as_bytes()),
            None => self.name(b"null"),
        }
    }

    fn text(&mut self, text: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.length..self.length + text.len()) {
            place.copy_from_slice(text);
            self.length += text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use linux::nl80211::{Count, StationReading};
    use serde_json::{Value, json};

    use super::*;
    use crate::replies::Replies;

    fn reading(station: u8) -> StationReading {
        StationReading { address: [2, 0, 0, 0, 1, station], ..StationReading::default() }
    }

    fn table(readings: &[StationReading]) -> Table {
        let mut table = Table::default();
        read(&mut table, readings);
        table
    }

    fn read(table: &mut Table, readings: &[StationReading]) {
        let mut poll = table.begin(0, 1);
        readings.iter().for_each(|reading| {
            table.read(&mut poll, reading);
        });
        table.end(poll);
    }

    #[test]
    fn an_unknown_value_is_null_and_each_of_the_fourteen_keys_is_there() {
        let mut out = Vec::new();
        whole(&Point::default(), &table(&[reading(0xab)]), &mut out);
        let reply: Value = serde_json::from_slice(&out).unwrap();
        let station = reply[0][0].as_object().unwrap();
        assert_eq!(station.len(), 14);
        assert_eq!(station["MACAddress"], json!("02:00:00:00:01:AB"));
        assert!(station.iter().filter(|(key, _)| *key != "MACAddress").all(|(_, v)| v.is_null()));
    }

    #[test]
    fn the_longest_values_fit() {
        let most = Some(Count { value: u64::MAX, wide: true });
        let reading = StationReading {
            rx_bytes: most,
            tx_bytes: most,
            rx_packets: Some(u32::MAX),
            tx_packets: Some(u32::MAX),
            tx_retries: Some(u32::MAX),
            tx_failed: Some(u32::MAX),
            rx_dropped: Some(u64::MAX),
            signal_dbm: Some(i8::MIN),
            ..reading(1)
        };
        let mut out = Vec::new();
        whole(&Point::default(), &table(&[reading]), &mut out);
        let reply: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(reply[0][0]["RxErrors"], json!(u64::MAX));
        assert_eq!(reply[0][0]["SignalStrength"], json!(-128));
    }

    #[test]
    fn a_reply_is_shared_until_a_value_changes() {
        let (mut briefs, point) = (Replies::new(STATION), Point::default());
        let mut reply = |point: &Point, table: &Table| {
            briefs.reply(point, table, |out| whole(point, table, out))
        };
        let mut table = table(&[reading(1)]);
        let first = reply(&point, &table);
        read(&mut table, &[StationReading { inactive_ms: Some(5), ..reading(1) }]);
        assert!(Rc::ptr_eq(&first, &reply(&point, &table)));
        read(&mut table, &[StationReading { tx_failed: Some(5), ..reading(1) }]);
        let second = reply(&point, &table);
        assert!(!Rc::ptr_eq(&first, &second) && *first != *second);
        let quieter = Point { noise_dbm: Some(-95), ..Point::default() };
        assert!(!Rc::ptr_eq(&second, &reply(&quieter, &table)));
    }

    #[test]
    fn an_access_point_without_stations_has_an_empty_list() {
        let mut out = Vec::new();
        whole(&Point::default(), &Table::default(), &mut out);
        assert_eq!(out, b"[[]]");
    }

    #[test]
    fn only_what_has_changed_since_is_reported_and_everybody_who_is_there_is_named() {
        let mut table = table(&[reading(1), reading(2)]);
        let seen = table.generation();
        read(&mut table, &[reading(1), StationReading { tx_failed: Some(1), ..reading(2) }]);
        let mut out = Vec::new();
        since(&Point::default(), &table, seen, &mut out);
        let reply: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(reply["stations"].as_array().unwrap().len(), 1);
        assert_eq!(reply["stations"][0]["TxErrors"], json!(1));
        assert_eq!(reply["present"], json!(["02:00:00:00:01:01", "02:00:00:00:01:02"]));
        assert!(reply["generation"].as_u64().unwrap() > seen);
    }
}
