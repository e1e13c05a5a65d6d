//! Who comes and goes: events in order, losses told, other news passed over.

use linux::{
    netlink::{Error, Reply, Request, Script, Transport, Wire},
    nl80211::{Membership, Mlme},
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kernel::{FAMILY, WLAN0, attributes, station};

fn hearing(said: Vec<Reply>) -> Mlme {
    let silent = Script::new(|_: &[u8]| Vec::new()).unwrap();
    Mlme::over(said.into_iter().fold(silent, Script::saying), FAMILY)
}

fn heard(mlme: &mut Mlme) -> (Result<(), Error>, Vec<String>) {
    let mut events = Vec::new();
    let result = mlme.read(|event| {
        events.push(match event {
            Membership::Joined(reading) => format!("joined {}", reading.address[5]),
            Membership::Left { last, reason } => {
                format!("left {} {:?} {reason:?}", last.address[5], last.rx_packets)
            }
            other => format!("{other:?}"),
        });
    });
    (result, events)
}

fn event(request: &Request) -> Reply {
    Ok(request.bytes(0, 0))
}

#[test]
fn stations_come_and_go_with_their_last_figures() {
    let leaving = station(20, 2, &attributes().number(9, 42));
    let mut mlme = hearing(vec![
        event(&station(19, 1, &attributes())),
        event(&leaving),
        event(&leaving.clone().attribute(54, &3_u16.to_ne_bytes())),
    ]);
    let (result, events) = heard(&mut mlme);
    result.unwrap();
    assert_eq!(events, ["joined 1", "left 2 Some(42) None", "left 2 Some(42) Some(3)"]);
}

#[test]
fn interfaces_that_come_go_and_change_are_heard_of() {
    let about = |command| event(&Request::generic("", FAMILY, command).number(3, WLAN0));
    let (_, events) = heard(&mut hearing([7, 6, 15, 16, 88, 8].map(about).into()));
    assert_eq!(events, ["Interfaces"; 6]);
}

#[test]
fn other_news_and_other_families_are_passed_over() {
    let scan = Request::generic("", FAMILY, 33).number(3, WLAN0);
    let foreign = Request::generic("", FAMILY + 1, 19).number(3, WLAN0).attribute(6, &[2; 6]);
    let nameless = Request::generic("", FAMILY, 20);
    let (result, events) = heard(&mut hearing([&scan, &foreign, &nameless].map(event).into()));
    assert!(result.is_ok() && events.is_empty(), "{events:?}");
}

#[test]
fn a_storm_leaves_the_rest_for_the_next_reading() {
    let mut mlme = hearing((0..100).map(|last| event(&station(19, last, &attributes()))).collect());
    assert_eq!(heard(&mut mlme).1.len(), 64);
    assert_eq!(heard(&mut mlme).1.len(), 36);
}

#[test]
fn a_cut_event_is_malformed_and_the_next_is_heard() {
    let mut cut = station(19, 1, &attributes()).bytes(0, 0);
    cut.truncate(30);
    let mut mlme = hearing(vec![Ok(cut), event(&station(19, 2, &attributes()))]);
    assert!(matches!(heard(&mut mlme).0, Err(Error::Malformed { .. })));
    assert_eq!(heard(&mut mlme).1, ["joined 2"]);
}

#[test]
fn the_descriptor_is_readable_exactly_while_an_event_waits() {
    let (ours, mut kernel) = Wire::pair().unwrap();
    let mut mlme = Mlme::over(ours, FAMILY);
    let ready = |mlme: &Mlme| {
        let mut fds = [PollFd::new(mlme, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() == 1
    };
    assert!(!ready(&mlme));
    assert!(heard(&mut mlme).0.is_ok(), "reading nothing does not block");
    kernel.send(&station(19, 1, &attributes()).bytes(0, 0)).unwrap();
    assert!(ready(&mlme));
    assert_eq!(heard(&mut mlme).1, ["joined 1"]);
    assert!(!ready(&mlme));
}
