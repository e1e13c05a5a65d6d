//! Every metric: its name, what it means, and where its value is.
//!
//! What node_exporter's wifi collector has is here under its names and in its units
//! (<https://github.com/prometheus/node_exporter>, `collector/wifi_linux.go`), also where promtool would like
//! another unit; the rest is ours. Directions
//! are the access point's own, as nl80211 and that collector have them: what is received comes from the
//! station. Its `node_wifi_station_info` speaks of the network that a client has joined, and its beacon
//! losses are a client's too; access points have neither.

use listen::openmetrics::{self, Kind, quoted};

use super::{Samples, Source, text::Number};
use crate::{
    address,
    points::Point,
    table::{Counted, Gauge, Station},
    tally::Reason,
};

/// Whom a metric has samples of.
pub(super) enum Of {
    Station(fn(&Station) -> Option<Number>),
    Point(fn(&Source<'_>, &Point) -> Option<Number>),
    Free(fn(&Source<'_>, &mut Samples<'_>)),
}

pub(super) struct Family {
    pub(super) about: openmetrics::Family,
    pub(super) of: Of,
}

const fn family(name: &'static str, kind: Kind, help: &'static str, of: Of) -> Family {
    Family { about: openmetrics::Family::new(name, kind, help), of }
}

/// All of them, in the order of the page.
pub(super) const FAMILIES: [&[Family]; 5] = [&NODE, &STATION, &POINT, &OWN, &KERNEL];

use Kind::{Counter, Gauge as Rises, Info};

const NODE: [Family; 10] = [
    family(
        "node_wifi_interface_frequency_hertz",
        Rises,
        "Frequency that the interface operates at.",
        Of::Point(|_, point| point.frequency.map(|mhz| Number::count(u64::from(mhz) * 1_000_000))),
    ),
    family(
        "node_wifi_station_connected_seconds",
        Counter,
        "Time since the station associated.",
        Of::Station(|station| station.gauge(Gauge::ConnectedS).map(Number::whole)),
    ),
    family(
        "node_wifi_station_inactive_seconds",
        Rises,
        "Time since the station was last heard.",
        Of::Station(|station| station.gauge(Gauge::InactiveMs).map(Number::from_ms)),
    ),
    family(
        "node_wifi_station_receive_bits_per_second",
        Rises,
        "Bit rate of the last frame from the station.",
        Of::Station(|station| station.rx_rate?.kbps.map(|kbps| Number::from_kbps(kbps.into()))),
    ),
    family(
        "node_wifi_station_transmit_bits_per_second",
        Rises,
        "Bit rate of the last frame to the station.",
        Of::Station(|station| station.tx_rate?.kbps.map(|kbps| Number::from_kbps(kbps.into()))),
    ),
    family(
        "node_wifi_station_receive_bytes",
        Counter,
        "Bytes from the station in this association.",
        Of::Station(|station| station.counter(Counted::RxBytes).map(Number::count)),
    ),
    family(
        "node_wifi_station_transmit_bytes",
        Counter,
        "Bytes to the station in this association.",
        Of::Station(|station| station.counter(Counted::TxBytes).map(Number::count)),
    ),
    family(
        "node_wifi_station_signal_dbm",
        Rises,
        "Strength of the last frame from the station.",
        Of::Station(|station| station.gauge(Gauge::Signal).map(Number::whole)),
    ),
    family(
        "node_wifi_station_transmit_retries",
        Counter,
        "Frames to the station that were sent again.",
        Of::Station(|station| station.counter(Counted::TxRetries).map(Number::count)),
    ),
    family(
        "node_wifi_station_transmit_failed",
        Counter,
        "Frames to the station that were given up.",
        Of::Station(|station| station.counter(Counted::TxFailed).map(Number::count)),
    ),
];

const STATION: [Family; 10] = [
    family(
        "stationd_station_receive_packets",
        Counter,
        "Packets from the station in this association.",
        Of::Station(|station| station.counter(Counted::RxPackets).map(Number::count)),
    ),
    family(
        "stationd_station_transmit_packets",
        Counter,
        "Packets to the station in this association.",
        Of::Station(|station| station.counter(Counted::TxPackets).map(Number::count)),
    ),
    family(
        "stationd_station_receive_dropped",
        Counter,
        "Frames from the station that were dropped for an unspecified reason.",
        Of::Station(|station| station.counter(Counted::RxDropped).map(Number::count)),
    ),
    family(
        "stationd_station_receive_checksum_errors",
        Counter,
        "Frames from the station with a wrong check sum.",
        Of::Station(|station| station.counter(Counted::FcsErrors).map(Number::count)),
    ),
    family(
        "stationd_station_receive_frames",
        Counter,
        "Frames (MPDUs) from the station, those with a wrong check sum included.",
        Of::Station(|station| station.counter(Counted::RxMpdus).map(Number::count)),
    ),
    family(
        "stationd_station_receive_airtime_seconds",
        Counter,
        "Airtime that the station used to send.",
        Of::Station(|station| station.counter(Counted::RxAirtime).map(Number::from_us)),
    ),
    family(
        "stationd_station_transmit_airtime_seconds",
        Counter,
        "Airtime that was used to send to the station.",
        Of::Station(|station| station.counter(Counted::TxAirtime).map(Number::from_us)),
    ),
    family(
        "stationd_station_signal_average_dbm",
        Rises,
        "Strength of frames from the station, averaged by the driver.",
        Of::Station(|station| station.gauge(Gauge::SignalAverage).map(Number::whole)),
    ),
    family(
        "stationd_station_acknowledgement_signal_dbm",
        Rises,
        "Strength of the station's acknowledgements.",
        Of::Station(|station| station.gauge(Gauge::AckSignal).map(Number::whole)),
    ),
    family(
        "stationd_station_expected_bytes_per_second",
        Rises,
        "What the rate control expects to get through to the station.",
        Of::Station(|station| {
            station.gauge(Gauge::ExpectedKbps).map(|kbps| Number::whole(kbps * 125))
        }),
    ),
];

const POINT: [Family; 9] = [
    family(
        "stationd_access_point",
        Info,
        "The access point behind an interface.",
        Of::Free(access_point_info),
    ),
    family(
        "stationd_access_point_stations",
        Rises,
        "Stations that are associated.",
        Of::Point(|source, point| {
            Some(Number::count(source.engine.table().count(point.id) as u64))
        }),
    ),
    family(
        "stationd_access_point_noise_dbm",
        Rises,
        "Noise of the channel.",
        Of::Point(|_, point| point.noise_dbm.map(|dbm| Number::whole(dbm.into()))),
    ),
    family(
        "stationd_access_point_receive_bytes",
        Counter,
        "Bytes from all stations, in associations that have ended too.",
        Of::Point(|source, point| total(source, point, Counted::RxBytes, point.ended.rx_bytes)),
    ),
    family(
        "stationd_access_point_transmit_bytes",
        Counter,
        "Bytes to all stations, in associations that have ended too.",
        Of::Point(|source, point| total(source, point, Counted::TxBytes, point.ended.tx_bytes)),
    ),
    family(
        "stationd_access_point_sessions_ended",
        Counter,
        "Associations that have ended.",
        Of::Point(|_, point| Some(Number::count(point.ended.sessions))),
    ),
    family(
        "stationd_access_point_sessions_ended_exact",
        Counter,
        "Of the associations that have ended: those whose last counters the kernel reported.",
        Of::Point(|_, point| Some(Number::count(point.ended.exact))),
    ),
    family(
        "stationd_access_point_ended_receive_bytes",
        Counter,
        "Bytes from stations in associations that have ended.",
        Of::Point(|_, point| Some(Number::count(point.ended.rx_bytes))),
    ),
    family(
        "stationd_access_point_ended_transmit_bytes",
        Counter,
        "Bytes to stations in associations that have ended.",
        Of::Point(|_, point| Some(Number::count(point.ended.tx_bytes))),
    ),
];

const OWN: [Family; 7] = [
    family("stationd_build", Info, "This program.", Of::Free(build)),
    family(
        "process_cpu_seconds",
        Counter,
        "Processor time of stationd, user and system.",
        Of::Free(|source, out| out.plain(Some(source.own.cpu()))),
    ),
    family(
        "process_resident_memory_bytes",
        Rises,
        "Memory of stationd that is in RAM.",
        Of::Free(|source, out| out.plain(source.own.resident_bytes().map(Number::count))),
    ),
    family(
        "process_start_time_seconds",
        Rises,
        "When stationd began, since 1970.",
        Of::Free(|source, out| out.plain(Some(source.wall(source.own.began_ns)))),
    ),
    family("stationd_consumers", Rises, "Connections at present.", Of::Free(consumers)),
    family(
        "stationd_consumers_dropped",
        Counter,
        "Consumers that were dropped, or not let in, by reason.",
        Of::Free(dropped),
    ),
    family(
        "stationd_requests",
        Counter,
        "Requests over the UNIX socket.",
        Of::Free(|source, out| out.plain(Some(Number::count(source.tally.requests)))),
    ),
];

/// A counter of the engine's.
macro_rules! cost {
    ($name:literal, $help:literal, $field:ident) => {
        family(
            $name,
            Counter,
            $help,
            Of::Free(|source, out| out.plain(Some(Number::count(source.engine.cost().$field)))),
        )
    };
}

const KERNEL: [Family; 10] = [
    cost!("stationd_reads", "Readings of an access point that were asked for.", reads),
    cost!("stationd_reads_shared", "Readings that a fresh enough one answered.", shared),
    cost!("stationd_dumps", "Dumps of all stations of an interface.", dumps),
    cost!("stationd_dumps_interrupted", "Dumps that changed while they were read.", interrupted),
    cost!("stationd_surveys", "Surveys of a channel.", surveys),
    cost!("stationd_netlink_receive_bytes", "Bytes of netlink messages that came in.", bytes),
    cost!("stationd_netlink_overruns", "Times that the kernel had to drop messages.", overruns),
    cost!("stationd_hostapd_requests", "Questions to hostapd.", hostapd_requests),
    cost!("stationd_hostapd_timeouts", "Questions that hostapd left open.", hostapd_timeouts),
    family(
        "stationd_driver_resets",
        Counter,
        "Times that a driver's counters began again within an association.",
        Of::Free(|source, out| out.plain(Some(Number::count(source.engine.table().resets())))),
    ),
];

/// What all associations have moved; unknown where the driver does not count.
fn total(source: &Source<'_>, point: &Point, which: Counted, ended: u64) -> Option<Number> {
    let table = source.engine.table();
    let known = table.stations(point.id).filter_map(|station| station.counter(which));
    let (count, sum) = known.fold((0, ended), |(count, sum), value| (count + 1, sum + value));
    (count > 0 || table.count(point.id) == 0).then(|| Number::count(sum))
}

fn access_point_info(source: &Source<'_>, out: &mut Samples<'_>) {
    for point in source.engine.points().present() {
        out.labelled(Number::whole(1), |labels| {
            labels.extend_from_slice(b"device=");
            quoted(&point.name, labels);
            labels.extend_from_slice(b",bssid=\"");
            labels.extend_from_slice(&address::lower(point.address));
            labels.extend_from_slice(b"\",ssid=");
            quoted(point.ssid.as_deref().unwrap_or_default(), labels);
            labels.extend_from_slice(b",path=");
            quoted(&point.path(), labels);
        });
    }
}

fn build(_: &Source<'_>, out: &mut Samples<'_>) {
    out.labelled(Number::whole(1), |labels| {
        labels.extend_from_slice(b"version=");
        quoted(env!("CARGO_PKG_VERSION"), labels);
    });
}

fn consumers(source: &Source<'_>, out: &mut Samples<'_>) {
    let faces = [("requests", source.tally.consumers), ("metrics", source.tally.scrapers)];
    for (face, count) in faces {
        out.labelled(Number::count(count as u64), |labels| {
            labels.extend_from_slice(b"face=");
            quoted(face, labels);
        });
    }
}

fn dropped(source: &Source<'_>, out: &mut Samples<'_>) {
    for (reason, count) in Reason::ALL.into_iter().zip(source.tally.dropped) {
        out.labelled(Number::count(count), |labels| {
            labels.extend_from_slice(b"reason=");
            quoted(reason.word(), labels);
        });
    }
}
