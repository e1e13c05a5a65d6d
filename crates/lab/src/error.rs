//! Everything that can keep the lab from measuring, each in one line: what, where, what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{study_file, vm};

/// A failure of the lab. Never a statement about the subject.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The study file cannot be used.
    #[error(transparent)]
    Study(#[from] study_file::Error),
    /// What was asked for cannot be done: the words, the study or a file that they name is wrong.
    #[error("{0}")]
    Usage(String),
    /// What was measured is not whole, or not alike.
    #[error("{0}")]
    Invalid(String),
    /// This machine or the device lacks something.
    #[error("{0}")]
    Environment(String),
    /// A device does not do what it was given an image for.
    #[error("{0}")]
    Failed(String),
    /// A file or folder could not be read or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// What was tried, as “write”.
        verb: &'static str,
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A program that headroom drives is not installed.
    #[error("`{program}` is not installed; install it with `apt-get install {package}`")]
    MissingProgram {
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// A program that headroom drives failed.
    #[error("{program} failed ({status}): {tail}")]
    Program {
        program: String,
        status: String,
        /// The end of what it said.
        tail: String,
    },
    /// Somebody else holds the device.
    #[error("{what} is held by {by}; wait until it is free")]
    Held {
        /// The device, as the command line calls it.
        what: String,
        /// Who, as its lab says.
        by: String,
    },
    /// The guest's image lacks something that the virtual access point needs.
    #[error("the packages have no `{0}`; the image cannot be made from them")]
    ImageLacks(String),
    /// A user's own kernel lacks what a virtual access point needs.
    #[error("the kernel {release} cannot be a virtual access point's; it lacks{}:", of_modules(*has_modules))]
    FirmwareLacks {
        release: String,
        /// Whether there are modules of it at all.
        has_modules: bool,
        /// One line for each thing.
        missing: Vec<String>,
    },
    /// ssh does not get to a device: no such host, no one who answers, no one who lets us in.
    #[error("cannot reach {address}: {said}")]
    Unreachable {
        /// The device, as ssh calls it.
        address: String,
        /// The end of what ssh said.
        said: String,
    },
    /// ssh got there, and ended with an error of its own before the work was done.
    #[error("the connection to {address} broke: {said}")]
    Lost {
        /// The device, as ssh calls it.
        address: String,
        /// The end of what ssh said.
        said: String,
    },
    /// The virtual access point failed.
    #[error(transparent)]
    Machine(#[from] vm::Failure),
    /// The folder holds no run.
    #[error("{} is not a run folder: {why}", path.display())]
    NotARun {
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What the run was begun with is not what is here now.
    #[error("the run in {} was begun with another {what} ({then}, now {now}); start a new run", path.display())]
    Changed { path: PathBuf, what: &'static str, then: String, now: String },
    /// Somebody pressed Ctrl-C, or sent a signal.
    #[error("interrupted")]
    Interrupted,
}

fn of_modules(has_modules: bool) -> &'static str {
    if has_modules { "" } else { ", and no module of it was found (--modules DIR)" }
}

impl Error {
    /// A file error, with a full disk distinguished.
    pub(crate) fn file(
        verb: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::disk_full(&path),
            _ => Error::File { verb, path, source },
        }
    }

    /// No room was left for this file of a run or of the cache.
    pub(crate) fn disk_full(path: &Path) -> Self {
        Error::Environment(format!(
            "the disk is full: cannot write {}; free some space and try again (a run goes on with `headroom run --resume`)",
            path.display()
        ))
    }
}
