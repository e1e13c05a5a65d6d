//! The names of `Device.WiFi.AccessPoint.{i}.AssociatedDevice.{i}.` and its `Stats.`, TR-181 2.19.1.
//!
//! Each is another name for one of the field's parameters, so the two trees cannot disagree. “Sent” and
//! “downlink” are from the access point to the station. Retries are counted there by the packets that
//! needed one or several; nl80211 counts the retries, so those parameters are absent.

use super::{Leaf, Number, PARAMETERS};

/// All of them: 16, and 10 under `Stats.`.
#[rustfmt::skip]
pub(super) static LEAVES: [Leaf; 26] = [
    is("Active", "Active"),
    is("AssociationTime", "AssociationTime"),
    is("AuthenticationState", "AuthenticationState"),
    is("LastDataDownlinkRate", "LastDataDownlinkRate"),
    is("LastDataUplinkRate", "LastDataUplinkRate"),
    is("MACAddress", "MACAddress"),
    is("MaxSupportedBandwidth", "MaxBandwidthSupported"),
    is("MaxSupportedDataDownlinkRate", "MaxDownlinkRateSupported"),
    is("MaxSupportedDataUplinkRate", "MaxUplinkRateSupported"),
    is("Noise", "Noise"),
    is("OperatingStandard", "OperatingStandard"),
    is("Retransmissions", "Retransmissions"),
    is("SNR", "SignalNoiseRatio"),
    unknown("SetStaATF"),
    is("SignalStrength", "SignalStrength"),
    is("Stats.BytesReceived", "RxBytes"),
    is("Stats.BytesSent", "TxBytes"),
    is("Stats.ErrorsReceived", "RxErrors"),
    is("Stats.ErrorsSent", "TxErrors"),
    is("Stats.FailedRetransCount", "Tx_RetransmissionsFailed"),
    is("Stats.MultipleRetryCount", "MultipleRetryCount"),
    is("Stats.PacketsReceived", "RxPacketCount"),
    is("Stats.PacketsSent", "TxPacketCount"),
    is("Stats.RetransCount", "Tx_Retransmissions"),
    is("Stats.RetryCount", "RetryCount"),
    unknown("Type"),
];

const fn unknown(name: &'static str) -> Leaf {
    Leaf { name, number: None }
}

/// The parameter of the field's name is found by the compiler; one that is not there does not compile.
const fn is(name: &'static str, field: &str) -> Leaf {
    let mut number = 0;
    while !same(PARAMETERS[number].name, field) {
        number += 1;
    }
    Leaf { name, number: Some(number as Number) }
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
