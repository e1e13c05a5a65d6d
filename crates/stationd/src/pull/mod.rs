//! How the readings of an access point's stations are pulled from the kernel: in one dump, or one by one; and who
//! they are from hostapd, where that is asked at each poll.
//!
//! Each way is a module; all end in the same table. Which one is used is the configuration's to say.

pub mod bulk;
pub mod identities;
pub mod per_station;

use linux::{
    netlink::{self, ReadCost},
    nl80211::Nl80211,
};
use rustix::io::Errno;

use crate::{cost::Cost, points::Point};

/// How the driver is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pull {
    /// One dump for all stations of an interface.
    #[default]
    Bulk,
    /// Two round trips for each station.
    PerStation,
}

/// When hostapd is asked who a station is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskHostapd {
    /// Once for each association; it is not waited for.
    #[default]
    OnAssociation,
    /// At each poll, and waited for.
    EachPoll,
}

/// A channel's noise changes slowly, and a survey is one more question: it is asked so often, ns.
const SURVEY_EVERY_NS: u64 = 10_000_000_000;

/// Adds what a dump took.
fn account(cost: &mut Cost, read: ReadCost) {
    cost.messages += u64::from(read.messages);
    cost.bytes += read.bytes;
    cost.receives += u64::from(read.receives);
    cost.interrupted += u64::from(read.restarts);
}

/// Surveys a point's channel where the last survey is old.
pub(crate) fn survey_if_old(
    kernel: &mut Nl80211,
    point: &mut Point,
    now_ns: u64,
    cost: &mut Cost,
) -> Result<(), netlink::Error> {
    if is_old(point, now_ns) { survey(kernel, point, now_ns, cost) } else { Ok(()) }
}

fn is_old(point: &Point, now_ns: u64) -> bool {
    point.surveyed_ns.is_none_or(|then| now_ns.saturating_sub(then) >= SURVEY_EVERY_NS)
}

/// Asks for the noise of the channel in use.
fn survey(
    kernel: &mut Nl80211,
    point: &mut Point,
    now_ns: u64,
    cost: &mut Cost,
) -> Result<(), netlink::Error> {
    let Some(index) = point.index else { return Ok(()) };
    let mut noise = None;
    let read = kernel.survey(index, |channel| {
        if channel.in_use {
            noise = channel.noise_dbm;
        }
    });
    cost.surveys += 1;
    point.surveyed_ns = Some(now_ns);
    match read {
        Ok(read) => account(cost, read),
        // A driver that keeps none, or has none at present, is no fault of the reading: the noise is
        // unknown then.
        Err(error) if is_without(&error) => {}
        Err(error) => {
            point.surveyed_ns = None;
            return Err(error);
        }
    }
    point.noise_dbm = noise;
    Ok(())
}

/// Whether the interface is there, and its survey is not.
fn is_without(error: &netlink::Error) -> bool {
    matches!(error, netlink::Error::Refused { .. }) && !error.is_refusal(Errno::NODEV)
}
