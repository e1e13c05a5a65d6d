//! The folder of a completion run: complete after every trial, readable after a crash, used by one headroom at a
//! time.
//!
//! ```text
//! transmit.json     what was asked, with what, on what: model::transmit::Run
//! study.toml        the study file as it was given
//! rounds.json       the work of CPU tasks, as it was found at each place
//! trials/0001.json  model::transmit::Trial, by number in the plan
//! SHA256SUMS        of the trials, as they were written
//! ```
//!
//! Consoles and `events.jsonl` are for people who look for a fault.

use std::path::{Path, PathBuf};

use model::{
    event::Event,
    transmit::{FORMAT, Outcome, Run, Trial},
};

use super::rounds::Rounds;
use crate::{
    Error, contention,
    run_folder::{
        EDITED,
        kept::Kept,
        numbered::{self, Found, Layout, read_json},
        opened,
    },
};

/// The file by which a folder is known as one of completion.
pub const MARK: &str = "transmit.json";

const LAYOUT: Layout = Layout {
    mark: MARK,
    format: FORMAT,
    pieces: "trials",
    others: &["run.json", contention::folder::MARK],
};
const ROUNDS: &str = "rounds.json";

/// A completion run's folder that this process alone writes to.
#[derive(Debug)]
pub struct TransmitFolder(Kept);

/// A completion run as a folder holds it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The folder.
    pub path: PathBuf,
    /// What was asked, with what, on what.
    pub run: Run,
    /// The trials that were made, in the order of the plan. One that was edited failed.
    pub trials: Vec<Trial>,
    /// The numbers of trials whose files are not as they were written.
    pub edited: Vec<u32>,
    /// The work of tasks, as far as it was found.
    pub rounds: Rounds,
    /// The study file as it was given.
    pub study_text: String,
}

/// Whether a folder holds a completion run.
pub fn is_one(path: &Path) -> bool {
    LAYOUT.is_one(path)
}

impl TransmitFolder {
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
    /// As [`TransmitFolder::create`].
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

    /// Where the console of a trial is kept, without an ending.
    pub(super) fn console(&self, name: &str) -> PathBuf {
        numbered::console(&self.0, name)
    }

    /// Keeps a trial.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`]; earlier trials are untouched.
    pub fn keep(&self, trial: &Trial) -> Result<(), Error> {
        self.0.keep(&LAYOUT.piece(trial.number), trial)
    }

    /// Keeps the work of tasks that is known.
    ///
    /// # Errors
    ///
    /// As [`TransmitFolder::keep`].
    pub(super) fn keep_rounds(&self, rounds: &Rounds) -> Result<(), Error> {
        self.0.write(ROUNDS, rounds)
    }

    /// Keeps an event.
    pub(super) fn log(&self, event: &Event) {
        self.0.log(event);
    }
}

/// Reads a run, whole or in part. Trials that cannot be read count as not made.
///
/// # Errors
///
/// [`Error::NotARun`].
pub fn read(path: &Path) -> Result<Recorded, Error> {
    let edit = |one: &mut Trial| one.outcome = Outcome::Failed(EDITED.to_owned());
    let found = LAYOUT.read(path, |run: &Run| run.format, edit)?;
    let Found { run, pieces, edited, study_text } = found;
    // The file's name is what the rest of the run knows it by.
    let trials = pieces.into_iter().map(|(number, one)| Trial { number, ..one }).collect();
    let rounds: Rounds = read_json(&opened(path)?, ROUNDS).unwrap_or_default();
    Ok(Recorded { path: path.to_owned(), run, trials, edited, rounds, study_text })
}

#[cfg(test)]
mod tests;
