//! What every run folder does whatever its pieces are: it belongs to one headroom, keeps files whole with their
//! sums, and keeps events.

use std::{
    fs::{File, TryLockError},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use linux::folder::Folder;
use model::event::Event;
use serde::Serialize;

use super::{json, sums::Sums};
use crate::Error;

const EVENTS: &str = "events.jsonl";
const LOCK: &str = "lock";

/// A run's folder that this process alone writes to.
#[derive(Debug)]
pub(crate) struct WholeFiles {
    folder: Folder,
    events: Mutex<File>,
    sums: Mutex<Sums>,
    lock: File,
}

impl WholeFiles {
    /// Takes a folder, and makes these folders in it.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`] if another headroom is at it, [`Error::File`].
    pub(crate) fn open(path: &Path, folders: &[&str]) -> Result<Self, Error> {
        let folder = Folder::create(path).map_err(Error::file("make", path))?;
        let lock = lock(&folder)?;
        for name in folders {
            folder.make_folder(name).map_err(Error::file("make", folder.path_of(name)))?;
        }
        let log = folder.append(EVENTS).map_err(Error::file("write", folder.path_of(EVENTS)))?;
        let sums = Mutex::new(Sums::read(&folder));
        Ok(Self { folder, events: Mutex::new(log), sums, lock })
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where something is kept below it.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.folder.path_of(name)
    }

    /// Writes a value as a file of this name, whole or not at all.
    pub(crate) fn write(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        self.write_bytes(name, &json(value))
    }

    /// Writes a file, whole or not at all.
    pub(crate) fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.folder.replace(name, bytes).map_err(Error::file("write", self.path_of(name)))
    }

    /// Keeps a value as a file of this name below the folder, with its sum.
    ///
    /// # Errors
    ///
    /// [`Error::DiskFull`] or [`Error::File`]; earlier files are untouched.
    pub(crate) fn keep(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        let bytes = json(value);
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.keep(&self.folder, name, &bytes)?;
        drop(sums);
        self.write_bytes(name, &bytes)
    }

    /// Keeps an event. The log is a convenience: a full disk is reported by what matters more.
    pub(crate) fn log(&self, event: &Event) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut log = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = log.write_all(&line);
    }
}

impl Drop for WholeFiles {
    /// The lock is the open file's: a child that another thread has just forked has that file too, until it executes
    /// its program. So it is given back, not only closed.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Takes a run's folder for this process, for as long as the file lives.
fn lock(folder: &Folder) -> Result<File, Error> {
    let failed = || Error::file("lock", folder.path_of(LOCK));
    let file = folder.lock_file(LOCK).map_err(failed())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Busy(folder.path().to_owned())),
        Err(TryLockError::Error(error)) => Err(failed()(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_free_again_though_a_child_still_has_its_files() {
        let place = tempfile::tempdir().unwrap();
        let files = WholeFiles::open(place.path(), &[]).unwrap();
        let of_a_child = files.lock.try_clone().unwrap();
        assert!(matches!(WholeFiles::open(place.path(), &[]), Err(Error::Busy(_))));
        drop(files);
        assert!(WholeFiles::open(place.path(), &[]).is_ok());
        drop(of_a_child);
    }
}
