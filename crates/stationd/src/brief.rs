//! `getStationStatsBrief`: fourteen values a station, straight from the live columns.
//!
//! The reply is the field's: a list with one element, the list of the stations, each a map of exactly
//! these keys. What is not known is `null`. It is encoded when a value has changed, and shared by anyone who
//! asks.

use crate::{
    address,
    points::Point,
    table::{Counted, Gauge, Station, Table, kbps, mhz},
};

/// What the keys and values of one station take, roughly, bytes.
pub const STATION: usize = 400;

/// All stations of a point.
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

/// One station's map, put together where the length of every name is known, and appended at once.
fn write(point: &Point, station: &Station, out: &mut Vec<u8>) {
    let mut map = Map::new();
    map.name(b"{\"MACAddress\":\"");
    map.name(&address::upper(station.address()));
    map.name(b"\"");
    counters(station, &mut map);
    rates(point, station, &mut map);
    map.name(b"}");
    out.extend_from_slice(map.bytes());
}

fn counters(station: &Station, map: &mut Map) {
    map.count(b",\"TxBytes\":", station.counter(Counted::TxBytes));
    map.count(b",\"RxBytes\":", station.counter(Counted::RxBytes));
    map.count(b",\"TxErrors\":", station.counter(Counted::TxFailed));
    map.count(b",\"RxErrors\":", station.counter(Counted::RxDropped));
    map.count(b",\"TxPacketCount\":", station.counter(Counted::TxPackets));
    map.count(b",\"RxPacketCount\":", station.counter(Counted::RxPackets));
    map.count(b",\"TxUnicastPacketCount\":", station.counter(Counted::TxPackets));
    map.count(b",\"Tx_Retransmissions\":", station.counter(Counted::TxRetries));
}

/// Rates in kbit/s, width in MHz, strengths in dB and dBm.
fn rates(point: &Point, station: &Station, map: &mut Map) {
    map.count(b",\"LastDataDownlinkRate\":", kbps(station.tx_rate));
    map.count(b",\"LastDataUplinkRate\":", kbps(station.rx_rate));
    map.count(b",\"DownlinkBandwidth\":", mhz(station.tx_rate));
    map.level(b",\"SignalNoiseRatio\":", station.snr_db(point));
    map.level(b",\"SignalStrength\":", station.gauge(Gauge::Signal));
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
        readings.iter().for_each(|reading| table.read(&mut poll, reading));
        table.end(poll);
    }

    #[test]
    fn an_unknown_value_is_null_and_each_of_the_fourteen_keys_is_there() {
        let mut out = Vec::new();
        reply(&Point::default(), &table(&[reading(0xab)]), &mut out);
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
        reply(&Point::default(), &table(&[reading]), &mut out);
        let reply: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(reply[0][0]["RxErrors"], json!(u64::MAX));
        assert_eq!(reply[0][0]["SignalStrength"], json!(-128));
    }

    #[test]
    fn a_reply_is_shared_until_a_value_changes() {
        let (mut briefs, point) = (Replies::new(STATION), Point::default());
        let mut shared = |point: &Point, table: &Table| {
            briefs.reply(point, table, |out| reply(point, table, out))
        };
        let mut table = table(&[reading(1)]);
        let first = shared(&point, &table);
        read(&mut table, &[StationReading { inactive_ms: Some(5), ..reading(1) }]);
        assert!(Rc::ptr_eq(&first, &shared(&point, &table)));
        read(&mut table, &[StationReading { tx_failed: Some(5), ..reading(1) }]);
        let second = shared(&point, &table);
        assert!(!Rc::ptr_eq(&first, &second) && *first != *second);
        let quieter = Point { noise_dbm: Some(-95), ..Point::default() };
        assert!(!Rc::ptr_eq(&second, &shared(&quieter, &table)));
    }
}
