//! Folders as capabilities: what is opened below one stays below it, and is a regular file or a folder.
//!
//! A [`Folder`] is a descriptor. Every name below it is resolved without following symbolic links and without
//! leaving it, so a name from outside (a run folder of somebody else, a device, a journal) can at worst name
//! another file of the same folder. Reading takes a limit, never blocks on a pipe and refuses devices; writing
//! never truncates what is there. What the files mean, and who may own them, is the caller's.
//!
//! Minimum kernel: 2.6.39; `openat2` (5.6) resolves in one call where it is there, else each part is opened by
//! itself.

mod path;
mod temporary;
mod tree;
mod trusted;

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata},
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat},
    io::Errno,
};

pub use self::{
    temporary::{Temporary, random_name},
    tree::Entry,
};
use crate::file::{self, Regular};

/// Files and folders are made as any other program makes them; the process's mask takes from it. In a private
/// folder they are this user's alone.
const FILE: Mode = Mode::from_bits_retain(0o666);
const FOLDER: Mode = Mode::from_bits_retain(0o777);
const PRIVATE: Mode = Mode::from_bits_retain(0o700);

/// Writes a file by the path that the user gave. A regular file, also behind a symbolic link, is there whole or not at
/// all, as [`Folder::replace`] does it; anything else that is there (a device, a pipe, this process's own output) is
/// written to and never replaced.
pub fn write_out(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(mut own) = own_output(path) {
        return own.write_all(bytes);
    }
    // A link that leads nowhere yet, or to a pipe of /proc, has no other path.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return fs::write(path, bytes);
    }
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    Folder::open(path.parent().unwrap_or(Path::new("")))?.replace(name, bytes)
}

/// The standard output or error output, where the path leads to what it is: to open it once more would begin at its
/// start, over what was printed before.
fn own_output(path: &Path) -> Option<File> {
    let asked = fs::metadata(path).ok()?;
    let (out, error) = (io::stdout(), io::stderr());
    [out.as_fd(), error.as_fd()].into_iter().find_map(|fd| {
        let own = File::from(fd.try_clone_to_owned().ok()?);
        let found = own.metadata().ok()?;
        ((found.dev(), found.ino()) == (asked.dev(), asked.ino())).then_some(own)
    })
}

#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    /// Where it was opened: for messages, and for programs that take paths.
    path: PathBuf,
    is_private: bool,
}

impl Folder {
    /// Opens a folder by the path that the user gave, symbolic links included.
    /// Fails with `NotADirectory` where it is something else.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let named = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let fd = openat(CWD, named, DIRECTORY, Mode::empty())?;
        Ok(Self { fd, path, is_private: false })
    }

    /// Opens a folder by the path that the user gave, and makes it where it is not there.
    pub fn create(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        if !path.as_os_str().is_empty() {
            fs::create_dir_all(&path)?;
        }
        Self::open(path)
    }

    /// What is made in it from now on is this user's alone, whatever the process's mask says.
    #[must_use]
    pub fn private(self) -> Self {
        Self { is_private: true, ..self }
    }

    fn mode(&self, usual: Mode) -> Mode {
        if self.is_private { usual & PRIVATE } else { usual }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something below it, for messages and for programs that take paths. A name that leads out of
    /// the folder is the folder.
    pub fn path_of(&self, name: impl AsRef<Path>) -> PathBuf {
        path::checked(name.as_ref()).map_or_else(|_| self.path.clone(), |name| self.path.join(name))
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.fd.try_clone()?).metadata()
    }

    /// Opens a folder below.
    /// Fails with `InvalidInput` for a name that leads out of the folder or through a symbolic link.
    pub fn folder(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let name = name.as_ref();
        let fd = path::open_beneath(self.as_fd(), path::checked(name)?, DIRECTORY)?;
        Ok(Self { fd, path: self.path_of(name), is_private: self.is_private })
    }

    /// Opens a folder right below, and makes it where it is not there.
    pub fn make_folder(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let (parent, last) = self.parent(name.as_ref())?;
        match mkdirat(&parent, last, self.mode(FOLDER)) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a folder right below that must not be there yet.
    /// Fails with `AlreadyExists`; else as [`Folder::folder`].
    pub fn new_folder(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let (parent, last) = self.parent(name.as_ref())?;
        mkdirat(&parent, last, self.mode(FOLDER))?;
        self.folder(name)
    }

    /// Opens a regular file for reading.
    /// Fails with `InvalidInput` for what is no regular file, or is not below.
    pub fn file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        Ok(self.regular(name.as_ref())?.file)
    }

    /// Reads a regular file of at most so many bytes.
    /// Fails with `FileTooLarge` with the limit.
    pub fn read(&self, name: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
        self.regular(name.as_ref())?.bytes(limit)
    }

    /// Reads a regular file of text.
    /// Fails with `InvalidData` where it is not UTF-8.
    pub fn read_text(&self, name: impl AsRef<Path>, limit: u64) -> io::Result<String> {
        file::utf8(self.read(name, limit)?)
    }

    /// Opens a regular file as a program finds it whose root this folder is: symbolic links are followed, and lead
    /// nowhere else.
    /// Before Linux 5.6 a path with a symbolic link in it is refused.
    pub fn file_in_root(&self, path: impl AsRef<Path>) -> io::Result<File> {
        reopened(path::open_in_root(self.as_fd(), path.as_ref(), LOOK)?)
    }

    /// Opens a regular file that is there for writing. It is neither made nor emptied.
    pub fn existing(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_regular(name.as_ref(), OFlags::WRONLY)
    }

    /// Opens a regular file that nobody but root and this user can have written, to read it. The folder has to be
    /// one of theirs alone ([`Folder::open_trusted`]).
    /// Fails with `PermissionDenied` for a file of others, one that others may write to, and one with a second name.
    pub fn trusted_file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let file = alone(self.file(name)?)?;
        let metadata = file.metadata()?;
        let why = match metadata.uid() {
            user if !trusted::is_ours(user) => format!("it belongs to user {user}"),
            _ if metadata.mode() & 0o022 != 0 => "other users may write to it".to_owned(),
            _ => return Ok(file),
        };
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }

    /// Opens a regular file to write at its end; it is made where it is not there.
    /// Fails with `InvalidInput` for a file that has another name elsewhere.
    pub fn append(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        alone(self.open_regular(name.as_ref(), flags)?)
    }

    /// Makes a file that takes the place of what has its name.
    /// A folder of that name stays.
    pub fn new_file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let (parent, last) = self.parent(name.as_ref())?;
        self.create_in(&parent, last)
    }

    /// Opens a regular file to lock: never truncated, made where it is not there.
    pub fn lock_file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.open_regular(name.as_ref(), OFlags::RDWR | OFlags::CREATE)
    }

    /// Writes a file so that it is there whole or not at all, also after a loss of power, and beside others
    /// that write the same one.
    /// Where it fails, what was there before is untouched.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        self.replace_with(name, |file| file.write_all(bytes))
    }

    /// The same of whatever `write` writes, which need not be in memory.
    pub fn replace_with(
        &self,
        name: impl AsRef<Path>,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        /// Threads of one process may write the same file at the same time.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (parent, last) = self.parent(name.as_ref())?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut partial = last.to_owned();
        partial.push(format!(".{}-{number}.partial", std::process::id()));
        let written = self.write_new(&parent, &partial, write);
        let moved = written.and_then(|()| Ok(renameat(&parent, &partial, &parent, last)?));
        if moved.is_err() {
            // The first error is the one to report.
            let _ = unlinkat(&parent, &partial, AtFlags::empty());
        }
        moved
    }

    fn write_new(
        &self,
        parent: &Parent<'_>,
        name: &OsStr,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        // A process of this number may have left one when it was killed.
        let mut file = self.create_in(parent, name)?;
        write(&mut file)?;
        file.sync_all()
    }

    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from_parent, from) = self.parent(from.as_ref())?;
        let (to_parent, to) = self.parent(to.as_ref())?;
        Ok(renameat(&from_parent, from, &to_parent, to)?)
    }

    /// Removes a file or a symbolic link; one that is not there is removed already.
    pub fn remove_file(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (parent, last) = self.parent(name.as_ref())?;
        unlink(&parent, last)
    }

    pub fn remove_folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (parent, last) = self.parent(name.as_ref())?;
        Ok(unlinkat(&parent, last, AtFlags::REMOVEDIR)?)
    }

    /// Removes something with all that is in it, without following symbolic links; what is not there is removed
    /// already.
    pub fn remove_tree(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (parent, last) = self.parent(name.as_ref())?;
        let kind = match statat(&parent, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => FileType::from_raw_mode(found.st_mode),
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if !kind.is_dir() {
            return self.remove_file(name);
        }
        // The standard library's walk is safe against links; the descriptor keeps it below this folder.
        let through = PathBuf::from(format!("/proc/self/fd/{}", parent.as_fd().as_raw_fd()));
        fs::remove_dir_all(through.join(last))
    }

    /// Whether a regular file of this name is here.
    pub fn has_file(&self, name: impl AsRef<Path>) -> bool {
        self.stat(name.as_ref()).is_ok_and(|kind| kind.is_file())
    }

    /// Whether anything has this name, be it a link.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        self.stat(name.as_ref()).is_ok()
    }

    fn stat(&self, name: &Path) -> io::Result<FileType> {
        let (parent, last) = self.parent(name)?;
        kind_of(parent, last)
    }

    /// Opens a regular file to read it. Opening a device can already do something, so the name is looked at before. The look
    /// may lead through a symbolic link; what is opened does not.
    fn regular(&self, name: &Path) -> io::Result<Regular> {
        let name = path::checked(name)?;
        let kind = kind_of(self, name.as_os_str())?;
        if kind.is_symlink() {
            return Err(path::link(Errno::LOOP));
        }
        file::regular(kind)?;
        let flags = OFlags::RDONLY | QUIETLY;
        Regular::of(path::open_beneath(self.as_fd(), name, flags)?.into())
    }

    /// Makes a file in place of what has its name in an open folder.
    fn create_in(&self, parent: &Parent<'_>, name: &OsStr) -> io::Result<File> {
        unlink(parent, name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | QUIETLY;
        Ok(openat(parent, name, flags, self.mode(FILE))?.into())
    }

    fn open_regular(&self, name: &Path, flags: OFlags) -> io::Result<File> {
        let (parent, last) = self.parent(name)?;
        let file = openat(&parent, last, flags | QUIETLY, self.mode(FILE)).map_err(path::link)?;
        Ok(Regular::of(file.into())?.file)
    }

    /// The folder that a name is in, and its last part.
    fn parent<'a>(&self, name: &'a Path) -> io::Result<(Parent<'_>, &'a OsStr)> {
        let name = path::checked(name)?;
        let last = name.file_name().ok_or(Errno::INVAL)?;
        let parent = match name.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                Parent::Below(path::open_beneath(self.as_fd(), parent, DIRECTORY)?)
            }
            _ => Parent::Itself(self.as_fd()),
        };
        Ok((parent, last))
    }
}

enum Parent<'a> {
    /// The one that was asked.
    Itself(BorrowedFd<'a>),
    /// One below it, opened for this.
    Below(OwnedFd),
}

impl AsFd for Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Itself(fd) => *fd,
            Self::Below(fd) => fd.as_fd(),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A folder, to look names up in it.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Only looks a name up; the last part may be a link, which is then what was found.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The last part is no link, a pipe does not block, and a terminal does not become ours.
const QUIETLY: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Removes a name; one that is not there is removed already.
fn unlink(parent: impl AsFd, name: &OsStr) -> io::Result<()> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn kind_of(at: impl AsFd, name: &OsStr) -> io::Result<FileType> {
    let found = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(found.st_mode))
}

/// Opens for reading what was only looked up, if it is a regular file: opening a device can already do something.
fn reopened(found: OwnedFd) -> io::Result<File> {
    let found = Regular::of(found.into())?.file;
    File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))
}

/// A file that is to be written to must not be another file of the user's as well.
fn alone(file: File) -> io::Result<File> {
    if file.metadata()?.nlink() <= 1 {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it has a second name (a hard link)"))
}

#[cfg(test)]
mod tests;
