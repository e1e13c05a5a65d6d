//! Everything that can keep the lab from measuring, each in one line: what, where, what to do.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::vm;

/// A failure of the lab. Never a statement about the subject.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
    #[error("cannot {verb} {}: {source}", path.display())]
    File { verb: &'static str, path: PathBuf, source: io::Error },
    /// A program that headroom drives is not installed; the Debian package has it.
    #[error("`{program}` is not installed; install it with `apt-get install {package}`")]
    MissingProgram { program: String, package: String },
    /// A program that headroom drives failed; the tail is the end of its error output.
    #[error("{program} failed ({status}): {tail}")]
    Program { program: String, status: String, tail: String },
    #[error("{device} is held by {by}; wait until it is free")]
    Held { device: String, by: String },
    /// The guest's image lacks something that the virtual access point needs.
    #[error("the packages have no `{0}`; the image cannot be made from them")]
    ImageLacks(String),
    /// A user's own kernel lacks what a virtual access point needs: one line for each thing. It may have no modules at all.
    #[error("the kernel {release} cannot be a virtual access point's; it lacks{}:", of_modules(*has_modules))]
    FirmwareLacks { release: String, has_modules: bool, missing: Vec<String> },
    /// ssh does not reach a device, or not any more: another try may succeed.
    #[error("{0}")]
    Unreachable(String),
    #[error(transparent)]
    Machine(#[from] vm::Failure),
    #[error("{} is not a run folder: {why}", path.display())]
    NotARun { path: PathBuf, why: String },
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

    /// A run was begun with something else than what is here now.
    pub(crate) fn changed(run: &Path, what: &str, then: &str, now: &str) -> Self {
        let run = run.display();
        Error::Invalid(format!(
            "the run in {run} was begun with another {what} ({then}, now {now}); start a new run"
        ))
    }

    /// No room was left for this file of a run or of the cache.
    pub(crate) fn disk_full(path: &Path) -> Self {
        Error::Environment(format!(
            "the disk is full: cannot write {}; free some space and try again (a run goes on with `headroom run --resume`)",
            path.display()
        ))
    }
}
