//! What the daemon says of its own work, a line each on standard error, and how much of it.

use std::{
    fmt,
    io::{self, Write},
};

/// How much a message matters: the higher, the less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing is said.
    None,
    /// Something may be wrong.
    #[default]
    Warning,
    Info,
}

/// The highest level that is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trace(pub Level);

impl Trace {
    /// Says something of a part of the daemon, where its level is wanted.
    #[inline]
    pub fn event(self, part: &str, level: Level, message: fmt::Arguments<'_>) {
        if level <= self.0 {
            // Anyone who closed our standard error does not want to hear.
            let _ = write_line(&mut io::stderr().lock(), part, level, message);
        }
    }
}

fn write_line(
    out: &mut impl Write,
    part: &str,
    level: Level,
    message: fmt::Arguments<'_>,
) -> io::Result<()> {
    let level = match level {
        Level::None => "none",
        Level::Warning => "warning",
        Level::Info => "info",
    };
    writeln!(out, "stationd {level}: {part}: {message}")
}
