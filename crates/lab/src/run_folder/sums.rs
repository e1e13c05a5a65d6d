//! `SHA256SUMS` of a run folder: what each trial's file was when it was written, as `sha256sum -c` reads it.
//!
//! Shows that a file was edited by accident or in good faith. Whoever wants to deceive can write new sums; this
//! is no signature.

use std::{collections::BTreeMap, fs, path::Path};

use super::write_whole;
use crate::{Error, cache::sum};

/// The file's name.
pub(crate) const NAME: &str = "SHA256SUMS";

/// Sums by path, as `trials/a@18#1.json`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums(BTreeMap<String, String>);

impl Sums {
    /// The sums of a run. Without a file there are none; lines that are no sums are left out.
    pub(crate) fn read(run: &Path) -> Self {
        let text = fs::read_to_string(run.join(NAME)).unwrap_or_default();
        let line = |line: &str| {
            let (sum, path) = line.split_once("  ")?;
            Some((path.to_owned(), sum.to_owned()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Keeps the sum of a file that is about to be written. The sums come first: a crash between the two leaves
    /// a file without its trial, and never a trial that seems edited.
    pub(crate) fn keep(&mut self, run: &Path, path: &str, bytes: &[u8]) -> Result<(), Error> {
        self.0.insert(path.to_owned(), sum(bytes));
        let lines = self.0.iter().map(|(path, sum)| format!("{sum}  {path}\n"));
        write_whole(&run.join(NAME), lines.collect::<String>().as_bytes())
    }

    /// Whether a file is as it was written.
    pub(crate) fn holds(&self, path: &str, bytes: &[u8]) -> bool {
        self.0.get(path).is_some_and(|kept| *kept == sum(bytes))
    }
}
