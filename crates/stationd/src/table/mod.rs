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
//! - Nothing here is a delta. Anyone who wants one gives the generation that it has seen: two readers never
//!   take anything from each other.

mod columns;
mod row;

use std::collections::BTreeMap;

use linux::nl80211::{Address, StationReading};

use self::columns::Columns;
pub use self::{
    columns::{Counted, Gauge, SignalHistory},
    row::Row,
};
use crate::identity::Identity;

/// The place of an access point in [`crate::points::Points`]; it keeps it while the daemon runs.
pub type PointId = u16;

/// The place of a station; another station may get it once this one has left.
pub type Slot = u32;

/// What counts up with everything that changes: a reader that has seen it has seen all before it.
pub type Generation = u64;

/// Which association a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    pub point: PointId,
    /// The station; for a multi-link one, its MLD address.
    pub address: Address,
    /// When it was first seen, ns since boot.
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

/// The end of an association, with its exact totals where the kernel told them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// The slot that it had. It may hold another station by now.
    pub slot: Slot,
    pub session: Session,
    /// Whether the totals are the kernel's last word, or those of the last poll.
    pub exact: bool,
    pub rx_bytes: Option<u64>,
    pub tx_bytes: Option<u64>,
    pub rx_packets: Option<u64>,
    pub tx_packets: Option<u64>,
    /// How long it lasted, s.
    pub connected_s: Option<u64>,
    /// The reason code of 802.11, where one is known.
    pub reason: Option<u16>,
}

/// Who came and who went, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A station has associated; its identity is not known yet. The slot may hold another by now.
    Arrived(Slot, Session),
    /// An association has ended.
    Left(Ended),
}

/// A reading of all stations of an access point that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    point: PointId,
    number: u64,
    at_ns: u64,
    /// Which attempt at the list it reads: the kernel begins again when the list changes.
    attempt: u32,
    /// How many stations this attempt has seen: where the next one is looked for first.
    seen: usize,
}

impl Poll {
    /// The attempt at the list that it reads.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
}

#[derive(Debug, Default)]
pub struct Table {
    sessions: Vec<Option<Session>>,
    identities: Vec<Option<Box<Identity>>>,
    columns: Columns,
    /// The links of multi-link stations, each as the kernel told it last.
    links: Vec<Vec<StationReading>>,
    /// The poll that saw a slot last.
    polled: Vec<u64>,
    /// The generation at which a slot changed last.
    changed: Vec<Generation>,
    keys: BTreeMap<(PointId, Address), Slot>,
    /// Each access point's slots in the order in which the kernel names them.
    order: Vec<Vec<Slot>>,
    free: Vec<Slot>,
    changes: Vec<Change>,
    generation: Generation,
    /// The generation at which an access point's stations changed last.
    points_changed: Vec<Generation>,
    polls: u64,
    resets: u64,
    /// The access points whose driver was seen to count bytes in 32 bits.
    narrow: Vec<bool>,
}

impl Table {
    /// How many stations an access point has.
    pub fn count(&self, point: PointId) -> usize {
        self.order.get(usize::from(point)).map_or(0, Vec::len)
    }

    /// How many stations there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The newest generation: what a reader has seen that reads now.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The generation at which anything of an access point's stations changed last.
    pub fn generation_of(&self, point: PointId) -> Generation {
        self.points_changed.get(usize::from(point)).copied().unwrap_or(0)
    }

    /// How often a driver's counters began again in the middle of an association.
    pub fn resets(&self) -> u64 {
        self.resets
    }

    /// Whether an access point has stations whose bytes the driver counts in 32 bits, which pass their
    /// end soon.
    pub fn is_narrow(&self, point: PointId) -> bool {
        self.narrow.get(usize::from(point)) == Some(&true) && self.count(point) > 0
    }

    /// The stations of an access point, in the kernel's order.
    pub fn rows(&self, point: PointId) -> impl Iterator<Item = Row<'_>> {
        let slots = self.order.get(usize::from(point)).map_or(&[][..], Vec::as_slice);
        slots.iter().filter_map(|slot| self.row(*slot))
    }

    /// The station of a slot.
    pub fn row(&self, slot: Slot) -> Option<Row<'_>> {
        let session = self.sessions.get(slot as usize)?.as_ref()?;
        Some(Row::new(self, slot, session))
    }

    /// One past the last slot that was ever used: a reader that goes slot by slot, in several steps, ends
    /// here whatever comes and goes meanwhile.
    pub fn slots(&self) -> Slot {
        self.sessions.len() as Slot
    }

    /// The slot of a station.
    pub fn find(&self, point: PointId, address: Address) -> Option<Slot> {
        self.keys.get(&(point, address)).copied()
    }

    /// Begins to read all stations of an access point.
    pub fn begin(&mut self, point: PointId, at_ns: u64) -> Poll {
        self.polls += 1;
        self.order_of(point);
        Poll { point, number: self.polls, at_ns, attempt: 0, seen: 0 }
    }

    /// Takes what a poll reads of a station; to take one twice does no harm.
    pub fn read(&mut self, poll: &mut Poll, reading: &StationReading) -> Slot {
        self.attempt(poll, reading.attempt);
        if reading.link.is_some() {
            return self.read_link(poll, reading);
        }
        let slot = match self.expected(poll, key(reading)) {
            Some(slot) => slot,
            None => self.slot_of(poll.point, reading, poll.at_ns),
        };
        poll.seen += 1;
        let slot = self.same_association(slot, reading, poll.at_ns);
        self.polled[slot as usize] = poll.number;
        self.take(slot, reading);
        slot
    }

    /// Says at which attempt the list is that a poll reads: only who is in the last one is there, also
    /// where no one is.
    pub fn attempt(&mut self, poll: &mut Poll, attempt: u32) {
        if attempt != poll.attempt {
            self.polls += 1;
            *poll = Poll { number: self.polls, attempt, seen: 0, ..*poll };
        }
    }

    /// A link is no station: it is not counted among those that were seen, and begins no association.
    fn read_link(&mut self, poll: &Poll, reading: &StationReading) -> Slot {
        let slot = self.slot_of(poll.point, reading, poll.at_ns);
        self.polled[slot as usize] = poll.number;
        self.take(slot, reading);
        slot
    }

    /// Whether a reading has seen everybody whom the table has.
    pub fn has_seen_all(&self, poll: &Poll) -> bool {
        self.missed(poll).next().is_none()
    }

    fn missed(&self, poll: &Poll) -> impl Iterator<Item = Slot> {
        let order = self.order[usize::from(poll.point)].iter().copied();
        let number = poll.number;
        order.filter(move |slot| self.polled[*slot as usize] != number)
    }

    /// Ends a reading: a station that it did not see has left, unheard. Who joined meanwhile is there.
    pub fn end(&mut self, poll: Poll) {
        // No one is missing as a rule, and a list of no one takes no memory.
        let gone: Vec<Slot> = self.missed(&poll).collect();
        for slot in gone {
            self.leave(slot, None);
        }
    }

    /// An event tells that a station has associated.
    ///
    /// The kernel tells of an end before it tells of the next beginning. So one that is there already was
    /// found by a reading that overtook the event, and is the same association, unless the event itself
    /// says otherwise.
    pub fn joined(&mut self, point: PointId, reading: &StationReading, at_ns: u64) -> Slot {
        self.order_of(point);
        if let Some(slot) = self.find(point, key(reading)) {
            if !self.is_other(slot, reading) {
                return slot;
            }
            self.leave(slot, None);
        }
        let slot = self.arrive(point, reading, at_ns);
        self.take(slot, reading);
        slot
    }

    /// An event tells that a station has left, with its last reading where one is known. One that is about
    /// an association before the present one is late: a reading has overtaken it.
    pub fn left(&mut self, point: PointId, last: &StationReading, reason: Option<u16>) {
        let Some(slot) = self.find(point, key(last)) else { return };
        let session = self.sessions[slot as usize];
        let began = session.and_then(|session| session.associated_ns);
        if began.zip(associated_ns(last)).is_some_and(|(began, now)| began != now) {
            return;
        }
        let is_whole = last.link.is_none();
        let exact = is_whole && (last.rx_packets.is_some() || last.rx_bytes.is_some());
        // An event without figures must not make those of the last poll unknown.
        if exact {
            self.take(slot, last);
        }
        self.leave(slot, Some(Last { exact, reason }));
    }

    /// An access point has gone, and all its stations with it.
    pub fn clear(&mut self, point: PointId) {
        if let Some(narrow) = self.narrow.get_mut(usize::from(point)) {
            *narrow = false;
        }
        let slots = self.order.get(usize::from(point)).cloned().unwrap_or_default();
        for slot in slots {
            self.leave(slot, None);
        }
    }

    /// Writes who a station is. Once for each association.
    pub fn identify(&mut self, slot: Slot, identity: Identity) {
        if let Some(place) = self.identities.get_mut(slot as usize) {
            *place = Some(Box::new(identity));
            self.touch(slot);
        }
    }

    /// Who came and who went since this was last asked.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    /// The kernel names stations in the same order again and again.
    fn expected(&self, poll: &Poll, address: Address) -> Option<Slot> {
        let slot = *self.order[usize::from(poll.point)].get(poll.seen)?;
        let session = self.sessions[slot as usize].as_ref()?;
        (session.address == address).then_some(slot)
    }

    /// The slot of a reading's station, which arrives where it has none.
    fn slot_of(&mut self, point: PointId, reading: &StationReading, at_ns: u64) -> Slot {
        let known = self.find(point, key(reading));
        known.unwrap_or_else(|| self.arrive(point, reading, at_ns))
    }

    /// The slot, or a new one where the kernel speaks of another association than we knew.
    fn same_association(&mut self, slot: Slot, reading: &StationReading, at_ns: u64) -> Slot {
        match self.sessions[slot as usize] {
            Some(session) if self.is_other(slot, reading) => {
                self.leave(slot, None);
                self.arrive(session.point, reading, at_ns)
            }
            _ => slot,
        }
    }

    /// Whether a reading speaks of another association than the one that the slot holds.
    fn is_other(&self, slot: Slot, reading: &StationReading) -> bool {
        let Some(session) = &self.sessions[slot as usize] else { return false };
        match (session.associated_ns, associated_ns(reading)) {
            (Some(then), Some(now)) => then != now,
            (None, Some(_)) => false,
            // Where the kernel does not tell the moment, a younger connection than we have seen is another.
            (_, None) => {
                let then = self.columns.gauge(slot as usize, Gauge::ConnectedS);
                let now = reading.connected_s.map(i64::from);
                then.zip(now).is_some_and(|(then, now)| now < then)
            }
        }
    }

    fn take(&mut self, slot: Slot, reading: &StationReading) {
        if reading.link.is_some() {
            return self.take_link(slot, reading);
        }
        let taken = self.columns.take(slot as usize, reading);
        self.resets += u64::from(taken.reset);
        if let Some(session) = &mut self.sessions[slot as usize] {
            session.associated_ns = associated_ns(reading).or(session.associated_ns);
            let counts = [reading.rx_bytes, reading.tx_bytes];
            self.narrow[usize::from(session.point)] |=
                counts.iter().flatten().any(|bytes| !bytes.wide);
        }
        if taken.changed {
            self.touch(slot);
        }
    }

    /// One link's figures; the whole station's come in a message of their own.
    fn take_link(&mut self, slot: Slot, reading: &StationReading) {
        let links = &mut self.links[slot as usize];
        match links.iter_mut().find(|link| link.link == reading.link) {
            Some(link) => *link = *reading,
            None => links.push(*reading),
        }
    }

    fn touch(&mut self, slot: Slot) {
        self.generation += 1;
        self.changed[slot as usize] = self.generation;
        if let Some(session) = &self.sessions[slot as usize] {
            self.points_changed[usize::from(session.point)] = self.generation;
        }
    }

    fn arrive(&mut self, point: PointId, reading: &StationReading, at_ns: u64) -> Slot {
        let slot = self.free.pop().unwrap_or(self.sessions.len() as Slot);
        let place = slot as usize;
        self.columns.clear(place);
        if place == self.sessions.len() {
            self.sessions.push(None);
            self.identities.push(None);
            self.links.push(Vec::new());
            self.polled.push(0);
            self.changed.push(0);
        }
        let address = key(reading);
        let associated_ns = associated_ns(reading);
        let session = Session { point, address, seen_ns: at_ns, associated_ns };
        self.sessions[place] = Some(session);
        // Who joins while a poll is under way was not to be seen by it, and is there at its end.
        self.polled[place] = self.polls;
        self.keys.insert((point, address), slot);
        self.order[usize::from(point)].push(slot);
        self.touch(slot);
        self.changes.push(Change::Arrived(slot, session));
        slot
    }

    fn leave(&mut self, slot: Slot, last: Option<Last>) {
        let Some(session) = self.sessions[slot as usize].take() else { return };
        let counter = |which| self.columns.counter(slot as usize, which);
        let ended = Ended {
            slot,
            session,
            exact: last.is_some_and(|last| last.exact),
            rx_bytes: counter(Counted::RxBytes),
            tx_bytes: counter(Counted::TxBytes),
            rx_packets: counter(Counted::RxPackets),
            tx_packets: counter(Counted::TxPackets),
            connected_s: self.columns.gauge(slot as usize, Gauge::ConnectedS).map(|s| s as u64),
            reason: last.and_then(|last| last.reason),
        };
        self.identities[slot as usize] = None;
        self.links[slot as usize].clear();
        self.keys.remove(&(session.point, session.address));
        self.order[usize::from(session.point)].retain(|other| *other != slot);
        self.free.push(slot);
        self.generation += 1;
        self.points_changed[usize::from(session.point)] = self.generation;
        self.changes.push(Change::Left(ended));
    }

    fn order_of(&mut self, point: PointId) {
        if self.order.len() <= usize::from(point) {
            self.order.resize_with(usize::from(point) + 1, Vec::new);
            self.points_changed.resize(usize::from(point) + 1, 0);
            self.narrow.resize(usize::from(point) + 1, false);
        }
    }
}

/// When an association began. mac80211 says 0 of a station that has authenticated only: hostapd adds it so
/// early (`sta_info_alloc` in `net/mac80211/sta_info.c`; the moment is set on the way to ASSOC).
fn associated_ns(reading: &StationReading) -> Option<u64> {
    reading.associated_at_boottime_ns.filter(|moment| *moment != 0)
}

/// What was said when a station left.
#[derive(Clone, Copy, Debug)]
struct Last {
    exact: bool,
    reason: Option<u16>,
}

/// What a reading is kept under: the MLD address of a multi-link station, else its own.
fn key(reading: &StationReading) -> Address {
    reading.mld_address.unwrap_or(reading.address)
}

#[cfg(test)]
mod tests;
