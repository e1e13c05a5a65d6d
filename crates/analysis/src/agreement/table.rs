//! Every key that programs tell of a client: its unit, its second sources, and how it may differ from them.
//!
//! Four tables, one for each way in which clients are reported ([`super::subject`]). A key without a second source has
//! the reason. Pure data; [`super::abilities`] and [`super::station`] read the sources.
//!
//! The 86 keys are the field's; they mean what they mean there: “Tx” and “downlink” are from the access point.

use model::parity::{BitRate, StationValues};

use super::{
    abilities::{self as can, DOWN, UP},
    own,
    station::{Station, number},
    value::{
        Rule::{self, Counter, Fixed, Level, Moment, Since, Span},
        Value,
    },
};

/// The key that names the client.
pub(super) const ADDRESS: &str = "MACAddress";

/// The keys of one way to tell clients.
#[derive(Debug)]
pub(super) struct Table {
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

/// A second source of a key.
#[derive(Debug)]
pub(super) struct Source {
    /// Who, and by which name: `nl80211's “tx bytes”`.
    pub(super) of: &'static str,
    /// The value of a client.
    pub(super) read: fn(&Station) -> Option<Value>,
}

macro_rules! entry {
    ($key:literal, $unit:literal, $rule:expr, $own:expr, $($of:literal => $read:expr),+) => {
        Entry { key: $key, unit: $unit, rule: $rule, own: $own, sources: &[$(Source { of: $of, read: $read }),+], alone: "" }
    };
    ($key:literal, $why:expr) => {
        entry!($key, Fixed, $why)
    };
    ($key:literal, $rule:ident, $why:expr) => {
        Entry { key: $key, unit: "", rule: $rule, own: as_is, sources: &[], alone: $why }
    };
}

fn as_is(value: &Value) -> Option<Value> {
    Some(value.clone())
}

/// A number of hostapd's, in units of `factor`.
fn times(words: Option<&str>, factor: i128) -> Option<Value> {
    number(words?)?.checked_mul(factor).map(Value::Whole)
}

fn whole(words: Option<&str>) -> Option<Value> {
    times(words, 1)
}

fn has(station: &Station, flag: &str) -> Option<Value> {
    Some(Value::Flag(station.hostapd("flags")?.contains(flag)))
}

/// An attribute of nl80211's that is a number.
fn told<T: Into<i128>>(station: &Station, of: fn(&StationValues) -> Option<T>) -> Option<Value> {
    parts(station, of, 1)
}

/// One that has to be divided, rounded down.
fn parts<T: Into<i128>>(
    station: &Station,
    of: fn(&StationValues) -> Option<T>,
    divisor: i128,
) -> Option<Value> {
    Some(Value::Whole(of(station.kernel.as_ref()?)?.into().div_euclid(divisor)))
}

fn flag(station: &Station, of: fn(&StationValues) -> Option<bool>) -> Option<Value> {
    of(station.kernel.as_ref()?).map(Value::Flag)
}

fn tx(station: &Station) -> Option<&BitRate> {
    station.kernel.as_ref()?.tx_rate.as_ref()
}

fn rx(station: &Station) -> Option<&BitRate> {
    station.kernel.as_ref()?.rx_rate.as_ref()
}

fn kbps(rate: Option<&BitRate>) -> Option<Value> {
    Some(Value::Whole(rate?.kbps.into()))
}

fn width(rate: Option<&BitRate>) -> Option<Value> {
    Some(Value::Whole(rate?.width_mhz.into()))
}

fn scheme(rate: Option<&BitRate>) -> Option<Value> {
    Some(Value::Whole(rate?.mcs?.into()))
}

fn short_guard(rate: Option<&BitRate>) -> Option<Value> {
    Some(Value::Flag(rate?.short_guard))
}

/// All of a rate in the data model's words: `vht 80MHz mcs9 1x sgi`.
fn in_words(rate: Option<&BitRate>) -> Option<Value> {
    let BitRate { mode, width_mhz, mcs, streams, short_guard, .. } = rate?;
    let mcs = mcs.map(|mcs| format!(" mcs{mcs}")).unwrap_or_default();
    let streams = streams.map(|streams| format!(" {streams}x")).unwrap_or_default();
    let guard = if *short_guard { " sgi" } else { "" };
    Some(Value::Text(format!("{mode} {width_mhz}MHz{mcs}{streams}{guard}")))
}

fn link_width(station: &Station) -> Option<Value> {
    let widest = [tx(station), rx(station)].into_iter().flatten().map(|rate| rate.width_mhz).max();
    Some(Value::Text(format!("{}MHz", widest?)))
}

/// The strength at each receive chain, dBm; `None` where nl80211 tells of no chain.
fn chains(station: &Station) -> Option<&[i8]> {
    let chains = station.kernel.as_ref()?.chain_signal_dbm.as_slice();
    (!chains.is_empty()).then_some(chains)
}

fn signal_by_chain(station: &Station) -> Option<Value> {
    let words = chains(station)?.iter().map(|dbm| format!("{dbm}.0"));
    Some(Value::Text(words.collect::<Vec<_>>().join(",")))
}

fn mean_of_chains(station: &Station) -> Option<Value> {
    let chains = chains(station)?;
    let sum: i32 = chains.iter().map(|dbm| i32::from(*dbm)).sum();
    Some(Value::Whole((f64::from(sum) / chains.len() as f64).round() as i128))
}

fn above_noise(station: &Station) -> Option<Value> {
    let signal = station.kernel.as_ref()?.signal_dbm?;
    let above = i128::from(signal) - i128::from(station.noise_dbm?);
    (above >= 0).then_some(Value::Whole(above))
}

fn associated(station: &Station) -> Option<Value> {
    parts(station, |k| k.associated_at_unix_ms, 1000)
}

const NEITHER: &str = "neither nl80211 nor hostapd 2.10 tells it";
const CONSTANT: &str = "a constant of the data model";

/// All of a full reply.
#[rustfmt::skip]
static PARAMETERS: [Entry; 86] = [
    entry!("Active", "", Fixed, as_is, "its being in nl80211's list" => |s| s.kernel.as_ref().map(|_| Value::Flag(true))),
    entry!("ActiveNumberOfAffiliatedSta", NEITHER),
    entry!("AssociationTime", "s since 1970", Moment(1), own::seconds, "nl80211's “associated at”" => associated),
    entry!("AuthenticationState", "", Fixed, as_is, "nl80211's “authorized”" => |s| flag(s, |k| k.authorized), "hostapd's “flags”" => |s| has(s, "[AUTHORIZED]")),
    entry!("AvgSignalStrength", "dBm", Level, as_is, "nl80211's “signal avg”" => |s| told(s, |k| k.signal_avg_dbm)),
    entry!("AvgSignalStrengthByChain", "dBm", Level, as_is, "nl80211's “signal”" => mean_of_chains),
    entry!("Capabilities", "", Fixed, as_is, "hostapd's “capability” and “ext_capab”" => can::abilities),
    entry!("ChargeableUserId", NEITHER),
    entry!("ConnectionDuration", "s", Counter(32), as_is, "nl80211's “connected time”" => |s| told(s, |k| k.connected_s)),
    entry!("DevicePriority", CONSTANT),
    entry!("DeviceType", CONSTANT),
    entry!("DisassociationTime", "a client that is associated has none"),
    entry!("DownlinkBandwidth", "MHz", Level, as_is, "nl80211's “tx bitrate”" => |s| width(tx(s))),
    entry!("DownlinkMCS", "", Level, as_is, "nl80211's “tx bitrate”" => |s| scheme(tx(s))),
    entry!("DownlinkRateSpec", "", Level, as_is, "nl80211's “tx bitrate”" => |s| in_words(tx(s))),
    entry!("DownlinkShortGuard", "", Level, as_is, "nl80211's “tx bitrate”" => |s| short_guard(tx(s))),
    entry!("EhtCapabilities", NEITHER),
    entry!("EncryptionMode", "", Fixed, as_is, "hostapd's pairwise cipher" => can::encryption),
    entry!("FrequencyCapabilities", "", Fixed, as_is, "hostapd's “freq”" => can::band),
    entry!("HeCapabilities", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("HtCapabilities", "", Fixed, as_is, "hostapd's “ht_caps_info”" => can::ht),
    entry!("Inactive", "s", Since, as_is, "nl80211's “inactive time”" => |s| parts(s, |k| k.inactive_ms, 1000)),
    entry!("LastDataDownlinkRate", "kbit/s", Level, as_is, "nl80211's “tx bitrate”" => |s| kbps(tx(s)), "hostapd's “tx_rate_info”" => |s| times(s.hostapd("tx_rate_info"), 100)),
    entry!("LastDataUplinkRate", "kbit/s", Level, as_is, "nl80211's “rx bitrate”" => |s| kbps(rx(s)), "hostapd's “rx_rate_info”" => |s| times(s.hostapd("rx_rate_info"), 100)),
    entry!("LastStateChange", "s since 1970", Moment(1), own::seconds, "nl80211's “associated at”" => associated),
    entry!("LinkBandwidth", "", Level, as_is, "nl80211's two bitrates" => link_width),
    entry!("MACAddress", "", Fixed, own::small_letters, "nl80211's list" => |s| s.kernel.as_ref().map(|k| Value::Text(k.address.clone()))),
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
    entry!("Noise", "dBm", Level, as_is, "nl80211's survey of the channel in use" => |s| Some(Value::Whole(s.noise_dbm?.into()))),
    entry!("NoiseByChain", NEITHER),
    entry!("OperatingStandard", "", Fixed, as_is, "hostapd's “flags”" => can::standard),
    entry!("PowerSave", NEITHER),
    entry!("Retransmissions", NEITHER),
    entry!("RetryCount", NEITHER),
    entry!("RrmCapabilities", NEITHER),
    entry!("RrmOffChannelMaxDuration", NEITHER),
    entry!("RrmOnChannelMaxDuration", NEITHER),
    entry!("RxBytes", "B", Counter(64), as_is, "nl80211's “rx bytes”" => |s| told(s, |k| k.rx_bytes), "hostapd's “rx_bytes”" => |s| whole(s.hostapd("rx_bytes"))),
    entry!("RxErrors", "", Counter(64), as_is, "nl80211's “rx drop misc”" => |s| told(s, |k| k.rx_drop_misc)),
    entry!("RxMulticastPacketCount", NEITHER),
    entry!("RxPacketCount", "", Counter(32), as_is, "nl80211's “rx packets”" => |s| told(s, |k| k.rx_packets), "hostapd's “rx_packets”" => |s| whole(s.hostapd("rx_packets"))),
    entry!("RxSupportedHe160MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("RxSupportedHe80x80MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("RxSupportedHeMCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("RxSupportedVhtMCS", "", Fixed, as_is, "hostapd's “rx_vht_mcs_map”" => |s| can::vht_schemes(s, DOWN)),
    entry!("RxUnicastPacketCount", NEITHER),
    entry!("Rx_Retransmissions", NEITHER),
    entry!("Rx_RetransmissionsFailed", NEITHER),
    entry!("SecurityModeEnabled", "", Fixed, as_is, "hostapd's “AKMSuiteSelector”" => can::security),
    entry!("SignalNoiseRatio", "dB", Level, as_is, "nl80211's “signal” and survey" => above_noise),
    entry!("SignalStrength", "dBm", Level, as_is, "nl80211's “signal”" => |s| told(s, |k| k.signal_dbm), "hostapd's “signal”" => |s| whole(s.hostapd("signal"))),
    entry!("SignalStrengthByChain", "", Level, as_is, "nl80211's “signal”" => signal_by_chain),
    entry!("SignalStrengthHistory", Level, "a history of the subject's own readings"),
    entry!("SupportedHtMCS", "", Fixed, as_is, "hostapd's “ht_mcs_bitmask”" => can::ht_schemes),
    entry!("SupportedMCS", "", Fixed, as_is, "hostapd's “supported_rates”" => can::legacy_rates),
    entry!("TxBytes", "B", Counter(64), as_is, "nl80211's “tx bytes”" => |s| told(s, |k| k.tx_bytes), "hostapd's “tx_bytes”" => |s| whole(s.hostapd("tx_bytes"))),
    entry!("TxErrors", "", Counter(32), as_is, "nl80211's “tx failed”" => |s| told(s, |k| k.tx_failed)),
    entry!("TxMulticastPacketCount", NEITHER),
    entry!("TxPacketCount", "", Counter(32), as_is, "nl80211's “tx packets”" => |s| told(s, |k| k.tx_packets), "hostapd's “tx_packets”" => |s| whole(s.hostapd("tx_packets"))),
    entry!("TxSupportedHe160MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("TxSupportedHe80x80MCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("TxSupportedHeMCS", "", Fixed, as_is, "hostapd's “he_capab”" => can::he),
    entry!("TxSupportedVhtMCS", "", Fixed, as_is, "hostapd's “tx_vht_mcs_map”" => |s| can::vht_schemes(s, UP)),
    entry!("TxUnicastPacketCount", "", Counter(32), as_is, "nl80211's “tx packets”" => |s| told(s, |k| k.tx_packets), "hostapd's “tx_packets”" => |s| whole(s.hostapd("tx_packets"))),
    entry!("Tx_Retransmissions", "", Counter(32), as_is, "nl80211's “tx retries”" => |s| told(s, |k| k.tx_retries)),
    entry!("Tx_RetransmissionsFailed", "", Counter(32), as_is, "nl80211's “tx failed”" => |s| told(s, |k| k.tx_failed)),
    entry!("UNIIBandsCapabilities", NEITHER),
    entry!("UplinkBandwidth", "MHz", Level, as_is, "nl80211's “rx bitrate”" => |s| width(rx(s))),
    entry!("UplinkMCS", "", Level, as_is, "nl80211's “rx bitrate”" => |s| scheme(rx(s))),
    entry!("UplinkRateSpec", "", Level, as_is, "nl80211's “rx bitrate”" => |s| in_words(rx(s))),
    entry!("UplinkShortGuard", "", Level, as_is, "nl80211's “rx bitrate”" => |s| short_guard(rx(s))),
    entry!("VendorCapabilities", NEITHER),
    entry!("VendorOUI", NEITHER),
    entry!("VhtCapabilities", "", Fixed, as_is, "hostapd's “vht_caps_info”" => can::vht),
];

/// stationd's `getStationStats`: what is known of a client without asking hostapd what it can do.
#[rustfmt::skip]
pub(super) static STATION: Table = Table {
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
pub(super) static FULL: Table = Table { all: &PARAMETERS, reported: &[], is_whole: true };

/// `getStationStatsBrief`: fourteen of them.
#[rustfmt::skip]
pub(super) static BRIEF: Table = Table {
    all: &PARAMETERS,
    reported: &[
        "DownlinkBandwidth", "LastDataDownlinkRate", "LastDataUplinkRate", "MACAddress", "RxBytes", "RxErrors",
        "RxPacketCount", "SignalNoiseRatio", "SignalStrength", "TxBytes", "TxErrors", "TxPacketCount",
        "TxUnicastPacketCount", "Tx_Retransmissions",
    ],
    is_whole: true,
};

/// `iw station dump`, which nl80211 and hostapd confirm.
pub(super) static IW: Table = Table { all: &OF_IW, reported: &[], is_whole: false };

/// `hostapd_cli all_sta`, which nl80211 confirms.
pub(super) static HOSTAPD: Table = Table { all: &OF_HOSTAPD, reported: &[], is_whole: false };

/// node_exporter's collector `wifi`.
pub(super) static NODE_EXPORTER: Table =
    Table { all: &OF_NODE_EXPORTER, reported: &[], is_whole: false };

#[rustfmt::skip]
static OF_IW: [Entry; 23] = [
    entry!("associated at", "ms", Moment(1000), own::whole, "nl80211's “associated at”" => |s| told(s, |k| k.associated_at_unix_ms)),
    entry!("associated at [boottime]", "ms", Level, own::milliseconds, "nl80211's “associated at [boottime]”" => |s| parts(s, |k| k.associated_at_boottime_ns, 1_000_000)),
    entry!("current time", "ms", Counter(64), own::whole, "nl80211's “current time”" => |s| s.kernel.as_ref().map(|_| Value::Whole(s.unix_ms.into()))),
    entry!("rx drop misc", "", Counter(64), own::whole, "nl80211's “rx drop misc”" => |s| told(s, |k| k.rx_drop_misc)),
    entry!("rx duration", "us", Counter(64), own::whole, "nl80211's “rx duration”" => |s| told(s, |k| k.rx_duration_us)),
    entry!("signal avg", "dBm", Level, own::whole, "nl80211's “signal avg”" => |s| told(s, |k| k.signal_avg_dbm)),
    entry!("tx duration", "us", Counter(64), own::whole, "nl80211's “tx duration”" => |s| told(s, |k| k.tx_duration_us)),
    entry!("tx failed", "", Counter(32), own::whole, "nl80211's “tx failed”" => |s| told(s, |k| k.tx_failed)),
    entry!("tx retries", "", Counter(32), own::whole, "nl80211's “tx retries”" => |s| told(s, |k| k.tx_retries)),
    entry!("last ack signal", "dBm", Level, own::whole, "nl80211's “last ack signal”" => |s| told(s, |k| k.ack_signal_dbm)),
    entry!("WMM/WME", "", Fixed, own::flag, "nl80211's “WMM/WME”" => |s| flag(s, |k| k.wme), "hostapd's “flags”" => |s| has(s, "[WMM]")),
    entry!("associated", "", Fixed, own::flag, "nl80211's “associated”" => |s| flag(s, |k| k.associated), "hostapd's “flags”" => |s| has(s, "[ASSOC]")),
    entry!("authenticated", "", Fixed, own::flag, "nl80211's “authenticated”" => |s| flag(s, |k| k.authenticated), "hostapd's “flags”" => |s| has(s, "[AUTH]")),
    entry!("authorized", "", Fixed, own::flag, "nl80211's “authorized”" => |s| flag(s, |k| k.authorized), "hostapd's “flags”" => |s| has(s, "[AUTHORIZED]")),
    // The kernel's clock starts with the association and hostapd's after the handshake: in whole seconds, of 114 clients
    // each, hostapd's was 0 or 1 behind.
    entry!("connected time", "s", Span(1), own::whole, "nl80211's “connected time”" => |s| told(s, |k| k.connected_s), "hostapd's “connected_time”" => |s| whole(s.hostapd("connected_time"))),
    entry!("inactive time", "s", Since, own::thousandth, "nl80211's “inactive time”" => |s| parts(s, |k| k.inactive_ms, 1000), "hostapd's “inactive_msec”" => |s| Some(Value::Whole(number(s.hostapd("inactive_msec")?)?.div_euclid(1000)))),
    entry!("rx bitrate", "kbit/s", Level, own::rate, "nl80211's “rx bitrate”" => |s| kbps(rx(s)), "hostapd's “rx_rate_info”" => |s| times(s.hostapd("rx_rate_info"), 100)),
    entry!("rx bytes", "B", Counter(64), own::whole, "nl80211's “rx bytes”" => |s| told(s, |k| k.rx_bytes), "hostapd's “rx_bytes”" => |s| whole(s.hostapd("rx_bytes"))),
    entry!("rx packets", "", Counter(32), own::whole, "nl80211's “rx packets”" => |s| told(s, |k| k.rx_packets), "hostapd's “rx_packets”" => |s| whole(s.hostapd("rx_packets"))),
    entry!("signal", "dBm", Level, own::whole, "nl80211's “signal”" => |s| told(s, |k| k.signal_dbm), "hostapd's “signal”" => |s| whole(s.hostapd("signal"))),
    entry!("tx bitrate", "kbit/s", Level, own::rate, "nl80211's “tx bitrate”" => |s| kbps(tx(s)), "hostapd's “tx_rate_info”" => |s| times(s.hostapd("tx_rate_info"), 100)),
    entry!("tx bytes", "B", Counter(64), own::whole, "nl80211's “tx bytes”" => |s| told(s, |k| k.tx_bytes), "hostapd's “tx_bytes”" => |s| whole(s.hostapd("tx_bytes"))),
    entry!("tx packets", "", Counter(32), own::whole, "nl80211's “tx packets”" => |s| told(s, |k| k.tx_packets), "hostapd's “tx_packets”" => |s| whole(s.hostapd("tx_packets"))),
];

#[rustfmt::skip]
static OF_HOSTAPD: [Entry; 9] = [
    entry!("connected_time", "s", Span(1), own::whole, "nl80211's “connected time”" => |s| told(s, |k| k.connected_s)),
    entry!("inactive_msec", "s", Since, own::thousandth, "nl80211's “inactive time”" => |s| parts(s, |k| k.inactive_ms, 1000)),
    entry!("rx_bytes", "B", Counter(64), own::whole, "nl80211's “rx bytes”" => |s| told(s, |k| k.rx_bytes)),
    entry!("rx_packets", "", Counter(32), own::whole, "nl80211's “rx packets”" => |s| told(s, |k| k.rx_packets)),
    entry!("rx_rate_info", "kbit/s", Level, own::hundreds, "nl80211's “rx bitrate”" => |s| kbps(rx(s))),
    entry!("signal", "dBm", Level, own::whole, "nl80211's “signal”" => |s| told(s, |k| k.signal_dbm)),
    entry!("tx_bytes", "B", Counter(64), own::whole, "nl80211's “tx bytes”" => |s| told(s, |k| k.tx_bytes)),
    entry!("tx_packets", "", Counter(32), own::whole, "nl80211's “tx packets”" => |s| told(s, |k| k.tx_packets)),
    entry!("tx_rate_info", "kbit/s", Level, own::hundreds, "nl80211's “tx bitrate”" => |s| kbps(tx(s))),
];

#[rustfmt::skip]
static OF_NODE_EXPORTER: [Entry; 11] = [
    entry!("node_scrape_collector_duration_seconds", Level, "it is the subject's own time"),
    entry!("node_wifi_station_beacon_loss_total", "a client tells it of its access point, and no access point of a client"),
    entry!("node_wifi_station_connected_seconds_total", "s", Counter(32), own::metric, "nl80211's “connected time”" => |s| told(s, |k| k.connected_s)),
    entry!("node_wifi_station_inactive_seconds", "s", Since, own::metric, "nl80211's “inactive time”" => |s| parts(s, |k| k.inactive_ms, 1000)),
    entry!("node_wifi_station_receive_bits_per_second", "kbit/s", Level, own::metric_kbps, "nl80211's “rx bitrate”" => |s| kbps(rx(s)), "hostapd's “rx_rate_info”" => |s| times(s.hostapd("rx_rate_info"), 100)),
    entry!("node_wifi_station_receive_bytes_total", "B", Counter(64), own::metric, "nl80211's “rx bytes”" => |s| told(s, |k| k.rx_bytes), "hostapd's “rx_bytes”" => |s| whole(s.hostapd("rx_bytes"))),
    entry!("node_wifi_station_signal_dbm", "dBm", Level, own::metric, "nl80211's “signal”" => |s| told(s, |k| k.signal_dbm), "hostapd's “signal”" => |s| whole(s.hostapd("signal"))),
    entry!("node_wifi_station_transmit_bits_per_second", "kbit/s", Level, own::metric_kbps, "nl80211's “tx bitrate”" => |s| kbps(tx(s)), "hostapd's “tx_rate_info”" => |s| times(s.hostapd("tx_rate_info"), 100)),
    entry!("node_wifi_station_transmit_bytes_total", "B", Counter(64), own::metric, "nl80211's “tx bytes”" => |s| told(s, |k| k.tx_bytes), "hostapd's “tx_bytes”" => |s| whole(s.hostapd("tx_bytes"))),
    entry!("node_wifi_station_transmit_failed_total", "", Counter(32), own::metric, "nl80211's “tx failed”" => |s| told(s, |k| k.tx_failed)),
    entry!("node_wifi_station_transmit_retries_total", "", Counter(32), own::metric, "nl80211's “tx retries”" => |s| told(s, |k| k.tx_retries)),
];
