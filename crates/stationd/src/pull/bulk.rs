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

/// The kernel, and what asking it costs.
pub struct Source<'a> {
    pub kernel: &'a mut Nl80211,
    pub cost: &'a mut Cost,
}

/// Reads all stations of a point into the table. The poll is the caller's to end; there is none where the
/// list would not hold still, and no one is said to have left because of that.
///
/// # Errors
///
/// What the kernel said to the dump of the point's own interface. The table then still has whom it had.
pub fn pull(
    source: &mut Source<'_>,
    table: &mut Table,
    point: &Point,
    now_ns: u64,
) -> Result<Option<Poll>, netlink::Error> {
    let Some(index) = point.index else { return Ok(None) };
    let mut poll = table.begin(point.id, now_ns);
    source.cost.dumps += 1;
    let read = source.kernel.stations(index, |reading| {
        table.read(&mut poll, reading);
    })?;
    account(source.cost, read);
    table.attempt(&mut poll, read.restarts);
    let mut settled = read.settled;
    for child in &point.children {
        settled &= pull_child(source, table, *child, &mut poll);
    }
    Ok(settled.then_some(poll))
}

/// Reads a child's stations into the poll of its access point; whether that is all of them. A child that
/// has gone has none.
fn pull_child(source: &mut Source<'_>, table: &mut Table, child: u32, poll: &mut Poll) -> bool {
    source.cost.dumps += 1;
    // Its attempts are its own; the poll of the access point goes on whatever they are.
    let read = source.kernel.stations(child, |reading| {
        table.read(poll, &StationReading { attempt: poll.attempt(), ..*reading });
    });
    match read {
        Ok(read) => {
            account(source.cost, read);
            read.settled
        }
        Err(error) => error.is_refusal(Errno::NODEV),
    }
}
