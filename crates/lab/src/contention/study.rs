//! Contention study files: TOML text to a checked [`Study`], and one clear line where that fails.
//!
//! The shape is [`model::contention`]'s. Keys of flattened tables are looked at here by hand, because serde
//! neither refuses unknown ones there nor knows their lines; [`rules`] has what types cannot say. Pure.

mod rules;

use model::contention::{Application, NamedControl, Study, Traffic};
use model::{experiment::Kind, nearest};
use serde::de::DeserializeOwned;
use toml::{
    Spanned,
    de::{DeTable, DeValue, Deserializer},
};

use self::rules::Rules;
use crate::study_file::{Fault, line_at, shape_fault};

/// The keys of each table that is written again and again, with what is flattened into it.
const TRAFFIC: &[&str] = &[
    "name",
    "flow",
    "bytes",
    "rate",
    "paced",
    "endpoints",
    "nat",
    "threaded",
    "no-offload",
    "link-limit",
    "bursts",
    "probes",
];
const APPLICATION: &[&str] = &["name", "stressor", "words", "workers", "swap"];
const CONTROL: &[&str] = &["name", "control", "fixed", "reported"];

const FIGURE: &str =
    "this needs a figure or none at all; write for instance { weight = 512 } or \"idle\"";

/// Checks a study that the command line has changed; there is no line to tell then.
pub fn check(study: &Study) -> Result<(), String> {
    Rules { text: "", study }.check().map_err(|fault| fault.why)
}

/// Reads a study from text and checks it.
pub fn parse(text: &str) -> Result<Study, Fault> {
    let document =
        DeTable::parse(text).map_err(|error| shape_fault(text, Kind::Contention, &error))?;
    let tables = Tables { text, document: document.get_ref() };
    tables.look::<Traffic>("traffic", TRAFFIC)?;
    tables.look::<Application>("application", APPLICATION)?;
    tables.look_whole::<NamedControl>("control", CONTROL)?;
    let study: Study =
        toml::from_str(text).map_err(|error| shape_fault(text, Kind::Contention, &error))?;
    Rules { text, study: &study }.check()?;
    Ok(study)
}

/// The tables that serde would read without complaint.
struct Tables<'a> {
    text: &'a str,
    document: &'a DeTable<'a>,
}

impl<'a> Tables<'a> {
    /// Every `[[what]]` is a `T` with a name.
    fn look<T: DeserializeOwned>(&self, what: &str, known: &[&str]) -> Result<(), Fault> {
        for table in self.all(what) {
            self.keys(table.get_ref(), known)?;
            let mut own = table.clone();
            own.get_mut().remove("name");
            self.fits::<T>(own)?;
        }
        Ok(())
    }

    /// Every `[[what]]` is a `T`.
    fn look_whole<T: DeserializeOwned>(&self, what: &str, known: &[&str]) -> Result<(), Fault> {
        for table in self.all(what) {
            self.keys(table.get_ref(), known)?;
            self.fits::<T>(table)?;
        }
        Ok(())
    }

    /// The tables of an array; what is no array of tables is serde's to refuse.
    fn all(&self, what: &str) -> Vec<Spanned<DeTable<'a>>> {
        let array = self.document.get(what).and_then(|value| value.get_ref().as_array());
        let table = |value: &Spanned<DeValue<'a>>| match value.get_ref() {
            DeValue::Table(table) => Some(Spanned::new(value.span(), table.clone())),
            _ => None,
        };
        array.into_iter().flatten().filter_map(table).collect()
    }

    fn keys(&self, table: &DeTable<'_>, known: &[&str]) -> Result<(), Fault> {
        let unknown =
            |key: &&Spanned<std::borrow::Cow<'_, str>>| !known.contains(&key.get_ref().as_ref());
        let Some(key) = table.keys().find(unknown) else { return Ok(()) };
        let wrong = key.get_ref();
        let why =
            format!("unknown key `{wrong}`; {}", nearest::or_all(wrong, known, "known here:"));
        Err(Fault { line: line_at(self.text, key.span().start), why })
    }

    fn fits<T: DeserializeOwned>(&self, table: Spanned<DeTable<'a>>) -> Result<(), Fault> {
        let line = line_at(self.text, table.span().start);
        T::deserialize(Deserializer::from(table)).map(drop).map_err(|error| {
            let fault = shape_fault(self.text, Kind::Contention, &error);
            // What has no place of its own, as a key that is missing, is its table's.
            let line = error.span().map_or(line, |_| fault.line);
            // serde's words for a value without its figure are of Rust's types.
            let why = if fault.why.contains("unit variant") { FIGURE } else { &fault.why };
            Fault { line, why: why.to_owned() }
        })
    }
}

#[cfg(test)]
mod tests;
