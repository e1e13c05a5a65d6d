//! Subscriptions: who wants to hear of what, and what is waiting to be told.
//!
//! Static parameters are told at once, from the transaction that changed them. Volatile ones are
//! compared when a reading has been made, and only those that somebody subscribed to; of what was there
//! before, a fingerprint is kept. It sends nothing: the daemon takes notifications out and sends them.
//!
//! # Design constraints
//!
//! - Memory has bounds: on subscriptions, on watched values, and on waiting bytes for each consumer. Who
//!   is too slow loses notifications, and is told that it did; others do not notice.
//! - A connection, a process and a user have bounds of their own ([`SHARES`]): others always have room.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
};

use linux::{nl80211::Address, sockets::Peer};

use super::{
    View,
    get::Station,
    path::{Path, PathError},
    schema::{self, Number, PARAMETERS, Tree},
    store::{ObjectPath, Store},
    transaction::Event,
    value::{Value, write_text},
};
use crate::table::{Ended, PointId, Slot};

/// A subscription of a consumer.
pub type SubscriptionId = u32;

/// What a subscription wants to hear of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Values that become others.
    pub value_change: bool,
    /// Stations that come.
    pub object_creation: bool,
    /// Stations that leave, with their last counters.
    pub object_deletion: bool,
}

/// A subscription that was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    #[error(transparent)]
    Path(#[from] PathError),
    /// Somebody has as many as it may have.
    #[error("{who} has {most} subscriptions already, which is the most; end one of them first")]
    TooMany {
        who: &'static str,
        /// How many it may have.
        most: usize,
    },
    /// It wants to hear of nothing.
    #[error("a subscription of nothing; name ValueChange, ObjectCreation or ObjectDeletion")]
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The connection's name, never used again.
    pub connection: u64,
    /// Who is at its other end.
    pub peer: Peer,
}

/// What those who count as one may have together.
struct Share {
    who: &'static str,
    is_one: fn(Owner, Owner) -> bool,
    subscriptions: usize,
    watched: usize,
}

/// 500 stations with 30 volatile values each are 15,000 for a consumer that wants all of them; an entry is some 40
/// bytes. No one has all that there is.
const SHARES: [Share; 4] = [
    Share {
        who: "this connection",
        is_one: |one, other| one.connection == other.connection,
        subscriptions: 64,
        watched: 16_384,
    },
    Share {
        who: "this process",
        // A process that is not seen from here is known by its connection alone.
        is_one: |one, other| one.peer == other.peer && one.peer.pid.is_some(),
        subscriptions: 128,
        watched: 16_384,
    },
    Share {
        who: "this user",
        is_one: |one, other| one.peer.uid == other.peer.uid,
        subscriptions: 192,
        watched: 24_576,
    },
    Share { who: "everybody together", is_one: |_, _| true, subscriptions: 256, watched: 32_768 },
];

const MOST_WAITING_BYTES: usize = 64 * 1024;

#[derive(Debug)]
struct Subscription {
    id: SubscriptionId,
    owner: Owner,
    path: Path,
    kinds: Kinds,
    /// Fingerprints of the volatile values that were seen last.
    seen: BTreeMap<Watched, u64>,
}

/// A value that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Watched {
    /// An access point's own, by its place.
    Own(PointId, u8),
    /// A station's, by its place among the leaves.
    Leaf(Slot, u8),
}

/// All subscriptions, and all that waits.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    last: SubscriptionId,
    all: Vec<Subscription>,
    waiting: Waiting,
    unwatched: u64,
}

impl Subscriptions {
    pub(super) fn add(
        &mut self,
        owner: Owner,
        path: &str,
        kinds: Kinds,
    ) -> Result<SubscriptionId, SubscribeError> {
        let path = Path::parse(path)?;
        if kinds == Kinds::default() {
            return Err(SubscribeError::Nothing);
        }
        for Share { who, is_one, subscriptions: most, .. } in &SHARES {
            if self.all.iter().filter(|one| is_one(one.owner, owner)).count() >= *most {
                return Err(SubscribeError::TooMany { who, most: *most });
            }
        }
        self.last += 1;
        let (id, seen) = (self.last, BTreeMap::new());
        self.all.push(Subscription { id, owner, path, kinds, seen });
        Ok(id)
    }

    pub(super) fn remove(&mut self, consumer: u64, id: SubscriptionId) -> bool {
        let before = self.all.len();
        self.all.retain(|one| (one.owner.connection, one.id) != (consumer, id));
        self.all.len() < before
    }

    pub(super) fn drop_consumer(&mut self, consumer: u64) {
        self.all.retain(|one| one.owner.connection != consumer);
        self.waiting.drop_consumer(consumer);
    }

    pub(super) fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        self.waiting.next()
    }

    /// Queued and lost notifications, and values that could not be watched.
    pub(super) fn counts(&self) -> (u64, u64, u64) {
        (self.waiting.queued, self.waiting.lost, self.unwatched)
    }

    /// Whether anybody wants to hear of changes that no transaction tells.
    pub(super) fn watch(&self) -> bool {
        self.all.iter().any(|one| one.kinds.value_change)
    }

    /// A station's object has been made.
    pub(super) fn came(&mut self, object: ObjectPath, address: Address) {
        for one in self.all.iter().filter(|one| one.kinds.object_creation) {
            if one.path.has_station(object, address) {
                let mut note = Note::begin(one.id, "ObjectCreation", one.path.tree, object);
                note.value("MACAddress", &Value::Address(address), 0);
                self.waiting.push(one.owner.connection, note.end());
            }
        }
    }

    /// A station's object has gone.
    pub(super) fn left(&mut self, object: ObjectPath, ended: &Ended) {
        let address = ended.session.address;
        for one in &mut self.all {
            forget(&mut one.seen, ended.slot);
            if one.kinds.object_deletion && one.path.has_station(object, address) {
                let note = Note::begin(one.id, "ObjectDeletion", one.path.tree, object);
                self.waiting.push(one.owner.connection, last_counters(note, one.path.tree, ended));
            }
        }
    }

    /// An access point's state has changed.
    pub(super) fn point_status(&mut self, number: u32, status: &'static str) {
        for one in
            self.all.iter().filter(|one| one.kinds.value_change && one.path.has_point(number))
        {
            let own = one.path.tree.point_parameters();
            let place = own.iter().position(|parameter| parameter.name == STATUS);
            if place.is_some_and(|place| one.path.has_own(place)) {
                let mut note = Note::begin_point(one.id, one.path.tree, number);
                note.value(STATUS, &Value::Text(status.into()), 0);
                self.waiting.push(one.owner.connection, note.end());
            }
        }
    }

    /// A transaction has changed static parameters.
    pub(super) fn changed(&mut self, event: &Event, wall_offset_ns: i64) {
        for one in self.all.iter().filter(|one| one.kinds.value_change) {
            if !one.path.has_station(event.object, event.address) {
                continue;
            }
            let mut note = Note::begin(one.id, "ValueChange", one.path.tree, event.object);
            for (place, leaf) in one.path.tree.leaves().iter().enumerate() {
                // What is read live is compared live, or it would be told twice.
                let of_leaf = |number| event.changes.iter().find(|one| one.number == number);
                let change = leaf.number.filter(|number| !is_live(*number)).and_then(of_leaf);
                if let Some(change) = change.filter(|_| one.path.has_leaf(place)) {
                    note.value(leaf.name, &change.to.value(), wall_offset_ns);
                }
            }
            self.waiting.push_if_wanted(one.owner.connection, note);
        }
    }

    /// Compares the volatile values of an access point and its stations with those seen before. A value
    /// that is seen for the first time is no change.
    pub(super) fn compare(&mut self, store: &Store, id: PointId, view: &View<'_>) {
        let Some(point) = view.points.get(id) else { return };
        for place in 0..self.all.len() {
            let mut room = room(&self.all, self.all[place].owner);
            let one = &mut self.all[place];
            if !one.kinds.value_change || !one.path.has_point(point.number()) {
                continue;
            }
            let mut watch = Watch {
                seen: &mut one.seen,
                room: &mut room,
                unwatched: &mut self.unwatched,
                wall_offset_ns: view.wall_offset_ns,
            };
            let mut note = Note::begin_point(one.id, one.path.tree, point.number());
            for (place, own) in one.path.tree.point_parameters().iter().enumerate() {
                if own.name != STATUS && one.path.has_own(place) {
                    let value = own.read(view, point);
                    if watch.is_other(Watched::Own(id, place as u8), &value) {
                        note.value(own.name, &value, view.wall_offset_ns);
                    }
                }
            }
            self.waiting.push_if_wanted(one.owner.connection, note);
            for slot in store.slots(id) {
                let Some(station) = store.station(slot, view) else { continue };
                if let Some(note) = compare_station(&one.path, one.id, &station, &mut watch) {
                    self.waiting.push_if_wanted(one.owner.connection, note);
                }
            }
        }
    }
}

/// How many more values the owner of a subscription may watch.
fn room(all: &[Subscription], owner: Owner) -> usize {
    let left = SHARES.iter().map(|share| {
        let held = all.iter().filter(|one| (share.is_one)(one.owner, owner));
        share.watched.saturating_sub(held.map(|one| one.seen.len()).sum())
    });
    left.min().unwrap_or_default()
}

const STATUS: &str = "Status";

fn compare_station(
    path: &Path,
    id: SubscriptionId,
    station: &Station<'_>,
    watch: &mut Watch<'_>,
) -> Option<Note> {
    if !path.has_station(station.path(), station.address()) {
        return None;
    }
    let mut note = Note::begin(id, "ValueChange", path.tree, station.path());
    for (place, leaf) in path.tree.leaves().iter().enumerate() {
        if path.has_leaf(place) && leaf.number.is_some_and(is_live) {
            let value = station.leaf(path.tree, place);
            if watch.is_other(Watched::Leaf(station.slot(), place as u8), &value) {
                note.value(leaf.name, &value, watch.wall_offset_ns);
            }
        }
    }
    Some(note)
}

fn is_live(number: Number) -> bool {
    PARAMETERS[usize::from(number)].is_live()
}

fn forget(seen: &mut BTreeMap<Watched, u64>, slot: Slot) {
    let range = Watched::Leaf(slot, 0)..=Watched::Leaf(slot, u8::MAX);
    let gone: Vec<_> = seen.range(range).map(|(watched, _)| *watched).collect();
    for watched in gone {
        seen.remove(&watched);
    }
}

/// Fingerprints of a subscription, and how many more there may be of all of them.
struct Watch<'a> {
    seen: &'a mut BTreeMap<Watched, u64>,
    room: &'a mut usize,
    unwatched: &'a mut u64,
    wall_offset_ns: i64,
}

impl Watch<'_> {
    fn is_other(&mut self, watched: Watched, value: &Value<'_>) -> bool {
        let now = fingerprint(value);
        if let Some(then) = self.seen.get_mut(&watched) {
            return std::mem::replace(then, now) != now;
        }
        match self.room.checked_sub(1) {
            Some(left) => {
                *self.room = left;
                self.seen.insert(watched, now);
            }
            None => *self.unwatched += 1,
        }
        false
    }
}

/// Two values of one parameter have the same one by chance once in 2⁶⁴ changes.
fn fingerprint(value: &Value<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The last counters of an association, by the tree's names; `Exact` where they are the kernel's last
/// word.
fn last_counters(mut note: Note, tree: Tree, ended: &Ended) -> Vec<u8> {
    let counters = [
        ("RxBytes", ended.rx_bytes),
        ("TxBytes", ended.tx_bytes),
        ("RxPacketCount", ended.rx_packets),
        ("TxPacketCount", ended.tx_packets),
        ("ConnectionDuration", ended.connected_s),
    ];
    note.value("MACAddress", &Value::Address(ended.session.address), 0);
    for (name, value) in counters {
        let number = schema::find(name);
        let leaf = tree.leaves().iter().find(|leaf| leaf.number == number);
        // TR-181 has no name for a duration; the field's is clear enough.
        note.known(leaf.map_or(name, |leaf| leaf.name), value);
    }
    note.known("Reason", ended.reason.map(u64::from));
    note.value("Exact", &Value::Bool(ended.exact), 0);
    note.end()
}

/// A notification that is being written.
#[derive(Debug)]
struct Note {
    bytes: Vec<u8>,
    values: usize,
}

impl Note {
    fn begin(id: SubscriptionId, kind: &str, tree: Tree, object: ObjectPath) -> Self {
        let (prefix, ObjectPath { point, instance }) = (tree.prefix(), object);
        Self::about(id, kind, format_args!("{prefix}{point}.AssociatedDevice.{instance}."))
    }

    fn begin_point(id: SubscriptionId, tree: Tree, point: u32) -> Self {
        Self::about(id, "ValueChange", format_args!("{}{point}.", tree.prefix()))
    }

    fn about(id: SubscriptionId, kind: &str, path: std::fmt::Arguments<'_>) -> Self {
        let mut bytes = Vec::new();
        // Writing to a vector cannot fail.
        let _ = write!(
            bytes,
            "{{\"subscription\":{id},\"kind\":\"{kind}\",\"path\":\"{path}\",\"values\":{{"
        );
        Self { bytes, values: 0 }
    }

    /// Adds a value; one that has become unknown is `null`.
    fn value(&mut self, name: &str, value: &Value<'_>, wall_offset_ns: i64) {
        if self.values > 0 {
            self.bytes.push(b',');
        }
        self.values += 1;
        write_text(name, &mut self.bytes);
        self.bytes.push(b':');
        value.write_json(wall_offset_ns, &mut self.bytes);
    }

    fn known(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.value(name, &Value::Unsigned(value), 0);
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.extend(b"}}");
        self.bytes
    }
}

/// Notifications that no one has taken yet.
#[derive(Debug, Default)]
struct Waiting {
    queue: VecDeque<(u64, Vec<u8>)>,
    bytes: BTreeMap<u64, usize>,
    /// Consumers that have lost some, and have not been told.
    losers: BTreeSet<u64>,
    queued: u64,
    lost: u64,
}

impl Waiting {
    fn push_if_wanted(&mut self, consumer: u64, note: Note) {
        if note.values > 0 {
            self.push(consumer, note.end());
        }
    }

    fn push(&mut self, consumer: u64, bytes: Vec<u8>) {
        let waiting = self.bytes.entry(consumer).or_default();
        if *waiting + bytes.len() > MOST_WAITING_BYTES {
            self.lost += 1;
            self.losers.insert(consumer);
            return;
        }
        *waiting += bytes.len();
        self.queued += 1;
        self.queue.push_back((consumer, bytes));
    }

    /// What was lost came after what waits, so it is told after it.
    fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        if let Some((consumer, bytes)) = self.queue.pop_front() {
            let left = self.bytes.get(&consumer).map_or(0, |waiting| waiting - bytes.len());
            match left {
                0 => self.bytes.remove(&consumer),
                left => self.bytes.insert(consumer, left),
            };
            return Some((consumer, bytes));
        }
        self.losers.pop_first().map(|consumer| (consumer, b"{\"kind\":\"Lost\"}".to_vec()))
    }

    fn drop_consumer(&mut self, consumer: u64) {
        self.queue.retain(|(of, _)| *of != consumer);
        self.bytes.remove(&consumer);
        self.losers.remove(&consumer);
    }
}
