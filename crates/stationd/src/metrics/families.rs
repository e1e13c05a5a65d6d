//! Every metric: its name, what it means, and where its value is.
//!
//! What node_exporter's wifi collector has is here under its names and in its units
//! (<https://github.com/prometheus/node_exporter>, `collector/wifi_linux.go`), also where promtool prefers another unit;
//! the rest is ours. Directions are the access point's own, as nl80211 and that collector have them: what is received
//! comes from the station. Its `node_wifi_station_info` and its beacon losses are a client's; access points have neither.

use listen::openmetrics::{self, Kind};

use super::{Samples, Source, text::Number};
use crate::{
    address,
    points::Point,
    table::{CounterKind, Gauge, Station},
    tally::{REASONS, Tally},
};

/// What a metric has samples of.
pub(super) enum Of {
    Station(fn(&Station) -> Option<Number>),
    Point(fn(&Source<'_>, &Point) -> Option<Number>),
    /// One sample without labels.
    One(fn(&Source<'_>) -> Option<Number>),
    Labels(fn(&Source<'_>, &mut Samples<'_>)),
}

pub(super) struct Family {
    pub(super) about: openmetrics::Family,
    pub(super) of: Of,
}

/// For each family its name, kind and help; behind the arrow, where its value is.
macro_rules! families {
    ($($name:literal $kind:ident $help:literal => $of:expr;)*) => {
        &[$(Family { about: openmetrics::Family::new($name, Kind::$kind, $help), of: $of },)*]
    };
}

pub(super) const FAMILIES: &[Family] = families! {
    "node_wifi_interface_frequency_hertz" Gauge "Frequency that the interface operates at."
        => Of::Point(|_, point| Some(Number::count(u64::from(point.frequency?) * 1_000_000)));
    "node_wifi_station_connected_seconds" Counter "Time since the station associated."
        => Of::Station(|station| station.gauge(Gauge::ConnectedS).map(Number::whole));
    "node_wifi_station_inactive_seconds" Gauge "Time since the station was last heard."
        => Of::Station(|station| station.gauge(Gauge::InactiveMs).map(Number::from_ms));
    "node_wifi_station_receive_bits_per_second" Gauge "Bit rate of the last frame from the station."
        => Of::Station(|station| station.rx_rate?.kbps.map(|kbps| Number::whole(i64::from(kbps) * 1000)));
    "node_wifi_station_transmit_bits_per_second" Gauge "Bit rate of the last frame to the station."
        => Of::Station(|station| station.tx_rate?.kbps.map(|kbps| Number::whole(i64::from(kbps) * 1000)));
    "node_wifi_station_receive_bytes" Counter "Bytes from the station in this association."
        => Of::Station(|station| station.counter(CounterKind::RxBytes).map(Number::count));
    "node_wifi_station_transmit_bytes" Counter "Bytes to the station in this association."
        => Of::Station(|station| station.counter(CounterKind::TxBytes).map(Number::count));
    "node_wifi_station_signal_dbm" Gauge "Strength of the last frame from the station."
        => Of::Station(|station| station.gauge(Gauge::Signal).map(Number::whole));
    "node_wifi_station_transmit_retries" Counter "Frames to the station that were sent again."
        => Of::Station(|station| station.counter(CounterKind::TxRetries).map(Number::count));
    "node_wifi_station_transmit_failed" Counter "Frames to the station that were given up."
        => Of::Station(|station| station.counter(CounterKind::TxFailed).map(Number::count));

    "stationd_station_receive_packets" Counter "Packets from the station in this association."
        => Of::Station(|station| station.counter(CounterKind::RxPackets).map(Number::count));
    "stationd_station_transmit_packets" Counter "Packets to the station in this association."
        => Of::Station(|station| station.counter(CounterKind::TxPackets).map(Number::count));
    "stationd_station_receive_dropped" Counter
    "Frames from the station that were dropped for an unspecified reason."
        => Of::Station(|station| station.counter(CounterKind::RxDropped).map(Number::count));
    "stationd_station_receive_checksum_errors" Counter
    "Frames from the station with a wrong check sum."
        => Of::Station(|station| station.counter(CounterKind::FcsErrors).map(Number::count));
    "stationd_station_receive_frames" Counter
    "Frames (MPDUs) from the station, those with a wrong check sum included."
        => Of::Station(|station| station.counter(CounterKind::RxMpdus).map(Number::count));
    "stationd_station_receive_airtime_seconds" Counter "Airtime that the station used to send."
        => Of::Station(|station| station.counter(CounterKind::RxAirtime).map(Number::from_us));
    "stationd_station_transmit_airtime_seconds" Counter
    "Airtime that was used to send to the station."
        => Of::Station(|station| station.counter(CounterKind::TxAirtime).map(Number::from_us));
    "stationd_station_signal_average_dbm" Gauge
    "Strength of frames from the station, averaged by the driver."
        => Of::Station(|station| station.gauge(Gauge::SignalAverage).map(Number::whole));
    "stationd_station_acknowledgement_signal_dbm" Gauge
    "Strength of the station's acknowledgements."
        => Of::Station(|station| station.gauge(Gauge::AckSignal).map(Number::whole));
    "stationd_station_expected_bytes_per_second" Gauge
    "What the rate control expects to get through to the station."
        => Of::Station(|station| Some(Number::whole(station.gauge(Gauge::ExpectedKbps)? * 125)));

    "stationd_access_point" Info "The access point behind an interface."
        => Of::Labels(access_points);
    "stationd_access_point_stations" Gauge "Stations that are associated."
        => Of::Point(|source, point| count(source.engine.table.count(point.id) as u64));
    "stationd_access_point_noise_dbm" Gauge "Noise of the channel."
        => Of::Point(|_, point| point.noise_dbm.map(|dbm| Number::whole(dbm.into())));
    "stationd_access_point_receive_bytes" Counter
    "Bytes from all stations, in associations that have ended too."
        => Of::Point(|source, point| total(source, point, CounterKind::RxBytes, point.ended.rx_bytes));
    "stationd_access_point_transmit_bytes" Counter
    "Bytes to all stations, in associations that have ended too."
        => Of::Point(|source, point| total(source, point, CounterKind::TxBytes, point.ended.tx_bytes));
    "stationd_access_point_sessions_ended" Counter "Associations that have ended."
        => Of::Point(|_, point| count(point.ended.sessions));
    "stationd_access_point_sessions_ended_exact" Counter
    "Of the associations that have ended: those whose last counters the kernel reported."
        => Of::Point(|_, point| count(point.ended.exact));
    "stationd_access_point_ended_receive_bytes" Counter
    "Bytes from stations in associations that have ended."
        => Of::Point(|_, point| count(point.ended.rx_bytes));
    "stationd_access_point_ended_transmit_bytes" Counter
    "Bytes to stations in associations that have ended."
        => Of::Point(|_, point| count(point.ended.tx_bytes));

    "stationd_build" Info "This program."
        => Of::Labels(|_, out| out.texts(Number::whole(1), &[("version", env!("CARGO_PKG_VERSION"))]));
    "process_cpu_seconds" Counter "Processor time of stationd, user and system."
        => Of::One(|source| Some(source.own.cpu()));
    "process_resident_memory_bytes" Gauge "Memory of stationd that is in RAM."
        => Of::One(|source| source.own.resident_bytes().map(Number::count));
    "process_start_time_seconds" Gauge "When stationd began, since 1970."
        => Of::One(|source| Some(source.wall(source.own.began_ns)));
    "stationd_consumers" Gauge "Connections at present."
        => Of::Labels(consumers);
    "stationd_consumers_dropped" Counter "Consumers that were dropped, or not let in, by reason."
        => Of::Labels(dropped);
    "stationd_requests" Counter "Requests over the UNIX socket."
        => Of::One(|source| count(source.tally.requests));

    "stationd_reads" Counter "Readings of an access point that were asked for."
        => Of::One(|source| count(source.engine.cost().reads));
    "stationd_reads_shared" Counter "Readings that a fresh enough one answered."
        => Of::One(|source| count(source.engine.cost().shared));
    "stationd_dumps" Counter "Dumps of all stations of an interface."
        => Of::One(|source| count(source.engine.cost().dumps));
    "stationd_dumps_interrupted" Counter "Dumps that changed while they were read."
        => Of::One(|source| count(source.engine.cost().interrupted));
    "stationd_surveys" Counter "Surveys of a channel."
        => Of::One(|source| count(source.engine.cost().surveys));
    "stationd_netlink_receive_bytes" Counter "Bytes of netlink messages that came in."
        => Of::One(|source| count(source.engine.cost().bytes));
    "stationd_netlink_overruns" Counter "Times that the kernel had to drop messages."
        => Of::One(|source| count(source.engine.cost().overruns));
    "stationd_hostapd_requests" Counter "Questions to hostapd."
        => Of::One(|source| count(source.engine.cost().hostapd_requests));
    "stationd_hostapd_timeouts" Counter "Questions that hostapd left open."
        => Of::One(|source| count(source.engine.cost().hostapd_timeouts));
    "stationd_driver_resets" Counter
    "Times that a driver's counters began again within an association."
        => Of::One(|source| count(source.engine.table.resets));
};

fn count(value: u64) -> Option<Number> {
    Some(Number::count(value))
}

/// What all associations have moved; unknown where the driver does not count.
fn total(source: &Source<'_>, point: &Point, which: CounterKind, ended: u64) -> Option<Number> {
    let table = &source.engine.table;
    let known = table.stations(point.id).filter_map(|station| station.counter(which));
    let (count, sum) = known.fold((0, ended), |(count, sum), value| (count + 1, sum + value));
    (count > 0 || table.count(point.id) == 0).then(|| Number::count(sum))
}

fn access_points(source: &Source<'_>, out: &mut Samples<'_>) {
    for point in source.engine.points.present() {
        let bssid = address::lower(point.address);
        let labels = [
            ("device", point.name.as_str()),
            ("bssid", str::from_utf8(&bssid).unwrap_or_default()),
            ("ssid", point.ssid.as_deref().unwrap_or_default()),
            ("path", &point.path()),
        ];
        out.texts(Number::whole(1), &labels);
    }
}

fn consumers(source: &Source<'_>, out: &mut Samples<'_>) {
    let Tally { consumers, scrapers, .. } = source.tally;
    for (face, count) in [("requests", consumers), ("metrics", scrapers)] {
        out.texts(Number::count(*count as u64), &[("face", face)]);
    }
}

fn dropped(source: &Source<'_>, out: &mut Samples<'_>) {
    for (reason, count) in REASONS.into_iter().zip(source.tally.dropped) {
        out.texts(Number::count(count), &[("reason", reason)]);
    }
}
