//! How a verb can end other than well: one line, and headroom's exit code for its kind.
//!
//! docs/exit-codes.md has them. It prints nothing.

use std::{error::Error, fmt, io, path::Path};

use linux::error::chain;

pub const PASS: u8 = 0;
/// The command line, the policy or another file is not what it should be.
pub const USAGE: u8 = 2;
/// It could not be measured, or not everything could be put back.
pub const INVALID: u8 = 3;
/// This device lacks something, or another guard has it.
pub const ENVIRONMENT: u8 = 4;

/// Why a verb did not do what it was to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: u8,
    /// One line: what, where, what to do.
    pub line: String,
}

/// What a verb gives: the text for its standard output.
pub type Output = Result<String, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

impl Failure {
    /// What was typed or written is wrong.
    pub fn usage(line: impl Into<String>) -> Self {
        Self { code: USAGE, line: line.into() }
    }

    /// It could not be measured.
    pub fn invalid(line: impl Into<String>) -> Self {
        Self { code: INVALID, line: line.into() }
    }

    /// A file cannot be written.
    pub fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self { code: ENVIRONMENT, line: format!("cannot write {}: {error}", path.display()) }
    }

    pub fn environment(error: &dyn Error) -> Self {
        Self { code: ENVIRONMENT, line: chain(error) }
    }
}
