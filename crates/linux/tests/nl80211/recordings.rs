//! What a real kernel said, read again: Linux 6.1 with mac80211_hwsim, hostapd and 6 or 38 stations.
//!
//! The recordings were made by `examples/record_stations.rs` in headroom's virtual access point.

use std::collections::BTreeSet;

use linux::{
    netlink::{Messages, Recorder, Recording, RecordingError, Replay, Script},
    nl80211::{InterfaceKind, Membership, Mlme, Nl80211, RateMode, StationFlags},
};
use rustix::io::Errno;

pub(crate) const DUMP_6: &[u8] = include_bytes!("../recordings/dump-6.netlink");
pub(crate) const DUMP_38: &[u8] = include_bytes!("../recordings/dump-38.netlink");
pub(crate) const EVENTS_6: &[u8] = include_bytes!("../recordings/events-6.netlink");
pub(crate) const EVENTS_38: &[u8] = include_bytes!("../recordings/events-38.netlink");

fn replayed(bytes: &[u8]) -> Nl80211 {
    Nl80211::over(Replay::new(Recording::read(bytes).unwrap()).unwrap()).unwrap()
}

fn all_stations(bytes: &[u8]) -> usize {
    let mut nl80211 = replayed(bytes);
    let mut seen = BTreeSet::new();
    for interface in nl80211.interfaces().unwrap() {
        if interface.kind == InterfaceKind::AccessPoint {
            let cost = nl80211.stations(interface.index, |reading| {
                assert_eq!(reading.interface, interface.index);
                assert!(reading.flags.is_some_and(StationFlags::authorised));
                seen.insert(reading.address);
            });
            let cost = cost.unwrap();
            assert!(cost.settled, "{cost:?}");
        }
    }
    seen.len()
}

#[test]
fn every_station_is_found_once() {
    assert_eq!(all_stations(DUMP_6), 6);
    assert_eq!(all_stations(DUMP_38), 38);
}

#[test]
fn a_recorded_list_can_be_polled_for_ever() {
    let mut nl80211 = replayed(DUMP_6);
    let wlan0 = nl80211.interfaces().unwrap().remove(0);
    let poll = |nl80211: &mut Nl80211| {
        let mut all = Vec::new();
        nl80211.stations(wlan0.index, |reading| all.push(*reading)).unwrap();
        all
    };
    let first = poll(&mut nl80211);
    assert_eq!(poll(&mut nl80211), first);
    assert!(!first.is_empty());
}

#[test]
fn a_station_has_the_figures_that_hwsim_keeps() {
    let mut nl80211 = replayed(DUMP_6);
    let wlan0 = nl80211.interfaces().unwrap().remove(0);
    assert_eq!(wlan0.name, "wlan0");
    assert!(wlan0.ssid.is_some() && wlan0.channel.is_some(), "{wlan0:?}");
    let mut last = None;
    nl80211.stations(wlan0.index, |reading| last = Some(*reading)).unwrap();
    let last = last.unwrap();
    assert!(last.tx_bytes.is_some_and(|count| count.wide && count.value > 0));
    assert!(last.rx_packets.is_some_and(|packets| packets > 0));
    assert!(last.signal_dbm.is_some_and(|dbm| dbm < 0));
    assert!(last.generation.is_some() && last.connected_s.is_some());
    assert!(last.rx_rate.is_some_and(|rate| rate.kbps.is_some()), "{last:?}");
    assert!(last.tx_rate.is_none_or(|rate| rate.mode <= RateMode::Eht));
    let alone = nl80211.station(wlan0.index, last.address).unwrap().unwrap();
    assert_eq!(alone.address, last.address);
}

#[test]
fn a_question_that_was_never_asked_is_refused() {
    let mut nl80211 = replayed(DUMP_6);
    let error = nl80211.stations(4711, |_| {}).unwrap_err();
    assert!(error.is_refusal(Errno::OPNOTSUPP), "{error}");
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
fn a_recording_of_a_replay_is_the_recording() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let original = Recording::read(DUMP_6).unwrap();
    let replay = Replay::new(original.clone()).unwrap();
    let recorder = Recorder::new(replay, file.reopen().unwrap()).unwrap();
    let mut nl80211 = Nl80211::over(recorder).unwrap();
    nl80211.interfaces().unwrap();
    let again = Recording::read(&std::fs::read(file.path()).unwrap()).unwrap();
    assert_eq!(again.exchanges, original.exchanges[..again.exchanges.len()]);
    assert_eq!(again.exchanges.len(), 2);
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
