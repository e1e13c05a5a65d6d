//! Trace: what the daemon says of its own work, and the check that decides whether it says it.
//!
//! Nearly every check ends with “no”, so its cost is that of a “no”. There are two ways to decide, and
//! they always agree: [`walk`] compares names zone by zone, as the field's daemons did; [`level`] keeps
//! one integer and compares that first. A message goes to standard error as one line; nothing here
//! keeps, sends or counts messages.
//!
//! # Design constraints
//!
//! - A check that says “no” formats nothing and allocates nothing.
//! - The integer is kept at the four places that change a zone, and nowhere else.

pub mod level;
pub mod walk;
mod zones;

use std::{
    fmt,
    io::{self, Write},
};

pub use self::zones::{ALL, ZONES, Zones};

/// How much a message matters: the higher, the less. A zone wants what is not above its own level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub i32);

impl Level {
    /// A zone of this level wants nothing. It has to be signed: as an unsigned number it would be above
    /// all others, and so would silence everything.
    pub const NONE: Self = Self(-1);
    /// Something failed.
    pub const ERROR: Self = Self(100);
    /// Something may be wrong.
    pub const WARNING: Self = Self(200);
    /// Something rare happened.
    pub const NOTICE: Self = Self(300);
    pub const INFO: Self = Self(400);
    pub const DEBUG: Self = Self(500);

    fn word(self) -> &'static str {
        match self {
            level if level <= Self::ERROR => "error",
            level if level <= Self::WARNING => "warning",
            level if level <= Self::NOTICE => "notice",
            level if level <= Self::INFO => "info",
            _ => "debug",
        }
    }

    /// Reads a number or one of the words; `none` stands for a zone that wants nothing.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::NONE),
            "error" => Some(Self::ERROR),
            "warning" => Some(Self::WARNING),
            "notice" => Some(Self::NOTICE),
            "info" => Some(Self::INFO),
            "debug" => Some(Self::DEBUG),
            number => number.parse().ok().map(Self),
        }
    }
}

/// How a check is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// By the names of all zones, each time.
    Walk,
    /// By one integer first, and by the names only where that does not say “no”.
    #[default]
    Level,
}

/// A setting that is not `zone=level`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no `=`.
    #[error("trace setting `{0}` has no level; write zone=level, as all=400")]
    NoLevel(Box<str>),
    #[error(
        "`{level}` is not a level of trace zone `{zone}`; it may be none, error, warning, notice, info, debug or a number"
    )]
    BadLevel {
        zone: Box<str>,
        /// What was given for its level.
        level: Box<str>,
    },
}

/// The zones, and the way in which a check is decided.
#[derive(Clone, Debug)]
pub struct Trace {
    way: Way,
    /// Above this no one has to be asked. It stands first in every check.
    gate: Level,
    zones: Zones,
}

impl Trace {
    /// All zones of the daemon and the fall-back zone, at the level that a daemon is delivered with:
    /// warnings and errors.
    pub fn new(way: Way) -> Self {
        Self::with(way, Zones::of_the_daemon(Level::WARNING))
    }

    pub fn with(way: Way, zones: Zones) -> Self {
        let mut trace = Self { way, gate: Level::NONE, zones };
        trace.keep();
        trace
    }

    /// Says something, if its zone wants it.
    #[inline(always)]
    pub fn event(&self, zone: &'static str, level: Level, message: fmt::Arguments<'_>) {
        if level > self.gate {
            return;
        }
        self.decide(zone, level, message);
    }

    /// Whether a zone wants messages of this level.
    #[inline(always)]
    pub fn wants(&self, zone: &str, level: Level) -> bool {
        level <= self.gate && walk::wants(&self.zones, zone, level)
    }

    /// Adds a zone, or sets the level of one that is there.
    pub fn add(&mut self, zone: &str, level: Level) {
        self.zones.add(zone, level);
        self.keep();
    }

    /// Removes a zone: the fall-back zone speaks for it from now on. Whether it was there.
    pub fn remove(&mut self, zone: &str) -> bool {
        let was_there = self.zones.remove(zone);
        self.keep();
        was_there
    }

    /// Sets the level of a zone. Whether there is such a zone.
    pub fn set(&mut self, zone: &str, level: Level) -> bool {
        let is_there = self.zones.set(zone, level);
        self.keep();
        is_there
    }

    /// Sets the level of all zones.
    pub fn set_all(&mut self, level: Level) {
        self.zones.set_all(level);
        self.keep();
    }

    /// Takes settings as `zone=level`, with commas between; `*=level` is for all zones. A zone that is
    /// not there is added. All of them are taken, or none.
    pub fn configure(&mut self, text: &str) -> Result<(), Error> {
        let settings: Vec<_> = text
            .split(',')
            .map(str::trim)
            .filter(|setting| !setting.is_empty())
            .map(setting)
            .collect::<Result<_, _>>()?;
        for (zone, level) in settings {
            match zone {
                "*" => self.set_all(level),
                zone => self.add(zone, level),
            }
        }
        Ok(())
    }

    /// Keeps the one integer true: called at the four places that change a zone.
    fn keep(&mut self) {
        self.gate = match self.way {
            Way::Walk => walk::gate(),
            Way::Level => level::gate(&self.zones),
        };
    }

    /// The dear half of a check. Not inlined, so that a call site is a comparison and a jump.
    #[inline(never)]
    fn decide(&self, zone: &'static str, level: Level, message: fmt::Arguments<'_>) {
        if walk::wants(&self.zones, zone, level) {
            // Anyone who closed our standard error does not want to hear.
            let _ = write_line(&mut io::stderr().lock(), zone, level, message);
        }
    }
}

fn setting(text: &str) -> Result<(&str, Level), Error> {
    let (zone, level) = text.split_once('=').ok_or_else(|| Error::NoLevel(text.into()))?;
    let (zone, level) = (zone.trim(), level.trim());
    let bad = || Error::BadLevel { zone: zone.into(), level: level.into() };
    Ok((zone, Level::parse(level).ok_or_else(bad)?))
}

fn write_line(
    out: &mut impl Write,
    zone: &str,
    level: Level,
    message: fmt::Arguments<'_>,
) -> io::Result<()> {
    writeln!(out, "stationd {}: {zone}: {message}", level.word())
}

#[cfg(test)]
mod tests;
