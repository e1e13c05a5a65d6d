//! Every key that programs tell of a client: its unit, its second sources, and how it may differ from them.
//!
//! Four tables, one for each way in which clients are reported ([`super::subject`]). A key without a second source has
//! the reason. Pure data; [`super::abilities`] and [`super::station`] read the sources.
//!
//! The 86 keys are the field's; they mean what they mean there: “Tx” and “downlink” are from the access point.

use super::{
    abilities::{self as can, DOWN, UP},
    own,
    station::{Rate, Station, chains, number},
    value::{
        Rule::{self, Counter, Fixed, Level, Moment, Since, Span},
        Value,
    },
};

/// The key that names the client.
pub(super) const ADDRESS: &str = "MACAddress";

/// The keys of one way to tell clients.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    pub(super) name: &'static str,
    all: &'static [Entry],
    /// The keys out of these that are reported; empty is all.
    reported: &'static [&'static str],
    /// Whether there are no others: `iw` and hostapd tell much more, of which no other program knows.
    pub(super) is_whole: bool,
}

impl Table {
    /// What is known of a key.
    pub(super) fn entry(&self, key: &str) -> Option<&'static Entry> {
        self.entries().find(|entry| entry.key == key)
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        let (all, reported) = (self.all, self.reported);
        all.iter().filter(move |entry| reported.is_empty() || reported.contains(&entry.key))
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: &'static str,
    /// Of its number, as `kbit/s`; empty for words.
    pub(super) unit: &'static str,
    pub(super) rule: Rule,
    /// The subject's value in the table's unit.
    pub(super) own: fn(&Value) -> Option<Value>,
    pub(super) sources: &'static [Source],
    pub(super) alone: &'static str,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// A second source of a key.
#[derive(Debug)]
pub(super) struct Source {
    /// Who, and by which name: `iw's “tx bytes”`.
    pub(super) of: &'static str,
    /// The value of a client.
    pub(super) read: fn(&Station) -> Option<Value>,
}

/// Whoever else tells a key: a source of the table, or iw itself where the subject gives iw's own words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Second<'a> {
    /// Another program's words for it.
    Source(&'a Source),
    /// iw's, by the same name.
    Same(&'a Entry),
}

impl Second<'_> {
    /// Who, and by which name.
    pub(super) fn of(self) -> String {
        match self {
            Self::Source(source) => source.of.to_owned(),
            Self::Same(entry) => format!("iw's “{}”", entry.key),
        }
    }

    /// The value of a client.
    pub(super) fn read(self, station: &Station) -> Option<Value> {
        match self {
            Self::Source(source) => (source.read)(station),
            Self::Same(entry) => (entry.own)(&Value::from(station.iw(entry.key)?)),
        }
    }
}

macro_rules! entry {
    ($key:literal, $unit:literal, $rule:expr, $own:expr, $($of:literal => $read:expr),+) => {
        Entry { key: $key, unit: $unit, rule: $rule, own: $own, sources: &[$(Source { of: $of, read: $read }),+], alone: "" }
    };
    ($key:literal, $why:expr) => {
        entry!($key, Fixed, $why)
    };
    ($key:literal, $unit:literal, $rule:expr, $own:expr) => {
        Entry { key: $key, unit: $unit, rule: $rule, own: $own, sources: &[], alone: "iw alone tells it" }
    };
    ($key:literal, $rule:ident, $why:expr) => {
        Entry { key: $key, unit: "", rule: $rule, own: as_is, sources: &[], alone: $why }
    };
}

fn as_is(value: &Value) -> Option<Value> {
    Some(value.clone())
}

/// Words that begin with a number, as the number.
fn whole(words: Option<&str>) -> Option<Value> {
    number(words?).map(Value::Whole)
}

fn times(words: Option<&str>, factor: i128) -> Option<Value> {
    number(words?)?.checked_mul(factor).map(Value::Whole)
}

fn parts(words: Option<&str>, divisor: i128) -> Option<Value> {
    Some(Value::Whole(number(words?)?.div_euclid(divisor)))
}

fn flag(words: Option<&str>) -> Option<Value> {
    Some(Value::Flag(words? == "yes"))
}

/// A rate that iw prints: `tx` or `rx`.
fn rate(station: &Station, way: &str) -> Option<Rate> {
    Rate::read(station.iw(way)?)
}

const TX: &str = "tx bitrate";
const RX: &str = "rx bitrate";

fn kbps(station: &Station, way: &str) -> Option<Value> {
    rate(station, way).map(|rate| Value::Whole(rate.kbps))
}

fn width(station: &Station, way: &str) -> Option<Value> {
    rate(station, way).map(|rate| Value::Whole(rate.width))
}

fn scheme(station: &Station, way: &str) -> Option<Value> {
    rate(station, way)?.scheme.map(Value::Whole)
}

fn link_width(station: &Station) -> Option<Value> {
    let widths = [TX, RX].into_iter().filter_map(|way| rate(station, way)).map(|rate| rate.width);
    widths.max().map(|width| Value::Text(format!("{width}MHz")))
}

fn signal_by_chain(station: &Station) -> Option<Value> {
    let chains = chains(station.iw("signal")?);
    let words: Vec<String> = chains.iter().map(|dbm| format!("{dbm}.0")).collect();
    (!words.is_empty()).then(|| Value::Text(words.join(",")))
}

fn mean_of_chains(station: &Station) -> Option<Value> {
    let chains = chains(station.iw("signal")?);
    let mean = chains.iter().sum::<i128>() as f64 / chains.len() as f64;
    (!chains.is_empty()).then(|| Value::Whole(mean.round() as i128))
}

fn noise(station: &Station) -> Option<Value> {
    station.noise_dbm.map(Value::Whole)
}

fn above_noise(station: &Station) -> Option<Value> {
    let above = number(station.iw("signal")?)? - station.noise_dbm?;
    (above >= 0).then_some(Value::Whole(above))
}

fn associated(station: &Station) -> Option<Value> {
    parts(station.iw("associated at"), 1000)
}

const NEITHER: &str = "neither iw 5.19 nor hostapd 2.10 tells it";
const CONSTANT: &str = "a constant of the data model";

/// All of a full reply.
#[rustfmt::skip]
static PARAMETERS: [Entry; 86] = [
    entry!("Active", "", Fixed, as_is, "its being in iw's list" => |s| s.iw.as_ref().map(|_| Value::Flag(true))),
    entry!("ActiveNumberOfAffiliatedSta", NEITHER),
    entry!("AssociationTime", "s since 1970", Moment(1), own::seconds, "iw's “associated at”" => associated),
    entry!("AuthenticationState", "", Fixed, as_is, "iw's “authorized”" => |s| flag(s.iw("authorized")), "hostapd's “flags”" => |s| Some(Value::Flag(s.hostapd("flags")?.contains("[AUTHORIZED]")))),
    entry!("AvgSignalStrength", "dBm", Level, as_is, "iw's “signal avg”" => |s| whole(s.iw("signal avg"))),
    entry!("AvgSignalStrengthByChain", "dBm", Level, as_is, "iw's “signal”" => mean_of_chains),
    entry!("Capabilities", "", Fixed, as_is, "hostapd's “capability” and “ext_capab”" => can::abilities),
    entry!("ChargeableUserId", NEITHER),
    entry!("ConnectionDuration", "s", Counter(32), as_is, "iw's “connected time”" => |s| whole(s.iw("connected time"))),
    entry!("DevicePriority", CONSTANT),
    entry!("DeviceType", CONSTANT),
    entry!("DisassociationTime", "a client that is associated has none"),
    entry!("DownlinkBandwidth", "MHz", Level, as_is, "iw's “tx bitrate”" => |s| width(s, TX)),
    entry!("DownlinkMCS", "", Level, as_is, "iw's “tx bitrate”" => |s| scheme(s, TX)),
    entry!("DownlinkRateSpec", "", Level, as_is, "iw's “tx bitrate”" => |s| Some(rate(s, TX)?.in_words())),
    entry!("DownlinkShortGuard", "", Level, as_is, "iw's “tx bitrate”" => |s| Some(Value::Flag(rate(s, TX)?.short_guard))),
    entry!("EhtCapabilities", NEITHER),
    entry!("EncryptionMode", "", Fixed, as_is, "hostapd's pairwise cipher" => can::encryption),
    entry!("FrequencyCapabilities", "", Fixed, as_is, "hostapd's “freq”" => can::band),
    entry!("HeCapabilities", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("HtCapabilities", "", Fixed, as_is, "hostapd's “ht_caps_info”" => can::ht),
    entry!("Inactive", "s", Since, as_is, "iw's “inactive time”" => |s| parts(s.iw("inactive time"), 1000)),
    entry!("LastDataDownlinkRate", "kbit/s", Level, as_is, "iw's “tx bitrate”" => |s| kbps(s, TX), "hostapd's “tx_rate_info”" => |s| times(s.hostapd("tx_rate_info"), 100)),
    entry!("LastDataUplinkRate", "kbit/s", Level, as_is, "iw's “rx bitrate”" => |s| kbps(s, RX), "hostapd's “rx_rate_info”" => |s| times(s.hostapd("rx_rate_info"), 100)),
    entry!("LastStateChange", "s since 1970", Moment(1), own::seconds, "iw's “associated at”" => associated),
    entry!("LinkBandwidth", "", Level, as_is, "iw's two bitrates" => link_width),
    entry!("MACAddress", "", Fixed, own::small_letters, "iw's list" => |s| s.iw.is_some().then(|| Value::Text(s.address.clone()))),
    entry!("MLOMode", NEITHER),
    entry!("MUGroupId", NEITHER),
    entry!("MUMimoTxPktsCount", NEITHER),
    entry!("MUMimoTxPktsPercentage", NEITHER),
    entry!("MUUserPositionId", NEITHER),
    entry!("MaxBandwidthSupported", "", Fixed, as_is, "hostapd's capabilities" => can::widest),
    entry!("MaxDownlinkRateReached", NEITHER),
    entry!("MaxDownlinkRateSupported", "kbit/s", Fixed, as_is, "hostapd's capabilities" => |s| can::highest_rate(s, DOWN)),
    entry!("MaxRxSpatialStreamsSupported", "", Fixed, as_is, "hostapd's capabilities" => |s| can::streams(s, DOWN)),
    entry!("MaxTxSpatialStreamsSupported", "", Fixed, as_is, "hostapd's capabilities" => |s| can::streams(s, UP)),
    entry!("MaxUplinkRateReached", NEITHER),
    entry!("MaxUplinkRateSupported", "kbit/s", Fixed, as_is, "hostapd's capabilities" => |s| can::highest_rate(s, UP)),
    entry!("MultipleRetryCount", NEITHER),
    entry!("Noise", "dBm", Level, as_is, "iw's survey of the channel in use" => noise),
    entry!("NoiseByChain", NEITHER),
    entry!("OperatingStandard", "", Fixed, as_is, "hostapd's “flags”" => can::standard),
    entry!("PowerSave", NEITHER),
    entry!("Retransmissions", NEITHER),
    entry!("RetryCount", NEITHER),
    entry!("RrmCapabilities", NEITHER),
    entry!("RrmOffChannelMaxDuration", NEITHER),
    entry!("RrmOnChannelMaxDuration", NEITHER),
    entry!("RxBytes", "B", Counter(64), as_is, "iw's “rx bytes”" => |s| whole(s.iw("rx bytes")), "hostapd's “rx_bytes”" => |s| whole(s.hostapd("rx_bytes"))),
    entry!("RxErrors", "", Counter(64), as_is, "iw's “rx drop misc”" => |s| whole(s.iw("rx drop misc"))),
    entry!("RxMulticastPacketCount", NEITHER),
    entry!("RxPacketCount", "", Counter(32), as_is, "iw's “rx packets”" => |s| whole(s.iw("rx packets")), "hostapd's “rx_packets”" => |s| whole(s.hostapd("rx_packets"))),
    entry!("RxSupportedHe160MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("RxSupportedHe80x80MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("RxSupportedHeMCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("RxSupportedVhtMCS", "", Fixed, as_is, "hostapd's “rx_vht_mcs_map”" => |s| can::vht_schemes(s, DOWN)),
    entry!("RxUnicastPacketCount", NEITHER),
    entry!("Rx_Retransmissions", NEITHER),
    entry!("Rx_RetransmissionsFailed", NEITHER),
    entry!("SecurityModeEnabled", "", Fixed, as_is, "hostapd's “AKMSuiteSelector”" => can::security),
    entry!("SignalNoiseRatio", "dB", Level, as_is, "iw's “signal” and survey" => above_noise),
    entry!("SignalStrength", "dBm", Level, as_is, "iw's “signal”" => |s| whole(s.iw("signal")), "hostapd's “signal”" => |s| whole(s.hostapd("signal"))),
    entry!("SignalStrengthByChain", "", Level, as_is, "iw's “signal”" => signal_by_chain),
    entry!("SignalStrengthHistory", Level, "a history of the subject's own readings"),
    entry!("SupportedHtMCS", "", Fixed, as_is, "hostapd's “ht_mcs_bitmask”" => can::ht_schemes),
    entry!("SupportedMCS", "", Fixed, as_is, "hostapd's “supported_rates”" => can::legacy_rates),
    entry!("TxBytes", "B", Counter(64), as_is, "iw's “tx bytes”" => |s| whole(s.iw("tx bytes")), "hostapd's “tx_bytes”" => |s| whole(s.hostapd("tx_bytes"))),
    entry!("TxErrors", "", Counter(32), as_is, "iw's “tx failed”" => |s| whole(s.iw("tx failed"))),
    entry!("TxMulticastPacketCount", NEITHER),
    entry!("TxPacketCount", "", Counter(32), as_is, "iw's “tx packets”" => |s| whole(s.iw("tx packets")), "hostapd's “tx_packets”" => |s| whole(s.hostapd("tx_packets"))),
    entry!("TxSupportedHe160MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("TxSupportedHe80x80MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("TxSupportedHeMCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("TxSupportedVhtMCS", "", Fixed, as_is, "hostapd's “tx_vht_mcs_map”" => |s| can::vht_schemes(s, UP)),
    entry!("TxUnicastPacketCount", "", Counter(32), as_is, "iw's “tx packets”" => |s| whole(s.iw("tx packets")), "hostapd's “tx_packets”" => |s| whole(s.hostapd("tx_packets"))),
    entry!("Tx_Retransmissions", "", Counter(32), as_is, "iw's “tx retries”" => |s| whole(s.iw("tx retries"))),
    entry!("Tx_RetransmissionsFailed", "", Counter(32), as_is, "iw's “tx failed”" => |s| whole(s.iw("tx failed"))),
    entry!("UNIIBandsCapabilities", NEITHER),
    entry!("UplinkBandwidth", "MHz", Level, as_is, "iw's “rx bitrate”" => |s| width(s, RX)),
    entry!("UplinkMCS", "", Level, as_is, "iw's “rx bitrate”" => |s| scheme(s, RX)),
    entry!("UplinkRateSpec", "", Level, as_is, "iw's “rx bitrate”" => |s| Some(rate(s, RX)?.in_words())),
    entry!("UplinkShortGuard", "", Level, as_is, "iw's “rx bitrate”" => |s| Some(Value::Flag(rate(s, RX)?.short_guard))),
    entry!("VendorCapabilities", NEITHER),
    entry!("VendorOUI", NEITHER),
    entry!("VhtCapabilities", "", Fixed, as_is, "hostapd's “vht_caps_info”" => can::vht),
];

/// stationd's `getStationStats`: what is known of a client without asking hostapd what it can do.
#[rustfmt::skip]
pub(super) static STATION: Table = Table {
    name: "full reply",
    all: &PARAMETERS,
    reported: &[
        "Active", "ActiveNumberOfAffiliatedSta", "AssociationTime", "AuthenticationState", "AvgSignalStrength",
        "AvgSignalStrengthByChain", "ConnectionDuration", "DownlinkBandwidth", "DownlinkMCS", "DownlinkRateSpec",
        "DownlinkShortGuard", "EncryptionMode", "Inactive", "LastDataDownlinkRate", "LastDataUplinkRate",
        "LastStateChange", "LinkBandwidth", "MACAddress", "Noise", "OperatingStandard", "RxBytes", "RxErrors",
        "RxPacketCount", "SecurityModeEnabled", "SignalNoiseRatio", "SignalStrength", "SignalStrengthByChain",
        "SignalStrengthHistory", "TxBytes", "TxErrors", "TxPacketCount", "TxUnicastPacketCount", "Tx_Retransmissions",
        "Tx_RetransmissionsFailed", "UplinkBandwidth", "UplinkMCS", "UplinkRateSpec", "UplinkShortGuard",
    ],
    is_whole: true,
};

/// The field's `getStationStats`: 86 parameters.
pub(super) static FULL: Table =
    Table { name: "reply of 86", all: &PARAMETERS, reported: &[], is_whole: true };

/// `getStationStatsBrief`: fourteen of them.
pub(super) static BRIEF: Table = Table {
    name: "brief reply",
    all: &PARAMETERS,
    reported: &[
        "DownlinkBandwidth",
        "LastDataDownlinkRate",
        "LastDataUplinkRate",
        "MACAddress",
        "RxBytes",
        "RxErrors",
        "RxPacketCount",
        "SignalNoiseRatio",
        "SignalStrength",
        "TxBytes",
        "TxErrors",
        "TxPacketCount",
        "TxUnicastPacketCount",
        "Tx_Retransmissions",
    ],
    is_whole: true,
};

/// `iw station dump`, which hostapd confirms.
pub(super) static IW: Table = Table { name: "iw", all: &OF_IW, reported: &[], is_whole: false };

/// `hostapd_cli all_sta`, which iw confirms.
pub(super) static HOSTAPD: Table =
    Table { name: "hostapd_cli", all: &OF_HOSTAPD, reported: &[], is_whole: false };

/// node_exporter's collector `wifi`.
pub(super) static NODE_EXPORTER: Table =
    Table { name: "node_exporter", all: &OF_NODE_EXPORTER, reported: &[], is_whole: false };

#[rustfmt::skip]
static OF_IW: [Entry; 23] = [
    entry!("associated at", "ms", Moment(1000), own::whole),
    entry!("associated at [boottime]", "s", Level, as_is),
    entry!("current time", "ms", Counter(64), own::whole),
    entry!("rx drop misc", "", Counter(64), own::whole),
    entry!("rx duration", "us", Counter(64), own::whole),
    entry!("signal avg", "dBm", Level, own::whole),
    entry!("tx duration", "us", Counter(64), own::whole),
    entry!("tx failed", "", Counter(32), own::whole),
    entry!("tx retries", "", Counter(32), own::whole),
    entry!("last ack signal", "dBm", Level, own::whole),
    entry!("WMM/WME", "", Fixed, own::flag, "hostapd's “flags”" => |s| Some(Value::Flag(s.hostapd("flags")?.contains("[WMM]")))),
    entry!("associated", "", Fixed, own::flag, "hostapd's “flags”" => |s| Some(Value::Flag(s.hostapd("flags")?.contains("[ASSOC]")))),
    entry!("authenticated", "", Fixed, own::flag, "hostapd's “flags”" => |s| Some(Value::Flag(s.hostapd("flags")?.contains("[AUTH]")))),
    entry!("authorized", "", Fixed, own::flag, "hostapd's “flags”" => |s| Some(Value::Flag(s.hostapd("flags")?.contains("[AUTHORIZED]")))),
    // The kernel's clock starts with the association and hostapd's after the handshake: in whole seconds, of 114 clients
    // each, hostapd's was 0 or 1 behind.
    entry!("connected time", "s", Span(1), own::whole, "hostapd's “connected_time”" => |s| whole(s.hostapd("connected_time"))),
    entry!("inactive time", "s", Since, own::thousandth, "hostapd's “inactive_msec”" => |s| parts(s.hostapd("inactive_msec"), 1000)),
    entry!("rx bitrate", "kbit/s", Level, own::rate, "hostapd's “rx_rate_info”" => |s| times(s.hostapd("rx_rate_info"), 100)),
    entry!("rx bytes", "B", Counter(64), own::whole, "hostapd's “rx_bytes”" => |s| whole(s.hostapd("rx_bytes"))),
    entry!("rx packets", "", Counter(32), own::whole, "hostapd's “rx_packets”" => |s| whole(s.hostapd("rx_packets"))),
    entry!("signal", "dBm", Level, own::whole, "hostapd's “signal”" => |s| whole(s.hostapd("signal"))),
    entry!("tx bitrate", "kbit/s", Level, own::rate, "hostapd's “tx_rate_info”" => |s| times(s.hostapd("tx_rate_info"), 100)),
    entry!("tx bytes", "B", Counter(64), own::whole, "hostapd's “tx_bytes”" => |s| whole(s.hostapd("tx_bytes"))),
    entry!("tx packets", "", Counter(32), own::whole, "hostapd's “tx_packets”" => |s| whole(s.hostapd("tx_packets"))),
];

#[rustfmt::skip]
static OF_HOSTAPD: [Entry; 9] = [
    entry!("connected_time", "s", Span(1), own::whole, "iw's “connected time”" => |s| whole(s.iw("connected time"))),
    entry!("inactive_msec", "s", Since, own::thousandth, "iw's “inactive time”" => |s| parts(s.iw("inactive time"), 1000)),
    entry!("rx_bytes", "B", Counter(64), own::whole, "iw's “rx bytes”" => |s| whole(s.iw("rx bytes"))),
    entry!("rx_packets", "", Counter(32), own::whole, "iw's “rx packets”" => |s| whole(s.iw("rx packets"))),
    entry!("rx_rate_info", "kbit/s", Level, own::hundreds, "iw's “rx bitrate”" => |s| kbps(s, RX)),
    entry!("signal", "dBm", Level, own::whole, "iw's “signal”" => |s| whole(s.iw("signal"))),
    entry!("tx_bytes", "B", Counter(64), own::whole, "iw's “tx bytes”" => |s| whole(s.iw("tx bytes"))),
    entry!("tx_packets", "", Counter(32), own::whole, "iw's “tx packets”" => |s| whole(s.iw("tx packets"))),
    entry!("tx_rate_info", "kbit/s", Level, own::hundreds, "iw's “tx bitrate”" => |s| kbps(s, TX)),
];

#[rustfmt::skip]
static OF_NODE_EXPORTER: [Entry; 11] = [
    entry!("node_scrape_collector_duration_seconds", Level, "it is the subject's own time"),
    entry!("node_wifi_station_beacon_loss_total", "a client tells it of its access point, and no access point of a client"),
    entry!("node_wifi_station_connected_seconds_total", "s", Counter(32), own::metric, "iw's “connected time”" => |s| whole(s.iw("connected time"))),
    entry!("node_wifi_station_inactive_seconds", "s", Since, own::metric, "iw's “inactive time”" => |s| parts(s.iw("inactive time"), 1000)),
    entry!("node_wifi_station_receive_bits_per_second", "kbit/s", Level, own::metric_kbps, "iw's “rx bitrate”" => |s| kbps(s, RX), "hostapd's “rx_rate_info”" => |s| times(s.hostapd("rx_rate_info"), 100)),
    entry!("node_wifi_station_receive_bytes_total", "B", Counter(64), own::metric, "iw's “rx bytes”" => |s| whole(s.iw("rx bytes")), "hostapd's “rx_bytes”" => |s| whole(s.hostapd("rx_bytes"))),
    entry!("node_wifi_station_signal_dbm", "dBm", Level, own::metric, "iw's “signal”" => |s| whole(s.iw("signal")), "hostapd's “signal”" => |s| whole(s.hostapd("signal"))),
    entry!("node_wifi_station_transmit_bits_per_second", "kbit/s", Level, own::metric_kbps, "iw's “tx bitrate”" => |s| kbps(s, TX), "hostapd's “tx_rate_info”" => |s| times(s.hostapd("tx_rate_info"), 100)),
    entry!("node_wifi_station_transmit_bytes_total", "B", Counter(64), own::metric, "iw's “tx bytes”" => |s| whole(s.iw("tx bytes")), "hostapd's “tx_bytes”" => |s| whole(s.hostapd("tx_bytes"))),
    entry!("node_wifi_station_transmit_failed_total", "", Counter(32), own::metric, "iw's “tx failed”" => |s| whole(s.iw("tx failed"))),
    entry!("node_wifi_station_transmit_retries_total", "", Counter(32), own::metric, "iw's “tx retries”" => |s| whole(s.iw("tx retries"))),
];
