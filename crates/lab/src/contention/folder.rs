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

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use model::{
    contention::{FORMAT, Fought, Outcome, Run},
    event::Event,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Error,
    run_folder::{EDITED, json, lock, no_run, sums::Sums, write_json, write_whole},
};

/// The file by which a folder is known as one of contention.
pub const MARK: &str = "contention.json";

const STUDY: &str = "study.toml";
const PACES: &str = "paces.json";
const BOUTS: &str = "bouts";
const CONSOLES: &str = "consoles";

/// A contention run's folder that this process alone writes to.
#[derive(Debug)]
pub struct ContentionFolder {
    path: PathBuf,
    events: Mutex<File>,
    sums: Mutex<Sums>,
    _lock: File,
}

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
    path.join(MARK).is_file()
}

impl ContentionFolder {
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
    /// As [`ContentionFolder::create`].
    pub fn check_free(path: &Path) -> Result<(), Error> {
        let taken = is_one(path) || path.join("run.json").exists();
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
        for name in [BOUTS, CONSOLES] {
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

    /// Where the console of a bout is kept, and the counts of its caches: without an ending.
    pub(super) fn console(&self, name: &str) -> PathBuf {
        self.path.join(CONSOLES).join(name)
    }

    /// Keeps a bout.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`]; earlier bouts are untouched.
    pub fn keep(&self, number: u32, fought: &Fought) -> Result<(), Error> {
        let (name, bytes) = (bout_name(number), json(fought));
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.keep(&self.path, &name, &bytes)?;
        drop(sums);
        write_whole(&self.path.join(name), &bytes)
    }

    /// Keeps the full rates that are known.
    ///
    /// # Errors
    ///
    /// As [`ContentionFolder::keep`].
    pub(super) fn keep_paces(&self, paces: &[Pace]) -> Result<(), Error> {
        write_json(&self.path.join(PACES), &paces)
    }

    /// Keeps an event. The log is a convenience: a full disk is told by what matters more.
    pub(super) fn log(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut log = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = log.write_all(&line);
    }
}

/// A bout's file, below the run's folder.
fn bout_name(number: u32) -> String {
    format!("{BOUTS}/{number:04}.json")
}

/// Reads a run, whole or in part. Bouts that cannot be read count as not fought.
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
    let paces: Vec<Pace> = read_json(&path.join(PACES)).unwrap_or_default();
    let sums = Sums::read(path);
    let mut edited = Vec::new();
    let mut fought = Vec::new();
    for number in numbers(path) {
        let name = bout_name(number);
        let Ok(bytes) = fs::read(path.join(&name)) else { continue };
        let Ok(mut one) = serde_json::from_slice::<Fought>(&bytes) else { continue };
        if !sums.holds(&name, &bytes) {
            edited.push(number);
            one.outcome = Outcome::Failed(EDITED.to_owned());
        }
        fought.push((number, one));
    }
    Ok(Recorded { path: path.to_owned(), run, fought, edited, paces, study_text })
}

/// The numbers of the bouts that have a file, in order.
fn numbers(path: &Path) -> Vec<u32> {
    let files = fs::read_dir(path.join(BOUTS)).into_iter().flatten().flatten();
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
