//! The objects: one for each association, with the values of its static parameters.
//!
//! An object is a row of 45 values by their place in the schema; there is no map in it. It has the
//! number of no other object of its access point while the daemon runs, so that a path which was once
//! told means that association or nothing.

use std::{collections::BTreeMap, fmt};

use super::{schema::KEPT, value::Cell};
use crate::table::{Ended, PointId, Session, Slot};

/// The path of a station's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectPath {
    /// The number of its access point.
    pub point: u32,
    pub instance: u32,
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { point, instance } = self;
        write!(f, "WiFi.AccessPoint.{point}.AssociatedDevice.{instance}.")
    }
}

#[derive(Debug)]
pub(super) struct Object {
    pub(super) session: Session,
    pub(super) instance: u32,
    /// The reading after which it was written last, ns since boot; for the field's gate only.
    pub(super) written_ns: Option<u64>,
    pub(super) values: [Cell; KEPT],
}

impl Object {
    pub(super) fn path(&self) -> ObjectPath {
        ObjectPath { point: u32::from(self.session.point) + 1, instance: self.instance }
    }

    /// Whether it is about this association. When it began may become known later.
    pub(super) fn is_of(&self, session: &Session) -> bool {
        let key = |session: &Session| (session.point, session.address, session.seen_ns);
        key(&self.session) == key(session)
    }
}

/// The objects of one access point, by number.
#[derive(Debug, Default)]
struct Numbers {
    last: u32,
    slots: BTreeMap<u32, Slot>,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    objects: Vec<Option<Box<Object>>>,
    points: Vec<Numbers>,
}

impl Store {
    pub(super) fn len(&self) -> usize {
        self.points.iter().map(|point| point.slots.len()).sum()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Object> {
        self.objects.get(slot as usize)?.as_deref()
    }

    /// The slot of a path.
    pub(super) fn slot(&self, path: ObjectPath) -> Option<Slot> {
        let point = self.points.get(usize::try_from(path.point.checked_sub(1)?).ok()?)?;
        point.slots.get(&path.instance).copied()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut Object> {
        self.objects.get_mut(slot as usize)?.as_deref_mut()
    }

    /// The slots of an access point's objects, by number.
    pub(super) fn slots(&self, point: PointId) -> impl Iterator<Item = Slot> {
        let numbers = self.points.get(usize::from(point));
        numbers.into_iter().flat_map(|numbers| numbers.slots.values().copied())
    }

    /// Makes an access point's place, where there is none.
    pub(super) fn make_point(&mut self, point: PointId) {
        if self.points.len() <= usize::from(point) {
            self.points.resize_with(usize::from(point) + 1, Numbers::default);
        }
    }

    /// Makes an object, where there is none of this association.
    pub(super) fn make(&mut self, slot: Slot, point: PointId, session: Session) -> Option<&Object> {
        let place = slot as usize;
        if self.get(slot).is_some_and(|object| object.is_of(&session)) {
            return None;
        }
        self.make_point(point);
        if self.objects.len() <= place {
            self.objects.resize_with(place + 1, || None);
        }
        self.empty(slot);
        let numbers = &mut self.points[usize::from(point)];
        numbers.last += 1;
        numbers.slots.insert(numbers.last, slot);
        let values = [const { Cell::Absent }; KEPT];
        let object = Object { session, instance: numbers.last, written_ns: None, values };
        Some(self.objects[place].insert(Box::new(object)))
    }

    /// Takes out the object of an association that has ended; its slot may hold another by now.
    pub(super) fn remove(&mut self, ended: &Ended) -> Option<Box<Object>> {
        self.get(ended.slot).filter(|object| object.is_of(&ended.session))?;
        self.empty(ended.slot)
    }

    fn empty(&mut self, slot: Slot) -> Option<Box<Object>> {
        let gone = self.objects.get_mut(slot as usize)?.take()?;
        if let Some(numbers) = self.points.get_mut(usize::from(gone.session.point)) {
            numbers.slots.remove(&gone.instance);
        }
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(last: u8, seen_ns: u64) -> Session {
        Session { point: 1, address: [2, 0, 0, 0, 0, last], seen_ns, associated_ns: None }
    }

    fn ended(slot: Slot, session: Session) -> Ended {
        Ended {
            slot,
            session,
            exact: false,
            rx_bytes: None,
            tx_bytes: None,
            rx_packets: None,
            tx_packets: None,
            connected_s: None,
            reason: None,
        }
    }

    #[test]
    fn a_number_is_never_given_twice() {
        let mut store = Store::default();
        assert_eq!(store.make(0, 1, session(1, 5)).unwrap().instance, 1);
        assert_eq!(store.make(4, 1, session(2, 5)).unwrap().instance, 2);
        assert!(store.remove(&ended(4, session(2, 5))).is_some());
        let back = store.make(4, 1, session(2, 9)).unwrap().path();
        assert_eq!(back.to_string(), "WiFi.AccessPoint.2.AssociatedDevice.3.");
        assert_eq!((store.slot(back), store.len()), (Some(4), 2));
    }

    #[test]
    fn an_association_that_has_an_object_keeps_it() {
        let mut store = Store::default();
        assert!(store.make(0, 1, session(1, 5)).is_some());
        let known_later = Session { associated_ns: Some(3), ..session(1, 5) };
        assert!(store.make(0, 1, known_later).is_none());
        assert!(store.remove(&ended(0, known_later)).is_some());
    }

    #[test]
    fn the_end_of_an_older_association_takes_nothing_from_the_newer_one() {
        let mut store = Store::default();
        store.make(0, 1, session(1, 9));
        assert!(store.remove(&ended(0, session(1, 5))).is_none());
        assert_eq!(store.len(), 1);
    }
}
