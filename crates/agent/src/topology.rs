//! Repairs the access point before a trial: radios up, channels pinned, access points enabled, managers in the wanted
//! state. What was repaired is reported; what cannot be is refused.
//!
//! Where everything is right, nothing is done but looking: a `STATUS` of hostapd for each interface, and one
//! pass over `/proc` if processes are ordered.

mod channel;
mod processes;
mod radios;

use std::process::Child;

use model::{
    topology::{Correction, TopologyOrder},
    wire::Refusal,
};

use self::processes::StoppedProcesses;
use crate::session::{End, Session};

/// What was changed that is to be changed back. Dropping it does so.
#[derive(Debug, Default)]
pub(crate) struct Repaired {
    pub(crate) corrections: Vec<Correction>,
    /// Processes that are stopped until this is dropped.
    resting: Vec<StoppedProcesses>,
    /// Commands that were run and may run still: what must run is left running.
    started: Vec<Child>,
}

pub(crate) fn assert(session: &mut Session, order: &TopologyOrder) -> Result<Repaired, End> {
    let mut repaired = Repaired::default();
    radios::assert(session, &order.interfaces, &mut repaired.corrections)?;
    processes::assert(session, &order.processes, &mut repaired)?;
    Ok(repaired)
}

impl Drop for Repaired {
    fn drop(&mut self) {
        for child in &mut self.started {
            // One that has ended is ours to bury.
            let _ = child.try_wait();
        }
    }
}

/// Something that is not as it must be: what, and how it is, as `down`.
#[derive(Clone, Copy, Debug)]
struct Fault<'a> {
    what: &'a str,
    how: &'a str,
}

impl Fault<'_> {
    fn repaired(self, done: impl Into<String>) -> Correction {
        let Self { what, how } = self;
        Correction { what: what.to_owned(), was: format!("was {how}"), done: done.into() }
    }

    fn refused(self, why: impl ToString) -> Refusal {
        let Self { what, how } = self;
        Refusal::new(format!("{what} is {how}, and cannot be repaired"), why)
    }
}
