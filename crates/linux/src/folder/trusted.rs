//! Folders that nobody but root and this user can change or exchange.
//!
//! A program that acts as root on what a file says must know who wrote the file. Permissions of the file are not
//! enough: whoever may write to a folder above it can put another in its place. So the path is walked from `/`,
//! every part opened in the one before it, and each has to belong to root or to this user and be closed to other
//! writers. A folder with the sticky bit (`/tmp`) may be on the way, since nobody can exchange a folder of ours
//! there; a symbolic link in it may not. What the files are for is the caller's.

use std::{
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, statat},
    io::Errno,
    process::geteuid,
};

use super::{DIRECTORY, Folder};

/// So many symbolic links are followed, as the kernel does.
const MOST_LINKS: u32 = 40;

/// Folders on the way that are made may be entered by everybody, and changed by us.
const ON_THE_WAY: Mode = Mode::from_bits_retain(0o755);

impl Folder {
    /// Opens a folder that only root and this user can change.
    /// Fails with `PermissionDenied` with the folder or link that somebody else could exchange.
    pub fn open_trusted(path: impl AsRef<Path>) -> io::Result<Self> {
        Walk::to(path.as_ref(), None)
    }

    /// The same, and makes what is not there; the last folder has this mode.
    pub fn create_trusted(path: impl AsRef<Path>, mode: u32) -> io::Result<Self> {
        Walk::to(path.as_ref(), Some(Mode::from_bits_truncate(mode)))
    }
}

struct Walk {
    at: OwnedFd,
    path: PathBuf,
    /// Whether others may make files here, which the sticky bit lets only them exchange.
    is_shared: bool,
    links: u32,
    /// Parts that are still to go, the next one last.
    ahead: Vec<OsString>,
}

impl Walk {
    fn to(path: &Path, make: Option<Mode>) -> io::Result<Folder> {
        let mut walk = Self {
            at: root()?,
            path: PathBuf::from("/"),
            is_shared: false,
            links: 0,
            ahead: parts(&std::path::absolute(path)?),
        };
        walk.look(walk.ahead.is_empty())?;
        while let Some(part) = walk.ahead.pop() {
            walk.step(&part, make)?;
        }
        Ok(Folder { fd: walk.at, path: path.to_owned(), is_private: false })
    }

    fn step(&mut self, part: &OsString, make: Option<Mode>) -> io::Result<()> {
        let is_last = self.ahead.is_empty();
        let path = self.path.join(part);
        if let Some(last) = make
            && statat(&self.at, part, AtFlags::SYMLINK_NOFOLLOW).is_err_and(|e| e == Errno::NOENT)
        {
            match mkdirat(&self.at, part, if is_last { last } else { ON_THE_WAY }) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(named(&path, error)),
            }
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat(&self.at, part, flags, Mode::empty()).map_err(|e| named(&path, e))?;
        let stat = fstat(&found)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if is_last => Err(refused(&path, "is a symbolic link")),
            FileType::Symlink => self.follow(&found, &stat, &path),
            _ => {
                self.at = openat(&found, ".", DIRECTORY, Mode::empty())
                    .map_err(|error| named(&path, error))?;
                self.path = path;
                self.look(is_last)
            }
        }
    }

    fn follow(&mut self, link: &OwnedFd, stat: &Stat, path: &Path) -> io::Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(named(path, Errno::LOOP));
        }
        if self.is_shared || !is_ours(stat.st_uid) {
            return Err(refused(path, "is a symbolic link that others can exchange"));
        }
        let target = readlinkat(link, "", Vec::new()).map_err(|error| named(path, error))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            (self.at, self.path, self.is_shared) = (root()?, PathBuf::from("/"), false);
        }
        self.ahead.extend(parts(&target));
        Ok(())
    }

    /// Refuses a folder that somebody else can change.
    fn look(&mut self, is_last: bool) -> io::Result<()> {
        let stat = fstat(&self.at)?;
        if !is_ours(stat.st_uid) {
            let whose = format!("belongs to user {}", stat.st_uid);
            return Err(refused(&self.path, &whose));
        }
        let mode = Mode::from_raw_mode(stat.st_mode);
        self.is_shared = mode.intersects(Mode::WGRP | Mode::WOTH);
        if self.is_shared && (is_last || !mode.contains(Mode::SVTX)) {
            return Err(refused(&self.path, "may be written to by other users"));
        }
        Ok(())
    }
}

fn root() -> io::Result<OwnedFd> {
    Ok(openat(CWD, "/", DIRECTORY, Mode::empty())?)
}

/// The names in a path, the first one last.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut parts: Vec<OsString> = parts.collect();
    parts.reverse();
    parts
}

/// Whether root or this user owns something of this user.
pub(super) fn is_ours(user: u32) -> bool {
    user == 0 || user == geteuid().as_raw()
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display()))
}

fn named(path: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    };

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_made_is_closed_to_others() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b/c");
        Folder::create_trusted(&path, 0o700).unwrap();
        let bits = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((bits(&path), bits(&place.path().join("a")) & 0o022), (0o700, 0));
        Folder::open_trusted(place.path().join("a/../a/b")).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_wherever_it_is_on_the_way() {
        let place = tempfile::tempdir().unwrap();
        let (above, folder) = (place.path().join("a"), place.path().join("a/b"));
        fs::create_dir_all(&folder).unwrap();
        for (wrong, bits, right) in [
            (&folder, 0o770, false),
            (&folder, 0o1777, false),
            (&above, 0o777, false),
            (&above, 0o1777, true),
        ] {
            mode(wrong, bits);
            assert_eq!(Folder::open_trusted(&folder).is_ok(), right, "{wrong:?} {bits:o}");
            mode(wrong, 0o755);
        }
        Folder::open_trusted(&folder).unwrap();
    }

    #[test]
    fn a_link_is_followed_only_where_no_other_user_can_put_one() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("real/state");
        fs::create_dir_all(&folder).unwrap();
        symlink("real", place.path().join("way")).unwrap();
        symlink(&folder, place.path().join("last")).unwrap();
        symlink("loop", place.path().join("loop")).unwrap();
        Folder::open_trusted(place.path().join("way/state")).unwrap();
        let reported = Folder::open_trusted(place.path().join("last")).unwrap_err().to_string();
        assert!(reported.ends_with("last is a symbolic link"), "{reported}");
        assert!(Folder::open_trusted(place.path().join("loop/x")).is_err());
        mode(place.path(), 0o1777);
        assert!(Folder::open_trusted(place.path().join("way/state")).is_err());
    }

    #[test]
    fn what_is_no_folder_or_not_there_is_named() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        let reported = Folder::open_trusted(place.path().join("file")).unwrap_err();
        assert!(reported.to_string().contains("file: Not a directory"), "{reported}");
        let reported = Folder::open_trusted(place.path().join("none")).unwrap_err();
        assert_eq!(reported.kind(), io::ErrorKind::NotFound);
    }
}
