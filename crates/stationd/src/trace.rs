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

/// The highest level that is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace(pub Level);

impl Trace {
    /// Logs an event of a part of the daemon, if its level is wanted.
    #[inline]
    pub fn event(self, part: &str, level: Level, message: fmt::Arguments<'_>) {
        let word = match level {
            Level::None => "none",
            Level::Warning => "warning",
            Level::Info => "info",
        };
        if level <= self.0 {
            // Anyone who closed our standard error does not want to hear.
            let _ = writeln!(io::stderr().lock(), "stationd {word}: {part}: {message}");
        }
    }
}
