//! How the readings of an access point's stations are pulled from the kernel: one dump for all of them, and one for each
//! interface that belongs to it.
//!
//! A child interface (AP_VLAN, four-address) that has gone meanwhile is left out; an access point's own interface that has gone
//! is the caller's to hear of.

use linux::{
    netlink::{self, ReadCost},
    nl80211::{Nl80211, StationReading},
};
use rustix::io::Errno;

use crate::{
    points::Point,
    table::{Poll, Table},
};

/// A channel's noise changes slowly, and a survey is one more question: it is asked so often, ns.
const SURVEY_EVERY_NS: u64 = 10_000_000_000;

/// Counters since the start; each only rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Dumps of all stations of an interface.
    pub dumps: u64,
    pub surveys: u64,
    /// Of netlink messages that came in.
    pub bytes: u64,
    /// Dumps that the kernel said changed while they were read, and that were read again.
    pub interrupted: u64,
    /// Times that events or replies were lost because the socket's buffer was full; a dump healed it.
    pub overruns: u64,
    pub hostapd_requests: u64,
    /// Of them: those that it did not answer in time.
    pub hostapd_timeouts: u64,
    /// Readings that were asked for.
    pub reads: u64,
    /// Of them: those that a fresh enough reading answered, without asking the kernel.
    pub shared: u64,
}

/// The kernel, and what asking it has cost.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) kernel: Nl80211,
    pub(crate) cost: Cost,
}

impl Source {
    /// Reads all stations of a point into the table. The poll is the caller's to end; there is none if the list kept
    /// changing, so that no one is taken for gone. If it fails, the table still has the stations that it had.
    pub(crate) fn pull(
        &mut self,
        table: &mut Table,
        point: &Point,
        now_ns: u64,
    ) -> Result<Option<Poll>, netlink::Error> {
        let Some(index) = point.index else { return Ok(None) };
        let mut poll = table.begin(point.id, now_ns);
        self.cost.dumps += 1;
        let read = self.kernel.stations(index, |reading| table.read(&mut poll, reading))?;
        self.account(read);
        table.attempt(&mut poll, read.restarts);
        let mut settled = read.settled;
        for child in &point.children {
            self.cost.dumps += 1;
            // Its attempts are its own; the poll of the access point goes on whatever they are.
            let read = self.kernel.stations(*child, |reading| {
                let attempt = poll.attempt;
                table.read(&mut poll, &StationReading { attempt, ..*reading });
            });
            settled &= match read {
                Ok(read) => {
                    self.account(read);
                    read.settled
                }
                // One that is gone has no stations.
                Err(error) => error.is_refusal(Errno::NODEV),
            };
        }
        Ok(settled.then_some(poll))
    }

    fn account(&mut self, read: ReadCost) {
        self.cost.bytes += read.bytes;
        self.cost.interrupted += u64::from(read.restarts);
    }

    /// Asks for the noise of a point's channel if the last survey is old.
    pub(crate) fn survey_if_old(
        &mut self,
        point: &mut Point,
        now_ns: u64,
    ) -> Result<(), netlink::Error> {
        let is_old = |then| now_ns.saturating_sub(then) >= SURVEY_EVERY_NS;
        let Some(index) = point.index.filter(|_| point.surveyed_ns.is_none_or(is_old)) else {
            return Ok(());
        };
        let mut noise = None;
        let read = self.kernel.survey(index, |channel| {
            if channel.in_use {
                noise = channel.noise_dbm;
            }
        });
        self.cost.surveys += 1;
        point.surveyed_ns = Some(now_ns);
        match read {
            Ok(read) => self.account(read),
            // A driver that keeps none, or has none at present, is no fault of the reading: the noise is unknown then.
            Err(error) if is_without(&error) => {}
            Err(error) => {
                point.surveyed_ns = None;
                return Err(error);
            }
        }
        point.noise_dbm = noise;
        Ok(())
    }
}

/// Whether the interface is there, and its survey is not.
fn is_without(error: &netlink::Error) -> bool {
    matches!(error, netlink::Error::Refused { .. }) && !error.is_refusal(Errno::NODEV)
}
