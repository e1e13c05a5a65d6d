//! Which parameters there are: names, types, which of them are kept, and where the values come from.
//!
//! Two trees show the same stations: `WiFi.` with the field's names, and `Device.WiFi.` with those of
//! TR-181 2.19.1. The second has no values of its own; each of its names is another name for one of the
//! first's. It reads nothing by itself and knows no instance.

mod field;
mod point;
mod read;
mod standard;

pub(super) use self::{
    field::PARAMETERS,
    point::{FIELD_POINT, PointParameter, STANDARD_POINT},
    read::Sight,
};
use super::value::Value;

/// What a parameter may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A number from the first to the second.
    Signed(i64, i64),
    /// A number from 0 to this one.
    Unsigned(u64),
    Text,
    Word(&'static [&'static str]),
    Time,
    Address,
}

impl Kind {
    /// Whether it may hold a value. Every parameter may be absent: that is what “unknown” is.
    pub(super) fn admits(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (_, Value::Absent)
            | (Self::Bool, Value::Bool(_))
            | (Self::Text, Value::Text(_))
            | (Self::Time, Value::Time(_))
            | (Self::Address, Value::Address(_)) => true,
            (Self::Signed(least, most), Value::Signed(value)) => (least..=most).contains(value),
            (Self::Unsigned(most), Value::Unsigned(value)) => *value <= most,
            (Self::Word(words), Value::Text(text)) => words.contains(&text.as_ref()),
            _ => false,
        }
    }
}

/// Where a parameter's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// In the object, where transactions write it.
    Static,
    /// As [`Keeping::Static`], for the field's daemon counts it among them. But a reading may change it
    /// within an association, or know it better, so the one that asks gets it from the table.
    Slow,
    /// In the table: volatile.
    Live,
}

#[derive(Debug)]
pub struct Parameter {
    /// Its name below its object.
    pub name: &'static str,
    pub kind: Kind,
    /// Where its value is.
    pub keeping: Keeping,
    /// Where its value comes from.
    read: for<'a> fn(&Sight<'a>) -> Value<'a>,
}

impl Parameter {
    /// Its value at the source.
    pub(super) fn read<'a>(&self, sight: &Sight<'a>) -> Value<'a> {
        (self.read)(sight)
    }

    /// Whether it is a number of more than 32 bits.
    pub fn is_wide(&self) -> bool {
        matches!(self.kind, Kind::Unsigned(most) if most > u64::from(u32::MAX))
    }

    /// Whether reading it means reading the table.
    pub(super) fn is_live(&self) -> bool {
        self.keeping != Keeping::Static
    }
}

/// The place of a parameter in [`PARAMETERS`].
pub(super) type Number = u8;

/// How many parameters an object keeps.
pub(super) const KEPT: usize = 45;

/// The place in an object of each parameter that is kept.
pub(super) static PLACES: [Option<u8>; PARAMETERS.len()] = places();

/// The parameter of each place in an object.
pub(super) static WRITTEN: [Number; KEPT] = written();

const fn places() -> [Option<u8>; PARAMETERS.len()] {
    let (mut places, mut number, mut next) = ([None; PARAMETERS.len()], 0, 0);
    while number < PARAMETERS.len() {
        if !matches!(PARAMETERS[number].keeping, Keeping::Live) {
            places[number] = Some(next);
            next += 1;
        }
        number += 1;
    }
    places
}

const fn written() -> [Number; KEPT] {
    let (mut written, mut number, mut next) = ([0; KEPT], 0, 0);
    while number < PARAMETERS.len() {
        if !matches!(PARAMETERS[number].keeping, Keeping::Live) {
            written[next] = number as Number;
            next += 1;
        }
        number += 1;
    }
    assert!(next == KEPT);
    written
}

/// The parameter of a name.
pub(super) fn find(name: &str) -> Option<Number> {
    PARAMETERS.binary_search_by(|parameter| parameter.name.cmp(name)).ok().map(|at| at as Number)
}

/// All parameters of a station, as the field names them: name, type and where the value is.
pub fn parameters() -> impl Iterator<Item = &'static Parameter> {
    PARAMETERS.iter()
}

/// A name in one of the trees.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The name, as `Stats.BytesSent`.
    pub(super) name: &'static str,
    /// The parameter that it names; `None` where nothing tells it.
    pub(super) number: Option<Number>,
}

/// One of the two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// `WiFi.`, as the field has it.
    Field,
    /// `Device.WiFi.`, as TR-181 has it.
    Standard,
}

impl Tree {
    /// What every path of it begins with.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Field => "WiFi.AccessPoint.",
            Self::Standard => "Device.WiFi.AccessPoint.",
        }
    }

    /// The names of a station's parameters, in order.
    pub(super) fn leaves(self) -> &'static [Leaf] {
        match self {
            Self::Field => &FIELD,
            Self::Standard => &standard::LEAVES,
        }
    }

    /// The names of an access point's own parameters.
    pub(super) fn point_parameters(self) -> &'static [PointParameter] {
        match self {
            Self::Field => &FIELD_POINT,
            Self::Standard => &STANDARD_POINT,
        }
    }
}

/// In the field's tree every name is its own.
static FIELD: [Leaf; PARAMETERS.len()] = field_leaves();

const fn field_leaves() -> [Leaf; PARAMETERS.len()] {
    let mut leaves = [const { Leaf { name: "", number: None } }; PARAMETERS.len()];
    let mut number = 0;
    while number < PARAMETERS.len() {
        leaves[number] = Leaf { name: PARAMETERS[number].name, number: Some(number as Number) };
        number += 1;
    }
    leaves
}

#[cfg(test)]
mod tests;
