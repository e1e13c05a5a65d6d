//! The 86 parameters of `WiFi.AccessPoint.{i}.AssociatedDevice.{i}.`, as the field's daemon has them.
//!
//! Names, types and which of them are volatile are the field's; where each value comes from is ours, and
//! what nl80211 and hostapd do not tell is absent. Counters are wider here than their types there: they
//! go on where 32 bits end.

use super::{
    Keeping, Kind, Parameter,
    read::{self, unknown},
};
use crate::{
    datamodel::{
        capability::{self, HeWidth, Way},
        value::Value,
    },
    derive,
    table::Gauge,
};

const U16: Kind = Kind::Unsigned(u16::MAX as u64);
const U32: Kind = Kind::Unsigned(u32::MAX as u64);
const U64: Kind = Kind::Unsigned(u64::MAX);
const DBM: Kind = Kind::Signed(-200, 0);
const DB: Kind = Kind::Signed(0, 200);

const SECURITY: [&str; 15] = [
    "None",
    "OWE",
    "WEP-64",
    "WEP-128",
    "WEP-128iv",
    "WPA-Personal",
    "WPA2-Personal",
    "WPA-WPA2-Personal",
    "WPA3-Personal",
    "WPA2-WPA3-Personal",
    "WPA-Enterprise",
    "WPA2-Enterprise",
    "WPA-WPA2-Enterprise",
    "WPA3-Enterprise",
    "WPA2-WPA3-Enterprise",
];
const ENCRYPTION: [&str; 4] = ["Default", "AES", "TKIP", "TKIP-AES"];
// The field ends at `ax` and at 160 MHz; stations of today do not.
const STANDARD: [&str; 7] = ["a", "b", "g", "n", "ac", "ax", "be"];
const WIDTH: [&str; 5] = ["20MHz", "40MHz", "80MHz", "160MHz", "320MHz"];
const DEVICE: [&str; 3] = ["Video", "Data", "Guest"];

/// All of them, by name.
#[rustfmt::skip]
pub(in crate::datamodel) static PARAMETERS: [Parameter; 86] = [
    Parameter { name: "Active", kind: Kind::Bool, keeping: Keeping::Static, read: |_| Value::Bool(true) },
    Parameter { name: "ActiveNumberOfAffiliatedSta", kind: U32, keeping: Keeping::Slow, read: |s| read::links(s).into() },
    Parameter { name: "AssociationTime", kind: Kind::Time, keeping: Keeping::Slow, read: |s| Value::Time(s.row.session().began_ns()) },
    Parameter { name: "AuthenticationState", kind: Kind::Bool, keeping: Keeping::Slow, read: |s| read::authenticated(s).into() },
    Parameter { name: "AvgSignalStrength", kind: DBM, keeping: Keeping::Slow, read: |s| s.row.gauge(Gauge::SignalAverage).into() },
    Parameter { name: "AvgSignalStrengthByChain", kind: DBM, keeping: Keeping::Live, read: |s| read::mean_of_chains(s).into() },
    Parameter { name: "Capabilities", kind: Kind::Text, keeping: Keeping::Static, read: |s| s.identity().and_then(capability::abilities).into() },
    Parameter { name: "ChargeableUserId", kind: Kind::Text, keeping: Keeping::Static, read: unknown },
    Parameter { name: "ConnectionDuration", kind: U32, keeping: Keeping::Live, read: |s| read::gauge(s, Gauge::ConnectedS).into() },
    Parameter { name: "DevicePriority", kind: U32, keeping: Keeping::Static, read: |_| Value::Unsigned(1) },
    Parameter { name: "DeviceType", kind: Kind::Word(&DEVICE), keeping: Keeping::Static, read: |_| Value::Text("Data".into()) },
    Parameter { name: "DisassociationTime", kind: Kind::Time, keeping: Keeping::Static, read: unknown },
    Parameter { name: "DownlinkBandwidth", kind: U32, keeping: Keeping::Live, read: |s| derive::downlink_bandwidth_mhz(&s.row).into() },
    Parameter { name: "DownlinkMCS", kind: U32, keeping: Keeping::Live, read: |s| read::scheme(s.row.tx_rate()).into() },
    Parameter { name: "DownlinkRateSpec", kind: Kind::Text, keeping: Keeping::Live, read: |s| read::rate_spec(s.row.tx_rate()).into() },
    Parameter { name: "DownlinkShortGuard", kind: Kind::Bool, keeping: Keeping::Live, read: |s| read::short_guard(s.row.tx_rate()).into() },
    Parameter { name: "EhtCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: unknown },
    Parameter { name: "EncryptionMode", kind: Kind::Word(&ENCRYPTION), keeping: Keeping::Static, read: |s| s.identity().and_then(capability::encryption).into() },
    Parameter { name: "FrequencyCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: |s| s.point.frequency.map(capability::band).into() },
    Parameter { name: "HeCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: |s| s.identity().and_then(capability::he).into() },
    Parameter { name: "HtCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: |s| s.identity().and_then(capability::ht).into() },
    Parameter { name: "Inactive", kind: U32, keeping: Keeping::Live, read: |s| read::gauge(s, Gauge::InactiveMs).map(|ms| ms / 1000).into() },
    Parameter { name: "LastDataDownlinkRate", kind: U32, keeping: Keeping::Live, read: |s| derive::downlink_rate_kbps(&s.row).into() },
    Parameter { name: "LastDataUplinkRate", kind: U32, keeping: Keeping::Live, read: |s| derive::uplink_rate_kbps(&s.row).into() },
    Parameter { name: "LastStateChange", kind: Kind::Time, keeping: Keeping::Slow, read: |s| Value::Time(s.row.session().began_ns()) },
    Parameter { name: "LinkBandwidth", kind: Kind::Word(&WIDTH), keeping: Keeping::Slow, read: |s| read::link_width(s).into() },
    Parameter { name: "MACAddress", kind: Kind::Address, keeping: Keeping::Static, read: |s| Value::Address(s.row.address()) },
    Parameter { name: "MLOMode", kind: Kind::Text, keeping: Keeping::Static, read: unknown },
    Parameter { name: "MUGroupId", kind: U32, keeping: Keeping::Slow, read: unknown },
    Parameter { name: "MUMimoTxPktsCount", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "MUMimoTxPktsPercentage", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "MUUserPositionId", kind: U32, keeping: Keeping::Slow, read: unknown },
    Parameter { name: "MaxBandwidthSupported", kind: Kind::Word(&WIDTH), keeping: Keeping::Static, read: |s| read::widest(s).into() },
    Parameter { name: "MaxDownlinkRateReached", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "MaxDownlinkRateSupported", kind: U32, keeping: Keeping::Static, read: |s| read::highest_rate(s, Way::Down).into() },
    Parameter { name: "MaxRxSpatialStreamsSupported", kind: U16, keeping: Keeping::Static, read: |s| read::streams(s, Way::Down).into() },
    Parameter { name: "MaxTxSpatialStreamsSupported", kind: U16, keeping: Keeping::Static, read: |s| read::streams(s, Way::Up).into() },
    Parameter { name: "MaxUplinkRateReached", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "MaxUplinkRateSupported", kind: U32, keeping: Keeping::Static, read: |s| read::highest_rate(s, Way::Up).into() },
    Parameter { name: "MultipleRetryCount", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "Noise", kind: DBM, keeping: Keeping::Live, read: |s| s.point.noise_dbm.map(i64::from).into() },
    Parameter { name: "NoiseByChain", kind: Kind::Text, keeping: Keeping::Live, read: unknown },
    Parameter { name: "OperatingStandard", kind: Kind::Word(&STANDARD), keeping: Keeping::Static, read: |s| read::standard(s).into() },
    Parameter { name: "PowerSave", kind: Kind::Bool, keeping: Keeping::Live, read: unknown },
    Parameter { name: "Retransmissions", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "RetryCount", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "RrmCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: unknown },
    Parameter { name: "RrmOffChannelMaxDuration", kind: U32, keeping: Keeping::Static, read: unknown },
    Parameter { name: "RrmOnChannelMaxDuration", kind: U32, keeping: Keeping::Static, read: unknown },
    Parameter { name: "RxBytes", kind: U64, keeping: Keeping::Live, read: |s| derive::rx_bytes(&s.row).into() },
    Parameter { name: "RxErrors", kind: U64, keeping: Keeping::Live, read: |s| derive::rx_errors(&s.row).into() },
    Parameter { name: "RxMulticastPacketCount", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "RxPacketCount", kind: U32, keeping: Keeping::Live, read: |s| derive::rx_packets(&s.row).into() },
    Parameter { name: "RxSupportedHe160MCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::he_schemes(s, Way::Down, HeWidth::Mhz160).into() },
    Parameter { name: "RxSupportedHe80x80MCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::he_schemes(s, Way::Down, HeWidth::Mhz80Plus80).into() },
    Parameter { name: "RxSupportedHeMCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::he_schemes(s, Way::Down, HeWidth::Mhz80).into() },
    Parameter { name: "RxSupportedVhtMCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::vht_schemes(s, Way::Down).into() },
    Parameter { name: "RxUnicastPacketCount", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "Rx_Retransmissions", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "Rx_RetransmissionsFailed", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "SecurityModeEnabled", kind: Kind::Word(&SECURITY), keeping: Keeping::Static, read: |s| s.identity().and_then(capability::security).into() },
    Parameter { name: "SignalNoiseRatio", kind: DB, keeping: Keeping::Live, read: |s| derive::snr_db(&s.row, s.point).into() },
    Parameter { name: "SignalStrength", kind: DBM, keeping: Keeping::Live, read: |s| derive::signal_dbm(&s.row).into() },
    Parameter { name: "SignalStrengthByChain", kind: Kind::Text, keeping: Keeping::Live, read: |s| read::signal_by_chain(s).into() },
    Parameter { name: "SignalStrengthHistory", kind: Kind::Text, keeping: Keeping::Live, read: |s| read::signal_history(s).into() },
    Parameter { name: "SupportedHtMCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| s.identity().and_then(capability::ht_schemes).into() },
    Parameter { name: "SupportedMCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| s.identity().and_then(capability::legacy_rates).into() },
    Parameter { name: "TxBytes", kind: U64, keeping: Keeping::Live, read: |s| derive::tx_bytes(&s.row).into() },
    Parameter { name: "TxErrors", kind: U32, keeping: Keeping::Live, read: |s| derive::tx_errors(&s.row).into() },
    Parameter { name: "TxMulticastPacketCount", kind: U32, keeping: Keeping::Live, read: unknown },
    Parameter { name: "TxPacketCount", kind: U32, keeping: Keeping::Live, read: |s| derive::tx_packets(&s.row).into() },
    Parameter { name: "TxSupportedHe160MCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::he_schemes(s, Way::Up, HeWidth::Mhz160).into() },
    Parameter { name: "TxSupportedHe80x80MCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::he_schemes(s, Way::Up, HeWidth::Mhz80Plus80).into() },
    Parameter { name: "TxSupportedHeMCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::he_schemes(s, Way::Up, HeWidth::Mhz80).into() },
    Parameter { name: "TxSupportedVhtMCS", kind: Kind::Text, keeping: Keeping::Static, read: |s| read::vht_schemes(s, Way::Up).into() },
    Parameter { name: "TxUnicastPacketCount", kind: U32, keeping: Keeping::Live, read: |s| derive::tx_unicast_packets(&s.row).into() },
    Parameter { name: "Tx_Retransmissions", kind: U32, keeping: Keeping::Live, read: |s| derive::tx_retransmissions(&s.row).into() },
    Parameter { name: "Tx_RetransmissionsFailed", kind: U32, keeping: Keeping::Live, read: |s| derive::tx_errors(&s.row).into() },
    Parameter { name: "UNIIBandsCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: unknown },
    Parameter { name: "UplinkBandwidth", kind: U32, keeping: Keeping::Live, read: |s| derive::uplink_bandwidth_mhz(&s.row).into() },
    Parameter { name: "UplinkMCS", kind: U32, keeping: Keeping::Live, read: |s| read::scheme(s.row.rx_rate()).into() },
    Parameter { name: "UplinkRateSpec", kind: Kind::Text, keeping: Keeping::Live, read: |s| read::rate_spec(s.row.rx_rate()).into() },
    Parameter { name: "UplinkShortGuard", kind: Kind::Bool, keeping: Keeping::Live, read: |s| read::short_guard(s.row.rx_rate()).into() },
    Parameter { name: "VendorCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: unknown },
    Parameter { name: "VendorOUI", kind: Kind::Text, keeping: Keeping::Static, read: unknown },
    Parameter { name: "VhtCapabilities", kind: Kind::Text, keeping: Keeping::Static, read: |s| s.identity().and_then(capability::vht).into() },
];
