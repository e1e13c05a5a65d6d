//! How a path below a folder is resolved: by `openat2` in one call, or part by part.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

/// A path whose parts are all plain names.
pub(super) fn checked(path: &Path) -> io::Result<&Path> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !path.as_os_str().is_empty() {
        return Ok(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "the name leads out of its folder"))
}

/// Opens below a folder, through no symbolic link.
pub(super) fn open_beneath(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(at, path, flags, Mode::empty(), resolve) {
        // Older kernels do not know the call, and some sandboxes forbid it.
        Err(Errno::NOSYS | Errno::PERM) => part_by_part(at, path, flags),
        opened => opened.map_err(link),
    }
}

/// Opens as a program does whose root the folder is. Without `openat2` no link is followed.
pub(super) fn open_in_root(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match openat2(at, path, flags - OFlags::NOFOLLOW, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => {
            let below = path.strip_prefix("/").unwrap_or(path);
            part_by_part(at, checked(below)?, flags)
        }
        opened => Ok(opened?),
    }
}

/// Opens each part in the one before it. Parts are plain names, so `NOFOLLOW` keeps each in its folder.
fn part_by_part(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut opened = at.try_clone_to_owned()?;
    let parts = path.components().count();
    for (index, part) in path.components().enumerate() {
        let last = index + 1 == parts;
        let flags = if last { flags } else { super::DIRECTORY } | OFlags::NOFOLLOW;
        opened = openat(&opened, part.as_os_str(), flags, Mode::empty()).map_err(link)?;
    }
    Ok(opened)
}

/// The system's word for a symbolic link says nothing of links. With `O_DIRECTORY` it is `ENOTDIR`.
pub(super) fn link(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link"),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::fd::AsFd};

    use super::*;

    #[test]
    fn both_ways_open_the_same_and_refuse_the_same() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("a/b")).unwrap();
        fs::write(place.path().join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", place.path().join("a/out")).unwrap();
        let folder = fs::File::open(place.path()).unwrap();
        for (path, opens) in
            [("a/b/file", true), ("link/b/file", false), ("a/out", false), ("a/none", false)]
        {
            let (at, path, flags) =
                (folder.as_fd(), Path::new(path), OFlags::RDONLY | OFlags::CLOEXEC);
            assert_eq!(open_beneath(at, path, flags).is_ok(), opens, "{path:?}");
            assert_eq!(part_by_part(at, path, flags).is_ok(), opens, "{path:?}");
        }
    }

    #[test]
    fn only_plain_names_are_below() {
        for wrong in ["", ".", "..", "/a", "a/../../b", "./a"] {
            assert!(checked(Path::new(wrong)).is_err(), "{wrong}");
        }
        assert!(checked(Path::new("a/b.c")).is_ok());
    }
}
