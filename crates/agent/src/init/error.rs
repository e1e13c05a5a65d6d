//! What can stop the bring-up, and its one line for the console.
//!
//! Talks to nothing. Every variant says what was being done; the cause is its source.

use std::io;

use linux::{error::chain, kmod, netlink};

/// A step of the bring-up that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, a mount or a process.
    #[error("failed to {doing}")]
    Step {
        doing: String,
        #[source]
        source: io::Error,
    },
    /// A link, an interface or a radio.
    #[error("failed to {doing}")]
    Network {
        doing: String,
        #[source]
        source: netlink::Error,
    },
    #[error(transparent)]
    Module(#[from] kmod::Error),
    /// The kernel command line asks for something that is not possible.
    #[error("{0}")]
    CommandLine(String),
    /// What is there is not what was planned.
    #[error("{0}")]
    Unexpected(String),
}

impl Error {
    /// The error and its causes in one line.
    pub fn line(&self) -> String {
        chain(self).replace('\n', " ")
    }
}

/// Names the step that an error belongs to.
pub(super) trait Doing<T> {
    /// `doing` completes “failed to …”.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Step { doing: doing(), source })
    }
}

impl<T> Doing<T> for rustix::io::Result<T> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|errno| Error::Step { doing: doing(), source: errno.into() })
    }
}

impl<T> Doing<T> for Result<T, netlink::Error> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Network { doing: doing(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_with_its_cause() {
        let error: Result<(), _> =
            Err(io::Error::other("no such\nthing")).doing(|| "mount proc on /proc".into());
        assert_eq!(error.unwrap_err().line(), "failed to mount proc on /proc: no such thing");
    }
}
