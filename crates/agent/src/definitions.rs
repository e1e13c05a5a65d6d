//! Makes probes in tracefs, and removes them.
//!
//! A line in tracefs stays until it is removed, so before the first one is made a second process waits for the
//! agent's end ([`crate::undo`]). Where that was killed as well, the next agent that counts removes them.

use std::io;

use linux::perf::{
    attributes::Attributes,
    error::{Error, Purpose},
    tracing::{End, Group, Place, Probe, Tracing, Use},
};

use crate::undo::Undo;

/// The probes of a window. Dropping it removes them; their events must be closed by then.
#[derive(Debug)]
pub(crate) struct Definitions {
    tracing: Tracing,
    /// So that no other agent takes ours for a killed one's.
    _using: Use,
    group: Group,
    made: usize,
    undo: Undo,
}

impl Definitions {
    /// Starts who removes them; makes none.
    pub(crate) fn begin() -> Result<Self, Error> {
        let tracing = Tracing::open()?;
        let using = tracing.begin()?;
        let failed = |source| Error {
            what: "start who removes probes from tracefs".to_owned(),
            purpose: Purpose::Ring,
            source,
        };
        let group = Group::own().map_err(failed)?;
        let mut undo = Undo::start(None).map_err(failed)?;
        undo.note(&format!("probes {group}")).map_err(failed)?;
        Ok(Self { tracing, _using: using, group, made: 0, undo })
    }

    /// Makes a probe: its event, disabled and inherited.
    pub(crate) fn add(&mut self, place: Place<'_>, end: End) -> Result<Attributes, Error> {
        self.made += 1;
        self.tracing.define(self.group, self.made, Probe { place, end })
    }

    pub(crate) fn end(mut self) -> io::Result<()> {
        self.close()
    }

    fn close(&mut self) -> io::Result<()> {
        if self.undo.end()? {
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
