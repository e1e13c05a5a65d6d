//! What a window records beside its counters: proved and in place before the warm-up, at work from the first sample to
//! the last, reported after that.

use std::os::fd::BorrowedFd;

use linux::perf::attached::Attached;
use model::{
    instrument::Instrument,
    parity::ParityOrder,
    wire::{Frame, Part, Refusal},
};

use crate::{
    parity,
    pause::{Pause, Setting},
    peers::Peers,
    probes::Probes,
    recorder::Stacks,
    scope::Scope,
    session::{End, Session},
};

/// An instrument in place. Dropping it takes everything back.
#[derive(Debug)]
pub(crate) enum InPlace {
    Stacks(Box<Stacks>),
    Counts(Box<Probes>),
    Pause(Box<Pause>),
    /// What is asked once the window has closed.
    Parity(ParityOrder),
    /// Who talks to the subject: looked at with each sample, told once the window has closed.
    Peers(Peers),
}

impl InPlace {
    /// Puts the instrument in place for a subject of these processes, and whoever is in these groups;
    /// `intervals` lie between the samples of the window.
    pub(crate) fn prepare(
        session: &mut Session,
        order: &Instrument,
        subject: (&[u32], &[std::path::PathBuf]),
        intervals: u64,
    ) -> Result<Self, End> {
        let (pids, groups) = subject;
        Ok(match order {
            Instrument::Stacks(order) => {
                let scope = Scope::of(&order.scope, pids, groups)?;
                Self::Stacks(Box::new(Stacks::prepare(session, order, &scope)?))
            }
            Instrument::Counts(order) => {
                let scope = Scope::of(&order.scope, pids, groups)?;
                Self::Counts(Box::new(Probes::prepare(order, &scope)?))
            }
            Instrument::Pause(order) => {
                let setting = Setting { subject: pids, intervals };
                Self::Pause(Box::new(Pause::prepare(order, setting)?))
            }
            Instrument::Parity(order) => Self::Parity(order.clone()),
            Instrument::Peers => Self::Peers(Peers::new(pids)),
        })
    }

    /// Descriptors that become readable when something is to be taken, or seen.
    pub(crate) fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Self::Stacks(stacks) => stacks.wakers().collect(),
            Self::Counts(probes) => probes.wakers().collect(),
            Self::Pause(pause) => pause.wakers().collect(),
            Self::Parity(_) | Self::Peers(_) => Vec::new(),
        }
    }

    /// The events that it switches, where it has any.
    fn attached(&self) -> Option<&Attached> {
        match self {
            Self::Stacks(stacks) => Some(stacks.attached()),
            Self::Counts(probes) => Some(probes.attached()),
            Self::Pause(_) | Self::Parity(_) | Self::Peers(_) => None,
        }
    }

    pub(crate) fn open(&self) -> Result<(), Refusal> {
        let enabled = self.attached().map_or(Ok(()), Attached::enable);
        enabled.map_err(|error| Refusal::new("cannot begin recording", error))
    }

    /// A sample is about to be taken, the first is 0.
    pub(crate) fn step(&mut self, sample: u64) -> Result<(), Refusal> {
        match self {
            Self::Pause(pause) => pause.step(sample),
            Self::Peers(peers) => {
                peers.look();
                Ok(())
            }
            Self::Stacks(_) | Self::Counts(_) | Self::Parity(_) => Ok(()),
        }
    }

    /// A child of ours has ended: an instrument may know it by another name than the load does.
    pub(crate) fn look(&mut self) -> Result<(), Refusal> {
        match self {
            Self::Pause(pause) => pause.look(),
            _ => Ok(()),
        }
    }

    /// How a process failed while the instrument was on, where that was seen.
    pub(crate) fn failure(&mut self, pid: u32) -> Option<String> {
        match self {
            Self::Stacks(stacks) => stacks.failure(pid),
            Self::Counts(probes) => probes.failure(pid),
            Self::Pause(_) | Self::Parity(_) | Self::Peers(_) => None,
        }
    }

    pub(crate) fn close(&self) -> Result<(), Refusal> {
        let disabled = self.attached().map_or(Ok(()), Attached::disable);
        disabled.map_err(|error| Refusal::new("cannot end recording", error))
    }

    pub(crate) fn drain(&mut self, session: &mut Session) -> Result<(), End> {
        match self {
            Self::Stacks(stacks) => {
                stacks.drain(&mut |batch: &[u8]| session.send_records(batch))?
            }
            Self::Counts(probes) => probes.drain(),
            Self::Pause(pause) => pause.look()?,
            Self::Parity(_) | Self::Peers(_) => {}
        }
        Ok(())
    }

    /// The last sample has been taken: says what there is to say.
    pub(crate) fn finish(self, session: &mut Session) -> Result<(), End> {
        let part = match self {
            Self::Stacks(stacks) => Part::Recorded(Box::new(stacks.finish(session)?)),
            Self::Counts(probes) => Part::Counts(Box::new(probes.finish()?)),
            Self::Pause(pause) => Part::Pauses(Box::new(pause.finish()?)),
            Self::Parity(order) => Part::Parity(Box::new(parity::ask(session, &order)?)),
            Self::Peers(peers) => Part::Peers(peers.all()),
        };
        Ok(session.send(&Frame::Part(part))?)
    }
}
