//! Files that headroom puts on the access point, as another build of the subject; gone with the session.
//!
//! Writes below one folder and nowhere else. What the files are for is the next orders' business.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use model::wire::{PUT, Put, Refusal};
use rustix::fs::{StatVfsMountFlags, statvfs};

/// Bytes of a name.
const LONGEST_NAME: usize = 64;

/// Whoever may run programs may run these.
const MODE: u32 = 0o755;

/// The files that are there. Dropping it removes them.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    /// The names of whole files.
    there: Vec<String>,
    under_way: Option<UnderWay>,
}

/// A file whose pieces arrive. Dropping it removes it.
#[derive(Debug)]
struct UnderWay {
    name: String,
    path: PathBuf,
    file: File,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // Once it is whole it has another name.
        let _ = fs::remove_file(&self.path);
    }
}

impl Default for Files {
    fn default() -> Self {
        Self::below(PUT)
    }
}

impl Files {
    fn below(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), there: Vec::new(), under_way: None }
    }

    /// Takes a piece.
    ///
    /// # Errors
    ///
    /// [`Refusal::Machine`] with what is wrong with the name or the order of the pieces, or the system's
    /// words; nothing is left of the file then.
    pub(crate) fn take(&mut self, piece: &Put) -> Result<(), Refusal> {
        let taken = self.add(piece);
        taken.map_err(|error| {
            self.under_way = None;
            let path = self.folder.join(&piece.name);
            Refusal::Machine(format!(
                "cannot put `{}` on the access point: {error}",
                path.display()
            ))
        })
    }

    fn add(&mut self, piece: &Put) -> io::Result<()> {
        if piece.first {
            self.begin(&piece.name)?;
        }
        let under_way = self.under_way.as_mut().filter(|begun| begun.name == piece.name);
        let under_way = under_way.ok_or_else(|| {
            io::Error::other("a piece came whose beginning was not sent; put the file anew")
        })?;
        under_way.file.write_all(&piece.bytes)?;
        if piece.last { self.end() } else { Ok(()) }
    }

    fn begin(&mut self, name: &str) -> io::Result<()> {
        check(name)?;
        self.under_way = None;
        DirBuilder::new().recursive(true).mode(MODE).create(&self.folder)?;
        if !may_execute(&self.folder) {
            return Err(io::Error::other(
                "programs there may not be executed (its file system is mounted noexec); \
                 `mount -o remount,exec` on it helps",
            ));
        }
        let (folder, file) = self.place(name);
        DirBuilder::new().recursive(true).mode(MODE).create(&folder)?;
        let _ = fs::remove_file(folder.join(file));
        self.there.retain(|there| there != name);
        // Not a name that `check` lets through.
        let path = folder.join(format!("..{file}.{}", std::process::id()));
        let mut open = OpenOptions::new();
        let file = open.write(true).create(true).truncate(true).mode(MODE).open(&path)?;
        // Whatever the mask is.
        file.set_permissions(fs::Permissions::from_mode(MODE))?;
        self.under_way = Some(UnderWay { name: name.to_owned(), path, file });
        Ok(())
    }

    /// The folder of a file, and its name in it.
    fn place<'a>(&self, name: &'a str) -> (PathBuf, &'a str) {
        match name.split_once('/') {
            Some((side, file)) => (self.folder.join(side), file),
            None => (self.folder.clone(), name),
        }
    }

    /// The file gets its name when it is whole.
    fn end(&mut self) -> io::Result<()> {
        let Some(whole) = self.under_way.take() else { return Ok(()) };
        fs::rename(&whole.path, self.folder.join(&whole.name))?;
        self.there.push(whole.name.clone());
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let used = !self.there.is_empty() || self.under_way.is_some();
        self.under_way = None;
        for name in std::mem::take(&mut self.there) {
            let (folder, file) = self.place(&name);
            let _ = fs::remove_file(folder.join(file));
            if folder != self.folder {
                let _ = fs::remove_dir(folder);
            }
        }
        if used {
            // Only where nobody else's files are there.
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// One name below the folder, or in one folder below it, as `a/stationd`: two builds of a program have one
/// name. Nothing of it is hidden.
fn check(name: &str) -> io::Result<()> {
    match name.split_once('/') {
        Some((side, file)) => [side, file].into_iter().try_for_each(check_part),
        None => check_part(name),
    }
}

fn check_part(name: &str) -> io::Result<()> {
    let wrong = match name {
        "" => "it has no name",
        name if name.len() > LONGEST_NAME => "its name is longer than 64 bytes",
        name if name.contains(['/', '\0']) => "its name is a path",
        name if name.starts_with('.') => "its name begins with a dot",
        _ => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, wrong))
}

fn may_execute(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|mount| !mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(name: &str, bytes: &[u8], (first, last): (bool, bool)) -> Put {
        Put { name: name.to_owned(), bytes: bytes.to_vec(), first, last }
    }

    const WHOLE: (bool, bool) = (true, true);

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    #[test]
    fn pieces_become_a_file_when_the_last_is_there_and_it_goes_with_the_value() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("put");
        let mut files = Files::below(&folder);
        files.take(&piece("tool", b"#!/bin/sh\n", (true, false))).unwrap();
        assert!(!folder.join("tool").exists());
        files.take(&piece("tool", b"exit 7\n", (false, true))).unwrap();
        assert_eq!(fs::read(folder.join("tool")).unwrap(), b"#!/bin/sh\nexit 7\n");
        let mode = fs::metadata(folder.join("tool")).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, entries(&folder)), (MODE, 1));
        files.take(&piece("half", b"x", (true, false))).unwrap();
        drop(files);
        assert!(!folder.exists());
    }

    #[test]
    fn a_file_of_the_same_name_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::below(folder.path());
        files.take(&piece("tool", b"a longer one", WHOLE)).unwrap();
        let old = File::open(folder.path().join("tool")).unwrap();
        files.take(&piece("tool", b"new", WHOLE)).unwrap();
        assert_eq!(fs::read(folder.path().join("tool")).unwrap(), b"new");
        assert_eq!(io::read_to_string(old).unwrap(), "a longer one", "whoever runs it keeps it");
        assert_eq!(files.there, ["tool"]);
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::below(folder.path());
        let long = "x".repeat(LONGEST_NAME + 1);
        for name in
            ["", "..", ".hidden", "a/b/c", "a/../b", "../b", "a/", "/etc/passwd", "a\0b", &long]
        {
            let told = files.take(&piece(name, b"x", WHOLE)).unwrap_err().to_string();
            assert!(told.starts_with("cannot put `") && told.contains("name"), "{told}");
        }
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn two_builds_of_one_name_lie_side_by_side() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("put");
        let mut files = Files::below(&folder);
        for side in ["a", "b"] {
            files.take(&piece(&format!("{side}/stationd"), side.as_bytes(), WHOLE)).unwrap();
        }
        assert_eq!(fs::read(folder.join("b/stationd")).unwrap(), b"b");
        drop(files);
        assert!(!folder.exists());
    }

    #[test]
    fn a_piece_without_a_beginning_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::below(folder.path());
        assert!(files.take(&piece("tool", b"x", (false, true))).is_err());
        files.take(&piece("one", b"x", (true, false))).unwrap();
        assert!(files.take(&piece("other", b"x", (false, false))).is_err());
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_told_with_its_path() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let folder = file.path().join("put");
        let told = Files::below(&folder).take(&piece("tool", b"x", WHOLE)).unwrap_err().to_string();
        assert!(told.contains(folder.to_str().unwrap()) && told.contains("Not a dir"), "{told}");
    }
}
