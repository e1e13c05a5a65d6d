//! Transactions: several parameters of one object set together, or not at all.
//!
//! What every data model of this kind does: each name is looked up, each value checked against its type,
//! old values kept until all are written, and one event made of what really changed. It compares last,
//! as those do; that a transaction which changes nothing is not free is what the study is about.

use linux::nl80211::Address;

use super::{
    DataModel, View,
    schema::{self, Number, PARAMETERS, PLACES},
    store::ObjectPath,
    texts::Texts,
    value::{Cell, Value},
};
use crate::trace::{Level, Trace};

/// Values to be set in one object.
#[derive(Clone, Debug)]
pub struct Transaction<'a> {
    object: ObjectPath,
    sets: Vec<(&'a str, Value<'a>)>,
}

impl<'a> Transaction<'a> {
    pub fn begin(object: ObjectPath) -> Self {
        Self { object, sets: Vec::with_capacity(schema::KEPT) }
    }

    /// Sets a parameter. Nothing is looked at before it is applied.
    pub fn set(&mut self, name: &'a str, value: Value<'a>) {
        self.sets.push((name, value));
    }
}

/// A transaction that was refused. Nothing of it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// There is no such object.
    #[error("{0} is not there")]
    NoObject(ObjectPath),
    /// The object has no parameter of this name.
    #[error("{object} has no parameter `{name}`")]
    NoParameter { object: ObjectPath, name: Box<str> },
    /// The parameter is volatile: it is read, never written.
    #[error("{object}{name} is volatile and cannot be set")]
    Volatile { object: ObjectPath, name: &'static str },
    /// The value is of another type, out of range, or not one of the parameter's words.
    #[error("{object}{name} does not admit {value}")]
    NotAdmitted { object: ObjectPath, name: &'static str, value: Box<str> },
    /// A parameter is set twice.
    #[error("{object}{name} is set twice in one transaction")]
    Twice { object: ObjectPath, name: &'static str },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// How many parameters it set.
    pub set: usize,
    /// The names of those whose value became another.
    pub changed: Vec<&'static str>,
}

/// What changed in an object, for those who want to hear of it.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) object: ObjectPath,
    pub(super) address: Address,
    pub(super) changes: Vec<Changed>,
}

/// One parameter's change.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) number: Number,
    pub(super) to: Cell,
}

/// What was there before, for the way back.
#[derive(Debug, Default)]
struct Journal {
    olds: Vec<Old>,
    /// The places that have been written, one bit each.
    written: u64,
}

const _: () = assert!(schema::KEPT <= u64::BITS as usize);

#[derive(Debug)]
struct Old {
    number: Number,
    place: u8,
    value: Cell,
}

/// Applies a transaction.
///
/// It keeps a symbol of its own, without generics: a study counts its calls from outside, by a probe of
/// the kernel at this function.
#[inline(never)]
pub(super) fn apply(
    model: &mut DataModel,
    transaction: &Transaction<'_>,
    view: &View<'_>,
) -> Result<Applied, TransactionError> {
    let trace = view.trace;
    let object = transaction.object;
    trace.event("dmTrans", Level::INFO, format_args!("{object}: set {}", transaction.sets.len()));
    let journal = match write(model, transaction, trace) {
        Ok(journal) => journal,
        Err(error) => {
            model.counts.refused += 1;
            trace.event("dmTrans", Level::WARNING, format_args!("{error}"));
            return Err(error);
        }
    };
    model.counts.transactions += 1;
    model.counts.set += transaction.sets.len() as u64;
    let event = event(model, object, journal, trace);
    let changed = event.iter().flat_map(|event| &event.changes);
    let changed: Vec<_> =
        changed.map(|changed| PARAMETERS[usize::from(changed.number)].name).collect();
    model.counts.changed += changed.len() as u64;
    if let Some(event) = event {
        model.counts.events += 1;
        trace.event("dmEvt", Level::INFO, format_args!("{object}: {} changed", changed.len()));
        model.subscriptions.changed(&event, view.wall_offset_ns);
    }
    Ok(Applied { set: transaction.sets.len(), changed })
}

/// Writes all values, or puts back those that it has written.
fn write(
    model: &mut DataModel,
    transaction: &Transaction<'_>,
    trace: &Trace,
) -> Result<Journal, TransactionError> {
    let object = transaction.object;
    let DataModel { store, texts, .. } = model;
    let slot = store.slot(object).ok_or(TransactionError::NoObject(object))?;
    let kept = store.get_mut(slot).ok_or(TransactionError::NoObject(object))?;
    let mut journal =
        Journal { olds: Vec::with_capacity(transaction.sets.len()), ..Journal::default() };
    for set in &transaction.sets {
        let mut object = Object { path: object, values: &mut kept.values, texts, trace };
        if let Err(error) = write_one(&mut object, set.0, &set.1, &mut journal) {
            roll_back(&mut kept.values, journal);
            return Err(error);
        }
    }
    Ok(journal)
}

/// An object that is written to.
struct Object<'a> {
    path: ObjectPath,
    values: &'a mut [Cell],
    texts: &'a mut Texts,
    trace: &'a Trace,
}

fn write_one(
    object: &mut Object<'_>,
    name: &str,
    value: &Value<'_>,
    journal: &mut Journal,
) -> Result<(), TransactionError> {
    let Object { path: object, values, texts, trace } = object;
    let object = *object;
    let (number, place) = admitted(object, name, value, trace)?;
    if journal.written & 1 << place != 0 {
        let name = PARAMETERS[usize::from(number)].name;
        return Err(TransactionError::Twice { object, name });
    }
    trace.event("dmParam", Level::INFO, format_args!("{object}{name}: write"));
    let new = Cell::keep(value, texts);
    let value = std::mem::replace(&mut values[usize::from(place)], new);
    journal.written |= 1 << place;
    journal.olds.push(Old { number, place, value });
    Ok(())
}

/// The parameter and its place, where the schema has it and admits the value.
fn admitted(
    object: ObjectPath,
    name: &str,
    value: &Value<'_>,
    trace: &Trace,
) -> Result<(Number, u8), TransactionError> {
    trace.event("dmPath", Level::INFO, format_args!("{object}{name}: look up"));
    let no_parameter = || TransactionError::NoParameter { object, name: name.into() };
    let number = schema::find(name).ok_or_else(no_parameter)?;
    let parameter = &PARAMETERS[usize::from(number)];
    let name = parameter.name;
    let place = PLACES[usize::from(number)].ok_or(TransactionError::Volatile { object, name })?;
    trace.event("dmType", Level::INFO, format_args!("{object}{name}: check"));
    if !parameter.kind.admits(value) {
        let value = format!("{value:?}").into();
        return Err(TransactionError::NotAdmitted { object, name, value });
    }
    Ok((number, place))
}

fn roll_back(values: &mut [Cell], journal: Journal) {
    for old in journal.olds {
        values[usize::from(old.place)] = old.value;
    }
}

/// What became another. It is here, at the end, that values are compared.
fn event(model: &DataModel, object: ObjectPath, journal: Journal, trace: &Trace) -> Option<Event> {
    let kept = model.store.get(model.store.slot(object)?)?;
    trace.event("dmObj", Level::INFO, format_args!("{object}: compare"));
    let changes: Vec<_> = journal
        .olds
        .into_iter()
        .filter(|old| kept.values[usize::from(old.place)] != old.value)
        .map(|old| Changed { number: old.number, to: kept.values[usize::from(old.place)].clone() })
        .collect();
    let address = kept.session.address;
    (!changes.is_empty()).then_some(Event { object, address, changes })
}
