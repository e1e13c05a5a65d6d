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

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use model::{
    event::Event,
    transmit::{FORMAT, Outcome, Run, Trial},
};
use serde::de::DeserializeOwned;

use super::rounds::Rounds;
use crate::{
    Error,
    run_folder::{EDITED, json, lock, no_run, sums::Sums, write_json, write_whole},
};

/// The file by which a folder is known as one of completion.
pub const MARK: &str = "transmit.json";

const STUDY: &str = "study.toml";
const ROUNDS: &str = "rounds.json";
const TRIALS: &str = "trials";
const CONSOLES: &str = "consoles";

/// A completion run's folder that this process alone writes to.
#[derive(Debug)]
pub struct TransmitFolder {
    path: PathBuf,
    events: Mutex<File>,
    sums: Mutex<Sums>,
    _lock: File,
}

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
    path.join(MARK).is_file()
}

impl TransmitFolder {
    /// Makes a folder for a new run.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if it holds one already, [`Error::Busy`] if another headroom is at it.
    pub fn create(path: &Path, run: &Run, study_text: &str) -> Result<Self, Error> {
        Self::check_free(path)?;
        fs::create_dir_all(path).map_err(Error::file("make", path))?;
        let folder = Self::open(path)?;
        Self::check_free(path)?;
        write_whole(&path.join(STUDY), study_text.as_bytes())?;
        write_json(&path.join(MARK), run)?;
        Ok(folder)
    }

    /// Refuses a folder that cannot take a new run, before any long work.
    ///
    /// # Errors
    ///
    /// As [`TransmitFolder::create`].
    pub fn check_free(path: &Path) -> Result<(), Error> {
        let taken =
            is_one(path) || path.join("run.json").exists() || path.join("contention.json").exists();
        if taken { Err(Error::Exists(path.to_owned())) } else { Ok(()) }
    }

    /// Opens a folder that holds a run, to go on with it.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`], [`Error::Busy`].
    pub fn resume(path: &Path) -> Result<(Self, Recorded), Error> {
        let recorded = read(path)?;
        Ok((Self::open(path)?, recorded))
    }

    fn open(path: &Path) -> Result<Self, Error> {
        let lock = lock(path)?;
        for name in [TRIALS, CONSOLES] {
            let folder = path.join(name);
            fs::create_dir_all(&folder).map_err(Error::file("make", folder))?;
        }
        let events = path.join("events.jsonl");
        let log = File::options().create(true).append(true).open(&events);
        let events = Mutex::new(log.map_err(Error::file("write", events))?);
        let sums = Mutex::new(Sums::read(path));
        Ok(Self { path: path.to_owned(), events, sums, _lock: lock })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the console of a trial is kept, without an ending.
    pub(super) fn console(&self, name: &str) -> PathBuf {
        self.path.join(CONSOLES).join(name)
    }

    /// Keeps a trial.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`]; earlier trials are untouched.
    pub fn keep(&self, trial: &Trial) -> Result<(), Error> {
        let (name, bytes) = (trial_name(trial.number), json(trial));
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.keep(&self.path, &name, &bytes)?;
        drop(sums);
        write_whole(&self.path.join(name), &bytes)
    }

    /// Keeps the work of tasks that is known.
    ///
    /// # Errors
    ///
    /// As [`TransmitFolder::keep`].
    pub(super) fn keep_rounds(&self, rounds: &Rounds) -> Result<(), Error> {
        write_json(&self.path.join(ROUNDS), rounds)
    }

    /// Keeps an event. The log is a convenience: a full disk is told by what matters more.
    pub(super) fn log(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut log = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = log.write_all(&line);
    }
}

/// A trial's file, below the run's folder.
fn trial_name(number: u32) -> String {
    format!("{TRIALS}/{number:04}.json")
}

/// Reads a run, whole or in part. Trials that cannot be read count as not made.
///
/// # Errors
///
/// [`Error::NotARun`].
pub fn read(path: &Path) -> Result<Recorded, Error> {
    let run: Run = read_json(&path.join(MARK)).map_err(|why| no_run(path, why))?;
    if run.format != FORMAT {
        let why = format!("its format is {}, this headroom reads {FORMAT}", run.format);
        return Err(no_run(path, why));
    }
    let study_text = fs::read_to_string(path.join(STUDY))
        .map_err(|error| no_run(path, format!("{STUDY}: {error}")))?;
    let rounds: Rounds = read_json(&path.join(ROUNDS)).unwrap_or_default();
    let sums = Sums::read(path);
    let mut edited = Vec::new();
    let mut trials = Vec::new();
    for number in numbers(path) {
        let name = trial_name(number);
        let Ok(bytes) = fs::read(path.join(&name)) else { continue };
        let Ok(mut one) = serde_json::from_slice::<Trial>(&bytes) else { continue };
        if !sums.holds(&name, &bytes) {
            edited.push(number);
            one.outcome = Outcome::Failed(EDITED.to_owned());
        }
        // The file's name is what the rest of the run knows it by.
        trials.push(Trial { number, ..one });
    }
    Ok(Recorded { path: path.to_owned(), run, trials, edited, rounds, study_text })
}

/// The numbers of the trials that have a file, in order.
fn numbers(path: &Path) -> Vec<u32> {
    let files = fs::read_dir(path.join(TRIALS)).into_iter().flatten().flatten();
    let number =
        |file: fs::DirEntry| file.file_name().to_str()?.strip_suffix(".json")?.parse().ok();
    let mut numbers: Vec<u32> = files.filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))
}

#[cfg(test)]
mod tests;
