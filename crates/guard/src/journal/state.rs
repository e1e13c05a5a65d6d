//! The state folder: who may have written to it, and one guard at a time in it.
//!
//! guard does as root what its journal says, so the journal is believed because of who can have written it: a
//! regular file of root's (or of guard's own user) that no one else can write to and that has no second name, in a
//! folder that no one else can change or exchange ([`Folder::open_trusted`]). Every file below is opened relative
//! to that folder and through no link. What the lines say is [`super::permit`]'s question.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

use linux::{file, folder::Folder};
use rustix::fs::{FlockOperation, flock};

use super::Error;

/// Only guard's user enters it: records say who runs what.
const MODE: u32 = 0o700;

/// Bytes of a journal that is read. Guard's own are written anew long before.
pub(super) const LONGEST: u64 = 32 << 20;

/// The folder of the journal and the lock.
#[derive(Debug)]
pub struct State {
    folder: Folder,
}

impl State {
    /// Opens it; `None` where there is none.
    /// Fails with [`Error::Folder`], also where somebody else may have written to it.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, Error> {
        match Folder::open_trusted(path) {
            Ok(folder) => Ok(Some(Self { folder: folder.private() })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Folder { path: path.to_owned(), source }),
        }
    }

    /// Opens it, and makes it where there is none.
    /// Fails with [`Error::Folder`], also where somebody else may have written to it.
    pub(super) fn make(path: &Path) -> Result<Self, Error> {
        let created = Folder::create_trusted(path, MODE);
        let folder = created.map_err(|source| Error::Folder { path: path.to_owned(), source })?;
        Ok(Self { folder: folder.private() })
    }

    /// The path of a file in it.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.folder.path_of(name)
    }

    /// Whether anything has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.folder.has(name)
    }

    /// A journal's text; `None` where there is none.
    pub(super) fn journal(&self, name: &str) -> io::Result<Option<String>> {
        let file = match self.folder.trusted_file(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        // A journal is lines of text; what is none of them is left out like every torn line.
        Ok(Some(String::from_utf8_lossy(&file::bytes_from(file, LONGEST)?).into_owned()))
    }

    /// The number of a file's node.
    pub(super) fn inode(&self, name: &str) -> Option<u64> {
        Some(self.folder.file(name).ok()?.metadata().ok()?.ino())
    }

    /// Adds to the end of a file, and has it on the disk.
    /// Fails with `NotFound` where it is not there.
    pub(super) fn append(&self, name: &str, text: &str) -> io::Result<()> {
        let file = self.folder.existing(name)?;
        rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)?;
        (&file).write_all(text.as_bytes())?;
        file.sync_data()
    }

    /// Puts a whole file in the place of another, at once.
    pub(super) fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        self.folder.replace(name, text.as_bytes())
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.folder.rename(from, to)
    }

    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove_file(name)
    }

    /// Takes the lock, which the kernel lets go when guard ends.
    /// Fails with [`Error::Busy`] where another guard has it; [`Error::Folder`].
    pub(super) fn lock(&self) -> Result<Lock, Error> {
        const NAME: &str = "lock";
        let failed = |source| Error::Folder { path: self.path_of(NAME), source };
        let created = self.folder.lock_file(NAME);
        // What is not guard's own is not written to.
        let file = created.and_then(|file| self.folder.trusted_file(NAME).map(|_| file));
        let mut file = file.map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let folder = self.folder.path().to_owned();
                return Err(Error::Busy { pid: pid_in(&mut file), folder });
            }
            Err(error) => return Err(failed(error.into())),
        }
        // Only for the words about it: the lock is the kernel's.
        let _ = file.set_len(0);
        let _ = file.write_at(std::process::id().to_string().as_bytes(), 0);
        Ok(Lock { _file: file })
    }
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

/// Who wrote itself in; 0 where no one has yet.
fn pid_in(file: &mut File) -> u32 {
    let mut text = String::new();
    let _ = file.take(16).read_to_string(&mut text);
    text.trim().parse().unwrap_or(0)
}
