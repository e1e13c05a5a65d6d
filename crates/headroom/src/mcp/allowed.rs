//! Which files a client may name: those below the folders that whoever started the server allows.
//!
//! A name from a client is looked up below one of them, through no symbolic link and not out of it ([`beneath`]); a job opens it
//! in the same way, with all that a study names. A study that headroom brings needs no file.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use linux::folder::Folder;

use crate::{beneath, failure::Failure, options::absolute, shipped};

/// The folders, and the tasks.
#[derive(Debug)]
pub(super) struct Allowed {
    folders: Vec<Folder>,
    tasks: Vec<PathBuf>,
}

impl Allowed {
    /// Those that were named, or the working folder.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] where one is no folder.
    pub(super) fn open(named: &[PathBuf]) -> Result<Self, Failure> {
        let here = [PathBuf::from(".")];
        let named = if named.is_empty() { &here } else { named };
        let folders = beneath::folders(named)?;
        Ok(Self { folders, tasks: Vec::new() })
    }

    /// The same with these task files.
    pub(super) fn with_tasks(self, tasks: &[PathBuf]) -> Self {
        Self { tasks: tasks.iter().cloned().map(absolute).collect(), ..self }
    }

    /// The path of a task that was named when the server was started. Its commands run as whoever did that, so a file that a
    /// client wrote is none.
    ///
    /// # Errors
    ///
    /// Which tasks there are, or how one is named.
    pub(super) fn task(&self, name: &str) -> Result<PathBuf, String> {
        let asked = absolute(PathBuf::from(name));
        let known = || {
            let all = self.tasks.iter().map(|task| format!("`{}`", task.display()));
            match all.collect::<Vec<_>>().join(", ").as_str() {
                "" => "whoever starts the server names them with --task".to_owned(),
                all => format!("there is {all}"),
            }
        };
        let found = self.tasks.iter().find(|task| **task == asked).cloned();
        found.ok_or_else(|| format!("`{name}` is no task of this server: {}", known()))
    }

    /// The word for a study: a name of one that headroom brings, or the path of a file that may be named.
    ///
    /// # Errors
    ///
    /// What there is, or where files may lie.
    pub(super) fn study(&self, word: &str) -> Result<PathBuf, String> {
        match shipped::named(word) {
            Some(study) => Ok(PathBuf::from(study.name)),
            None if shipped::is_path(Path::new(word)) => self.file(word),
            None => Err(shipped::unknown(word)),
        }
    }

    /// The path of a regular file that may be named.
    pub(super) fn file(&self, name: &str) -> Result<PathBuf, String> {
        beneath::found(&self.folders, name.as_ref()).map(|(_, path)| path)
    }

    /// The folders, as words of a headroom that opens what a client names.
    pub(super) fn words(&self) -> impl Iterator<Item = OsString> {
        let word = |folder: &Folder| {
            [OsStr::new("--beneath="), folder.path().as_os_str()].into_iter().collect()
        };
        self.folders.iter().map(word)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn only_regular_files_below_the_folders_can_be_named() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::write(inside.join("mine.toml"), "").unwrap();
        fs::write(place.path().join("other.toml"), "").unwrap();
        symlink("../other.toml", inside.join("link.toml")).unwrap();
        let allowed = Allowed::open(std::slice::from_ref(&inside)).unwrap();
        assert_eq!(allowed.file("mine.toml"), Ok(inside.join("mine.toml")));
        let whole = inside.join("mine.toml").display().to_string();
        assert_eq!(allowed.file(&whole), Ok(inside.join("mine.toml")));
        let outside = place.path().join("other.toml").display().to_string();
        let around = format!("{}/../other.toml", inside.display());
        for name in ["../other.toml", "link.toml", ".", "none.toml", &outside, &around, "/dev/zero"]
        {
            let why = allowed.file(name).unwrap_err();
            assert!(why.contains("name a regular file below"), "{name}: {why}");
        }
    }

    #[test]
    fn only_tasks_that_were_named_at_the_start_are_tasks() {
        let place = tempfile::tempdir().unwrap();
        let mine = place.path().join("task.toml");
        let allowed = Allowed::open(&[place.path().to_owned()]).unwrap();
        assert!(allowed.task("task.toml").unwrap_err().contains("with --task"));
        let allowed = allowed.with_tasks(std::slice::from_ref(&mine));
        assert_eq!(allowed.task(&mine.display().to_string()), Ok(mine));
        let written = place.path().join("other.toml").display().to_string();
        assert!(allowed.task(&written).unwrap_err().contains("there is `/"));
    }
}
