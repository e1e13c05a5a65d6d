//! What is in a folder.

use std::io;

use rustix::fs::{AtFlags, Dir, FileType, Mode, statat};

use super::{DIRECTORY, Folder};

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Whether it is a folder; a link to one is none.
    pub is_folder: bool,
    /// Whether it is a regular file; a link to one is none.
    pub is_file: bool,
    /// Its length, bytes.
    pub bytes: u64,
}

impl Folder {
    /// What is in it, in the order of names. Names that are not UTF-8 are left out: none of ours is so.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let open = rustix::fs::openat(&self.fd, ".", DIRECTORY, Mode::empty())?;
        let mut names = Vec::new();
        for entry in Dir::new(open)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if let Ok(name) = String::from_utf8(name) {
                names.push(name);
            }
        }
        names.retain(|name| name != "." && name != "..");
        names.sort();
        // One that is gone meanwhile is in it no more.
        Ok(names.into_iter().filter_map(|name| self.entry(name).ok()).collect())
    }

    fn entry(&self, name: String) -> io::Result<Entry> {
        let found = statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        let bytes = u64::try_from(found.st_size).unwrap_or_default();
        Ok(Entry { name, is_folder: kind.is_dir(), is_file: kind.is_file(), bytes })
    }
}
