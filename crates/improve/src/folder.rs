//! The folder of a task: what was fixed when it was begun, and what its tries leave.
//!
//! ```text
//! task.toml  study.toml    as they were read                 ledger.jsonl   the books
//! source/    fetched.tar   the tree, as it was fetched       diffs/         by content
//! base.tar                 the same, built, with its objects programs/      what was built, by content
//! tries/N/                 build.log, and the run
//! secret/                  the seed, and acceptances: for nobody but the judge
//! ```
//!
//! One process works in it at a time. Measuring is the command line's.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use linux::folder::Folder;
use model::{name::Sha256Hex, random::Random};
use rustix::{
    fs::{FlockOperation, flock},
    rand::{GetRandomFlags, getrandom},
};

use crate::{
    content,
    ledger::{Access, Ledger, Opened},
    task::Task,
};

const TASK: &str = "task.toml";
const STUDY: &str = "study.toml";
const LOCK: &str = "lock";
const SEED: &str = "seed";
const SECRET: &str = "secret";

/// No task or study file is longer, bytes.
pub const LONGEST_TEXT: u64 = 1 << 20;

pub const LONGEST_DIFF: u64 = 4 << 20;

/// Why a task's folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {source}", path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "line {line} of {} {why}: the ledger was changed, and nothing behind that line can be trusted; begin the task again", path.display()
    )]
    Chain { path: PathBuf, line: usize, why: &'static str },
    #[error("{}: {why}", path.display())]
    Task { path: PathBuf, why: String },
    #[error("{} is in use by another headroom; wait until it has ended", .0.display())]
    Busy(PathBuf),
    #[error("{} is not what it was when the task was begun; begin it again with `headroom improve init`", .0.display())]
    Changed(PathBuf),
    #[error("{} holds no task that was begun to its end; remove it and run `headroom improve init` again", .0.display())]
    NotBegun(PathBuf),
    #[error("{what} ended with {how}; what it said is in {}", log.display())]
    Command {
        /// `source.fetch`, or the base's build.
        what: &'static str,
        how: String,
        log: PathBuf,
    },
    #[error("the base's build left no program {} below $OUT", .0.display())]
    NoProgram(PathBuf),
    #[error(
        "there can be no sandbox here ({0}): builds are made in user namespaces of bubblewrap 0.8 or newer, by root as well; \
         allow them (`sysctl kernel.unprivileged_userns_clone user.max_user_namespaces`), or use a machine or container that does"
    )]
    NoSandbox(String),
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// For `map_err`.
    pub(crate) fn file(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { doing, path, source }
    }
}

/// A task's folder, held by this process.
#[derive(Debug)]
pub struct TaskFolder {
    pub(crate) folder: Folder,
    pub task: Task,
    /// What is fixed by content, once the task was begun to its end.
    pub(crate) opened: Option<Opened>,
    _lock: Option<File>,
}

impl TaskFolder {
    /// Makes the folder of a task, which must not be there.
    pub(crate) fn create(path: &Path, task: &str, study: &str) -> Result<Self, Error> {
        let asked = Task::read(task).map_err(|why| Error::Task { path: path.into(), why })?;
        std::fs::create_dir_all(path).map_err(Error::file("make", path))?;
        let folder = Folder::open(path).map_err(Error::file("open", path))?;
        let lock = lock(&folder)?;
        if folder.has(TASK) {
            let taken = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(Error::file("make", folder.path_of(TASK))(taken));
        }
        let this = Self { folder, task: asked, opened: None, _lock: Some(lock) };
        for (name, text) in [(TASK, task), (STUDY, study)] {
            this.replace(name, text.as_bytes())?;
        }
        for name in ["source", "tries", "diffs", "programs"] {
            this.folder.new_folder(name).map_err(Error::file("make", this.path_of(name)))?;
        }
        let private = Folder::open(path).map(Folder::private);
        let secret = private.and_then(|folder| folder.new_folder(SECRET));
        let secret = secret.map_err(Error::file("make", this.path_of(SECRET)))?;
        let seed = seed()?;
        secret
            .replace(SEED, seed.as_bytes())
            .map_err(Error::file("write", secret.path_of(SEED)))?;
        Ok(this)
    }

    /// Opens the folder of a task that was begun, with its books. What was under way when headroom ended is written down
    /// as interrupted, where anything is going to be written.
    pub fn open(path: &Path, access: Access, now: u64) -> Result<(Self, Ledger), Error> {
        let folder = Folder::open(path).map_err(Error::file("open", path))?;
        let lock = (access == Access::Write).then(|| lock(&folder)).transpose()?;
        let read = |name: &'static str| {
            folder.read_text(name, LONGEST_TEXT).map_err(Error::file("read", folder.path_of(name)))
        };
        let [text, study] = [read(TASK)?, read(STUDY)?];
        let mut ledger = Ledger::open(&folder, access)?;
        let opened = ledger.opened().cloned().ok_or_else(|| Error::NotBegun(path.to_owned()))?;
        for (name, text, then) in [(TASK, &text, &opened.task), (STUDY, &study, &opened.study)] {
            if content::sum(text.as_bytes()) != *then {
                return Err(Error::Changed(folder.path_of(name)));
            }
        }
        let task =
            Task::read(&text).map_err(|why| Error::Task { path: folder.path_of(TASK), why })?;
        if access == Access::Write {
            crate::standing::close_interrupted(&mut ledger, now)?;
        }
        Ok((Self { folder, task, opened: Some(opened), _lock: lock }, ledger))
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The study's file, as it was when the task was begun.
    pub fn study_path(&self) -> PathBuf {
        self.path_of(STUDY)
    }

    /// The path of something of it.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.folder.path_of(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.folder.has_file(name)
    }

    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.folder.replace(name, bytes).map_err(Error::file("write", self.path_of(name)))
    }

    /// What nobody but the judge sees.
    fn secret(&self) -> Result<Folder, Error> {
        let folder = self.folder.folder(SECRET).map(Folder::private);
        folder.map_err(Error::file("open", self.path_of(SECRET)))
    }

    /// The seed's hexadecimal digits.
    /// Fails with [`Error::File`]; [`Error::Changed`] where it is another than the ledger says.
    pub fn seed(&self) -> Result<String, Error> {
        let secret = self.secret()?;
        let at = || secret.path_of(SEED);
        let seed = secret.read_text(SEED, LONGEST_TEXT).map_err(Error::file("read", at()))?;
        match &self.opened {
            Some(opened) if opened.seed != content::sum(seed.as_bytes()) => {
                Err(Error::Changed(at()))
            }
            _ => Ok(seed),
        }
    }

    /// Numbers that only the seed's holder knows, for what has this number in the ledger.
    pub fn draws(&self, id: u32) -> Result<Random, Error> {
        let sum = content::sum(format!("{} {id}", self.seed()?).as_bytes());
        let word = |at: usize| u64::from_str_radix(&sum[at..at + 16], 16).unwrap_or_default();
        Ok(Random::of([word(0), word(16), word(32)]))
    }

    /// A new folder for the run of an acceptance.
    pub fn secret_run(&self, id: u32, cell: u32) -> Result<PathBuf, Error> {
        Ok(self.secret()?.path_of(format!("{id}-{cell}")))
    }

    pub fn of_try(&self, id: u32) -> Result<Folder, Error> {
        let name = format!("tries/{id}");
        self.folder.make_folder(&name).map_err(Error::file("make", self.path_of(&name)))
    }

    /// Stores something by its content: among `diffs` or `programs`.
    pub fn store(&self, place: &str, bytes: &[u8]) -> Result<Sha256Hex, Error> {
        let sum = content::sum(bytes);
        let folder =
            self.folder.make_folder(place).map_err(Error::file("make", self.path_of(place)))?;
        folder.replace(&sum, bytes).map_err(Error::file("write", folder.path_of(&sum)))?;
        Ok(sum)
    }

    /// A diff that was stored.
    /// Fails with [`Error::File`]; [`Error::Changed`] where it is another now.
    pub fn diff(&self, sum: &Sha256Hex) -> Result<Vec<u8>, Error> {
        let name = format!("diffs/{sum}");
        let diff = self.folder.read(&name, LONGEST_DIFF);
        let diff = diff.map_err(Error::file("read", self.path_of(&name)))?;
        self.unchanged(&name, sum, &content::sum(&diff)).map(|_| diff)
    }

    /// Where a program that was stored is.
    pub fn program(&self, sum: &Sha256Hex) -> Result<PathBuf, Error> {
        let name = format!("programs/{sum}");
        let now = self.folder.file(&name).and_then(content::sum_of);
        self.unchanged(&name, sum, &now.map_err(Error::file("read", self.path_of(&name)))?)
    }

    /// The path of what has the content that it had.
    fn unchanged(&self, name: &str, then: &Sha256Hex, now: &Sha256Hex) -> Result<PathBuf, Error> {
        let path = self.path_of(name);
        if then == now { Ok(path) } else { Err(Error::Changed(path)) }
    }
}

fn lock(folder: &Folder) -> Result<File, Error> {
    let lock = folder.lock_file(LOCK).map_err(Error::file("open", folder.path_of(LOCK)))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(lock),
        Err(_) => Err(Error::Busy(folder.path().to_owned())),
    }
}

/// 32 bytes from the kernel, as hexadecimal digits.
fn seed() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let drawn = getrandom(&mut bytes, GetRandomFlags::empty());
    drawn.map_err(|errno| Error::file("read", "/dev/urandom")(errno.into()))?;
    Ok(Sha256Hex::of(&bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::TASK;

    #[test]
    fn what_was_stored_by_content_is_that_content_or_refused() {
        let place = tempfile::tempdir().unwrap();
        let folder = TaskFolder::create(&place.path().join("t"), TASK, "").unwrap();
        let program = folder.store("programs", b"program").unwrap();
        let diff = folder.store("diffs", b"diff").unwrap();
        assert_eq!(folder.diff(&diff).unwrap(), b"diff");
        std::fs::write(folder.program(&program).unwrap(), "another").unwrap();
        std::fs::write(folder.path_of(&format!("diffs/{diff}")), "another").unwrap();
        assert!(matches!(folder.program(&program), Err(Error::Changed(_))));
        assert!(matches!(folder.diff(&diff), Err(Error::Changed(_))));
    }
}
