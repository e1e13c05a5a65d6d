//! Studies of other kinds than the first: each is known by a table that no other has. What is in it, and which of it
//! is wrong, is its own module's to say.

use std::path::Path;

use linux::file;
use toml::de::DeTable;

use super::{Error, Fault};

/// A study as it was given, and what it means.
#[derive(Clone, Debug)]
pub struct Given<S> {
    /// The file's name without folder and ending.
    pub name: String,
    /// The text.
    pub text: String,
    /// What it means, and what is carried out.
    pub study: S,
    /// What the command line changed in it, as `window = 10s`.
    pub overrides: Vec<String>,
}

/// Whether a text has this table, be it whole or broken.
pub(crate) fn has(text: &str, mark: &str) -> bool {
    DeTable::parse_recoverable(text).0.get_ref().contains_key(mark)
}

/// Reads and checks a study file; `None` where it has no such table.
///
/// # Errors
///
/// [`Error`], with file and line.
pub(crate) fn load<S>(
    path: &Path,
    mark: &str,
    parse: impl Fn(&str) -> Result<S, Fault>,
) -> Result<Option<Given<S>>, Error> {
    let read = file::text(path, file::WRITTEN);
    let text = read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    if !has(&text, mark) {
        return Ok(None);
    }
    let wrong = |Fault { line, why }| Error::Wrong { path: path.to_owned(), line, why };
    let study = parse(&text).map_err(wrong)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Some(Given { name, text, study, overrides: Vec::new() }))
}
