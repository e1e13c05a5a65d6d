//! Stations in the shapes that others on the bus have for them.
//!
//! Keys, their order and their types are those of prplOS (pwhm over amxb's ubus), OpenWrt's hostapd, rpcd's iwinfo.
//! What is unknown is left out, never 0; only `getStationStatsBrief`, whose readers expect fourteen
//! keys, has `null`. docs/guide/ubus.md has a table of every key. It asks no one and sends nothing.

use linux::nl80211::{Rate, RateMode};

use super::blobmsg::Writer;
use crate::{
    address,
    engine::wall_offset_ns,
    events::{EventFields, Events},
    full::{PARAMETERS, Value, rfc3339},
    points::{Point, Points},
    table::{CounterKind, Gauge, Station, Table, kbps, mhz},
};

/// What a station takes in these shapes, roughly, bytes.
pub(super) const BRIEF: usize = 440;
pub(super) const CLIENT: usize = 500;
pub(super) const ASSOC: usize = 700;

/// prplOS: `{"retval":[{…}, …]}`, fourteen values of each station.
pub(super) fn brief(point: &Point, table: &Table, out: &mut Vec<u8>) {
    Writer::new(out).list("retval", |writer| {
        for station in table.stations(point.id) {
            writer.table("", |writer| brief_station(point, station, writer));
        }
    });
}

fn brief_station(point: &Point, station: &Station, writer: &mut Writer<'_>) {
    writer.bytes("MACAddress", &station.address_text);
    writer.or_null("TxBytes", station.counter(CounterKind::TxBytes), Writer::total);
    writer.or_null("RxBytes", station.counter(CounterKind::RxBytes), Writer::total);
    writer.or_null("TxErrors", station.counter(CounterKind::TxFailed), Writer::count);
    writer.or_null("RxErrors", station.counter(CounterKind::RxDropped), Writer::total);
    writer.or_null("TxPacketCount", station.counter(CounterKind::TxPackets), Writer::count);
    writer.or_null("RxPacketCount", station.counter(CounterKind::RxPackets), Writer::count);
    writer.or_null("TxUnicastPacketCount", station.counter(CounterKind::TxPackets), Writer::count);
    writer.or_null("Tx_Retransmissions", station.counter(CounterKind::TxRetries), Writer::count);
    writer.or_null("LastDataDownlinkRate", kbps(station.tx_rate), Writer::count);
    writer.or_null("LastDataUplinkRate", kbps(station.rx_rate), Writer::count);
    writer.or_null("DownlinkBandwidth", mhz(station.tx_rate), Writer::count);
    writer.or_null("SignalNoiseRatio", station.snr_db(point), Writer::level);
    writer.or_null("SignalStrength", station.gauge(Gauge::Signal), Writer::level);
}

/// prplOS: the same of all parameters that are known.
pub(super) fn stats(point: &Point, table: &Table, out: &mut Vec<u8>) {
    let wall_offset_ns = wall_offset_ns();
    Writer::new(out).list("retval", |writer| {
        for station in table.stations(point.id) {
            writer.table("", |writer| {
                for (name, read) in &PARAMETERS {
                    if let Some(value) = read(station, point) {
                        write(name, &value, wall_offset_ns, writer);
                    }
                }
            });
        }
    });
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
    writer.table("clients", |writer| {
        for station in table.stations(point.id) {
            let address = address::lower(station.address());
            let name = std::str::from_utf8(&address).unwrap_or_default();
            writer.table(name, |writer| client(station, writer));
        }
    });
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

fn client(station: &Station, writer: &mut Writer<'_>) {
    if let Some(identity) = station.identity.as_deref() {
        for (key, word) in FLAGS {
            writer.flag(key, identity.has(word));
        }
        writer.known("aid", identity.aid.map(u64::from), Writer::count);
    }
    let pair = |rx, tx| [station.counter(rx), station.counter(tx)];
    writer.pair("bytes", pair(CounterKind::RxBytes, CounterKind::TxBytes), Writer::total);
    writer.pair("airtime", pair(CounterKind::RxAirtime, CounterKind::TxAirtime), Writer::total);
    writer.pair("packets", pair(CounterKind::RxPackets, CounterKind::TxPackets), Writer::count);
    // bit/s, as hostapd has it: its driver's 100 kbit/s times a hundred thousand would not fit, so it is kbit/s.
    let rates = [kbps(station.rx_rate), kbps(station.tx_rate)];
    writer.pair("rate", rates, Writer::count);
    writer.known("signal", station.gauge(Gauge::Signal), Writer::level);
}

/// iwinfo: `{"results":[{…}, …]}`.
pub(super) fn assoc_list(point: &Point, table: &Table, out: &mut Vec<u8>) {
    Writer::new(out).list("results", |writer| {
        for station in table.stations(point.id) {
            writer.table("", |writer| assoc(point, station, writer));
        }
    });
}

pub(super) fn assoc(point: &Point, station: &Station, writer: &mut Writer<'_>) {
    writer.bytes("mac", &station.address_text);
    writer.known("signal", station.gauge(Gauge::Signal), Writer::level);
    writer.known("signal_avg", station.gauge(Gauge::SignalAverage), Writer::level);
    writer.known("noise", point.noise_dbm.map(i64::from), Writer::level);
    writer.known("inactive", station.gauge(Gauge::InactiveMs), Writer::level);
    writer.known("connected_time", station.gauge(Gauge::ConnectedS), Writer::level);
    writer.known("thr", station.gauge(Gauge::ExpectedKbps), Writer::level);
    if let Some(flags) = station.flags {
        writer.flag("authorized", flags.authorised());
        writer.flag("authenticated", flags.authenticated());
        writer.text("preamble", if flags.short_preamble() { "short" } else { "long" });
        writer.flag("wme", flags.wme());
        writer.flag("mfp", flags.mfp());
    }
    writer.table("rx", |writer| {
        writer.known("drop_misc", station.counter(CounterKind::RxDropped), Writer::total);
        writer.known("packets", station.counter(CounterKind::RxPackets), Writer::count);
        writer.known("bytes", station.counter(CounterKind::RxBytes), Writer::total);
        rate(station.rx_rate, writer);
    });
    writer.table("tx", |writer| {
        writer.known("failed", station.counter(CounterKind::TxFailed), Writer::count);
        writer.known("retries", station.counter(CounterKind::TxRetries), Writer::count);
        writer.known("packets", station.counter(CounterKind::TxPackets), Writer::count);
        writer.known("bytes", station.counter(CounterKind::TxBytes), Writer::total);
        rate(station.tx_rate, writer);
    });
}

fn rate(rate: Option<Rate>, writer: &mut Writer<'_>) {
    let Some(rate) = rate else { return };
    let is = |mode| rate.mode == mode;
    writer.flag("ht", is(RateMode::Ht));
    writer.flag("vht", is(RateMode::Vht));
    writer.flag("he", is(RateMode::He));
    writer.flag("eht", is(RateMode::Eht));
    writer.count("mhz", u64::from(rate.width_mhz));
    writer.known("rate", rate.kbps.map(u64::from), Writer::count);
    if is(RateMode::Legacy) {
        return;
    }
    writer.known("mcs", rate.mcs.map(u64::from), Writer::count);
    if is(RateMode::Ht) {
        writer.flag("40mhz", rate.width_mhz == 40);
    } else {
        writer.known("nss", rate.streams.map(u64::from), Writer::count);
    }
    if is(RateMode::Ht) || is(RateMode::Vht) {
        writer.flag("short_gi", rate.short_guard);
    }
}

/// Whoever came and left, with what was counted of those who left.
pub(super) fn events(log: &Events, since: u64, points: &Points, out: &mut Vec<u8>) {
    let (missed, events) = log.since(since);
    let mut writer = Writer::new(out);
    writer.count("missed", missed);
    writer.count("next", log.next);
    writer.list("events", |writer| {
        for one in events {
            let fields = one.fields(points);
            writer.table("", |writer| {
                writer.text("event", fields.event);
                event(&fields, writer);
            });
        }
    });
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
