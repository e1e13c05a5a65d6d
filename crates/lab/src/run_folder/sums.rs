//! `SHA256SUMS` of a run folder: what each trial's file was when it was written, as `sha256sum -c` reads it.
//!
//! Shows that a file was edited by accident or in good faith. Anyone who wants to deceive can write new sums; this
//! is no signature.

use std::collections::BTreeMap;

use linux::folder::Folder;
use model::name::Sha256Hex;

use super::LONGEST;
use crate::{Error, cache::sum};

pub(crate) const NAME: &str = "SHA256SUMS";

/// Sums by path, as `trials/a@18#1.json`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums(BTreeMap<String, Sha256Hex>);

impl Sums {
    /// The sums of a run. Without a file there are none; lines that are no sums are left out.
    pub(crate) fn read(run: &Folder) -> Self {
        let text = run.read_text(NAME, LONGEST).unwrap_or_default();
        let line = |line: &str| {
            let (sum, path) = line.split_once("  ")?;
            Some((path.to_owned(), sum.parse().ok()?))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Keeps the sum of a file that is about to be written. The sums come first: a crash between the two leaves
    /// a file without its trial, and never a trial that seems edited.
    pub(crate) fn keep(&mut self, run: &Folder, path: &str, bytes: &[u8]) -> Result<(), Error> {
        self.0.insert(path.to_owned(), sum(bytes));
        let lines = self.0.iter().map(|(path, sum)| format!("{sum}  {path}\n"));
        let written = run.replace(NAME, lines.collect::<String>().as_bytes());
        written.map_err(Error::file("write", run.path_of(NAME)))
    }

    pub(crate) fn holds(&self, path: &str, bytes: &[u8]) -> bool {
        self.0.get(path).is_some_and(|kept| *kept == sum(bytes))
    }
}
