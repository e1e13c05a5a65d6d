//! The run folder: complete after every trial, readable after a crash, used by one headroom at a time.
//!
//! Each file is written alongside its place and moved there whole. [`model::run`] has the layout; `SHA256SUMS`
//! tells of trials that were edited since.

mod recorded;
pub(crate) mod sums;

use std::{
    ffi::OsStr,
    fs::{File, TryLockError},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use linux::folder::{self, Folder};
use model::{
    event::Event,
    run::Run,
    trial::{Trial, TrialId},
};
use serde::Serialize;

pub use self::recorded::{Recorded, read, read_in};
use self::sums::Sums;
use crate::{Error, stack_file::proof_of};

pub const OBJECTS: &str = "objects";

const TRIALS: &str = "trials";

const RUN: &str = "run.json";
const STUDY: &str = "study.toml";
const CALIBRATION: &str = "calibration.json";

/// Files by which runs of the formats before 5 were known, where they were of another kind.
const OLD_RUNS: [&str; 2] = ["contention.json", "transmit.json"];

/// The longest file of JSON or text that a run has, bytes: what it plans, or one trial.
pub(crate) const LONGEST: u64 = 64 << 20;

const LONGEST_TRIALS: u64 = 256 << 20;

const EVENTS: &str = "events.jsonl";
const LOCK: &str = "lock";

/// A run folder that this process alone writes to.
#[derive(Debug)]
pub struct RunFolder {
    folder: Folder,
    events: Mutex<File>,
    sums: Mutex<Sums>,
    lock: File,
}

impl RunFolder {
    /// Makes a folder for a new run. One that holds a run already, or that another headroom uses, is refused.
    pub fn create(path: &Path, run: &Run, study_text: &str) -> Result<Self, Error> {
        let folder = Self::open(path)?;
        if is_one(path) {
            return Err(exists(path));
        }
        folder.write_bytes(STUDY, study_text.as_bytes())?;
        folder.write(RUN, run)?;
        Ok(folder)
    }

    /// Refuses a folder that cannot take a new run, before any long work.
    pub fn check_free(path: &Path) -> Result<(), Error> {
        if !is_one(path) {
            return Ok(());
        }
        Self::open(path)?;
        Err(exists(path))
    }

    pub fn resume(path: &Path) -> Result<(Self, Recorded), Error> {
        // What is no run is left as it is.
        let recorded = read(path)?;
        let folder = Self::open(path)?;
        Ok((folder, recorded))
    }

    fn open(path: &Path) -> Result<Self, Error> {
        let folder = Folder::create(path).map_err(Error::file("make", path))?;
        let lock = lock(&folder)?;
        for name in [TRIALS, "stacks", OBJECTS, "consoles"] {
            folder.make_folder(name).map_err(Error::file("make", folder.path_of(name)))?;
        }
        let log = folder.append(EVENTS).map_err(Error::file("write", folder.path_of(EVENTS)))?;
        let sums = Mutex::new(Sums::read(&folder));
        Ok(Self { folder, events: Mutex::new(log), sums, lock })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn console(&self, id: &str) -> PathBuf {
        self.folder.path_of(format!("consoles/{id}.log"))
    }

    pub fn stacks(&self, id: &str) -> PathBuf {
        self.folder.path_of(stacks_name(id))
    }

    pub fn objects(&self) -> Result<Folder, Error> {
        let objects = self.folder.folder(OBJECTS);
        objects.map_err(Error::file("open", self.folder.path_of(OBJECTS)))
    }

    /// Keeps another plan: one that is known now, or a shorter one of a comparison that was decided early.
    pub fn plan_again(&self, run: &Run) -> Result<(), Error> {
        self.write(RUN, run)
    }

    pub fn keep_calibration(&self, calibration: &impl Serialize) -> Result<(), Error> {
        self.write(CALIBRATION, calibration)
    }

    /// Keeps a trial, with its sum. Where that fails, earlier trials are untouched.
    pub fn keep(&self, trial: &Trial) -> Result<(), Error> {
        let (name, bytes) = (trial_name(&trial.planned.id.to_string()), json(trial));
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.keep(&self.folder, &name, &bytes)?;
        drop(sums);
        self.write_bytes(&name, &bytes)
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        self.write_bytes(name, &json(value))
    }

    fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.folder.replace(name, bytes).map_err(Error::file("write", self.folder.path_of(name)))
    }

    /// Keeps a file of another run's folder that is not here yet.
    pub(crate) fn bring(&self, name: &str, mut from: &File) -> Result<(), Error> {
        if self.folder.has(name) {
            return Ok(());
        }
        let written = self.folder.replace_with(name, |file| io::copy(&mut from, file).map(drop));
        written.map_err(Error::file("write", self.folder.path_of(name)))
    }

    /// Keeps an event. The log is a convenience: a full disk is reported by what matters more.
    pub fn log(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut log = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = log.write_all(&line);
    }
}

impl Drop for RunFolder {
    /// The lock is the open file's: a child that another thread has just forked has that file too, until it executes
    /// its program. So it is given back, not only closed.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

fn lock(folder: &Folder) -> Result<File, Error> {
    let failed = || Error::file("lock", folder.path_of(LOCK));
    let file = folder.lock_file(LOCK).map_err(failed())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let what = "wait for it, or choose another folder with --out";
            let path = folder.path().display();
            Err(Error::Environment(format!("another headroom is running in {path}; {what}")))
        }
        Err(TryLockError::Error(error)) => Err(failed()(error)),
    }
}

fn exists(path: &Path) -> Error {
    let path = path.display();
    Error::Usage(format!(
        "{path} already holds a run; go on with `headroom run --resume {path}`, or choose another folder with --out"
    ))
}

/// Whether a folder holds a run, of whatever format.
pub fn is_one(path: &Path) -> bool {
    Folder::open(path).is_ok_and(|folder| holds_one(&folder))
}

pub fn holds_one(folder: &Folder) -> bool {
    folder.has(RUN) || OLD_RUNS.iter().any(|name| folder.has(name))
}

pub fn stacks_name(id: &str) -> String {
    format!("stacks/{id}.perf.data")
}

/// The proof of a recording, below a run's folder, alongside its stacks.
pub fn proof_name(id: &TrialId) -> String {
    proof_of(&stacks_name(&id.to_string()))
}

fn trial_name(id: &str) -> String {
    format!("{TRIALS}/{id}.json")
}

pub(crate) fn no_run(path: &Path, why: impl ToString) -> Error {
    Error::NotARun { path: path.to_owned(), why: why.to_string() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub made: usize,
    pub planned: usize,
}

impl Progress {
    pub fn is_whole(&self) -> bool {
        self.made == self.planned
    }
}

/// How far the run in a folder is; `None` where there is none. Reads every trial.
pub fn progress(path: &Path) -> Option<Progress> {
    let recorded = read(path).ok()?;
    Some(Progress { made: recorded.trials.len(), planned: recorded.run.plan.len() })
}

/// When a trial came to a run last; `None` where there is no run.
pub fn changed(path: &Path) -> Option<SystemTime> {
    let trials = opened(path).ok()?.folder(TRIALS).ok()?;
    trials.metadata().ok()?.modified().ok()
}

pub(crate) fn opened(path: &Path) -> Result<Folder, Error> {
    Folder::open(path).map_err(|error| no_run(path, error))
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Makes a file in place of what has its name: a link there is not followed.
pub(crate) fn new_file(path: &Path) -> Result<File, Error> {
    below(path, |folder, name| folder.new_file(name))
}

/// Writes a file so that it is there whole or not at all, also after a loss of power, and alongside others that
/// write the same one. A link there is replaced, not followed: the folder may be somebody else's.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    below(path, |folder, name| folder.replace(name, bytes))
}

/// Writes a file that the user named, who may have named a device, a pipe or a link: [`folder::write_out`].
pub fn write_out(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    folder::write_out(path, bytes).map_err(Error::file("write", path))
}

fn below<T>(path: &Path, write: impl FnOnce(&Folder, &OsStr) -> io::Result<T>) -> Result<T, Error> {
    let written = || {
        let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
        write(&Folder::open(path.parent().unwrap_or(Path::new("")))?, name)
    };
    written().map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use model::{
        run::{FORMAT, Host, LabIdentity},
        trial::{HostCost, Outcome},
    };

    use super::*;
    use crate::{plan, study_file};

    const TEXT: &str = include_str!("study_file/tests/small.toml");

    fn run() -> Run {
        let study = study_file::parse(TEXT).unwrap();
        Run {
            format: FORMAT,
            headroom: "0".to_owned(),
            began_unix: 0,
            plan: plan::shown(&study, None),
            study,
            overrides: Vec::new(),
            study_name: "s".to_owned(),
            study_sha256: String::new(),
            lab: LabIdentity::default(),
            host: Host::default(),
            versus: None,
            part: None,
            left: Vec::new(),
        }
    }

    fn trial(run: &Run, at: usize) -> Trial {
        Trial {
            planned: run.plan[at].clone(),
            began_unix: 0,
            cost: HostCost::default(),
            idle_before: None,
            same_as: None,
            outcome: Outcome::invalid("test"),
        }
    }

    fn begun() -> (tempfile::TempDir, Run, RunFolder) {
        let place = tempfile::tempdir().unwrap();
        let run = run();
        let folder = RunFolder::create(place.path(), &run, TEXT).unwrap();
        (place, run, folder)
    }

    #[test]
    fn a_folder_is_complete_after_every_trial() {
        let (place, run, folder) = begun();
        let path = place.path();
        for done in 0..3 {
            assert_eq!(read(path).unwrap().trials.len(), done);
            folder.keep(&trial(&run, done)).unwrap();
        }
        assert_eq!(read(path).unwrap().run, run);
    }

    #[test]
    fn a_folder_has_one_user_and_one_run() {
        let place = tempfile::tempdir().unwrap();
        let run = run();
        let create =
            || RunFolder::create(place.path(), &run, TEXT).map_err(|error| error.to_string());
        let resume = || RunFolder::resume(place.path());
        let folder = create().unwrap();
        // A child that has its files does not keep it.
        let of_a_child = folder.lock.try_clone().unwrap();
        assert!(create().unwrap_err().starts_with("another headroom is running in "));
        assert!(resume().unwrap_err().to_string().starts_with("another headroom is running in "));
        drop(folder);
        assert!(create().unwrap_err().contains(" already holds a run; go on with "));
        assert!(resume().is_ok());
        drop(of_a_child);
    }

    #[test]
    fn a_half_written_trial_counts_as_not_done() {
        let (place, run, folder) = begun();
        folder.keep(&trial(&run, 0)).unwrap();
        fs::write(place.path().join(trial_name(&run.plan[1].id.to_string())), "{\"plan").unwrap();
        assert_eq!(read(place.path()).unwrap().trials.len(), 1);
    }

    #[test]
    fn an_edited_trial_is_not_valid_and_is_named() {
        let (place, run, folder) = begun();
        for at in 0..3 {
            folder.keep(&trial(&run, at)).unwrap();
        }
        // Kept once more, as after `--resume`.
        folder.keep(&trial(&run, 2)).unwrap();
        let file = place.path().join(trial_name(&run.plan[1].id.to_string()));
        let edited = fs::read_to_string(&file).unwrap().replace("test", "tent");
        fs::write(&file, edited).unwrap();
        let found = read(place.path()).unwrap();
        assert_eq!(found.edited, [run.plan[1].id.to_string()]);
        let is_edited =
            |trial: &Trial| trial.why_invalid().is_some_and(|why| why.contains("edited since"));
        assert_eq!(found.trials.iter().map(is_edited).collect::<Vec<_>>(), [false, true, false]);
        folder.keep(&trial(&run, 1)).unwrap();
        assert!(read(place.path()).unwrap().edited.is_empty(), "measured again");
    }

    #[test]
    fn the_sums_are_those_of_sha256sum() {
        let (place, run, folder) = begun();
        folder.keep(&trial(&run, 0)).unwrap();
        let check = std::process::Command::new("sha256sum")
            .args(["--check", "--strict", sums::NAME])
            .current_dir(place.path())
            .output()
            .unwrap();
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    }

    #[test]
    fn a_file_may_be_written_by_many_at_once() {
        let place = tempfile::tempdir().unwrap();
        let to = place.path().join("object");
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..50).try_for_each(|_| write_whole(&to, &[7; 4096]))))
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap().unwrap());
        });
        assert_eq!(fs::read(&to).unwrap(), [7; 4096]);
        let message = write_whole(&place.path().join("none/page"), b"").unwrap_err().to_string();
        assert!(
            message.ends_with("none/page: No such file or directory (os error 2)"),
            "{message}"
        );
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "a partial file is left");
        // Anyone who may read what a program usually writes may read this too.
        let usual = place.path().join("usual");
        fs::write(&usual, "").unwrap();
        let permissions = |path: &Path| fs::metadata(path).unwrap().permissions();
        assert_eq!(permissions(&to), permissions(&usual));
    }

    #[test]
    fn what_is_no_run_is_reported() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("run.json"), "{}").unwrap();
        assert!(read(place.path()).unwrap_err().to_string().contains("missing field"));
    }
}
