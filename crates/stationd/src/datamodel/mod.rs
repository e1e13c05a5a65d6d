//! The data model: the stations as objects with named parameters, with transactions and notifications.
//!
//! Static parameters are kept here and written by transactions; volatile ones are read from the table
//! when somebody asks. Two trees, `WiFi.` and `Device.WiFi.`, show one state. It asks neither kernel nor
//! hostapd, and knows no sockets: the one that asks gets bytes.
//!
//! ```text
//! station_came ─► store ◄── apply ◄── write_static ◄── a row of the table
//!                   │         └─► event ─► subscriptions ─► next_notification
//!                   └─► get, full            ▲
//!                                         compare ◄── a reading, for what is subscribed only
//! ```
//!
//! # Design constraints
//!
//! - A station costs 45 values of 16 bytes here; equal texts are kept once.
//! - In steady state nothing is written; without subscriptions nothing is compared.
//! - Unknown is absent from every reply, never 0.

mod capability;
mod get;
mod path;
mod schema;
mod store;
mod subscription;
mod texts;
mod time;
mod transaction;
mod value;
mod write_back;

pub use self::{
    get::{GetError, Station},
    path::PathError,
    schema::{Keeping, Kind, Parameter, parameters},
    store::ObjectPath,
    subscription::{Kinds, Owner, SubscribeError, SubscriptionId},
    time::rfc3339,
    transaction::{Applied, Transaction, TransactionError},
    value::{Datum, Value},
    write_back::WriteBack,
};
use self::{
    schema::{PARAMETERS, Sight, WRITTEN},
    store::Store,
    subscription::Subscriptions,
    texts::Texts,
};
use crate::{
    points::{Point, Points},
    table::{Ended, PointId, Row, Slot, Table},
    trace::{Level, Trace},
};

/// What volatile parameters are read from, and who hears of it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub table: &'a Table,
    pub points: &'a Points,
    /// Wall clock − time since boot, ns.
    pub wall_offset_ns: i64,
    /// What is told of the reading, and of what is written after it.
    pub trace: &'a Trace,
}

/// What the data model has done since the start; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions that were applied.
    pub transactions: u64,
    /// Transactions that were refused and rolled back.
    pub refused: u64,
    /// Parameters that applied transactions have set.
    pub set: u64,
    /// Of them: those whose value became another.
    pub changed: u64,
    /// Events: transactions that changed something.
    pub events: u64,
    /// Notifications that were queued.
    pub notifications: u64,
    /// Notifications that were not, for their consumer was too slow; it is told so.
    pub lost: u64,
    /// Volatile values that could not be watched, because too many are watched.
    pub unwatched: u64,
}

/// The objects, and who wants to hear of their changes.
#[derive(Debug, Default)]
pub struct DataModel {
    store: Store,
    texts: Texts,
    subscriptions: Subscriptions,
    counts: Counts,
}

impl DataModel {
    pub fn counts(&self) -> Counts {
        let (notifications, lost, unwatched) = self.subscriptions.counts();
        Counts { notifications, lost, unwatched, ..self.counts }
    }

    /// How many stations have an object.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many different texts are kept.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// The path of a station's object.
    pub fn object_path(&self, slot: Slot) -> Option<ObjectPath> {
        self.store.get(slot).map(store::Object::path)
    }

    /// An access point is there, for the first time or again.
    pub fn point_came(&mut self, point: &Point) {
        self.store.make_point(point.id);
        self.subscriptions.point_status(point.number(), "Enabled");
    }

    /// An access point's interface has gone; its stations have been told of before.
    pub fn point_went(&mut self, point: &Point) {
        self.subscriptions.point_status(point.number(), "Disabled");
    }

    /// A station has associated: makes its object, under a number that no other had. A station that has
    /// one keeps it.
    pub fn station_came(&mut self, row: &Row<'_>, point: &Point) {
        if let Some(object) = self.store.make(row.slot(), point.id, *row.session()) {
            self.subscriptions.came(object.path(), row.address());
        }
    }

    /// An association has ended: its object goes, and its last counters are told.
    pub fn station_left(&mut self, point: &Point, ended: &Ended) {
        debug_assert_eq!(point.id, ended.session.point);
        let Some(gone) = self.store.remove(ended) else { return };
        self.subscriptions.left(gone.path(), ended);
        drop(gone);
        self.texts.sweep();
    }

    /// Writes all static parameters of a station, in one transaction. It makes the object where there is
    /// none.
    pub fn write_static(&mut self, row: &Row<'_>, point: &Point, view: &View<'_>) {
        let trace = view.trace;
        self.station_came(row, point);
        let Some(path) = self.object_path(row.slot()) else { return };
        trace.event("adInfo", Level::INFO, format_args!("{path}: write all static parameters"));
        let sight = Sight { row: *row, point };
        let mut transaction = Transaction::begin(path);
        for number in WRITTEN {
            let parameter = &PARAMETERS[usize::from(number)];
            trace.event("adSync", Level::INFO, format_args!("{path}: read {}", parameter.name));
            transaction.set(parameter.name, parameter.read(&sight));
        }
        if let Err(error) = self.apply(&transaction, view) {
            // A driver's figure beyond its type; the object stays as it was.
            trace.event("adInfo", Level::ERROR, format_args!("{error}"));
        }
    }

    /// When an object was written last after a reading, ns since boot.
    fn written_ns(&self, slot: Slot) -> Option<u64> {
        self.store.get(slot)?.written_ns
    }

    fn note_written(&mut self, slot: Slot, read_ns: Option<u64>) {
        if let Some(object) = self.store.get_mut(slot) {
            object.written_ns = read_ns;
        }
    }

    /// Applies a transaction: all of it, or nothing.
    ///
    /// # Errors
    ///
    /// The first thing in it that the schema does not have or does not admit.
    pub fn apply(
        &mut self,
        transaction: &Transaction<'_>,
        view: &View<'_>,
    ) -> Result<Applied, TransactionError> {
        transaction::apply(self, transaction, view)
    }

    /// Compares what is volatile and subscribed with what it was, after an access point's stations have
    /// been read. Without such a subscription it costs nothing.
    pub fn compare(&mut self, id: PointId, view: &View<'_>) {
        if self.subscriptions.watch() {
            view.trace.event(
                "dmSub",
                Level::INFO,
                format_args!("compare what is watched of point {id}"),
            );
            self.subscriptions.compare(&self.store, id, view);
        }
    }

    /// Wants to hear of changes at and below a path. What is volatile is compared whenever it is read.
    ///
    /// # Errors
    ///
    /// A path that is none, or one subscription too many.
    pub fn subscribe(
        &mut self,
        owner: Owner,
        path: &str,
        kinds: Kinds,
    ) -> Result<SubscriptionId, SubscribeError> {
        self.subscriptions.add(owner, path, kinds)
    }

    /// Wants no more of it. Whether the consumer had such a subscription.
    pub fn unsubscribe(&mut self, consumer: u64, id: SubscriptionId) -> bool {
        self.subscriptions.remove(consumer, id)
    }

    /// A consumer has gone, and with it everything that it wanted.
    pub fn drop_consumer(&mut self, consumer: u64) {
        self.subscriptions.drop_consumer(consumer);
    }

    /// The next notification: for whom, and its parameters as JSON.
    pub fn next_notification(&mut self) -> Option<(u64, Vec<u8>)> {
        self.subscriptions.next()
    }
}

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
