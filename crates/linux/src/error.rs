//! An error with its causes, in one line, and the error of a system call.
//!
//! The errors of this crate say what was tried, and keep why it failed as their source: what a person is told of one
//! is all of it. It knows no particular error.

use std::{error::Error, fmt::Write, io};

/// What a system call of the C library answers; below 0 is an error, whose number is the thread's.
pub(crate) fn checked<T: PartialOrd + Default>(answer: T) -> io::Result<T> {
    if answer < T::default() { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// The error and its causes, outermost first: `cannot create /x: Permission denied (os error 13)`.
pub fn chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Writing to a string does not fail.
        let _ = write!(line, ": {error}");
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_reported_with_its_cause() {
        let error = crate::cgroup::create("/proc/headroom".as_ref()).unwrap_err();
        assert!(chain(&error).starts_with("cannot create /proc/headroom: "));
    }
}
