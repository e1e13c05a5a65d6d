//! The folder of a contention run: complete after every bout, readable after a crash, used by one headroom at a
//! time.
//!
//! ```text
//! contention.json   what was asked, with what, on what: model::contention::Run
//! study.toml        the study file as it was given
//! paces.json        full rates that paced traffic was ordered by, with their bouts
//! bouts/0001.json   model::contention::Fought, by number in the plan
//! SHA256SUMS        of the bouts, as they were written
//! ```
//!
//! Consoles and `events.jsonl` are for people who look for a fault.

use std::path::{Path, PathBuf};

use model::{
    contention::{FORMAT, Fought, Outcome, Run},
    event::Event,
};
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    run_folder::{
        EDITED,
        kept::Kept,
        numbered::{self, Found, Layout, read_json},
        opened,
    },
};

/// The file by which a folder is known as one of contention.
pub const MARK: &str = "contention.json";

const LAYOUT: Layout =
    Layout { mark: MARK, format: FORMAT, pieces: "bouts", others: &["run.json"] };
const PACES: &str = "paces.json";

/// A contention run's folder that this process alone writes to.
#[derive(Debug)]
pub struct ContentionFolder(Kept);

/// The full rate of traffic at a place, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// The place's name.
    pub place: String,
    /// The traffic's name.
    pub traffic: String,
    /// Bits of payload in a second that the paced traffic was ordered with; `None`: it could not be found.
    pub rate: Option<u64>,
    /// The bouts that it was found in.
    pub fought: Vec<Outcome>,
}

/// A contention run as a folder holds it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The folder.
    pub path: PathBuf,
    /// What was asked, with what, on what.
    pub run: Run,
    /// The bouts that were fought, with their numbers, in the order of the plan. One that was edited failed.
    pub fought: Vec<(u32, Fought)>,
    /// The numbers of bouts whose files are not as they were written.
    pub edited: Vec<u32>,
    /// Full rates that were measured.
    pub paces: Vec<Pace>,
    /// The study file as it was given.
    pub study_text: String,
}

/// Whether a folder holds a contention run.
pub fn is_one(path: &Path) -> bool {
    LAYOUT.is_one(path)
}

impl ContentionFolder {
    /// Makes a folder for a new run.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if it holds one already, [`Error::Busy`] if another headroom is at it.
    pub fn create(path: &Path, run: &Run, study_text: &str) -> Result<Self, Error> {
        LAYOUT.create(path, run, study_text).map(Self)
    }

    /// Refuses a folder that cannot take a new run, before any long work.
    ///
    /// # Errors
    ///
    /// As [`ContentionFolder::create`].
    pub fn check_free(path: &Path) -> Result<(), Error> {
        LAYOUT.check_free(path)
    }

    /// Opens a folder that holds a run, to go on with it.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`], [`Error::Busy`].
    pub fn resume(path: &Path) -> Result<(Self, Recorded), Error> {
        let recorded = read(path)?;
        Ok((Self(LAYOUT.open(path)?), recorded))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where the console of a bout is kept, and the counts of its caches: without an ending.
    pub(super) fn console(&self, name: &str) -> PathBuf {
        numbered::console(&self.0, name)
    }

    /// Keeps a bout.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`]; earlier bouts are untouched.
    pub fn keep(&self, number: u32, fought: &Fought) -> Result<(), Error> {
        self.0.keep(&LAYOUT.piece(number), fought)
    }

    /// Keeps the full rates that are known.
    ///
    /// # Errors
    ///
    /// As [`ContentionFolder::keep`].
    pub(super) fn keep_paces(&self, paces: &[Pace]) -> Result<(), Error> {
        self.0.write(PACES, &paces)
    }

    /// Keeps an event.
    pub(super) fn log(&self, event: &Event) {
        self.0.log(event);
    }
}

/// Reads a run, whole or in part. Bouts that cannot be read count as not fought.
///
/// # Errors
///
/// [`Error::NotARun`].
pub fn read(path: &Path) -> Result<Recorded, Error> {
    let edit = |one: &mut Fought| one.outcome = Outcome::Failed(EDITED.to_owned());
    let found = LAYOUT.read(path, |run: &Run| run.format, edit)?;
    let Found { run, pieces: fought, edited, study_text } = found;
    let paces: Vec<Pace> = read_json(&opened(path)?, PACES).unwrap_or_default();
    Ok(Recorded { path: path.to_owned(), run, fought, edited, paces, study_text })
}

#[cfg(test)]
mod tests;
