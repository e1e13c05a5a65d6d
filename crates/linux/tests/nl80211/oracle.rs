//! The recorded bytes, read by us and by `wl-nl80211`: where both know a field, they agree.
//!
//! What only one of the two reads (links, surveys that hwsim does not keep) is not compared here.

use linux::{
    netlink::{Messages, Recording},
    nl80211::{Count, Rate, StationReading, station},
};
use wl_nl80211::{
    Nl80211Attr, Nl80211Message, Nl80211RateInfo, Nl80211StationInfo, Nl80211StationInfo as Info,
    packet_core::ParseableParametrized, packet_generic::GenlHeader,
};

use crate::recordings::{DUMP_6, DUMP_38, EVENTS_6, EVENTS_38};

const NEW_STATION: u8 = 19;
const DEL_STATION: u8 = 20;

#[test]
fn both_readers_say_the_same_of_every_recorded_station() {
    let mut compared = (0, 0);
    for bytes in [DUMP_6, DUMP_38, EVENTS_6, EVENTS_38] {
        Recording::read(bytes).unwrap().replay(|datagram| {
            for message in Messages::new(datagram) {
                let payload = message.unwrap().payload;
                if matches!(payload.first(), Some(&(NEW_STATION | DEL_STATION))) {
                    compared.0 += 1;
                    compared.1 += agree(payload);
                }
            }
        });
    }
    assert!(compared.0 > 44 && compared.1 > 44 * 20, "{compared:?} messages and fields");
}

/// How many fields were compared.
fn agree(payload: &[u8]) -> usize {
    let ours = station(payload).unwrap();
    let header = GenlHeader { cmd: payload[0], version: payload[1] };
    let theirs = Nl80211Message::parse_with_param(&payload[4..], header).unwrap();
    theirs.attributes.iter().map(|attribute| same_attribute(&ours, attribute)).sum()
}

fn same_attribute(ours: &StationReading, theirs: &Nl80211Attr) -> usize {
    match theirs {
        Nl80211Attr::IfIndex(index) => assert_eq!(ours.interface, *index),
        Nl80211Attr::Mac(address) => assert_eq!(ours.address, *address),
        Nl80211Attr::Generation(generation) => assert_eq!(ours.generation, Some(*generation)),
        Nl80211Attr::StationInfo(fields) => {
            return fields.iter().filter(|field| same_field(ours, field)).count();
        }
        _ => return 0,
    }
    1
}

/// Whether this is a field that we read, too; then it is equal.
fn same_field(ours: &StationReading, theirs: &Nl80211StationInfo) -> bool {
    match theirs {
        Info::InactiveTime(value) => assert_eq!(ours.inactive_ms, Some(*value)),
        Info::ConnectedTime(value) => assert_eq!(ours.connected_s, Some(*value)),
        Info::TxBytes(value) => narrow(ours.tx_bytes, *value),
        Info::RxBytes(value) => narrow(ours.rx_bytes, *value),
        Info::TxBytes64(value) => wide(ours.tx_bytes, *value),
        Info::RxBytes64(value) => wide(ours.rx_bytes, *value),
        Info::TxPackets(value) => assert_eq!(ours.tx_packets, Some(*value)),
        Info::RxPackets(value) => assert_eq!(ours.rx_packets, Some(*value)),
        Info::TxRetries(value) => assert_eq!(ours.tx_retries, Some(*value)),
        Info::TxFailed(value) => assert_eq!(ours.tx_failed, Some(*value)),
        Info::RxDropMisc(value) => assert_eq!(ours.rx_dropped, Some(*value)),
        Info::FcsErrorCount(value) => assert_eq!(ours.fcs_errors, Some(*value)),
        Info::RxMpdus(value) => assert_eq!(ours.rx_mpdus, Some(*value)),
        Info::ExpectedThroughput(value) => {
            assert_eq!(ours.expected_throughput_kbps, Some(*value));
        }
        Info::StationFlags(value) => {
            let ours = ours.flags.unwrap();
            assert_eq!((ours.known, ours.set), (value.mask.bits(), value.set.bits()));
        }
        other => return same_on_the_air(ours, other),
    }
    true
}

fn same_on_the_air(ours: &StationReading, theirs: &Nl80211StationInfo) -> bool {
    match theirs {
        Info::Signal(value) => assert_eq!(ours.signal_dbm, Some(*value)),
        Info::SignalAvg(value) => assert_eq!(ours.signal_average_dbm, Some(*value)),
        Info::ChainSignal(values) => {
            assert_eq!(ours.chain_signal.iter().map(|(_, dbm)| dbm).collect::<Vec<_>>(), *values);
        }
        Info::AckSignal(value) => assert_eq!(ours.ack_signal_dbm, Some(*value)),
        Info::TxBitrate(fields) => same_rate(ours.tx_rate.unwrap(), fields),
        Info::RxBitrate(fields) => same_rate(ours.rx_rate.unwrap(), fields),
        Info::RxDuration(value) => assert_eq!(ours.rx_duration_us, Some(*value)),
        Info::TxDuration(value) => assert_eq!(ours.tx_duration_us, Some(*value)),
        Info::AssociationAtBoottime(value) => {
            assert_eq!(ours.associated_at_boottime_ns, Some(*value));
        }
        _ => return false,
    }
    true
}

fn narrow(ours: Option<Count>, theirs: u32) {
    assert_eq!(ours.unwrap().value as u32, theirs, "the wide counter's lower half");
}

fn wide(ours: Option<Count>, theirs: u64) {
    assert_eq!(ours, Some(Count { value: theirs, wide: true }));
}

fn same_rate(ours: Rate, theirs: &[Nl80211RateInfo]) {
    for field in theirs {
        match field {
            Nl80211RateInfo::Bitrate(value) => {
                assert_eq!(ours.kbps, Some(u32::from(*value) * 100));
            }
            Nl80211RateInfo::Bitrate32(value) => assert_eq!(ours.kbps, Some(value * 100)),
            Nl80211RateInfo::MhzWidth(value) => assert_eq!(u32::from(ours.width_mhz), *value),
            Nl80211RateInfo::ShortGi => assert!(ours.short_guard),
            Nl80211RateInfo::Mcs(value)
            | Nl80211RateInfo::VhtMcs(value)
            | Nl80211RateInfo::HeMcs(value)
            | Nl80211RateInfo::EhtMcs(value) => assert_eq!(ours.mcs, Some(*value)),
            Nl80211RateInfo::VhtNss(value)
            | Nl80211RateInfo::HeNss(value)
            | Nl80211RateInfo::EhtNss(value) => assert_eq!(ours.streams, Some(*value)),
            other => panic!("{other:?} was not in the recordings when this was written"),
        }
    }
}
