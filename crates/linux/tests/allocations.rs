//! Polling takes nothing from the heap: proved by an allocator that counts.
//!
//! The counter is per thread, so that the test harness's own threads do not disturb it.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use linux::{
    netlink::{Recording, Replay},
    nl80211::{InterfaceKind, Nl80211, StationReading, membership},
};

const DUMP: &[u8] = include_bytes!("recordings/dump-38.netlink");
const EVENTS: &[u8] = include_bytes!("recordings/events-38.netlink");

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

impl Counting {
    fn count() {
        // A thread that ends has no counter any more, and nobody asks for it.
        let _ = TAKEN.try_with(|taken| taken.set(taken.get() + 1));
    }
}

// SAFETY: every call is passed on to the system's allocator as it came; counting touches a cell of
// this thread only, which was made without allocating.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count();
        // SAFETY: the caller keeps this function's contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` or `realloc` above, hence from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count();
        // SAFETY: as for `dealloc`; the caller keeps the contract on the new size.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn taken(work: impl FnOnce()) -> u64 {
    let before = TAKEN.get();
    work();
    TAKEN.get() - before
}

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
