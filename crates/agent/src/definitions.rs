//! Probes in tracefs, and who takes them away: the agent, or the second process beside it if the agent is killed.
//!
//! Talks to [`linux::perf::tracing`]. A line in tracefs stays until somebody removes it, so before the first one
//! is made there is a process that waits for the agent's end, however that comes, and removes them all. Where that
//! was killed as well, the next agent that counts removes them.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    process::Child,
    thread::sleep,
    time::{Duration, Instant},
};

use linux::perf::{
    attributes::Attributes,
    error::{Error, Purpose},
    tracing::{End, Group, Place, Probe, Tracing, Use},
};

use crate::standby;

/// The word that makes the agent one who removes probes, followed by their group.
pub const WORD: &str = "--remove-probes";

const READY: u8 = b'+';

/// So long the kernel may take to close a killed agent's events.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two tries.
const LOOK: Duration = Duration::from_millis(5);

/// The probes of a window. Dropping it removes them; their events must be closed by then.
#[derive(Debug)]
pub(crate) struct Definitions {
    tracing: Tracing,
    /// So that no other agent takes ours for a killed one's.
    _using: Use,
    group: Group,
    made: usize,
    remover: Child,
    /// Closed before the remover's end is waited for.
    line: Option<UnixStream>,
}

impl Definitions {
    /// Starts who removes them; makes none.
    ///
    /// # Errors
    ///
    /// Where there is no tracefs, or no second process.
    pub(crate) fn begin() -> Result<Self, Error> {
        let tracing = Tracing::open()?;
        let using = tracing.begin()?;
        let failed = |source| Error {
            what: "start who removes probes from tracefs".to_owned(),
            purpose: Purpose::Ring,
            source,
        };
        let group = Group::own().map_err(failed)?;
        let (remover, line) = standby::start(&[WORD, &group.to_string()]).map_err(failed)?;
        let made = Self { tracing, _using: using, group, made: 0, remover, line: Some(line) };
        made.line.as_ref().map_or(Ok(READY), standby::hear).map_err(failed)?;
        Ok(made)
    }

    /// Makes a probe: its event, disabled and inherited.
    pub(crate) fn add(&mut self, place: Place<'_>, end: End) -> Result<Attributes, Error> {
        self.made += 1;
        self.tracing.define(self.group, self.made, Probe { place, end })
    }

    /// Has all of them removed.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        self.line = None;
        let until = Instant::now() + 2 * PATIENCE;
        let status = loop {
            match self.remover.try_wait()? {
                Some(status) => break status,
                None if Instant::now() > until => self.remover.kill()?,
                None => sleep(LOOK),
            }
        };
        if status.success() {
            return Ok(());
        }
        self.tracing.remove(self.group)
    }
}

impl Drop for Definitions {
    fn drop(&mut self) {
        // The next agent that makes probes removes what could not be removed; it touches nobody until then.
        let _ = self.close();
    }
}

/// The whole life of who removes probes.
///
/// # Errors
///
/// Where its standard input is no socket, or probes stay.
pub fn run(group: &str) -> io::Result<()> {
    let group = group.parse()?;
    let line = linux::standby::stand_by(standby::NAME)?;
    let tracing = Tracing::open().map_err(io::Error::other)?;
    (&line).write_all(&[READY])?;
    // Nothing is ever said: it ends.
    let _ = (&line).read(&mut [0]);
    let until = Instant::now() + PATIENCE;
    loop {
        match tracing.remove(group) {
            Err(_) if Instant::now() < until => sleep(LOOK),
            removed => return removed,
        }
    }
}
