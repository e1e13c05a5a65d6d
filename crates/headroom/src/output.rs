//! The standard output. Whoever reads it may leave at any time, as `head` does; that is no failure.

use std::{
    fmt::Display,
    io::{self, Write},
};

/// Prints a line, if anybody still reads.
pub(crate) fn line(text: impl Display) {
    // A reader who left has what it wanted; a full disk behind a redirection shows in what is missing.
    let _ = writeln!(io::stdout().lock(), "{text}");
}
