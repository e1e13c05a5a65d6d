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

#[derive(Debug)]
pub(super) struct Allowed {
    folders: Vec<Folder>,
    tasks: Vec<PathBuf>,
}

impl Allowed {
    /// Folders that were named, or the working folder; and task files.
    pub(super) fn open(named: &[PathBuf], tasks: &[PathBuf]) -> Result<Self, Failure> {
        let here = [PathBuf::from(".")];
        let folders = beneath::folders(if named.is_empty() { &here } else { named })?;
        Ok(Self { folders, tasks: tasks.iter().cloned().map(absolute).collect() })
    }

    /// The path of a task that was named when the server was started. Its commands run as whoever did that, so a file that a
    /// client wrote is none.
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
