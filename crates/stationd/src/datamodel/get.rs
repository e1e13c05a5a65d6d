//! Reading: parameters by path, as one JSON object.
//!
//! Every reading is of one state: static values from the objects, volatile ones from the table's rows.
//! It changes nothing and asks no one for anything fresher.

use linux::nl80211::Address;

use super::{
    DataModel, View,
    path::{Path, PathError, Select, What},
    schema::{self, Keeping, Number, PARAMETERS, PLACES, Sight, Tree},
    store::{Object, ObjectPath},
    value::Value,
};
use crate::{points::Point, table::Slot, trace::Level};

/// A request for parameters that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GetError {
    /// One of the paths is none.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Each path has to be compared with those before it.
    #[error(
        "{0} paths in one request; {MOST_PATHS} is the most, and a path may end with a dot or have a `*`"
    )]
    TooMany(usize),
}

/// How many paths a request may have.
const MOST_PATHS: usize = 64;

/// One station, to be read.
#[derive(Clone, Copy, Debug)]
pub struct Station<'a> {
    object: &'a Object,
    sight: Sight<'a>,
}

impl<'a> Station<'a> {
    /// The path of its object.
    pub fn path(&self) -> ObjectPath {
        self.object.path()
    }

    /// Its place in the table.
    pub(super) fn slot(&self) -> Slot {
        self.sight.row.slot()
    }

    /// The station's address.
    pub(super) fn address(&self) -> Address {
        self.sight.row.address()
    }

    /// A parameter by the field's name for it; `None` where the schema has no such name.
    pub fn read(&self, name: &str) -> Option<Value<'a>> {
        schema::find(name).map(|number| self.value(number))
    }

    fn value(&self, number: Number) -> Value<'a> {
        let parameter = &PARAMETERS[usize::from(number)];
        match (parameter.keeping, PLACES[usize::from(number)]) {
            (Keeping::Static, Some(place)) => self.object.values[usize::from(place)].value(),
            _ => parameter.read(&self.sight),
        }
    }

    /// A parameter by its place among a tree's leaves.
    pub(super) fn leaf(&self, tree: Tree, place: usize) -> Value<'a> {
        tree.leaves()[place].number.map(|number| self.value(number)).unwrap_or_default()
    }
}

impl DataModel {
    /// A station, where the object and the row are of the same association.
    pub fn station<'a>(&'a self, slot: Slot, view: &View<'a>) -> Option<Station<'a>> {
        self.store.station(slot, view)
    }

    /// Appends an object with the parameters at and below the paths, each once, as
    /// `{"WiFi.AccessPoint.1.AssociatedDevice.3.SignalStrength":-40}`. Unknown values and instances that
    /// are not there are left out.
    ///
    /// # Errors
    ///
    /// The first path that is none; nothing has been appended then.
    pub fn get(&self, paths: &[&str], view: &View<'_>, out: &mut Vec<u8>) -> Result<(), GetError> {
        if paths.len() > MOST_PATHS {
            return Err(GetError::TooMany(paths.len()));
        }
        for path in paths {
            view.trace.event("dmPath", Level::INFO, format_args!("look up {path}"));
        }
        let paths: Vec<Path> =
            paths.iter().map(|path| Path::parse(path)).collect::<Result<_, _>>()?;
        let mut reply = Reply { model: self, view, paths: &paths, out, is_first: true };
        reply.out.push(b'{');
        for number in 0..paths.len() {
            reply.path(number);
        }
        reply.out.push(b'}');
        Ok(())
    }
}

impl super::store::Store {
    /// A station, where the object and the row are of the same association.
    pub(super) fn station<'a>(&'a self, slot: Slot, view: &View<'a>) -> Option<Station<'a>> {
        let object = self.get(slot)?;
        let row = view.table.row(slot).filter(|row| object.is_of(row.session()))?;
        let point = view.points.get(row.session().point)?;
        Some(Station { object, sight: Sight { row, point } })
    }
}

/// An object that is being written.
struct Reply<'a, 'o> {
    model: &'a DataModel,
    view: &'a View<'a>,
    paths: &'a [Path],
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'a> Reply<'a, '_> {
    fn path(&mut self, number: usize) {
        let path = self.paths[number];
        let points: &'a _ = self.view.points;
        match path.points {
            Select::One(one) => {
                if let Some(point) = points.numbered(one) {
                    self.point(number, point);
                }
            }
            _ => points.iter().for_each(|point| self.point(number, point)),
        }
    }

    fn point(&mut self, number: usize, point: &'a Point) {
        let path = self.paths[number];
        self.own(number, point);
        match path.what {
            What::Own(_) => {}
            What::Stations(Select::One(instance), _) => {
                let object = ObjectPath { point: point.number(), instance };
                if let Some(slot) = self.model.store.slot(object) {
                    self.station(number, slot);
                }
            }
            What::Stations(Select::Address(address), _) => {
                if let Some(slot) = self.view.table.find(point.id, address) {
                    self.station(number, slot);
                }
            }
            _ => self.model.store.slots(point.id).for_each(|slot| self.station(number, slot)),
        }
    }

    /// The access point's own parameters.
    fn own(&mut self, number: usize, point: &'a Point) {
        let (path, before) = (self.paths[number], &self.paths[..number]);
        let object = format!("{}{}.", path.tree.prefix(), point.number());
        for (place, parameter) in path.tree.point_parameters().iter().enumerate() {
            let was_written = before.iter().any(|other| {
                other.tree == path.tree && other.has_point(point.number()) && other.has_own(place)
            });
            if path.has_own(place) && !was_written {
                self.write(&object, parameter.name, &parameter.read(self.view, point));
            }
        }
    }

    fn station(&mut self, number: usize, slot: Slot) {
        let (path, before) = (self.paths[number], &self.paths[..number]);
        let Some(station) = self.model.station(slot, self.view) else { return };
        let (at, address) = (station.path(), station.address());
        self.view.trace.event("dmRead", Level::INFO, format_args!("{at}: read"));
        let object =
            format!("{}{}.AssociatedDevice.{}.", path.tree.prefix(), at.point, at.instance);
        let has_station = |other: &&Path| other.tree == path.tree && other.has_station(at, address);
        let before: Vec<&Path> = before.iter().filter(has_station).collect();
        for (place, leaf) in path.tree.leaves().iter().enumerate() {
            if path.has_leaf(place) && !before.iter().any(|other| other.has_leaf(place)) {
                self.write(&object, leaf.name, &station.leaf(path.tree, place));
            }
        }
    }

    /// Appends a value; neither name nor path has anything that JSON would want to be escaped.
    fn write(&mut self, object: &str, name: &str, value: &Value<'_>) {
        if value.is_absent() {
            return;
        }
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(object.as_bytes());
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        value.write_json(self.view.wall_offset_ns, self.out);
    }
}
