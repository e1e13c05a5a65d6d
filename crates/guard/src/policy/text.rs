//! From text to a policy: lines for what is wrong, nearest keys for what is misspelt, and the files beside it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use linux::file;
use toml::{
    Table, Value,
    de::{DeTable, DeValue},
};

use super::{
    Error, Policy,
    rules::{self, Place, Wrong},
};

/// Files of one policy: its own, and those in the folder beside it.
const MOST_FILES: usize = 64;

/// A key that is longer is no one's slip.
const LONGEST_KEY: usize = 64;

/// One file: what errors call it, and what stands in it.
struct Source {
    name: String,
    text: String,
}

pub(super) fn read(path: &Path) -> Result<Policy, Error> {
    let mut sources = vec![source(path)?];
    for file in drop_ins(path)? {
        sources.push(source(&file)?);
    }
    merge(&sources)
}

pub(super) fn parse(text: &str, name: &str) -> Result<Policy, Error> {
    merge(&[Source { name: name.to_owned(), text: text.to_owned() }])
}

fn source(path: &Path) -> Result<Source, Error> {
    let text = file::text(path, file::WRITTEN)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    Ok(Source { name: path.display().to_string(), text })
}

/// The files in the folder beside a policy, in the order of their names.
fn drop_ins(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let folder = path.with_extension("d");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |source| Error::Read { path: folder.clone(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        let is_hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        if file.extension().is_some_and(|ending| ending == "toml") && !is_hidden {
            files.push(file);
        }
    }
    if files.len() >= MOST_FILES {
        let why = format!("{} files of policy; at most {}", files.len(), MOST_FILES - 1);
        return Err(Error::Wrong { file: folder.display().to_string(), line: 1, why });
    }
    files.sort();
    Ok(files)
}

/// Puts the files together and checks the whole. What one file alone has wrong is told with its line; what two
/// have together, with the later one's.
fn merge(sources: &[Source]) -> Result<Policy, Error> {
    let mut whole = Table::new();
    for source in sources {
        let alone: Policy =
            toml::from_str(&source.text).map_err(|error| misshapen(source, &error))?;
        rules::check(&alone).map_err(|wrong| source.wrong(&wrong))?;
        let table: Table =
            toml::from_str(&source.text).map_err(|error| misshapen(source, &error))?;
        lay_over(&mut whole, table);
    }
    let last = sources.last();
    let policy = Policy::try_from_table(whole).map_err(|why| whole_fault(last, why))?;
    match rules::check(&policy) {
        Ok(()) => Ok(policy),
        Err(wrong) => Err(locate(sources, &wrong)),
    }
}

impl Policy {
    fn try_from_table(table: Table) -> Result<Self, String> {
        table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
    }
}

fn whole_fault(last: Option<&Source>, why: String) -> Error {
    let file = last.map_or_else(String::new, |source| source.name.clone());
    Error::Wrong { file, line: 1, why }
}

/// Where two files contradict each other: the last one that has the key or the application.
fn locate(sources: &[Source], wrong: &Wrong) -> Error {
    let found = sources.iter().rev().find_map(|one| one.line(&wrong.place).map(|line| (one, line)));
    let why = wrong.why.clone();
    match found {
        Some((source, line)) => Error::Wrong { file: source.name.clone(), line, why },
        None => whole_fault(sources.last(), why),
    }
}

/// Applications are added, tables are gone through, and everything else is replaced.
fn lay_over(whole: &mut Table, over: Table) {
    for (key, value) in over {
        match (whole.get_mut(&key), value) {
            (Some(Value::Array(there)), Value::Array(more)) if key == "application" => {
                there.extend(more);
            }
            (Some(Value::Table(there)), Value::Table(more)) => lay_over(there, more),
            (_, value) => drop(whole.insert(key, value)),
        }
    }
}

/// A fault of shape, in our words where serde's can be bettered.
fn misshapen(source: &Source, error: &toml::de::Error) -> Error {
    let line = error.span().map_or(1, |span| line_at(&source.text, span.start));
    let message = error.message();
    let why = nearest_key(message).unwrap_or_else(|| plain(message));
    Error::Wrong { file: source.name.clone(), line, why }
}

/// serde's words for the values that people get wrong most.
fn plain(message: &str) -> String {
    if message.contains("u8") {
        return "aggressiveness is a whole number from 0 to 100".to_owned();
    }
    message.replace('\n', "; ")
}

/// serde says “unknown field `x`, expected one of `a`, `b`”; people want the one they meant.
fn nearest_key(message: &str) -> Option<String> {
    let rest = message.strip_prefix("unknown field")?;
    let mut words = rest.split('`').skip(1).step_by(2);
    let wrong = words.next()?;
    let known: Vec<&str> = words.collect();
    // No one mistypes that much, and a distance costs the product of both lengths.
    if wrong.len() > LONGEST_KEY {
        let begins: String = wrong.chars().take(LONGEST_KEY).collect();
        return Some(format!("unknown key `{begins}…`; known here: {}", known.join(", ")));
    }
    // Half of a name is what people remember.
    let half = known.iter().find(|one| one.split('-').any(|part| part == wrong));
    let distances = known.iter().map(|one| (strsim::damerau_levenshtein(wrong, one), *one));
    let nearest = distances.min().filter(|(distance, _)| *distance <= 3).map(|(_, one)| one);
    Some(match half.copied().or(nearest) {
        Some(nearest) => format!("unknown key `{wrong}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{wrong}`; known here: {}", known.join(", ")),
    })
}

/// The line of a byte offset, from 1.
fn line_at(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

impl Source {
    fn wrong(&self, wrong: &Wrong) -> Error {
        let line = self.line(&wrong.place).unwrap_or(1);
        Error::Wrong { file: self.name.clone(), line, why: wrong.why.clone() }
    }

    /// The line of a place, if this file has it.
    fn line(&self, place: &Place) -> Option<usize> {
        let document = DeTable::parse(&self.text).ok()?;
        let root = document.get_ref();
        let offset = match place {
            Place::Key(path) => {
                let mut table = root;
                let mut offset = None;
                for step in *path {
                    let (key, value) = table.get_key_value(*step)?;
                    offset = Some(key.span().start);
                    if let DeValue::Table(inner) = value.get_ref() {
                        table = inner;
                    }
                }
                offset?
            }
            Place::Application { name, key } => application(root, name, key)?,
        };
        Some(line_at(&self.text, offset))
    }
}

/// The offset of a key of the last application with this name, or else of its name or its table.
fn application(root: &DeTable<'_>, name: &str, key: &str) -> Option<usize> {
    let list = root.get("application")?.get_ref().as_array()?;
    let given = |table: &DeTable<'_>| {
        table.get("name").and_then(|given| given.get_ref().as_str()).unwrap_or_default().to_owned()
    };
    let item = list
        .iter()
        .rev()
        .find(|one| one.get_ref().as_table().is_some_and(|table| given(table) == name))?;
    let table = item.get_ref().as_table()?;
    let found = table.get_key_value(key).or_else(|| table.get_key_value("name"));
    Some(found.map_or(item.span().start, |(key, _)| key.span().start))
}
