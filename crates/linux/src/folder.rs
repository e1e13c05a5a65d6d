//! Folders as capabilities: what is opened below one stays below it, and is a regular file or a folder.
//!
//! A [`Folder`] is a descriptor. Every name below it is resolved without following symbolic links and without
//! leaving it, so a name from outside (a run folder of somebody else, a device, a journal) can at worst name
//! another file of the same folder. Reading takes a limit, never blocks on a pipe and refuses devices; writing
//! never truncates what is there. What the files mean, and who may own them, is the caller's.
//!
//! Minimum kernel: 2.6.39; `openat2` (5.6) resolves in one call where it is there, else each part is opened by
//! itself.

mod trusted;

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata},
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::{Component, Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2,
        renameat, statat, unlinkat,
    },
    io::Errno,
    rand::{GetRandomFlags, getrandom},
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

/// What is in a folder under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    /// Whether it is a folder; a link to one is none.
    pub is_folder: bool,
    /// Whether it is a regular file; a link to one is none.
    pub is_file: bool,
    pub bytes: u64,
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
        checked(name.as_ref()).map_or_else(|_| self.path.clone(), |name| self.path.join(name))
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.fd.try_clone()?).metadata()
    }

    /// Opens a folder below.
    /// Fails with `InvalidInput` for a name that leads out of the folder or through a symbolic link.
    pub fn folder(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        let name = name.as_ref();
        let fd = open_beneath(self.as_fd(), checked(name)?, DIRECTORY)?;
        Ok(Self { fd, path: self.path_of(name), is_private: self.is_private })
    }

    /// Opens a folder right below, and makes it where it is not there.
    pub fn make_folder(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        match self.new_folder(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.folder(name),
            made => made,
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
        // Only looked up at first: opening a device can already do something.
        let found = open_in_root(self.as_fd(), path.as_ref(), LOOK)?;
        let found = Regular::of(found.into())?.file;
        File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))
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
        parent: &OwnedFd,
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
        for listed in Dir::new(openat(&self.fd, ".", DIRECTORY, Mode::empty())?)? {
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
        let name = checked(name)?;
        let kind = kind_of(self, name.as_os_str())?;
        if kind.is_symlink() {
            return Err(link(Errno::LOOP));
        }
        file::regular(kind)?;
        let flags = OFlags::RDONLY | QUIETLY;
        Regular::of(open_beneath(self.as_fd(), name, flags)?.into())
    }

    /// Makes a file in place of what has its name in an open folder.
    fn create_in(&self, parent: &OwnedFd, name: &OsStr) -> io::Result<File> {
        unlink(parent, name)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | QUIETLY;
        Ok(openat(parent, name, flags, self.mode(FILE))?.into())
    }

    fn open_regular(&self, name: &Path, flags: OFlags) -> io::Result<File> {
        let (parent, last) = self.parent(name)?;
        let file = openat(&parent, last, flags | QUIETLY, self.mode(FILE)).map_err(link)?;
        Ok(Regular::of(file.into())?.file)
    }

    /// The folder that a name is in, and its last part.
    fn parent<'a>(&self, name: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = checked(name)?;
        let last = name.file_name().ok_or(Errno::INVAL)?;
        let parent = match name.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                open_beneath(self.as_fd(), parent, DIRECTORY)?
            }
            _ => self.fd.try_clone()?,
        };
        Ok((parent, last))
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

/// A file that is to be written to must not be another file of the user's as well.
fn alone(file: File) -> io::Result<File> {
    if file.metadata()?.nlink() <= 1 {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it has a second name (a hard link)"))
}

/// A path whose parts are all plain names.
fn checked(path: &Path) -> io::Result<&Path> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !path.as_os_str().is_empty() {
        return Ok(path);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "the name leads out of its folder"))
}

/// Opens below a folder, through no symbolic link.
fn open_beneath(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(at, path, flags, Mode::empty(), resolve) {
        // Older kernels do not know the call, and some sandboxes forbid it.
        Err(Errno::NOSYS | Errno::PERM) => part_by_part(at, path, flags),
        opened => opened.map_err(link),
    }
}

/// Opens as a program does whose root the folder is. Without `openat2` no link is followed.
fn open_in_root(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
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
        let flags = if last { flags } else { DIRECTORY } | OFlags::NOFOLLOW;
        opened = openat(&opened, part.as_os_str(), flags, Mode::empty()).map_err(link)?;
    }
    Ok(opened)
}

/// The system's word for a symbolic link says nothing of links. With `O_DIRECTORY` it is `ENOTDIR`.
fn link(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link"),
        error => error.into(),
    }
}

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

impl Drop for Temporary {
    fn drop(&mut self) {
        // A folder that got this name meanwhile was made by another process.
        let inode = |of: &Folder| of.metadata().map(|found| (found.dev(), found.ino())).ok();
        let same = |now: Folder| inode(&now) == inode(&self.folder);
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

#[cfg(test)]
mod tests;
