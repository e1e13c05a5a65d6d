//! One dump for all stations of an access point, and one for each interface that belongs to it.
//!
//! The cheap way. A child interface (AP_VLAN, four-address) that has gone meanwhile is left out; an
//! access point's own interface that has gone is the caller's to hear of.

use linux::{
    netlink,
    nl80211::{Nl80211, StationReading},
};
use rustix::io::Errno;

use super::account;
use crate::{
    cost::Cost,
    points::Point,
    table::{Poll, Table},
};

/// Reads all stations of a point into the table. The poll is the caller's to end; there is none where the
/// list would not hold still, and no one is said to have left because of that.
///
/// # Errors
///
/// What the kernel said to the dump of the point's own interface. The table then still has whom it had.
pub fn pull(
    kernel: &mut Nl80211,
    table: &mut Table,
    (point, now_ns): (&Point, u64),
    cost: &mut Cost,
) -> Result<Option<Poll>, netlink::Error> {
    let Some(index) = point.index else { return Ok(None) };
    let mut poll = table.begin(point.id, now_ns);
    cost.dumps += 1;
    let read = kernel.stations(index, |reading| {
        table.read(&mut poll, reading);
    })?;
    account(cost, read);
    table.attempt(&mut poll, read.restarts);
    let mut settled = read.settled;
    for child in &point.children {
        settled &= pull_child(kernel, table, (*child, &mut poll), cost);
    }
    Ok(settled.then_some(poll))
}

/// Reads a child's stations into the poll of its access point; whether that is all of them. A child that
/// has gone has none.
fn pull_child(
    kernel: &mut Nl80211,
    table: &mut Table,
    (child, poll): (u32, &mut Poll),
    cost: &mut Cost,
) -> bool {
    cost.dumps += 1;
    // Its attempts are its own; the poll of the access point goes on whatever they are.
    let read = kernel.stations(child, |reading| {
        table.read(poll, &StationReading { attempt: poll.attempt(), ..*reading });
    });
    match read {
        Ok(read) => {
            account(cost, read);
            read.settled
        }
        Err(error) => error.is_refusal(Errno::NODEV),
    }
}
