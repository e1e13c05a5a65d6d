//! The schema has the field's names and types, and TR-181's, each once, and their directions.

use super::*;

/// As `reference/stationd.md` lists them, in its order.
const VOLATILE: &str = "LastDataDownlinkRate u32, LastDataUplinkRate u32, SignalStrength i32, \
    SignalStrengthHistory str, SignalStrengthByChain str, NoiseByChain str, AvgSignalStrengthByChain i32, \
    Retransmissions u32, SignalNoiseRatio i32, Noise i32, Inactive u32, RxPacketCount u32, \
    TxPacketCount u32, RxUnicastPacketCount u32, TxUnicastPacketCount u32, RxMulticastPacketCount u32, \
    TxMulticastPacketCount u32, TxBytes u64, RxBytes u64, TxErrors u32, RxErrors u64, \
    Rx_Retransmissions u32, Rx_RetransmissionsFailed u32, Tx_Retransmissions u32, \
    Tx_RetransmissionsFailed u32, RetryCount u32, MultipleRetryCount u32, UplinkMCS u32, \
    UplinkBandwidth u32, UplinkShortGuard bool, UplinkRateSpec str, DownlinkMCS u32, \
    DownlinkBandwidth u32, DownlinkShortGuard bool, DownlinkRateSpec str, MaxDownlinkRateReached u32, \
    MaxUplinkRateReached u32, PowerSave bool, ConnectionDuration u32, MUMimoTxPktsCount u32, \
    MUMimoTxPktsPercentage u32";

const NOT_VOLATILE: &str = "MACAddress mac, ChargeableUserId str, AuthenticationState bool, Active bool, \
    LastStateChange datetime, AssociationTime datetime, DisassociationTime datetime, \
    SecurityModeEnabled enum, EncryptionMode enum, OperatingStandard enum, MLOMode str, \
    ActiveNumberOfAffiliatedSta u32, MaxRxSpatialStreamsSupported u16, MaxTxSpatialStreamsSupported u16, \
    MaxDownlinkRateSupported u32, MaxUplinkRateSupported u32, MaxBandwidthSupported enum, \
    Capabilities str, VendorCapabilities str, SupportedMCS str, SupportedHtMCS str, \
    RxSupportedVhtMCS str, TxSupportedVhtMCS str, RxSupportedHeMCS str, TxSupportedHeMCS str, \
    RxSupportedHe160MCS str, TxSupportedHe160MCS str, RxSupportedHe80x80MCS str, \
    TxSupportedHe80x80MCS str, VendorOUI str, HtCapabilities str, VhtCapabilities str, \
    HeCapabilities str, EhtCapabilities str, RrmCapabilities str, RrmOnChannelMaxDuration u32, \
    RrmOffChannelMaxDuration u32, FrequencyCapabilities str, UNIIBandsCapabilities str, \
    DeviceType enum, DevicePriority u32, AvgSignalStrength i32, LinkBandwidth enum, MUGroupId u32, \
    MUUserPositionId u32";

const TR_181: &str = "MACAddress, Type, SetStaATF, OperatingStandard, AuthenticationState, \
    LastDataDownlinkRate, MaxSupportedDataDownlinkRate, LastDataUplinkRate, \
    MaxSupportedDataUplinkRate, AssociationTime, SignalStrength, Noise, SNR, Retransmissions, Active, \
    MaxSupportedBandwidth";

const TR_181_STATS: &str = "BytesSent, BytesReceived, PacketsSent, PacketsReceived, ErrorsSent, \
    ErrorsReceived, RetransCount, FailedRetransCount, RetryCount, MultipleRetryCount";

fn type_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Signed(..) => "i32",
        Kind::Unsigned(most) if most == u64::from(u16::MAX) => "u16",
        Kind::Unsigned(most) if most == u64::from(u32::MAX) => "u32",
        Kind::Unsigned(_) => "u64",
        Kind::Text => "str",
        Kind::Word(_) => "enum",
        Kind::Time => "datetime",
        Kind::Address => "mac",
    }
}

fn listed(is_live: bool) -> Vec<String> {
    let of = parameters().filter(|one| (one.keeping == Keeping::Live) == is_live);
    of.map(|one| format!("{} {}", one.name, type_word(one.kind))).collect()
}

fn sorted(list: &str) -> Vec<String> {
    let mut words: Vec<_> = list.split(", ").map(|word| word.trim().to_owned()).collect();
    words.sort();
    words
}

#[test]
fn the_86_parameters_are_the_fields() {
    assert_eq!((listed(true).len(), listed(false).len()), (41, KEPT));
    assert_eq!(listed(true), sorted(VOLATILE));
    assert_eq!(listed(false), sorted(NOT_VOLATILE));
}

#[test]
fn every_name_is_found_and_no_other() {
    for (number, parameter) in parameters().enumerate() {
        assert_eq!(find(parameter.name), Some(number as Number), "{}", parameter.name);
    }
    assert_eq!((find("TxByte"), find("txbytes"), find("")), (None, None, None));
}

#[test]
fn every_parameter_that_is_written_has_its_place() {
    for (place, number) in WRITTEN.into_iter().enumerate() {
        assert_eq!(PLACES[usize::from(number)], Some(place as u8));
    }
    assert_eq!(PLACES.iter().flatten().count(), KEPT);
}

#[test]
fn the_standard_tree_has_16_and_10_names() {
    let leaves = Tree::Standard.leaves();
    let of = |is_stats: bool| -> Vec<String> {
        let names = leaves.iter().map(|leaf| leaf.name);
        let names = names.filter(|name| name.starts_with("Stats.") == is_stats);
        names.map(|name| name.trim_start_matches("Stats.").to_owned()).collect()
    };
    assert_eq!(of(false), sorted(TR_181));
    assert_eq!(of(true), sorted(TR_181_STATS));
}

#[test]
fn a_kind_admits_what_it_is_and_absence() {
    let width = PARAMETERS[usize::from(find("LinkBandwidth").unwrap())].kind;
    assert!(width.admits(&Value::Text("80MHz".into())) && width.admits(&Value::Absent));
    assert!(!width.admits(&Value::Text("80".into())) && !width.admits(&Value::Unsigned(80)));
    let signal = PARAMETERS[usize::from(find("AvgSignalStrength").unwrap())].kind;
    assert!(signal.admits(&Value::Signed(0)) && signal.admits(&Value::Signed(-200)));
    assert!(!signal.admits(&Value::Signed(1)) && !signal.admits(&Value::Signed(-201)));
    let streams = PARAMETERS[usize::from(find("MaxRxSpatialStreamsSupported").unwrap())].kind;
    assert!(!streams.admits(&Value::Unsigned(65_536)));
}
