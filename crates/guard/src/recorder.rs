//! Readings and decisions on disk, in a ring of bounded size, and their replay through the same function.
//!
//! The ring is two files of JSON lines: `PATH` is written, and when it has half of the bytes it becomes `PATH.1`,
//! in place of the one before. A line is a [`Head`] (version, policy) or a [`Tick`]. A tick carries the state
//! before it wherever a replay could not know it: after a head, and after ticks that were left out. While
//! no one uses Wi-Fi only every [`IDLE_EVERY`]th tick is written, and each that differs in condition or changes
//! something.
//!
//! Lines are written whole, in one call, and not forced to the disk: what a loss of power tears off is named by
//! the replay and skipped.

mod replay;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use linux::folder::Folder;
use serde::{Deserialize, Serialize};

pub use replay::{Difference, Fault, Report, replay, replay_with};

use crate::{
    decide::{Condition, Decision, Outcome, State},
    policy::Policy,
    reading::Reading,
};

/// Version of the lines. A replay refuses others: a decision is the same only by the same function.
pub const VERSION: u32 = 1;
/// While no one uses Wi-Fi, one of this many ticks is written.
pub const IDLE_EVERY: u32 = 10;
/// No ring is smaller than this, in bytes: a state, a reading and a policy have to fit in half of it.
pub const LEAST_BYTES: u64 = 64 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Line {
    /// What the ticks after it were decided by.
    Head(Box<Head>),
    Tick(Box<Tick>),
}

/// What the ticks after it were decided by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// [`VERSION`].
    pub version: u32,
    /// The policy, as it held: aggressiveness that was set in the meantime included.
    pub policy: Policy,
}

/// A tick: what was seen and decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tick {
    /// The state before, where the tick before it is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// What became of the decision before.
    pub outcome: Outcome,
    pub reading: Reading,
    pub decision: Decision,
}

/// Writes the ring.
#[derive(Debug)]
pub struct Recorder {
    folder: Folder,
    name: OsString,
    file: File,
    written: u64,
    half: u64,
    policy: Policy,
    /// Whether a head has to come first.
    needs_head: bool,
    /// Whether the tick before was left out.
    has_gap: bool,
    /// Whether the last write failed and may have left half a line.
    is_torn: bool,
    condition: Condition,
    left_out: u32,
}

impl Recorder {
    /// Opens the ring at `path`, to hold at most `bytes` in both files; goes on with what is there, if it is a
    /// regular file with one name: guard writes through no link.
    pub fn open(path: &Path, bytes: u64, policy: &Policy) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?.to_owned();
        let folder = Folder::open(path.parent().unwrap_or(Path::new("")))?;
        let mut file = folder.append(&name)?;
        let mut written = file.metadata()?.len();
        if !ends_its_line(&mut folder.file(&name)?, written)? {
            file.write_all(b"\n")?;
            written += 1;
        }
        Ok(Self {
            folder,
            name,
            file,
            written,
            half: bytes.max(LEAST_BYTES) / 2,
            policy: policy.clone(),
            needs_head: true,
            has_gap: true,
            is_torn: false,
            condition: Condition::Unknown,
            left_out: 0,
        })
    }

    /// The policy that holds from the next tick on.
    pub fn policy_is(&mut self, policy: &Policy) {
        if self.policy != *policy {
            self.policy = policy.clone();
            self.needs_head = true;
        }
    }

    /// Records a tick: `state` is the one that it was decided with, `outcome` what was given with it. Says
    /// whether it was written.
    ///
    /// # Errors
    ///
    /// The file cannot be written; the tick is a gap then, and the next one carries its state.
    pub fn record(&mut self, state: &State, seen: Seen<'_>) -> io::Result<bool> {
        if self.is_dull(&seen) {
            self.left_out += 1;
            self.has_gap = true;
            return Ok(false);
        }
        let result = self.write(state, &seen);
        self.has_gap = result.is_err();
        self.left_out = 0;
        self.condition = seen.decision.condition;
        result.map(|()| true)
    }

    /// Whether nothing would be missed.
    fn is_dull(&self, seen: &Seen<'_>) -> bool {
        seen.decision.condition == Condition::Idle
            && self.condition == Condition::Idle
            && !seen.decision.changed
            && *seen.outcome == Outcome::default()
            && self.left_out + 1 < IDLE_EVERY
    }

    fn write(&mut self, state: &State, seen: &Seen<'_>) -> io::Result<()> {
        let tick = |state: Option<State>| {
            Line::Tick(Box::new(Tick {
                state,
                outcome: seen.outcome.clone(),
                reading: seen.reading.clone(),
                decision: seen.decision.clone(),
            }))
        };
        let known = !self.needs_head && !self.has_gap;
        let mut lines = line(&tick((!known).then(|| state.clone())))?;
        if self.written > 0 && self.written + lines.len() as u64 > self.half {
            self.turn()?;
            lines = line(&tick(Some(state.clone())))?;
        }
        if self.needs_head {
            let head = Head { version: VERSION, policy: self.policy.clone() };
            let mut both = line(&Line::Head(Box::new(head)))?;
            both.append(&mut lines);
            lines = both;
        }
        if self.is_torn {
            lines.insert(0, b'\n');
        }
        self.is_torn = true;
        self.file.write_all(&lines)?;
        (self.is_torn, self.needs_head) = (false, false);
        self.written += lines.len() as u64;
        Ok(())
    }

    /// The file becomes the old one, and a new one is begun.
    fn turn(&mut self) -> io::Result<()> {
        self.folder.rename(&self.name, older(Path::new(&self.name)))?;
        self.file = self.folder.append(&self.name)?;
        self.written = 0;
        self.is_torn = false;
        self.needs_head = true;
        Ok(())
    }
}

/// What was seen and decided in a tick.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub reading: &'a Reading,
    /// What became of the decision before.
    pub outcome: &'a Outcome,
    pub decision: &'a Decision,
}

/// The older file of the ring at `path`.
fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    PathBuf::from(name)
}

fn line(line: &Line) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn ends_its_line(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests;
