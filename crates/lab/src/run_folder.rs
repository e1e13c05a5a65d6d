//! The run folder: complete after every trial, readable after a crash, used by one headroom at a time.
//!
//! Each file is written beside its place and moved there whole. [`model::run`] has the layout; `SHA256SUMS`
//! tells of trials that were edited since.

pub(crate) mod kept;
pub(crate) mod numbered;
pub(crate) mod sums;

use std::{
    fs::{self, File, TryLockError},
    io::Write,
    path::{Path, PathBuf},
};

use model::{
    event::Event,
    run::{FORMAT, Run},
    trial::{Outcome, PlannedTrial, Trial, TrialId},
};
use serde::{Deserialize, Serialize};

use self::{kept::Kept, sums::Sums};
use crate::Error;

/// The folder of files that explain stacks.
pub const OBJECTS: &str = "objects";

/// A run folder that this process alone writes to.
#[derive(Debug)]
pub struct RunFolder(Kept);

/// A run as a folder holds it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The folder.
    pub path: PathBuf,
    /// What was asked, with what, on what.
    pub run: Run,
    /// The trials that were done, in the order of the plan. One that was edited is not valid.
    pub trials: Vec<Trial>,
    /// The trials whose files are not as they were written, as `variant@clients#repetition`.
    pub edited: Vec<String>,
    /// The study file as it was given.
    pub study_text: String,
}

impl Recorded {
    /// A run of which nothing is done yet.
    pub(crate) fn begun(path: &Path, run: Run, study_text: String) -> Self {
        Self { path: path.to_owned(), run, trials: Vec::new(), edited: Vec::new(), study_text }
    }
}

impl RunFolder {
    /// Makes a folder for a new run.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] if it holds one already, [`Error::Busy`] if another headroom is at it.
    pub fn create(path: &Path, run: &Run, study_text: &str) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(Error::file("make", path))?;
        let folder = Self::open(path)?;
        if path.join("run.json").exists() {
            return Err(Error::Exists(path.to_owned()));
        }
        write_whole(&path.join("study.toml"), study_text.as_bytes())?;
        write_json(&path.join("run.json"), run)?;
        Ok(folder)
    }

    /// Refuses a folder that cannot take a new run, before any long work.
    ///
    /// # Errors
    ///
    /// As [`RunFolder::create`].
    pub fn check_free(path: &Path) -> Result<(), Error> {
        if !path.join("run.json").exists() {
            return Ok(());
        }
        Self::open(path)?;
        Err(Error::Exists(path.to_owned()))
    }

    /// Opens a folder that holds a run, to go on with it.
    ///
    /// # Errors
    ///
    /// [`Error::NotARun`], [`Error::Busy`].
    pub fn resume(path: &Path) -> Result<(Self, Recorded), Error> {
        if !path.join("run.json").exists() {
            return Err(no_run(path, "there is no run.json"));
        }
        let folder = Self::open(path)?;
        let recorded = read(path)?;
        Ok((folder, recorded))
    }

    fn open(path: &Path) -> Result<Self, Error> {
        Kept::open(path, &["trials", "stacks", OBJECTS, "consoles"]).map(Self)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where a trial's console is kept.
    pub fn console(&self, id: &TrialId) -> PathBuf {
        self.path().join("consoles").join(format!("{id}.log"))
    }

    /// Where a trial's stacks are kept.
    pub fn stacks(&self, id: &TrialId) -> PathBuf {
        stacks_path(self.path(), id)
    }

    /// Where the files are kept that explain stacks.
    pub fn objects(&self) -> PathBuf {
        self.path().join(OBJECTS)
    }

    /// Keeps a plan that is shorter than it was: a comparison that was decided early.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`].
    pub fn plan_again(&self, run: &Run) -> Result<(), Error> {
        write_json(&self.path().join("run.json"), run)
    }

    /// Keeps a trial.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`]; earlier trials are untouched.
    pub fn keep(&self, trial: &Trial) -> Result<(), Error> {
        self.0.keep(&trial_name(&trial.planned.id), trial)
    }

    /// Keeps an event. The log is a convenience: a full disk is told by what matters more.
    pub fn log(&self, event: &Event) {
        self.0.log(event);
    }
}

/// Takes a run's folder for this process, for as long as the file lives.
///
/// # Errors
///
/// [`Error::Busy`] if another headroom is at it.
pub(crate) fn lock(folder: &Path) -> Result<File, Error> {
    let lock = folder.join("lock");
    let file = File::create(&lock).map_err(Error::file("write", &lock))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(Error::file("lock", lock)(error)),
    }
}

/// The stacks of a trial, in a run's folder.
pub fn stacks_path(run: &Path, id: &TrialId) -> PathBuf {
    run.join("stacks").join(format!("{id}.perf.data"))
}

/// The proof of a recording, beside its stacks.
pub fn proof_of(path: &Path) -> PathBuf {
    path.with_extension("").with_extension("proof.perf.data")
}

fn trial_path(run: &Path, id: &TrialId) -> PathBuf {
    run.join(trial_name(id))
}

/// A trial's file, below the run's folder.
fn trial_name(id: &TrialId) -> String {
    format!("trials/{id}.json")
}

pub(crate) fn no_run(path: &Path, why: impl ToString) -> Error {
    Error::NotARun { path: path.to_owned(), why: why.to_string() }
}

/// Reads a run, whole or in part. Trials that cannot be read count as not done.
///
/// # Errors
///
/// [`Error::NotARun`].
pub fn read(path: &Path) -> Result<Recorded, Error> {
    let run = read_run(&path.join("run.json")).map_err(|why| no_run(path, why))?;
    let study_text = fs::read_to_string(path.join("study.toml"))
        .map_err(|error| no_run(path, format!("study.toml: {error}")))?;
    let sums = Sums::read(path);
    let mut edited = Vec::new();
    let mut done = |planned: &PlannedTrial| {
        let bytes = fs::read(trial_path(path, &planned.id)).ok()?;
        let trial: Trial = serde_json::from_slice(&bytes).ok()?;
        if sums.holds(&trial_name(&planned.id), &bytes) && trial.planned.id == planned.id {
            return Some(trial);
        }
        edited.push(planned.id.to_string());
        let outcome = Outcome::Invalid { why: EDITED.to_owned(), console: Vec::new() };
        Some(Trial { planned: planned.clone(), outcome, ..trial })
    };
    let trials = run.plan.iter().filter_map(&mut done).collect();
    Ok(Recorded { path: path.to_owned(), run, trials, edited, study_text })
}

/// Why a trial is not valid whose file is not the one that was written.
pub(crate) const EDITED: &str = "its file was edited since it was measured (see SHA256SUMS); measure it again with `headroom run --resume`";

/// Reads `run.json`. A run of another format seldom has today's shape, and its format says more than the first
/// field that is missing.
fn read_run(path: &Path) -> Result<Run, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("run.json: {error}"))?;
    match serde_json::from_str(&text) {
        Ok(Formatted { format }) if format != u64::from(FORMAT) => {
            Err(format!("its format is {format}, this headroom reads {FORMAT}"))
        }
        _ => serde_json::from_str(&text).map_err(|error| format!("run.json: {error}")),
    }
}

/// What every `run.json` has, whatever its format.
#[derive(Deserialize)]
struct Formatted {
    format: u64,
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_whole(path, &json(value))
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Writes a file so that it is there whole or not at all, also after a loss of power, and beside others that
/// write the same one.
///
/// # Errors
///
/// [`Error::DiskFull`] or [`Error::File`].
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    // Trials of one run bring the same objects at the same time, so each has a partial file of its own.
    let write = || {
        let mut partial = tempfile::Builder::new()
            .prefix(path.file_name().unwrap_or_default())
            .suffix(".partial")
            // As any file of ours is made: a temporary one is for nobody else to read.
            .make_in(folder, |partial| File::create_new(partial))?;
        partial.as_file_mut().write_all(bytes)?;
        partial.as_file().sync_all()?;
        partial.persist(path).map(drop).map_err(|error| error.error)
    };
    write().map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use model::{
        run::{Host, LabIdentity},
        trial::HostCost,
    };

    use super::*;
    use crate::{plan, study_file};

    fn run() -> (Run, &'static str) {
        let text = "question = \"?\"\n[access-point]\nclients = [18]\n[subject]\nprocess = \"hostapd\"\n[[variant]]\nname = \"a\"\n";
        let study = study_file::parse(text).unwrap();
        let run = Run {
            format: FORMAT,
            headroom: "0".to_owned(),
            began_unix: 0,
            plan: plan::trials(&study, &plan::Unlocated(&study)),
            study,
            overrides: Vec::new(),
            study_name: "s".to_owned(),
            study_sha256: String::new(),
            lab: LabIdentity::default(),
            host: Host::default(),
            versus: None,
        };
        (run, text)
    }

    fn trial(run: &Run, at: usize) -> Trial {
        let outcome = Outcome::Invalid { why: "test".to_owned(), console: Vec::new() };
        Trial { planned: run.plan[at].clone(), began_unix: 0, cost: HostCost::default(), outcome }
    }

    #[test]
    fn a_folder_is_complete_after_every_trial() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let (run, text) = run();
        let folder = RunFolder::create(&path, &run, text).unwrap();
        for done in 0..3 {
            assert_eq!(read(&path).unwrap().trials.len(), done);
            folder.keep(&trial(&run, done)).unwrap();
        }
        assert_eq!(read(&path).unwrap().run, run);
    }

    #[test]
    fn a_folder_has_one_user_and_one_run() {
        let place = tempfile::tempdir().unwrap();
        let (run, text) = run();
        let folder = RunFolder::create(place.path(), &run, text).unwrap();
        assert!(matches!(RunFolder::create(place.path(), &run, text), Err(Error::Busy(_))));
        assert!(matches!(RunFolder::resume(place.path()), Err(Error::Busy(_))));
        drop(folder);
        assert!(matches!(RunFolder::create(place.path(), &run, text), Err(Error::Exists(_))));
        assert!(RunFolder::resume(place.path()).is_ok());
    }

    #[test]
    fn a_half_written_trial_counts_as_not_done() {
        let place = tempfile::tempdir().unwrap();
        let (run, text) = run();
        let folder = RunFolder::create(place.path(), &run, text).unwrap();
        folder.keep(&trial(&run, 0)).unwrap();
        fs::write(trial_path(place.path(), &run.plan[1].id), "{\"plan").unwrap();
        assert_eq!(read(place.path()).unwrap().trials.len(), 1);
    }

    #[test]
    fn an_edited_trial_is_not_valid_and_is_named() {
        let place = tempfile::tempdir().unwrap();
        let (run, text) = run();
        let folder = RunFolder::create(place.path(), &run, text).unwrap();
        for at in 0..3 {
            folder.keep(&trial(&run, at)).unwrap();
        }
        // Kept once more, as after `--resume`.
        folder.keep(&trial(&run, 2)).unwrap();
        let file = trial_path(place.path(), &run.plan[1].id);
        let edited = fs::read_to_string(&file).unwrap().replace("test", "tent");
        fs::write(&file, edited).unwrap();
        let found = read(place.path()).unwrap();
        assert_eq!(found.edited, [run.plan[1].id.to_string()]);
        let whys: Vec<_> = found
            .trials
            .iter()
            .map(|trial| match &trial.outcome {
                Outcome::Invalid { why, .. } => why.contains("edited since"),
                Outcome::Measured(_) => false,
            })
            .collect();
        assert_eq!(whys, [false, true, false]);
        folder.keep(&trial(&run, 1)).unwrap();
        assert!(read(place.path()).unwrap().edited.is_empty(), "measured again");
    }

    #[test]
    fn the_sums_are_those_of_sha256sum() {
        let place = tempfile::tempdir().unwrap();
        let (run, text) = run();
        let folder = RunFolder::create(place.path(), &run, text).unwrap();
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
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "a partial file is left");
        // Whoever may read what a program usually writes may read this too.
        let usual = place.path().join("usual");
        fs::write(&usual, "").unwrap();
        let permissions = |path: &Path| fs::metadata(path).unwrap().permissions();
        assert_eq!(permissions(&to), permissions(&usual));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_told_by_its_own_name() {
        let place = tempfile::tempdir().unwrap();
        let told = write_whole(&place.path().join("none/page"), b"").unwrap_err().to_string();
        assert!(told.ends_with("none/page: No such file or directory (os error 2)"), "{told}");
    }

    #[test]
    fn what_is_no_run_is_told() {
        let place = tempfile::tempdir().unwrap();
        let told = read(place.path()).unwrap_err().to_string();
        assert!(told.contains("holds no run: run.json: No such file"), "{told}");
        fs::write(place.path().join("run.json"), "{}").unwrap();
        assert!(read(place.path()).unwrap_err().to_string().contains("missing field"));
    }
}
