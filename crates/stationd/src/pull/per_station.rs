//! Two round trips for each station: GET_STATION, and a survey of the channel.
//!
//! The field's way, kept to be measured; its third question is [`super::identities`]'. Who is there is known
//! from membership events; a station that the kernel does not know has left.

use linux::{
    netlink,
    nl80211::{Address, Nl80211},
};

use crate::{
    cost::Cost,
    points::Points,
    table::{PointId, Slot, Table},
    trace::{Level, Trace},
};

pub struct Sources<'a> {
    pub kernel: &'a mut Nl80211,
    /// Where the stations are kept.
    pub table: &'a mut Table,
    pub points: &'a mut Points,
    /// The trace of the way.
    pub trace: &'a Trace,
    pub cost: &'a mut Cost,
}

/// Reads the stations of a point one by one.
///
/// # Errors
///
/// What the kernel said, but that a station is not there.
pub fn pull(sources: &mut Sources<'_>, id: PointId, now_ns: u64) -> Result<(), netlink::Error> {
    let stations: Vec<(Slot, Address)> =
        sources.table.rows(id).map(|row| (row.slot(), row.address())).collect();
    for (slot, address) in stations {
        one(sources, id, now_ns, Station { slot, address })?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Station {
    slot: Slot,
    address: Address,
}

fn one(
    sources: &mut Sources<'_>,
    id: PointId,
    now_ns: u64,
    station: Station,
) -> Result<(), netlink::Error> {
    let (Station { slot, address }, table) = (station, &mut *sources.table);
    let Some(point) = sources.points.get_mut(id) else { return Ok(()) };
    let Some(index) = point.index else { return Ok(()) };
    let trace = sources.trace;
    trace.event("genSta", Level::INFO, format_args!("read {address:02x?} on {}", point.name));
    sources.cost.gets += 1;
    let reading = sources.kernel.station(index, address)?;
    let Some(reading) = reading else {
        trace.event("genSta", Level::INFO, format_args!("{address:02x?} is not there"));
        table.gone(slot);
        return Ok(());
    };
    sources.cost.messages += 1;
    table.note(id, &reading, now_ns);
    trace.event("nl80211", Level::INFO, format_args!("survey of {}", point.name));
    super::survey(sources.kernel, point, now_ns, sources.cost)
}
