//! The station table: who is associated where, since when, and with which values.
//!
//! Fed with readings and events in any order and any number; it asks no one. A station has one slot for
//! one association; identity is written once for each, volatile values at every reading. What came and
//! went is queued as [`Change`]s for anyone who keeps something beside it.
//!
//! # Design constraints
//!
//! - A poll allocates nothing: slots are used again, and the kernel's order, which rarely changes, is
//!   what the next station is looked for in.
//! - Nothing here is a delta: two readers never take anything from each other.

mod station;

use std::collections::BTreeMap;

use linux::nl80211::{Address, StationReading};
use serde::Serialize;

pub use self::station::{CounterKind, Gauge, SignalHistory, Station, kbps, mhz};
use crate::identity::Identity;

/// The place of an access point in [`crate::points::Points`]; it keeps it while the daemon runs.
pub type PointId = u16;

/// The place of a station; another station may get it once this one has left.
pub type Slot = u32;

/// What counts up with everything that changes: a reader that has seen it has seen all before it.
pub type Generation = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    pub point: PointId,
    /// The station; for a multi-link one, its MLD address.
    pub address: Address,
    pub seen_ns: u64,
    /// When it associated, ns since boot, where the kernel tells.
    pub associated_ns: Option<u64>,
}

impl Session {
    /// When it began as far as is known, ns since boot.
    pub fn began_ns(&self) -> u64 {
        self.associated_ns.unwrap_or(self.seen_ns)
    }
}

/// The end of an association, with its exact totals where the kernel told them. Consumers hear of it as it is written here;
/// what is unknown is left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SessionEnd {
    /// The slot that it had. It may hold another station by now.
    #[serde(skip)]
    pub slot: Slot,
    #[serde(skip)]
    pub session: Session,
    /// The reason code of 802.11, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected: Option<u64>,
    #[serde(skip_serializing_if = "Pair::is_unknown")]
    pub bytes: Pair,
    #[serde(skip_serializing_if = "Pair::is_unknown")]
    pub packets: Pair,
    /// Whether the totals are the kernel's last word, or those of the last poll.
    pub exact: bool,
}

/// What came from a station, and what went to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pair {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx: Option<u64>,
}

impl Pair {
    fn is_unknown(&self) -> bool {
        self.rx.is_none() && self.tx.is_none()
    }
}

/// Who came and who went, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A station has associated; its identity is not known yet. The slot may hold another by now.
    Arrived(Slot, Session),
    Left(SessionEnd),
}

/// A reading of all stations of an access point that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    point: PointId,
    number: u64,
    at_ns: u64,
    /// Which attempt at the list it reads: the kernel begins again when the list changes.
    pub(crate) attempt: u32,
    /// How many stations this attempt has seen: where the next one is looked for first.
    seen: usize,
}

#[derive(Debug, Default)]
pub struct Table {
    stations: Vec<Option<Station>>,
    keys: BTreeMap<(PointId, Address), Slot>,
    points: Vec<OfPoint>,
    free: Vec<Slot>,
    changes: Vec<Change>,
    pub generation: Generation,
    polls: u64,
    /// How often a driver's counters began again in the middle of an association.
    pub resets: u64,
}

#[derive(Debug, Default)]
struct OfPoint {
    /// Its slots in the order in which the kernel names them.
    order: Vec<Slot>,
    /// The generation at which its stations changed last.
    changed: Generation,
    /// Whether its driver was seen to count bytes in 32 bits.
    narrow: bool,
}

impl Table {
    pub fn count(&self, point: PointId) -> usize {
        self.order(point).len()
    }

    pub fn total(&self) -> usize {
        self.keys.len()
    }

    /// The generation at which anything of an access point's stations changed last.
    pub fn generation_of(&self, point: PointId) -> Generation {
        self.points.get(usize::from(point)).map_or(0, |of| of.changed)
    }

    /// Whether an access point has stations whose bytes the driver counts in 32 bits, which pass their
    /// end soon.
    pub fn is_narrow(&self, point: PointId) -> bool {
        self.points.get(usize::from(point)).is_some_and(|of| of.narrow && !of.order.is_empty())
    }

    pub fn stations(&self, point: PointId) -> impl Iterator<Item = &Station> {
        self.order(point).iter().filter_map(|slot| self.station(*slot))
    }

    fn order(&self, point: PointId) -> &[Slot] {
        self.points.get(usize::from(point)).map_or(&[], |of| &of.order)
    }

    pub fn station(&self, slot: Slot) -> Option<&Station> {
        self.stations.get(slot as usize)?.as_ref()
    }

    pub fn find(&self, point: PointId, address: Address) -> Option<&Station> {
        self.station(*self.keys.get(&(point, address))?)
    }

    /// Begins to read all stations of an access point.
    pub fn begin(&mut self, point: PointId, at_ns: u64) -> Poll {
        self.polls += 1;
        self.point(point);
        Poll { point, number: self.polls, at_ns, attempt: 0, seen: 0 }
    }

    /// Takes what a poll reads of a station; to take one twice does no harm.
    pub fn read(&mut self, poll: &mut Poll, reading: &StationReading) {
        self.attempt(poll, reading.attempt);
        let slot = match self.expected(poll, reading) {
            Some(slot) => slot,
            None => self.slot_of(poll.point, reading, poll.at_ns),
        };
        // A link is no station: it is not counted among those that were seen, and begins no association.
        if let Some(link) = reading.link {
            if let Some(Some(station)) = self.stations.get_mut(slot as usize) {
                station.polled = poll.number;
                station.take_link(link);
            }
            return;
        }
        poll.seen += 1;
        if !self.take(slot, reading, poll.number) {
            // The kernel speaks of another association than we knew.
            self.leave(slot, false, None);
            let slot = self.arrive(poll.point, reading, poll.at_ns);
            self.take(slot, reading, poll.number);
        }
    }

    /// Says at which attempt the list is that a poll reads: only who is in the last one is there, also
    /// where no one is.
    pub fn attempt(&mut self, poll: &mut Poll, attempt: u32) {
        if attempt != poll.attempt {
            self.polls += 1;
            *poll = Poll { number: self.polls, attempt, seen: 0, ..*poll };
        }
    }

    /// Whether a reading has seen everybody whom the table has.
    pub fn has_seen_all(&self, poll: &Poll) -> bool {
        self.missed(poll).next().is_none()
    }

    fn missed(&self, poll: &Poll) -> impl Iterator<Item = Slot> {
        let number = poll.number;
        let missed = self.stations(poll.point).filter(move |station| station.polled != number);
        missed.map(|station| station.slot)
    }

    /// Ends a reading: a station that it did not see has left, unheard. Who joined meanwhile is there.
    pub fn end(&mut self, poll: Poll) {
        // No one is missing as a rule, and a list of no one takes no memory.
        let gone: Vec<Slot> = self.missed(&poll).collect();
        for slot in gone {
            self.leave(slot, false, None);
        }
    }

    /// An event tells that a station has associated.
    ///
    /// The kernel tells of an end before it tells of the next beginning. So one that is there already was
    /// found by a reading that overtook the event, and is the same association, unless the event itself
    /// says otherwise.
    pub fn joined(&mut self, point: PointId, reading: &StationReading, at_ns: u64) {
        self.point(point);
        if let Some(station) = self.find(point, key(reading)) {
            if !is_other(station, reading) {
                return;
            }
            let slot = station.slot;
            self.leave(slot, false, None);
        }
        let slot = self.arrive(point, reading, at_ns);
        self.take(slot, reading, self.polls);
    }

    /// An event tells that a station has left, with its last reading where one is known. One that is about
    /// an association before the present one is late: a reading has overtaken it.
    pub fn left(&mut self, point: PointId, last: &StationReading, reason: Option<u16>) {
        let Some(station) = self.find(point, key(last)) else { return };
        let (slot, began) = (station.slot, station.session.associated_ns);
        if began.zip(associated_ns(last)).is_some_and(|(began, now)| began != now) {
            return;
        }
        let is_whole =
            last.link.is_none() && (last.rx_packets.is_some() || last.rx_bytes.is_some());
        // An event without figures must not make those of the last poll unknown.
        let exact = is_whole && self.take(slot, last, self.polls);
        self.leave(slot, exact, reason);
    }

    /// An access point has gone, and all its stations with it.
    pub fn clear(&mut self, point: PointId) {
        let of = self.point(point);
        of.narrow = false;
        for slot in of.order.clone() {
            self.leave(slot, false, None);
        }
    }

    /// Writes who a station is. Once for each association.
    pub fn identify(&mut self, slot: Slot, identity: Identity) {
        if let Some(Some(station)) = self.stations.get_mut(slot as usize) {
            station.identity = Some(Box::new(identity));
            let point = station.session.point;
            self.touch(point);
        }
    }

    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// The kernel names stations in the same order again and again.
    fn expected(&self, poll: &Poll, reading: &StationReading) -> Option<Slot> {
        let station = self.station(*self.order(poll.point).get(poll.seen)?)?;
        (reading.link.is_none() && station.address() == key(reading)).then_some(station.slot)
    }

    fn slot_of(&mut self, point: PointId, reading: &StationReading, at_ns: u64) -> Slot {
        let known = self.find(point, key(reading)).map(|station| station.slot);
        known.unwrap_or_else(|| self.arrive(point, reading, at_ns))
    }

    /// Takes a reading of a slot's station; false, and nothing is taken, where it is of another association.
    fn take(&mut self, slot: Slot, reading: &StationReading, polled: u64) -> bool {
        let Some(Some(station)) = self.stations.get_mut(slot as usize) else { return true };
        if is_other(station, reading) {
            return false;
        }
        station.polled = polled;
        let changed = station.take(reading);
        let session = &mut station.session;
        session.associated_ns = associated_ns(reading).or(session.associated_ns);
        let of = &mut self.points[usize::from(session.point)];
        of.narrow |= [reading.rx_bytes, reading.tx_bytes].iter().flatten().any(|bytes| !bytes.wide);
        self.resets += u64::from(changed.reset);
        if changed.any {
            self.generation += 1;
            of.changed = self.generation;
        }
        true
    }

    fn arrive(&mut self, point: PointId, reading: &StationReading, at_ns: u64) -> Slot {
        let slot = self.free.pop().unwrap_or(self.stations.len() as Slot);
        if slot as usize == self.stations.len() {
            self.stations.push(None);
        }
        let (address, associated_ns) = (key(reading), associated_ns(reading));
        let session = Session { point, address, seen_ns: at_ns, associated_ns };
        // Who joins while a poll is under way was not to be seen by it, and is there at its end.
        self.stations[slot as usize] = Some(Station::new(slot, session, self.polls));
        self.keys.insert((point, address), slot);
        self.point(point).order.push(slot);
        self.touch(point);
        self.changes.push(Change::Arrived(slot, session));
        slot
    }

    /// `exact`: the kernel has told the last counters.
    fn leave(&mut self, slot: Slot, exact: bool, reason: Option<u16>) {
        let Some(station) = self.stations[slot as usize].take() else { return };
        let session = station.session;
        let pair = |rx, tx| Pair { rx: station.counter(rx), tx: station.counter(tx) };
        let ended = SessionEnd {
            slot,
            session,
            reason,
            connected: station.gauge(Gauge::ConnectedS).map(|s| s as u64),
            bytes: pair(CounterKind::RxBytes, CounterKind::TxBytes),
            packets: pair(CounterKind::RxPackets, CounterKind::TxPackets),
            exact,
        };
        self.keys.remove(&(session.point, session.address));
        self.free.push(slot);
        self.point(session.point).order.retain(|other| *other != slot);
        self.touch(session.point);
        self.changes.push(Change::Left(ended));
    }

    /// Something of an access point's stations has changed.
    fn touch(&mut self, point: PointId) {
        self.generation += 1;
        self.point(point).changed = self.generation;
    }

    fn point(&mut self, point: PointId) -> &mut OfPoint {
        let place = usize::from(point);
        if self.points.len() <= place {
            self.points.resize_with(place + 1, OfPoint::default);
        }
        &mut self.points[place]
    }
}

/// Whether a reading speaks of another association than the one that is known.
fn is_other(station: &Station, reading: &StationReading) -> bool {
    match (station.session.associated_ns, associated_ns(reading)) {
        (Some(then), Some(now)) => then != now,
        (None, Some(_)) => false,
        // Where the kernel does not tell the moment, a younger connection than we have seen is another.
        (_, None) => {
            let (then, now) = (station.gauge(Gauge::ConnectedS), reading.connected_s);
            then.zip(now).is_some_and(|(then, now)| i64::from(now) < then)
        }
    }
}

/// When an association began. mac80211 says 0 of a station that has authenticated only: hostapd adds it so
/// early (`sta_info_alloc` in `net/mac80211/sta_info.c`; the moment is set on the way to ASSOC).
fn associated_ns(reading: &StationReading) -> Option<u64> {
    reading.associated_at_boottime_ns.filter(|moment| *moment != 0)
}

/// What a reading is kept under: the MLD address of a multi-link station, else its own.
fn key(reading: &StationReading) -> Address {
    reading.mld_address.unwrap_or(reading.address)
}

#[cfg(test)]
pub(crate) mod tests;
