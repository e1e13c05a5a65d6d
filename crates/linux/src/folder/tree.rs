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

struct ListedName {
    name: String,
    kind: FileType,
}

impl Folder {
    /// What is in it, in the order of names. Names that are not UTF-8 are left out: none of ours is so.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let listed = self.listed()?.into_iter();
        // One that is gone meanwhile is in it no more.
        Ok(listed.filter_map(|listed| self.entry(listed.name).ok()).collect())
    }

    /// The names of the folders in it, as [`Folder::entries`] has them. The listing says what each is, so none is looked at.
    pub fn folders(&self) -> io::Result<Vec<String>> {
        let is_folder = |listed: &ListedName| match listed.kind {
            // Some file systems do not say.
            FileType::Unknown => self.entry(listed.name.clone()).is_ok_and(|entry| entry.is_folder),
            kind => kind.is_dir(),
        };
        let listed = self.listed()?.into_iter();
        Ok(listed.filter(is_folder).map(|listed| listed.name).collect())
    }

    fn listed(&self) -> io::Result<Vec<ListedName>> {
        let open = rustix::fs::openat(&self.fd, ".", DIRECTORY, Mode::empty())?;
        let mut all = Vec::new();
        for entry in Dir::new(open)? {
            let entry = entry?;
            if let Ok(name) = String::from_utf8(entry.file_name().to_bytes().to_vec()) {
                all.push(ListedName { name, kind: entry.file_type() });
            }
        }
        all.retain(|listed| listed.name != "." && listed.name != "..");
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    fn entry(&self, name: String) -> io::Result<Entry> {
        let found = statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        let bytes = u64::try_from(found.st_size).unwrap_or_default();
        Ok(Entry { name, is_folder: kind.is_dir(), is_file: kind.is_file(), bytes })
    }
}
