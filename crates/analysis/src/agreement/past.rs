//! What others said of the clients earlier and later in the same window: how old a value is, and which levels swing.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Client, Station,
    table::{Entry, Source},
    value::{Rule, Value},
};

/// Readings of a window, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Past(Vec<(u64, BTreeMap<Client, Station>)>);

/// A value of the subject's that does not lie where it should.
pub(super) struct Late<'a> {
    pub(super) entry: &'a Entry,
    pub(super) source: &'a Source,
    pub(super) own: &'a Value,
    /// When it had been said, ns.
    pub(super) at_ns: u64,
}

impl Past {
    /// Adds a reading, which had been taken at this moment, ns.
    pub(super) fn push(&mut self, at_ns: u64, stations: BTreeMap<Client, Station>) {
        self.0.push((at_ns, stations));
        self.0.sort_by_key(|(at_ns, _)| *at_ns);
    }

    /// Whether a level of this client is not always the same in this window: no two readings say then what it was in
    /// between.
    pub(super) fn swings(&self, client: &Client, entry: &Entry, source: &Source) -> bool {
        let values = self.0.iter().filter_map(|(_, stations)| stations.get(client));
        let mut values = values.map(|station| (source.read)(station));
        let first = values.next();
        entry.rule.is_state() && values.any(|value| Some(value) != first)
    }

    /// Clients of which some counter of bytes moved from one reading to another.
    pub(super) fn moving(&self) -> BTreeSet<&Client> {
        let counters = |station: &Station| {
            station.kernel.as_ref().map(|values| (values.rx_bytes, values.tx_bytes))
        };
        let [(_, first), .., (_, last)] = self.0.as_slice() else { return BTreeSet::new() };
        let moved = |(client, station): &(&Client, &Station)| {
            last.get(*client).is_some_and(|last| counters(last) != counters(station))
        };
        first.iter().filter(moved).map(|(client, _)| client).collect()
    }

    /// Whose value it is that the subject gave: one of so many seconds before; or at least how old it must be.
    pub(super) fn age(&self, client: &Client, late: &Late<'_>) -> Option<String> {
        let earlier: Vec<(u64, Value)> = self
            .0
            .iter()
            .filter(|(at_ns, _)| *at_ns < late.at_ns)
            .filter_map(|(at_ns, all)| Some((*at_ns, (late.source.read)(all.get(client)?)?)))
            .collect();
        let seconds = |at_ns: u64| (late.at_ns - at_ns) as f64 / 1e9;
        if let Some((at_ns, _)) = earlier.iter().rev().find(|(_, value)| value == late.own) {
            return Some(format!("which is the value of {:.1} s before", seconds(*at_ns)));
        }
        let (Rule::Counter(_), Value::Whole(own)) = (late.entry.rule, late.own) else {
            return None;
        };
        let is_past = |value: &Value| matches!(value, Value::Whole(value) if value > own);
        let (at_ns, _) = earlier.iter().find(|(_, value)| is_past(value))?;
        Some(format!("which is at least {:.1} s old", seconds(*at_ns)))
    }
}
