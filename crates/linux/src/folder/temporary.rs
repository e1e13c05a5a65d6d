//! Folders that are thrown away: new, of this user alone, and never one that was there.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, mkdirat},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};

use super::Folder;

/// A folder that is removed with all that is in it when the value is dropped.
#[derive(Debug)]
pub struct Temporary {
    parent: Folder,
    name: String,
    folder: Folder,
}

impl Temporary {
    /// Makes a folder below another one (mode 0700), with a name that nobody can guess.
    pub fn below(parent: impl Into<PathBuf>, prefix: &str) -> io::Result<Self> {
        let parent = Folder::open(parent)?;
        loop {
            let name = format!("{prefix}{}", random_name()?);
            let path = parent.path_of(&name);
            match mkdirat(CWD, &path, Mode::RWXU) {
                Ok(()) => {
                    let folder = parent.folder(&name)?;
                    return Ok(Self { parent, name, folder });
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes one in the system's folder for temporary files.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::below(std::env::temp_dir(), prefix)
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Folder {
    fn inode(&self) -> io::Result<(u64, u64)> {
        let metadata = self.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Another folder that has its name now is somebody else's.
        let same = |now: Folder| now.inode().ok() == self.folder.inode().ok();
        if self.parent.folder(&self.name).is_ok_and(same) {
            // It is in a folder for what may be left behind.
            let _ = self.parent.remove_tree(&self.name);
        }
    }
}

/// 64 random bits, hexadecimal: a name that nobody can guess.
pub fn random_name() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}
