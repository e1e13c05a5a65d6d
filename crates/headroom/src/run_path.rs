//! Where a new run goes: the folder that was named, or one of its own below `runs`.
//!
//! A folder of its own is made at once, so that two headrooms in one second have two. What a run writes there is the
//! lab's to do; a folder that stayed empty is removed.

use std::{
    fs,
    io::{self, ErrorKind},
    ops::Deref,
    path::{Path, PathBuf},
};

use jiff::Zoned;

use crate::failure::Failure;

pub(crate) const PAGE: &str = "report.html";

const RUNS: &str = "runs";

#[derive(Debug)]
pub(crate) struct RunPath {
    path: PathBuf,
    /// Folders that were made for it, inner ones first.
    made: Vec<PathBuf>,
}

impl RunPath {
    /// The folder that was named, or `runs/STUDY-DATE-TIME`, with a number behind it where that is taken.
    pub(crate) fn choose(named: Option<&PathBuf>, study: &str) -> Result<Self, Failure> {
        if let Some(path) = named {
            return Ok(Self { path: path.clone(), made: Vec::new() });
        }
        // A kernel thread such as `ksoftirqd/0` names no folder in a folder.
        let study = study.replace(['/', ' '], "-");
        let now = Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
        Self::reserve(Path::new(RUNS), &format!("{study}-{now}")).map_err(|error| {
            Failure::Environment(format!(
                "cannot make a folder for the run below {RUNS}: {error}; name one with --out"
            ))
        })
    }

    fn reserve(runs: &Path, name: &str) -> io::Result<Self> {
        let mut chosen = Self { path: PathBuf::new(), made: Vec::new() };
        if is_new(runs)? {
            chosen.made.push(runs.to_owned());
        }
        let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
        for name in [name.to_owned()].into_iter().chain(numbered) {
            let path = PathBuf::from(format!("{}/{name}", runs.display()));
            if is_new(&path)? {
                chosen.made.insert(0, path.clone());
                chosen.path = path;
                break;
            }
        }
        Ok(chosen)
    }
}

/// Makes a folder; whether it was not there before.
fn is_new(folder: &Path) -> io::Result<bool> {
    match fs::create_dir(folder) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

impl Deref for RunPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunPath {
    fn drop(&mut self) {
        // One that holds a run is not empty, and stays.
        self.made.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_in_one_second_have_two_folders_and_one_that_stayed_empty_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join("runs");
        let chosen = [(); 3].map(|()| RunPath::reserve(&runs, "study").unwrap());
        let names = chosen.each_ref().map(|path| path.file_name().unwrap().to_str().unwrap());
        assert_eq!(names, ["study", "study-2", "study-3"]);
        fs::write(chosen[1].join("run.json"), "{}").unwrap();
        drop(chosen);
        assert!(runs.join("study-2/run.json").exists() && !runs.join("study").exists());
        fs::remove_dir_all(&runs).unwrap();
        drop(RunPath::reserve(&runs, "study").unwrap());
        assert!(!runs.exists());
    }
}
