//! The full reply: `getStationStats`, all 86 parameters of each station of an access point.
//!
//! It is re-read from the data model: each parameter is looked up by its name, put into a map of the
//! object as a bus back-end does, and the map is marshalled. That is its point, and its cost; anyone who wants fourteen
//! values asks for the brief reply. It reads no kernel, and has one station's map at a time: those of all of them would take
//! more memory than the daemon.

use serde_json::{Map, Value as Json};

use crate::{
    datamodel::{DataModel, Station, View, parameters},
    table::PointId,
    trace::Level,
};

/// What a station takes, roughly, bytes.
pub const STATION: usize = 2200;

/// Appends `[[{…}, …]]`: a list of one element, which is the list of stations, as the field's monitor
/// expects it. Unknown values are left out.
pub fn reply(model: &DataModel, point: PointId, view: &View<'_>, out: &mut Vec<u8>) {
    let slots = view.table.rows(point).map(|row| row.slot());
    let mut marshalled = 0;
    out.extend(b"[[");
    for station in slots.filter_map(|slot| model.station(slot, view)) {
        if marshalled > 0 {
            out.push(b',');
        }
        // A map with texts for keys, and a vector that takes every byte: this cannot fail.
        let _ = serde_json::to_writer(&mut *out, &object(&station, view));
        marshalled += 1;
    }
    out.extend(b"]]");
    view.trace.event("rpcFull", Level::INFO, format_args!("{marshalled} objects marshalled"));
}

/// A station's object, read back name by name.
fn object(station: &Station<'_>, view: &View<'_>) -> Map<String, Json> {
    let path = station.path();
    view.trace.event("dmRead", Level::INFO, format_args!("{path}: read all parameters"));
    let mut object = Map::new();
    for parameter in parameters() {
        view.trace.event("dmParam", Level::INFO, format_args!("{path}{}: read", parameter.name));
        let value = station.read(parameter.name);
        if let Some(value) = value.and_then(|value| value.to_json(view.wall_offset_ns)) {
            object.insert(parameter.name.to_owned(), value);
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        datamodel::fixture::{Fixture, reading},
        derive,
    };

    fn full(fixture: &Fixture) -> Json {
        let mut out = Vec::new();
        reply(&fixture.model, 0, &fixture.view(), &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn the_reply_is_a_list_of_one_list_of_stations() {
        let reply = full(&Fixture::with_stations(3));
        assert_eq!((reply.as_array().unwrap().len(), reply[0].as_array().unwrap().len()), (1, 3));
        assert_eq!(full(&Fixture::new()), json!([[]]));
    }

    #[test]
    fn the_fourteen_values_are_the_brief_replys() {
        let fixture = Fixture::with_stations(2);
        let reply = full(&fixture);
        let point = fixture.points.get(0).unwrap();
        for (number, row) in fixture.table.rows(0).enumerate() {
            let mac = crate::address::upper(row.address());
            let brief = json!({
                "MACAddress": String::from_utf8(mac.to_vec()).unwrap(),
                "TxBytes": derive::tx_bytes(&row),
                "RxBytes": derive::rx_bytes(&row),
                "TxErrors": derive::tx_errors(&row),
                "RxErrors": derive::rx_errors(&row),
                "TxPacketCount": derive::tx_packets(&row),
                "RxPacketCount": derive::rx_packets(&row),
                "TxUnicastPacketCount": derive::tx_unicast_packets(&row),
                "Tx_Retransmissions": derive::tx_retransmissions(&row),
                "LastDataDownlinkRate": derive::downlink_rate_kbps(&row),
                "LastDataUplinkRate": derive::uplink_rate_kbps(&row),
                "DownlinkBandwidth": derive::downlink_bandwidth_mhz(&row),
                "SignalNoiseRatio": derive::snr_db(&row, point),
                "SignalStrength": derive::signal_dbm(&row),
            });
            for (key, value) in brief.as_object().unwrap() {
                assert_eq!(reply[0][number][key], *value, "{key}");
                assert!(!value.is_null(), "{key}");
            }
        }
    }

    #[test]
    fn it_reads_what_get_reads() {
        let fixture = Fixture::with_stations(1);
        let reply = full(&fixture);
        let prefix = "WiFi.AccessPoint.1.AssociatedDevice.1.";
        let got = fixture.get(&[prefix]);
        let reply = reply[0][0].as_object().unwrap();
        assert_eq!(reply.len(), got.as_object().unwrap().len());
        for (name, value) in reply {
            assert_eq!(got[format!("{prefix}{name}")], *value, "{name}");
        }
    }

    #[test]
    fn a_station_that_has_left_is_in_no_reply() {
        let mut fixture = Fixture::with_stations(2);
        fixture.poll(&[reading(2)]);
        assert_eq!(full(&fixture)[0].as_array().unwrap().len(), 1);
    }
}
