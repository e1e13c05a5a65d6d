//! What every run folder does whatever its pieces are: it belongs to one headroom, keeps files whole with their
//! sums, and keeps events.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use model::event::Event;
use serde::Serialize;

use super::{json, lock, sums::Sums, write_whole};
use crate::Error;

/// A run's folder that this process alone writes to.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    events: Mutex<File>,
    sums: Mutex<Sums>,
    _lock: File,
}

impl Kept {
    /// Takes a folder, and makes these folders in it.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another headroom is at it, [`Error::File`].
    pub(crate) fn open(path: &Path, folders: &[&str]) -> Result<Self, Error> {
        let lock = lock(path)?;
        for name in folders {
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
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a value as a file of this name below the folder, with its sum.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`]; earlier files are untouched.
    pub(crate) fn keep(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let bytes = json(value);
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.keep(&self.path, name, &bytes)?;
        drop(sums);
        write_whole(&self.path.join(name), &bytes)
    }

    /// Keeps an event. The log is a convenience: a full disk is told by what matters more.
    pub(crate) fn log(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut log = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = log.write_all(&line);
    }
}
