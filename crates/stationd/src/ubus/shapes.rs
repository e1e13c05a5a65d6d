//! Stations in the shapes that others on the bus have for them.
//!
//! Keys, their order and their types are those of prplOS (pwhm over amxb's ubus), OpenWrt's hostapd, rpcd's iwinfo, usteer
//! and uCentral's `state`. What is unknown is left out, never 0; only `getStationStatsBrief`, whose readers expect fourteen
//! keys, has `null`. docs/guide/ubus.md has a table of every key. It asks no one and sends nothing.

use linux::nl80211::{Address, Rate, RateMode};

use super::blobmsg::Writer;
use crate::{
    address, derive,
    events::{EventFields, Events},
    full::{PARAMETERS, Value},
    points::{Point, Points},
    table::{Counted, Gauge, Row, Table},
    time::rfc3339,
};

/// What a station takes in these shapes, roughly, bytes.
pub(super) const BRIEF: usize = 440;
pub(super) const CLIENT: usize = 500;
pub(super) const ASSOC: usize = 700;
pub(super) const ASSOCIATION: usize = 500;

/// prplOS: `{"retval":[{…}, …]}`, fourteen values of each station.
pub(super) fn brief(point: &Point, table: &Table, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    let list = writer.list("retval");
    for row in table.rows(point.id) {
        let station = writer.table("");
        brief_station(point, &row, &mut writer);
        writer.close(station);
    }
    writer.close(list);
}

fn brief_station(point: &Point, row: &Row<'_>, writer: &mut Writer<'_>) {
    writer.bytes("MACAddress", &address::upper(row.address()));
    writer.or_null("TxBytes", derive::tx_bytes(row), Writer::total);
    writer.or_null("RxBytes", derive::rx_bytes(row), Writer::total);
    writer.or_null("TxErrors", derive::tx_errors(row), Writer::count);
    writer.or_null("RxErrors", derive::rx_errors(row), Writer::total);
    writer.or_null("TxPacketCount", derive::tx_packets(row), Writer::count);
    writer.or_null("RxPacketCount", derive::rx_packets(row), Writer::count);
    writer.or_null("TxUnicastPacketCount", derive::tx_unicast_packets(row), Writer::count);
    writer.or_null("Tx_Retransmissions", derive::tx_retransmissions(row), Writer::count);
    let wide = |value: Option<u32>| value.map(u64::from);
    writer.or_null("LastDataDownlinkRate", wide(derive::downlink_rate_kbps(row)), Writer::count);
    writer.or_null("LastDataUplinkRate", wide(derive::uplink_rate_kbps(row)), Writer::count);
    writer.or_null("DownlinkBandwidth", wide(derive::downlink_bandwidth_mhz(row)), Writer::count);
    writer.or_null("SignalNoiseRatio", derive::snr_db(row, point), Writer::level);
    writer.or_null("SignalStrength", derive::signal_dbm(row), Writer::level);
}

/// prplOS: the same of all parameters that are known.
pub(super) fn stats(point: &Point, table: &Table, wall_offset_ns: i64, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    let list = writer.list("retval");
    for row in table.rows(point.id) {
        let station = writer.table("");
        for parameter in &PARAMETERS {
            if let Some(value) = parameter.read(&row, point) {
                write(parameter.name, &value, wall_offset_ns, &mut writer);
            }
        }
        writer.close(station);
    }
    writer.close(list);
}

fn write(name: &str, value: &Value, wall_offset_ns: i64, writer: &mut Writer<'_>) {
    match value {
        Value::Bool(value) => writer.flag(name, *value),
        Value::Signed(value) => writer.level(name, *value),
        Value::Unsigned(value) => writer.count(name, *value),
        Value::Total(value) => writer.total(name, *value),
        Value::Time(ns) => writer.text(name, &rfc3339(*ns, wall_offset_ns)),
        Value::Address(value) => writer.bytes(name, &address::upper(*value)),
        Value::Word(value) => writer.text(name, value),
        Value::Text(value) => writer.text(name, value),
    }
}

/// hostapd: `{"freq":…,"clients":{"aa:…":{…}}}`.
pub(super) fn clients(point: &Point, table: &Table, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    writer.known("freq", point.frequency.map(u64::from), Writer::count);
    let all = writer.table("clients");
    for row in table.rows(point.id) {
        let station = named(&mut writer, row.address());
        client(&row, &mut writer);
        writer.close(station);
    }
    writer.close(all);
}

/// A table whose name is a station's address, as hostapd and usteer write it.
fn named(writer: &mut Writer<'_>, station: Address) -> super::blobmsg::Open {
    writer.table(std::str::from_utf8(&address::lower(station)).unwrap_or_default())
}

/// hostapd's words for a station's state, each with its key.
const FLAGS: [(&str, &str); 11] = [
    ("auth", "AUTH"),
    ("assoc", "ASSOC"),
    ("authorized", "AUTHORIZED"),
    ("preauth", "PREAUTH"),
    ("wds", "WDS"),
    ("wmm", "WMM"),
    ("ht", "HT"),
    ("vht", "VHT"),
    ("he", "HE"),
    ("wps", "WPS"),
    ("mfp", "MFP"),
];

fn client(row: &Row<'_>, writer: &mut Writer<'_>) {
    if let Some(identity) = row.identity() {
        for (key, word) in FLAGS {
            writer.flag(key, identity.has(word));
        }
        writer.known("aid", identity.aid.map(u64::from), Writer::count);
    }
    writer.pair("bytes", [derive::rx_bytes(row), derive::tx_bytes(row)], Writer::total);
    let airtime = [Counted::RxAirtime, Counted::TxAirtime].map(|which| row.counter(which));
    writer.pair("airtime", airtime, Writer::total);
    writer.pair("packets", [derive::rx_packets(row), derive::tx_packets(row)], Writer::count);
    // bit/s, as hostapd has it: its driver's 100 kbit/s times a hundred thousand would not fit, so it is kbit/s.
    let rates = [derive::uplink_rate_kbps(row), derive::downlink_rate_kbps(row)];
    writer.pair("rate", rates.map(|rate| rate.map(u64::from)), Writer::count);
    writer.known("signal", derive::signal_dbm(row), Writer::level);
}

/// iwinfo: `{"results":[{…}, …]}`.
pub(super) fn assoc_list(point: &Point, table: &Table, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    let list = writer.list("results");
    for row in table.rows(point.id) {
        let station = writer.table("");
        assoc(point, &row, &mut writer);
        writer.close(station);
    }
    writer.close(list);
}

/// iwinfo's values of one station.
pub(super) fn assoc(point: &Point, row: &Row<'_>, writer: &mut Writer<'_>) {
    let gauge = |which| row.gauge(which);
    writer.bytes("mac", &address::upper(row.address()));
    writer.known("signal", derive::signal_dbm(row), Writer::level);
    writer.known("signal_avg", gauge(Gauge::SignalAverage), Writer::level);
    writer.known("noise", point.noise_dbm.map(i64::from), Writer::level);
    writer.known("inactive", gauge(Gauge::InactiveMs), Writer::level);
    writer.known("connected_time", gauge(Gauge::ConnectedS), Writer::level);
    writer.known("thr", gauge(Gauge::ExpectedKbps), Writer::level);
    if let Some(flags) = row.flags() {
        writer.flag("authorized", flags.authorised());
        writer.flag("authenticated", flags.authenticated());
        writer.text("preamble", if flags.short_preamble() { "short" } else { "long" });
        writer.flag("wme", flags.wme());
        writer.flag("mfp", flags.mfp());
    }
    let rx = writer.table("rx");
    writer.known("drop_misc", derive::rx_errors(row), Writer::total);
    writer.known("packets", derive::rx_packets(row), Writer::count);
    writer.known("bytes", derive::rx_bytes(row), Writer::total);
    rate(row.rx_rate(), writer);
    writer.close(rx);
    let tx = writer.table("tx");
    writer.known("failed", derive::tx_errors(row), Writer::count);
    writer.known("retries", derive::tx_retransmissions(row), Writer::count);
    writer.known("packets", derive::tx_packets(row), Writer::count);
    writer.known("bytes", derive::tx_bytes(row), Writer::total);
    rate(row.tx_rate(), writer);
    writer.close(tx);
}

fn rate(rate: Option<Rate>, writer: &mut Writer<'_>) {
    let Some(rate) = rate else { return };
    let is = |mode| rate.mode == mode;
    for (key, mode) in
        [("ht", RateMode::Ht), ("vht", RateMode::Vht), ("he", RateMode::He), ("eht", RateMode::Eht)]
    {
        writer.flag(key, is(mode));
    }
    writer.count("mhz", u64::from(rate.width.mhz()));
    writer.known("rate", rate.kbps.map(u64::from), Writer::count);
    if is(RateMode::Legacy) {
        return;
    }
    writer.known("mcs", rate.mcs.map(u64::from), Writer::count);
    if is(RateMode::Ht) {
        writer.flag("40mhz", rate.width.mhz() == 40);
    } else {
        writer.known("nss", rate.streams.map(u64::from), Writer::count);
    }
    if is(RateMode::Ht) || is(RateMode::Vht) {
        writer.flag("short_gi", rate.short_guard);
    }
}

/// usteer: `{"aa:…":{"hostapd.wlan0":{…}}}`, of all access points.
pub(super) fn steered_clients(points: &Points, table: &Table, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    for point in points.present() {
        for row in table.rows(point.id) {
            let station = named(&mut writer, row.address());
            let node = writer.table(&format!("hostapd.{}", point.name));
            writer.flag("connected", true);
            writer.known("signal", derive::signal_dbm(&row), Writer::level);
            writer.known("noise", point.noise_dbm.map(i64::from), Writer::level);
            writer.known("snr", derive::snr_db(&row, point), Writer::level);
            writer.close(node);
            writer.close(station);
        }
    }
}

/// uCentral: `{"associations":[{…}, …]}` as in `ssids` of its state.
pub(super) fn associations(point: &Point, table: &Table, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    let list = writer.list("associations");
    for row in table.rows(point.id) {
        let station = writer.table("");
        association(point, &row, &mut writer);
        writer.close(station);
    }
    writer.close(list);
}

fn association(point: &Point, row: &Row<'_>, writer: &mut Writer<'_>) {
    writer.bytes("station", &address::lower(row.address()));
    writer.bytes("bssid", &address::lower(point.address));
    writer.known("rssi", derive::signal_dbm(row), Writer::level);
    writer.known("ack_signal", row.gauge(Gauge::AckSignal), Writer::level);
    writer.known("connected", row.gauge(Gauge::ConnectedS), Writer::level);
    writer.known("inactive", row.gauge(Gauge::InactiveMs).map(|ms| ms / 1000), Writer::level);
    writer.known("rx_bytes", derive::rx_bytes(row), Writer::total);
    writer.known("rx_packets", derive::rx_packets(row), Writer::count);
    writer.known("tx_bytes", derive::tx_bytes(row), Writer::total);
    writer.known("tx_packets", derive::tx_packets(row), Writer::count);
    writer.known("tx_retries", derive::tx_retransmissions(row), Writer::count);
    writer.known("tx_failed", derive::tx_errors(row), Writer::count);
    let directions = [
        ("rx_rate", row.rx_rate(), row.counter(Counted::RxAirtime)),
        ("tx_rate", row.tx_rate(), row.counter(Counted::TxAirtime)),
    ];
    for (name, rate, airtime) in directions {
        let Some(rate) = rate else { continue };
        let table = writer.table(name);
        writer.known("bitrate", rate.kbps.map(u64::from), Writer::count);
        writer.count("chwidth", u64::from(rate.width.mhz()));
        writer.known("mcs", rate.mcs.map(u64::from), Writer::count);
        writer.known("nss", rate.streams.map(u64::from), Writer::count);
        writer.flag("sgi", rate.short_guard);
        writer.close(table);
        let duration = if name == "rx_rate" { "rx_duration" } else { "tx_duration" };
        writer.known(duration, airtime, Writer::total);
    }
}

/// Whoever came and left, with what was counted of those who left.
pub(super) fn events(log: &Events, since: u64, points: &Points, out: &mut Vec<u8>) {
    let (missed, events) = log.since(since);
    let mut writer = Writer::new(out);
    writer.count("missed", missed);
    writer.count("next", log.next());
    let list = writer.list("events");
    for one in events {
        let table = writer.table("");
        let fields = one.fields(points);
        writer.text("event", fields.event);
        event(&fields, &mut writer);
        writer.close(table);
    }
    writer.close(list);
}

/// The contents of one event, but what it is called.
pub(super) fn event(fields: &EventFields<'_>, writer: &mut Writer<'_>) {
    writer.bytes("address", &address::lower(fields.address));
    writer.known("ifname", fields.ifname, Writer::text);
    writer.count("number", fields.number);
    let Some(end) = &fields.end else { return };
    writer.known("reason", end.reason.map(u64::from), Writer::count);
    writer.known("connected", end.connected, Writer::count);
    writer.pair("bytes", [end.bytes.rx, end.bytes.tx], Writer::total);
    writer.pair("packets", [end.packets.rx, end.packets.tx], Writer::count);
    writer.flag("exact", end.exact);
}
