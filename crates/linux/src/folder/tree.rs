//! What is in a folder.

use std::io;

use rustix::fs::{AtFlags, Dir, FileType, Mode, statat};

use super::{DIRECTORY, Folder};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    /// Whether it is a folder; a link to one is none.
    pub is_folder: bool,
    /// Whether it is a regular file; a link to one is none.
    pub is_file: bool,
    pub bytes: u64,
}

impl Folder {
    /// What is in it, in the order of names. Names that are not UTF-8 are left out: none of ours is so.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for listed in Dir::new(rustix::fs::openat(&self.fd, ".", DIRECTORY, Mode::empty())?)? {
            let Ok(name) = String::from_utf8(listed?.file_name().to_bytes().to_vec()) else {
                continue;
            };
            if name != "." && name != ".." {
                // One that is gone meanwhile is in it no more.
                entries.extend(self.entry(name));
            }
        }
        entries.sort_unstable_by(|one: &Entry, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    /// The names of the folders in it.
    pub fn folders(&self) -> io::Result<Vec<String>> {
        let folders = self.entries()?.into_iter().filter(|entry| entry.is_folder);
        Ok(folders.map(|entry| entry.name).collect())
    }

    fn entry(&self, name: String) -> io::Result<Entry> {
        let found = statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        let bytes = u64::try_from(found.st_size).unwrap_or_default();
        Ok(Entry { name, is_folder: kind.is_dir(), is_file: kind.is_file(), bytes })
    }
}
