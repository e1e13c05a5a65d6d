//! Costs of known kind and size, once a round of replies, so that the lab can show what it finds.
//!
//! Only in builds with the feature `planted`, of which none ships. What is planted comes from the environment, so that
//! both sides of a comparison are one program: `STATIOND_PLANT=loop:9+alloc:2/15` is nine turns of a loop in every
//! round, and two allocations in every fifteenth. A round begins with a reply about the first access point that was asked for.

use std::{
    env,
    hint::black_box,
    os::unix::net::UnixDatagram,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use crate::{hostapd, net::Hub, table::PointId};

/// Where hostapd's control sockets are in the lab.
const HOSTAPD: &str = "/run/hostapd";
const VARIABLE: &str = "STATIOND_PLANT";
/// The square of the clients is counted in thousands: that of 114 is dearer than many a whole plant.
const PER_SQUARE: u64 = 1000;
const BLOCK: usize = 256;
/// hostapd's longest answer to a PING, and more.
const LONGEST_PONG: usize = 64;

/// Does what is planted, if a reply about a point's stations begins a round; whichever interface of stationd sends it.
pub(crate) fn in_reply(point: PointId, hub: &Hub) {
    /// The point whose reply begins a round: the first that was asked for.
    static FIRST: OnceLock<PointId> = OnceLock::new();
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    static PLANTS: OnceLock<Vec<Plant>> = OnceLock::new();
    if point != *FIRST.get_or_init(|| point) {
        return;
    }
    let round = ROUNDS.fetch_add(1, Ordering::Relaxed);
    let read = || parse(&env::var(VARIABLE).unwrap_or_default());
    let plants = PLANTS.get_or_init(read).iter();
    let due = plants.filter(|plant| round.is_multiple_of(plant.rounds));
    let clients = hub.engine.table.total() as u64;
    let interface = hub.engine.points.get(point).map_or("", |point| point.name.as_str());
    due.for_each(|plant| plant.work(clients, interface));
}

/// What can be planted: turns of an empty loop, allocations that are freed, system calls, turns for each thousand of the
/// clients' square, and commands to hostapd whose answers are awaited.
const KINDS: [&str; 5] = ["loop", "alloc", "syscall", "square", "hostapd"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plant {
    kind: &'static str,
    size: u64,
    rounds: u64,
}

impl Plant {
    fn work(self, clients: u64, interface: &str) {
        let times = 0..self.size;
        let turns = |count| {
            for turn in 0..count {
                black_box(turn);
            }
        };
        match self.kind {
            "loop" => turns(self.size),
            "square" => turns(self.size * clients * clients / PER_SQUARE),
            "alloc" => times.for_each(|_| drop(black_box(Vec::<u8>::with_capacity(BLOCK)))),
            "syscall" => times.for_each(|_| thread::yield_now()),
            _ => times.for_each(|_| ping(interface)),
        }
    }
}

/// One command and its answer. Where hostapd cannot be asked nothing is planted, and the lab's calibration says so.
fn ping(interface: &str) {
    static SOCKET: OnceLock<Option<UnixDatagram>> = OnceLock::new();
    let connect = || {
        let socket = hostapd::connect(&Path::new(HOSTAPD).join(interface)).ok()?;
        socket.set_nonblocking(false).ok()?;
        Some(socket)
    };
    let Some(socket) = SOCKET.get_or_init(connect) else { return };
    let _ = socket.send(b"PING").and_then(|_| socket.recv(&mut [0; LONGEST_PONG]));
}

/// What a text plants; an entry that cannot be read plants nothing.
fn parse(text: &str) -> Vec<Plant> {
    text.split('+').filter_map(one).collect()
}

/// `KIND:SIZE` or `KIND:SIZE/ROUNDS`.
fn one(text: &str) -> Option<Plant> {
    let (kind, size) = text.split_once(':')?;
    let (size, rounds) = size.split_once('/').unwrap_or((size, "1"));
    let kind = KINDS.into_iter().find(|known| *known == kind)?;
    Some(Plant {
        kind,
        size: size.parse().ok()?,
        rounds: rounds.parse().ok().filter(|one| *one > 0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plants_are_read_from_one_text() {
        let plant = |kind, size, rounds| Plant { kind, size, rounds };
        assert_eq!(parse("loop:0000009+alloc:2/15"), [plant("loop", 9, 1), plant("alloc", 2, 15)]);
        assert_eq!(parse("square:3"), [plant("square", 3, 1)]);
        assert_eq!(parse(""), []);
        assert_eq!(parse("loop+loop:x+loop:1/0+spin:1"), []);
    }
}
