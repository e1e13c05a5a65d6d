//! A run as its folder holds it: what was asked, and the trials that were done. What it reads is not trusted.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use linux::folder::Folder;
use model::{
    calibration::Calibrated,
    run::{FORMAT, Run},
    trial::{Outcome, Trial},
};
use serde::Deserialize;

use super::{
    CALIBRATION, LONGEST, LONGEST_TRIALS, OLD_RUNS, RUN, STUDY, no_run, opened, sums::Sums,
    trial_name,
};
use crate::Error;

#[derive(Clone, Debug)]
pub struct Recorded {
    pub path: PathBuf,
    pub run: Run,
    /// The trials that were done, in the order of the plan. One that was edited is not valid.
    pub trials: Vec<Trial>,
    /// The trials whose files are not as they were written, by the stems of their names.
    pub edited: Vec<String>,
    pub calibration: Vec<Calibrated>,
    pub study_text: String,
}

impl Recorded {
    pub(crate) fn begun(path: &Path, run: Run, study_text: String) -> Self {
        Self {
            path: path.to_owned(),
            run,
            trials: Vec::new(),
            edited: Vec::new(),
            calibration: Vec::new(),
            study_text,
        }
    }
}

/// Reads a run, whole or in part. Trials that cannot be read count as not done.
pub fn read(path: &Path) -> Result<Recorded, Error> {
    read_in(&opened(path)?)
}

pub fn read_in(folder: &Folder) -> Result<Recorded, Error> {
    let text = run_json(folder)?;
    check_format(&text).map_err(|why| no_run(folder.path(), why))?;
    let not_read =
        |name, error: &dyn std::fmt::Display| no_run(folder.path(), in_file(name, error));
    let run: Run = serde_json::from_slice(&text).map_err(|error| not_read(RUN, &error))?;
    let study_text = folder.read_text(STUDY, LONGEST).map_err(|error| not_read(STUDY, &error))?;
    // What cannot be read is measured again.
    let calibration = folder.read(CALIBRATION, LONGEST).ok();
    let calibration = calibration.and_then(|text| serde_json::from_slice(&text).ok());
    let mut recorded = Recorded::begun(folder.path(), run, study_text);
    recorded.calibration = calibration.unwrap_or_default();
    let (sums, mut reader) = (Sums::read(folder), Reader::of(folder));
    for planned in &recorded.run.plan {
        let id = planned.id.to_string();
        let name = trial_name(&id);
        let Some(bytes) = reader.read(&name)? else { continue };
        let Ok(trial) = serde_json::from_slice::<Trial>(&bytes) else { continue };
        if sums.holds(&name, &bytes) && trial.planned.id == planned.id {
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

/// Refuses a run of another format. It seldom has today's shape, and its format says more than the first field that is
/// missing.
fn check_format(text: &[u8]) -> Result<(), String> {
    let begun: Begun = serde_json::from_slice(text).map_err(|error| in_file(RUN, error))?;
    if begun.format == u64::from(FORMAT) {
        return Ok(());
    }
    let format = begun.format;
    Err(format!("its format is {format}, this headroom reads {FORMAT}; {AGAIN}"))
}

const AGAIN: &str = "run the study again";

/// What every `run.json` has, whatever its format.
#[derive(Deserialize)]
struct Begun {
    format: u64,
}
