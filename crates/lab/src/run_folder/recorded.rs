//! A run as its folder holds it: what was asked, and the trials that were done. What it reads is not trusted.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use linux::folder::Folder;
use model::{
    experiment::{Any, Clients, Completion, Contention, Experiment, Kind, Planned, RunOf, TrialOf},
    inert,
    run::FORMAT,
    trial::{Outcome, Trial},
};
use serde::Deserialize;

use super::{
    CALIBRATION, LONGEST, LONGEST_TRIALS, OLD_RUNS, RUN, STUDY, no_run, opened, sums::Sums,
    trial_name,
};
use crate::Error;

/// A run as a folder holds it.
#[derive(Clone, Debug)]
pub struct Recorded<K: Experiment = Clients> {
    pub path: PathBuf,
    /// What was asked, with what, on what.
    pub run: RunOf<K>,
    /// The trials that were done, in the order of the plan. One that was edited is not valid.
    pub trials: Vec<TrialOf<K>>,
    /// The trials whose files are not as they were written, by the stems of their names.
    pub edited: Vec<String>,
    /// What was measured before the trials could be planned.
    pub calibration: K::Calibration,
    /// The study file as it was given.
    pub study_text: String,
}

/// A run of any kind.
pub type AnyRecorded = Any<Box<Recorded>, Box<Recorded<Contention>>, Box<Recorded<Completion>>>;

impl<K: Experiment> Recorded<K> {
    /// A run of which nothing is done yet.
    pub(crate) fn begun(path: &Path, run: RunOf<K>, study_text: String) -> Self {
        Self {
            path: path.to_owned(),
            run,
            trials: Vec::new(),
            edited: Vec::new(),
            calibration: K::Calibration::default(),
            study_text,
        }
    }
}

/// Reads a run of one kind, whole or in part. Trials that cannot be read count as not done.
///
/// # Errors
///
/// [`Error::NotARun`]; [`Error::Usage`] for a run of another kind.
pub fn read<K: Experiment>(path: &Path) -> Result<Recorded<K>, Error> {
    let folder = opened(path)?;
    let text = run_json(&folder)?;
    let kind = kind_of(&text).map_err(|why| no_run(path, why))?;
    if kind != K::KIND {
        let (path, wanted) = (path.display(), K::KIND);
        return Err(Error::Usage(format!(
            "{path} holds a {kind} run, and this is for {wanted} runs"
        )));
    }
    read_as::<K>(&folder, &text)
}

/// Reads a run of whatever kind.
pub fn read_any(path: &Path) -> Result<AnyRecorded, Error> {
    read_any_in(&opened(path)?)
}

/// The same in an open folder.
pub fn read_any_in(folder: &Folder) -> Result<AnyRecorded, Error> {
    let text = run_json(folder)?;
    Ok(match kind_of(&text).map_err(|why| no_run(folder.path(), why))? {
        Kind::Clients => Any::Clients(Box::new(read_as::<Clients>(folder, &text)?)),
        Kind::Contention => Any::Contention(Box::new(read_as::<Contention>(folder, &text)?)),
        Kind::Completion => Any::Completion(Box::new(read_as::<Completion>(folder, &text)?)),
    })
}

fn read_as<K: Experiment>(folder: &Folder, text: &[u8]) -> Result<Recorded<K>, Error> {
    let not_read =
        |name, error: &dyn std::fmt::Display| no_run(folder.path(), in_file(name, error));
    let run: RunOf<K> = serde_json::from_slice(text).map_err(|error| not_read(RUN, &error))?;
    let study_text = folder.read_text(STUDY, LONGEST).map_err(|error| not_read(STUDY, &error))?;
    // What cannot be read is measured again.
    let calibration = folder.read(CALIBRATION, LONGEST).ok();
    let calibration = calibration.and_then(|text| serde_json::from_slice(&text).ok());
    let mut recorded = Recorded::<K>::begun(folder.path(), run, study_text);
    recorded.calibration = calibration.unwrap_or_default();
    let (sums, mut reader) = (Sums::read(folder), Reader::of(folder));
    for planned in &recorded.run.plan {
        let id = planned.id();
        let name = trial_name(&id);
        let Some(bytes) = reader.read(&name)? else { continue };
        let Ok(trial) = serde_json::from_slice::<TrialOf<K>>(&bytes) else { continue };
        if sums.holds(&name, &bytes) && trial.planned.id() == id {
            recorded.trials.push(trial);
            continue;
        }
        recorded.edited.push(id);
        let outcome = Outcome::invalid(EDITED);
        recorded.trials.push(Trial { planned: planned.clone(), outcome, ..trial });
    }
    Ok(recorded)
}

/// Reads the trials of a run, and no more than a run can honestly have.
struct Reader<'a> {
    folder: &'a Folder,
    left: u64,
}

impl<'a> Reader<'a> {
    fn of(folder: &'a Folder) -> Self {
        Self { folder, left: LONGEST_TRIALS }
    }

    /// A trial's file; `None` where there is none that could be read.
    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match self.folder.read(name, LONGEST.min(self.left)) {
            Ok(bytes) => {
                self.left -= bytes.len() as u64;
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                let why = format!(
                    "{name}: longer than a trial may be ({LONGEST} bytes, {LONGEST_TRIALS} for all trials of a run)"
                );
                Err(no_run(self.folder.path(), why))
            }
            Err(_) => Ok(None),
        }
    }
}

/// Why a trial is not valid whose file is not the one that was written.
const EDITED: &str = "its file was edited since it was measured (see SHA256SUMS); measure it again with `headroom run --resume`";

fn in_file(name: &str, error: impl std::fmt::Display) -> String {
    format!("{name}: {error}")
}

/// What says what run a folder holds.
fn run_json(folder: &Folder) -> Result<Vec<u8>, Error> {
    folder.read(RUN, LONGEST).map_err(|error| {
        let old = OLD_RUNS.iter().find(|name| !folder.has(RUN) && folder.has(name));
        let is_old = |old| format!("{old} is of a format before {FORMAT}; {AGAIN}");
        no_run(folder.path(), old.map_or_else(|| in_file(RUN, error), is_old))
    })
}

/// The kind of a run. One of another format seldom has today's shape, and its format says more than the first field that is
/// missing.
fn kind_of(text: &[u8]) -> Result<Kind, String> {
    let begun: Begun = serde_json::from_slice(text).map_err(|error| in_file(RUN, error))?;
    if begun.format != u64::from(FORMAT) {
        let format = begun.format;
        return Err(format!("its format is {format}, this headroom reads {FORMAT}; {AGAIN}"));
    }
    let known = Kind::ALL.iter().find(|kind| kind.name() == begun.kind).copied();
    known.ok_or_else(|| {
        let known = Kind::ALL.map(Kind::name).join(", ");
        format!("{RUN}: unknown kind `{}`; known are {known}", inert::line(&begun.kind))
    })
}

/// What to do about a run of an old format.
const AGAIN: &str = "run the study again";

/// What every `run.json` has, whatever its format; before format 5 it had no kind.
#[derive(Deserialize)]
struct Begun {
    format: u64,
    #[serde(default)]
    kind: String,
}
