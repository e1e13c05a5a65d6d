//! Lists of stations as they come over a socket: whole, given up, damaged.
//!
//! The kernel is played; what a message says is tested beside its reader. Lists that change, are lost or are refused half-way
//! are tested with the engine that lives on them (`crates/stationd/tests/engine`).

use linux::{
    netlink::{Error, Patience, ReadCost, Request, Transport, Wire},
    nl80211::Nl80211,
};
use rustix::io::Errno;

use crate::kernel::{
    Answer, WLAN0, address, attributes, conversation, counted, done, listed, refused,
};

fn list(nl80211: &mut Nl80211) -> (Result<ReadCost, Error>, Vec<(u8, u32)>) {
    let mut seen = Vec::new();
    let cost = nl80211.stations(WLAN0, |reading| seen.push((reading.address[5], reading.attempt)));
    (cost, seen)
}

fn whole(stations: &[u8]) -> Answer {
    let mut datagrams: Vec<_> =
        stations.chunks(2).map(|some| some.iter().map(|last| listed(*last)).collect()).collect();
    datagrams.push(vec![done(0)]);
    Answer::Says(datagrams)
}

#[test]
fn a_list_of_several_datagrams_is_seen_whole_and_its_cost_is_reported() {
    let mut nl80211 = conversation(vec![whole(&[1, 2, 3])]);
    let (cost, seen) = list(&mut nl80211);
    let cost = cost.unwrap();
    assert_eq!(seen, [(1, 0), (2, 0), (3, 0)]);
    assert_eq!((cost.restarts, cost.settled), (0, true));
    let one = listed(1).bytes(0, 0).len() as u64;
    assert_eq!(cost.bytes, 3 * one + done(0).bytes(0, 0).len() as u64);
}

#[test]
fn an_empty_list_is_no_error() {
    let (cost, seen) = list(&mut conversation(vec![whole(&[])]));
    assert!(cost.unwrap().settled && seen.is_empty());
}

#[test]
fn the_rest_of_a_list_that_was_given_up_is_not_the_next_ones() {
    let cut = |number| {
        let mut bytes = listed(1).bytes(2, number);
        bytes.truncate(40);
        bytes
    };
    let mut nl80211 = conversation(vec![Answer::Raw(cut), whole(&[2])]);
    assert!(matches!(list(&mut nl80211).0, Err(Error::Malformed { .. })));
    assert_eq!(list(&mut nl80211).1, [(2, 0)]);
}

#[test]
fn a_stale_reply_among_the_new_ones_is_passed_over() {
    let mixed = |number: u32| {
        let stale = listed(9).bytes(2, number.wrapping_sub(1));
        [stale, listed(2).bytes(2, number), done(0).bytes(2, number)].concat()
    };
    assert_eq!(list(&mut conversation(vec![Answer::Raw(mixed)])).1, [(2, 0)]);
}

#[test]
fn a_datagram_longer_than_the_buffer_is_malformed_and_not_read_in_part() {
    let long = |number| attributes().attribute(1, &[0; 40_000]).bytes(2, number);
    let mut nl80211 = conversation(vec![Answer::Raw(long), whole(&[2])]);
    let (cost, seen) = list(&mut nl80211);
    assert!(matches!(cost, Err(Error::Malformed { what: "longer than the buffer", .. })));
    assert!(seen.is_empty());
    assert_eq!(list(&mut nl80211).1, [(2, 0)]);
}

#[test]
fn a_socket_reports_the_true_length_of_a_datagram_that_it_cut() {
    let (mut ours, mut theirs) = Wire::pair().unwrap();
    theirs.send(&[7; 100]).unwrap();
    assert_eq!(ours.receive(&mut [0; 10], Patience::Wait), Ok(100));
    assert_eq!(ours.receive(&mut [0; 10], Patience::Never), Err(Errno::AGAIN));
}

#[test]
fn a_bare_list_costs_the_same_and_shows_none() {
    let mut nl80211 = conversation(vec![whole(&[1, 2, 3]), whole(&[1, 2, 3])]);
    let bare = nl80211.bare_dump(WLAN0).unwrap();
    assert_eq!(bare, list(&mut nl80211).0.unwrap());
}

#[test]
fn one_station_is_found_or_absent_or_the_question_refused() {
    let found = Answer::Says(vec![vec![listed(3)], vec![refused(0)]]);
    let code = |errno: Errno| Answer::Says(vec![vec![refused(-errno.raw_os_error())]]);
    let mut nl80211 = conversation(vec![found, code(Errno::NOENT), code(Errno::NODEV)]);
    assert_eq!(nl80211.station(WLAN0, address(3)).unwrap().unwrap().inactive_ms, Some(3));
    assert_eq!(nl80211.station(WLAN0, address(3)).unwrap(), None);
    assert!(nl80211.station(WLAN0, address(3)).unwrap_err().is_refusal(Errno::NODEV));
}

#[test]
fn the_request_names_the_interface_and_the_station() {
    let (mut nl80211, asked) = counted(vec![Answer::Says(vec![vec![listed(3)], vec![refused(0)]])]);
    assert!(nl80211.station(WLAN0, address(3)).unwrap().is_some());
    let expected = Request::generic("", 28, 17).number(3, WLAN0).attribute(6, &address(3));
    assert_eq!(*asked.lock().unwrap(), [expected.bytes(4, 2)]);
}
