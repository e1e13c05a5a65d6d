//! Logs stationd's own work to standard error.

use std::{
    fmt,
    io::{self, Write},
};

/// How much a message matters: the higher, the less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    None,
    /// Something may be wrong.
    #[default]
    Warning,
    Info,
}

impl Level {
    /// Logs an event of a part of the daemon, unless its level is above this one.
    #[inline]
    pub fn event(self, part: &str, level: Level, message: fmt::Arguments<'_>) {
        let word = match level {
            Level::None => "none",
            Level::Warning => "warning",
            Level::Info => "info",
        };
        if level <= self {
            // Anyone who closed our standard error does not want to hear.
            let _ = writeln!(io::stderr().lock(), "stationd {word}: {part}: {message}");
        }
    }
}
