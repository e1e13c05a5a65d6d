//! hostapd's `STA` for each station at each poll, waited for.
//!
//! The field's way, kept to be measured: hostapd asks the kernel once more for each of its answers. Otherwise it is
//! asked once for each association, and never waited for.

use crate::{
    cost::Cost,
    hostapd::{AskNow, Hostapd},
    points::Point,
    table::{Slot, Table},
    trace::{Level, Trace},
};

/// Whom it asks, and what it knows already.
pub struct Sources<'a> {
    pub hostapd: &'a mut Hostapd,
    /// Where the stations are kept.
    pub table: &'a mut Table,
    /// The trace of the way.
    pub trace: &'a Trace,
    pub cost: &'a mut Cost,
}

/// Asks about every station of a point; those of whom hostapd told something new, for anyone who writes it down.
pub fn pull(sources: &mut Sources<'_>, point: &Point, now_ns: u64) -> Vec<Slot> {
    let Sources { hostapd, table, trace, cost } = sources;
    let stations: Vec<_> = table.rows(point.id).map(|row| (row.slot(), row.address())).collect();
    let mut identified = Vec::new();
    for (slot, address) in stations {
        trace.event("hostapd", Level::INFO, format_args!("STA {address:02x?}"));
        let asked = AskNow { interface: &point.name, address, now_ns };
        let Some(identity) = hostapd.ask_now(&asked, cost) else { continue };
        if table.row(slot).is_some_and(|row| row.identity() != Some(&identity)) {
            table.identify(slot, identity);
            identified.push(slot);
        }
    }
    identified
}
