//! What is in a folder.

use std::io;

use rustix::fs::{AtFlags, Dir, FileType, Mode, statat};

use super::{DIRECTORY, Folder, kind_of};

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
        // One that is gone meanwhile is in it no more.
        Ok(self.names()?.into_iter().filter_map(|(name, _)| self.entry(name).ok()).collect())
    }

    /// The names of the folders in it.
    pub fn folders(&self) -> io::Result<Vec<String>> {
        let mut names = self.names()?;
        // Most file systems give the kind with the name, which saves a call for each.
        names.retain(|(name, kind)| match kind {
            FileType::Unknown => kind_of(self, name.as_ref()).is_ok_and(FileType::is_dir),
            kind => kind.is_dir(),
        });
        Ok(names.into_iter().map(|(name, _)| name).collect())
    }

    fn names(&self) -> io::Result<Vec<(String, FileType)>> {
        let mut names = Vec::new();
        for listed in Dir::new(rustix::fs::openat(&self.fd, ".", DIRECTORY, Mode::empty())?)? {
            let listed = listed?;
            let name = String::from_utf8(listed.file_name().to_bytes().to_vec());
            let is_inside = |name: &String| name != "." && name != "..";
            names.extend(name.ok().filter(is_inside).map(|name| (name, listed.file_type())));
        }
        names.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(names)
    }

    fn entry(&self, name: String) -> io::Result<Entry> {
        let found = statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        let bytes = u64::try_from(found.st_size).unwrap_or_default();
        Ok(Entry { name, is_folder: kind.is_dir(), is_file: kind.is_file(), bytes })
    }
}
