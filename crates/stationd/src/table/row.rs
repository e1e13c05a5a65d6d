//! One station of the table, to be read.
//!
//! A view: it copies nothing and changes nothing. What is unknown is `None`.

use linux::nl80211::{Address, Chains, Rate, StationFlags, StationReading};

use super::{Counted, Gauge, Generation, Session, SignalHistory, Slot, Table};
use crate::identity::Identity;

#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    table: &'a Table,
    slot: Slot,
    session: &'a Session,
}

impl<'a> Row<'a> {
    pub(super) fn new(table: &'a Table, slot: Slot, session: &'a Session) -> Self {
        Self { table, slot, session }
    }

    pub fn slot(&self) -> Slot {
        self.slot
    }

    pub fn session(&self) -> &'a Session {
        self.session
    }

    pub fn address(&self) -> Address {
        self.session.address
    }

    /// Who it is, once that is known.
    pub fn identity(&self) -> Option<&'a Identity> {
        self.table.identities[self.slot as usize].as_deref()
    }

    /// A counter, over the whole association.
    pub fn counter(&self, which: Counted) -> Option<u64> {
        self.table.columns.counter(self.slot as usize, which)
    }

    /// A value that rises and falls.
    pub fn gauge(&self, which: Gauge) -> Option<i64> {
        self.table.columns.gauge(self.slot as usize, which)
    }

    /// The rate of the last frame to the station.
    pub fn tx_rate(&self) -> Option<Rate> {
        self.table.columns.tx_rate(self.slot as usize)
    }

    /// The rate of the last frame from the station.
    pub fn rx_rate(&self) -> Option<Rate> {
        self.table.columns.rx_rate(self.slot as usize)
    }

    pub fn flags(&self) -> Option<StationFlags> {
        self.table.columns.flags(self.slot as usize)
    }

    /// The links of a multi-link station, where the kernel tells them apart.
    pub fn links(&self) -> &'a [StationReading] {
        &self.table.links[self.slot as usize]
    }

    /// The strength on each antenna: of the last frame, and averaged.
    pub fn chains(&self) -> (Chains, Chains) {
        self.table.columns.chains(self.slot as usize)
    }

    /// The strengths that were seen in this association.
    pub fn signal_history(&self) -> Option<SignalHistory> {
        self.table.columns.history(self.slot as usize)
    }

    /// The generation at which anything but its clocks changed last.
    pub fn changed(&self) -> Generation {
        self.table.changed[self.slot as usize]
    }
}
