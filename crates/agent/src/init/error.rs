//! Why the access point could not be brought up, as one line for the console.

use linux::error::chain;

/// A step that failed, and its causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    pub(super) fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }
}

/// Names the step that an error belongs to.
pub(super) trait Doing<T> {
    /// `doing` completes “failed to …”.
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: std::error::Error + 'static> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| {
            let causes = chain(&error).replace('\n', " ");
            Error(format!("failed to {}: {causes}", doing()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_line_with_its_cause() {
        let error: Result<(), _> =
            Err(std::io::Error::other("no such\nthing")).doing(|| "mount proc on /proc".into());
        assert_eq!(error.unwrap_err().to_string(), "failed to mount proc on /proc: no such thing");
    }
}
