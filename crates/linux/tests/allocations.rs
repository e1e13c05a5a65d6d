//! Polling takes nothing from the heap: proved by an allocator that counts.

use linux::{
    heap::{Counting, taken},
    netlink::{Recording, Replay},
    nl80211::{InterfaceKind, Nl80211, StationReading, membership},
};

const DUMP: &[u8] = include_bytes!("recordings/dump-38.netlink");
const EVENTS: &[u8] = include_bytes!("recordings/events-38.netlink");

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn replayed() -> (Nl80211, u32) {
    let recording = Recording::read(DUMP).expect("the recording is whole");
    let replay = Replay::new(recording).expect("a descriptor can be had");
    let mut nl80211 = Nl80211::over(replay).expect("the recording begins with the family");
    let all = nl80211.interfaces().expect("the interfaces were recorded");
    let found = all.iter().find(|one| one.kind == InterfaceKind::AccessPoint);
    (nl80211, found.expect("there was an access point").index)
}

#[test]
fn the_counter_counts() {
    assert_eq!(taken(|| drop(std::hint::black_box(Box::new(7)))), 1);
}

#[test]
fn polling_stations_takes_nothing_from_the_heap() {
    let (mut nl80211, interface) = replayed();
    let mut last: Option<StationReading> = None;
    let mut polls = 0;
    let poll = || {
        for _ in 0..100 {
            nl80211.stations(interface, |reading| last = Some(*reading)).unwrap();
            nl80211.bare_dump(interface).unwrap();
            polls += 1;
        }
    };
    assert_eq!(taken(poll), 0);
    assert_eq!(polls, 100);
    let address = last.unwrap().address;
    assert_eq!(taken(|| drop(nl80211.station(interface, address))), 0);
}

#[test]
fn reading_events_takes_nothing_from_the_heap() {
    let recording = Recording::read(EVENTS).unwrap();
    let mut events = 0;
    let read = || {
        recording.replay(|datagram| {
            for message in linux::netlink::Messages::new(datagram).flatten() {
                membership(message.payload, |_| events += 1);
            }
        });
    };
    assert_eq!(taken(read), 0);
    assert!(events > 0);
}
