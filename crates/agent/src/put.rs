//! Keeps files that headroom puts on the access point, as another build of the subject, until the session ends.
//!
//! Writes below one folder and nowhere else. What the files are for is the next orders' business.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::{fd::AsFd, unix::fs::PermissionsExt},
    path::PathBuf,
};

use linux::folder::Folder;
use model::{
    name::RelativePath,
    wire::{PUT, Put, Refusal},
};
use rustix::fs::{StatVfsMountFlags, fstatvfs};

const LONGEST_NAME: usize = 64;

const MODE: u32 = 0o755;

/// The files that are there. Dropping it removes them.
#[derive(Debug)]
pub(crate) struct Files {
    path: PathBuf,
    /// Once there is one. Nobody but root and the agent's user can change it.
    folder: Option<Folder>,
    there: Vec<RelativePath>,
    upload: Option<Upload>,
}

#[derive(Debug)]
struct Upload {
    name: RelativePath,
    partial: String,
    file: File,
}

impl Default for Files {
    fn default() -> Self {
        Self::below(PUT)
    }
}

impl Files {
    fn below(folder: impl Into<PathBuf>) -> Self {
        Self { path: folder.into(), folder: None, there: Vec::new(), upload: None }
    }

    /// Takes a piece.
    /// Fails with [`Refusal`] with what is wrong with the name or the order of the pieces, or the system's
    /// words; nothing is left of the file then.
    pub(crate) fn take(&mut self, piece: &Put) -> Result<(), Refusal> {
        let taken = self.add(piece);
        taken.map_err(|error| {
            self.forget();
            let path = self.path.join(&piece.name);
            Refusal::plain(format!("cannot put `{}` on the access point: {error}", path.display()))
        })
    }

    fn add(&mut self, piece: &Put) -> io::Result<()> {
        if piece.first {
            self.begin(&piece.name)?;
        }
        let upload = self.upload.as_mut().filter(|begun| begun.name == piece.name);
        let upload = upload.ok_or_else(|| {
            io::Error::other("a piece came whose beginning was not sent; put the file anew")
        })?;
        upload.file.write_all(&piece.bytes)?;
        if piece.last { self.end() } else { Ok(()) }
    }

    fn begin(&mut self, name: &RelativePath) -> io::Result<()> {
        check(name)?;
        self.forget();
        let folder = Folder::create_trusted(&self.path, MODE)?;
        if !may_execute(&folder) {
            return Err(io::Error::other(
                "programs there may not be executed (its file system is mounted noexec); \
                 `mount -o remount,exec` on it helps",
            ));
        }
        if let Some((side, _)) = name.split_once('/') {
            let side = folder.make_folder(side)?.as_fd().try_clone_to_owned()?;
            File::from(side).set_permissions(fs::Permissions::from_mode(MODE))?;
        }
        folder.remove_file(name)?;
        self.there.retain(|there| there != name);
        // Not a name that `check` lets through.
        let partial = format!("..{}.{}", name.replace('/', "."), std::process::id());
        let file = folder.new_file(&partial)?;
        // Whatever the mask is.
        file.set_permissions(fs::Permissions::from_mode(MODE))?;
        self.folder = Some(folder);
        self.upload = Some(Upload { name: name.clone(), partial, file });
        Ok(())
    }

    /// The file gets its name when it is whole.
    fn end(&mut self) -> io::Result<()> {
        let (Some(folder), Some(whole)) = (&self.folder, &self.upload) else { return Ok(()) };
        folder.rename(&whole.partial, &whole.name)?;
        self.there.extend(self.upload.take().map(|whole| whole.name));
        Ok(())
    }

    /// What is under way goes.
    fn forget(&mut self) {
        if let (Some(folder), Some(begun)) = (&self.folder, self.upload.take()) {
            let _ = folder.remove_file(begun.partial);
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.forget();
        let Some(folder) = self.folder.take() else { return };
        for name in std::mem::take(&mut self.there) {
            let _ = folder.remove_file(&name);
            if let Some((side, _)) = name.split_once('/') {
                let _ = folder.remove_folder(side);
            }
        }
        // Only where nobody else's files are there.
        let _ = fs::remove_dir(&self.path);
    }
}

/// One name below the folder, or in one folder below it, as `a/stationd`: two builds of a program have one
/// name. Nothing of it is hidden.
fn check(name: &RelativePath) -> io::Result<()> {
    let wrong = match name.split('/').collect::<Vec<_>>()[..] {
        [file] | [_, file] if file.len() <= LONGEST_NAME => return Ok(()),
        [_] | [_, _] => "its name is longer than 64 bytes",
        _ => "its name is a path of more than two parts",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, wrong))
}

fn may_execute(folder: &Folder) -> bool {
    fstatvfs(folder).is_ok_and(|mount| !mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn piece(name: &str, bytes: &[u8], first: bool, last: bool) -> Put {
        Put { name: name.parse().unwrap(), bytes: bytes.to_vec(), first, last }
    }

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).map_or(0, Iterator::count)
    }

    #[test]
    fn pieces_become_a_file_when_the_last_is_there_and_it_goes_with_the_value() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("put");
        let mut files = Files::below(&folder);
        files.take(&piece("tool", b"#!/bin/sh\n", true, false)).unwrap();
        assert!(!folder.join("tool").exists());
        files.take(&piece("tool", b"exit 7\n", false, true)).unwrap();
        assert_eq!(fs::read(folder.join("tool")).unwrap(), b"#!/bin/sh\nexit 7\n");
        let mode = fs::metadata(folder.join("tool")).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, entries(&folder)), (MODE, 1));
        // Two builds of one name lie side by side.
        for side in ["a", "b"] {
            files.take(&piece(&format!("{side}/stationd"), side.as_bytes(), true, true)).unwrap();
        }
        assert_eq!(fs::read(folder.join("b/stationd")).unwrap(), b"b");
        files.take(&piece("half", b"x", true, false)).unwrap();
        drop(files);
        assert!(!folder.exists());
    }

    #[test]
    fn a_file_of_the_same_name_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::below(folder.path());
        files.take(&piece("tool", b"a longer one", true, true)).unwrap();
        let old = File::open(folder.path().join("tool")).unwrap();
        files.take(&piece("tool", b"new", true, true)).unwrap();
        assert_eq!(fs::read(folder.path().join("tool")).unwrap(), b"new");
        assert_eq!(io::read_to_string(old).unwrap(), "a longer one", "whoever runs it keeps it");
        assert_eq!(files.there, ["tool"]);
    }

    #[test]
    fn a_name_that_is_long_or_deep_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::below(folder.path());
        let long = "x".repeat(LONGEST_NAME + 1);
        for name in ["a/b/c", &long] {
            let reported = files.take(&piece(name, b"x", true, true)).unwrap_err().to_string();
            assert!(
                reported.starts_with("cannot put `") && reported.contains("name"),
                "{reported}"
            );
        }
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn a_piece_without_a_beginning_is_refused_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::below(folder.path());
        assert!(files.take(&piece("tool", b"x", false, true)).is_err());
        files.take(&piece("one", b"x", true, false)).unwrap();
        assert!(files.take(&piece("other", b"x", false, false)).is_err());
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn a_folder_that_cannot_be_made_or_that_others_can_change_or_exchange_takes_no_file() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().join("real");
        fs::create_dir(&real).unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
        for (folder, why) in [
            ("link", "is a symbolic link"),
            ("real/put", "may be written to by other users"),
            ("file/put", "Not a directory"),
        ] {
            let folder = place.path().join(folder);
            let refused = Files::below(&folder).take(&piece("tool", b"x", true, true));
            let reported = refused.unwrap_err().to_string();
            assert!(reported.contains(why) && reported.contains(folder.to_str().unwrap()));
        }
        assert_eq!(entries(&real), 0);
    }

    #[test]
    fn a_link_in_the_folder_is_replaced_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (folder, victim) = (place.path().join("put"), place.path().join("victim"));
        fs::create_dir(&folder).unwrap();
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join("tool")).unwrap();
        std::os::unix::fs::symlink(place.path(), folder.join("side")).unwrap();
        let mut files = Files::below(&folder);
        files.take(&piece("tool", b"new", true, true)).unwrap();
        assert!(files.take(&piece("side/victim", b"new", true, true)).is_err());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }
}
