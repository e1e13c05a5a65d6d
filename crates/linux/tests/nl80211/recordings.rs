//! What a real kernel said, read again: Linux 6.1 with mac80211_hwsim, hostapd and 6 or 38 stations.
//!
//! The recordings were made in headroom's virtual access point; `linux::netlink::Recording` says what is in the files.

use std::collections::BTreeSet;

use linux::{
    netlink::{Messages, Recording, RecordingError, Replay, Script},
    nl80211::{InterfaceKind, Membership, Mlme, Nl80211, RateMode, StationFlags, StationReading},
};
use rustix::io::Errno;

pub(crate) const DUMP_6: &[u8] = include_bytes!("../recordings/dump-6.netlink");
pub(crate) const DUMP_38: &[u8] = include_bytes!("../recordings/dump-38.netlink");
pub(crate) const EVENTS_6: &[u8] = include_bytes!("../recordings/events-6.netlink");
pub(crate) const EVENTS_38: &[u8] = include_bytes!("../recordings/events-38.netlink");

fn replayed(bytes: &[u8]) -> Nl80211 {
    Nl80211::over(Replay::new(Recording::read(bytes).unwrap()).unwrap()).unwrap()
}

fn all_stations(nl80211: &mut Nl80211) -> usize {
    let mut seen = BTreeSet::new();
    for interface in nl80211.interfaces().unwrap() {
        if interface.kind == InterfaceKind::AccessPoint {
            assert!(interface.ssid.is_some() && interface.channel.is_some(), "{interface:?}");
            let cost = nl80211.stations(interface.index, |reading| {
                assert_eq!(reading.interface, interface.index);
                has_hwsims_figures(reading);
                seen.insert(reading.address);
            });
            let cost = cost.unwrap();
            assert!(cost.settled, "{cost:?}");
        }
    }
    seen.len()
}

#[test]
fn every_station_is_found_once_however_often_a_recording_is_polled() {
    for (bytes, stations) in [(DUMP_6, 6), (DUMP_38, 38)] {
        let mut nl80211 = replayed(bytes);
        let polled = [(); 3].map(|()| all_stations(&mut nl80211));
        assert_eq!(polled, [stations; 3]);
    }
}

#[test]
fn a_question_that_was_never_asked_is_refused() {
    let mut nl80211 = replayed(DUMP_6);
    let error = nl80211.stations(4711, |_| {}).unwrap_err();
    assert!(error.is_refusal(Errno::OPNOTSUPP), "{error}");
}

/// The figures that hwsim keeps of each station.
fn has_hwsims_figures(reading: &StationReading) {
    assert!(reading.flags.is_some_and(StationFlags::authorised));
    assert!(reading.tx_bytes.is_some_and(|count| count.wide && count.value > 0));
    assert!(reading.rx_packets.is_some_and(|packets| packets > 0));
    assert!(reading.signal_dbm.is_some_and(|dbm| dbm < 0));
    assert!(reading.generation.is_some() && reading.connected_s.is_some());
    assert!(reading.rx_rate.is_some_and(|rate| rate.kbps.is_some()), "{reading:?}");
    assert!(reading.tx_rate.is_none_or(|rate| rate.mode <= RateMode::Eht));
}

#[test]
fn a_station_that_is_asked_for_alone_is_that_one() {
    let mut nl80211 = replayed(DUMP_6);
    let wlan0 = nl80211.interfaces().unwrap().remove(0);
    assert_eq!(wlan0.name, "wlan0");
    let mut last = None;
    nl80211.stations(wlan0.index, |reading| last = Some(reading.address)).unwrap();
    let alone = nl80211.station(wlan0.index, last.unwrap()).unwrap().unwrap();
    assert_eq!(Some(alone.address), last);
}

/// How many stations leave, as the reader of events hears a recording.
fn left(bytes: &[u8]) -> usize {
    let recording = Recording::read(bytes).unwrap();
    let replies = &recording.exchanges[0].replies;
    let family = Messages::new(&replies[0]).next().unwrap().unwrap().kind;
    let silent = Script::new(|_: &[u8]| Vec::new()).unwrap();
    let said = replies.iter().fold(silent, |said, reply| said.saying(Ok(reply.clone())));
    let mut left = 0;
    let read = Mlme::over(said, family).read(|event| {
        if let Membership::Left { last, .. } = event {
            assert!(last.rx_bytes.is_some(), "the last figures come with the farewell");
            left += 1;
        }
    });
    read.unwrap();
    left
}

#[test]
fn those_who_were_sent_away_are_heard_to_leave() {
    assert!(left(EVENTS_6) >= 3 && left(EVENTS_38) >= 3);
}

#[test]
fn bytes_that_are_no_recording_are_named() {
    assert_eq!(Recording::read(b"PNG"), Err(RecordingError::Format));
    let line = DUMP_6.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let damaged = Err(RecordingError::Damaged { at: line });
    assert_eq!(Recording::read(&DUMP_6[..line + 3]), damaged, "a cut head");
    assert_eq!(Recording::read(&DUMP_6[..line + 9]), damaged, "a cut datagram");
    let other = [&DUMP_6[..line], &[7, 0, 0, 0, 0]].concat();
    assert_eq!(Recording::read(&other), damaged, "neither request nor reply");
    assert!(Recording::read(&DUMP_6[..line]).unwrap().exchanges.is_empty());
}
