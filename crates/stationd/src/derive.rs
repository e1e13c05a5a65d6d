//! The values that both replies have: each derived from a station's row in one place only.
//!
//! Pure. The brief and the full reply call the same functions, so that the two cannot disagree.
//! It formats nothing, and it knows no names of parameters.
//!
//! Direction: “downlink”, “sent” and “transmitted” are from the access point to the station, which is
//! nl80211's TX. Others have mapped it the other way round.

use crate::{
    points::Point,
    table::{Counted, Gauge, Row},
};

/// `TxBytes`: to the station.
pub fn tx_bytes(row: &Row<'_>) -> Option<u64> {
    row.counter(Counted::TxBytes)
}

/// `RxBytes`: from the station.
pub fn rx_bytes(row: &Row<'_>) -> Option<u64> {
    row.counter(Counted::RxBytes)
}

/// `TxPacketCount`: to the station.
pub fn tx_packets(row: &Row<'_>) -> Option<u64> {
    row.counter(Counted::TxPackets)
}

/// `RxPacketCount`: from the station.
pub fn rx_packets(row: &Row<'_>) -> Option<u64> {
    row.counter(Counted::RxPackets)
}

/// `TxUnicastPacketCount`: nl80211 has no such counter, but what mac80211 counts for a station was sent
/// to it alone.
pub fn tx_unicast_packets(row: &Row<'_>) -> Option<u64> {
    tx_packets(row)
}

/// `TxErrors`: frames that were given up.
pub fn tx_errors(row: &Row<'_>) -> Option<u64> {
    row.counter(Counted::TxFailed)
}

/// `RxErrors`: frames that were dropped; the field's daemon reads the same one.
pub fn rx_errors(row: &Row<'_>) -> Option<u64> {
    row.counter(Counted::RxDropped)
}

/// `Tx_Retransmissions`: frames that were sent again.
pub fn tx_retransmissions(row: &Row<'_>) -> Option<u64> {
    row.counter(Counted::TxRetries)
}

/// `LastDataDownlinkRate`, kbit/s.
pub fn downlink_rate_kbps(row: &Row<'_>) -> Option<u32> {
    row.tx_rate()?.kbps
}

/// `LastDataUplinkRate`, kbit/s.
pub fn uplink_rate_kbps(row: &Row<'_>) -> Option<u32> {
    row.rx_rate()?.kbps
}

/// `DownlinkBandwidth`, MHz.
pub fn downlink_bandwidth_mhz(row: &Row<'_>) -> Option<u32> {
    row.tx_rate().map(|rate| u32::from(rate.width.mhz()))
}

/// `UplinkBandwidth`, MHz.
pub fn uplink_bandwidth_mhz(row: &Row<'_>) -> Option<u32> {
    row.rx_rate().map(|rate| u32::from(rate.width.mhz()))
}

/// `SignalStrength`, dBm.
pub fn signal_dbm(row: &Row<'_>) -> Option<i64> {
    row.gauge(Gauge::Signal)
}

/// `SignalNoiseRatio`, dB: absent where the noise is unknown, or above the signal.
pub fn snr_db(row: &Row<'_>, point: &Point) -> Option<i64> {
    let ratio = signal_dbm(row)? - i64::from(point.noise_dbm?);
    (ratio >= 0).then_some(ratio)
}
