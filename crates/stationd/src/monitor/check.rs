//! Checks that counters do not fall from one reply to the next.
//!
//! A station that leaves and returns begins to count anew, in all its counters at once; a counter
//! that falls alone is a fault.

use std::collections::BTreeMap;

use linux::nl80211::Address;

use super::reply::{COUNTERS, Station};
use crate::address;

type Counters = [Option<u64>; COUNTERS.len()];

/// What was seen of the stations of one interface.
#[derive(Debug, Default)]
pub struct Checker {
    /// Each station's counters in the last reply.
    seen: BTreeMap<Address, Counters>,
    /// Stations that began to count anew.
    pub returned: u64,
}

impl Checker {
    /// Checks the stations of one reply; tells each fault.
    pub fn check(&mut self, stations: &[Station<'_>], mut report: impl FnMut(String)) {
        let before = std::mem::take(&mut self.seen);
        for station in stations {
            if let Err(fault) = self.check_station(station, &before) {
                report(format!("{}: {fault}", station.address().unwrap_or_default()));
            }
        }
    }

    fn check_station(
        &mut self,
        station: &Station<'_>,
        before: &BTreeMap<Address, Counters>,
    ) -> Result<(), String> {
        let address = station.address().and_then(address::parse).ok_or("not an address")?;
        let now = COUNTERS.map(|key| station.number(key));
        if self.seen.insert(address, now).is_some() {
            return Err("it is there twice".to_owned());
        }
        let Some(before) = before.get(&address) else { return Ok(()) };
        // A counter that is known no more has fallen, too.
        let Some(place) = before.iter().zip(&now).position(|(before, now)| now < before) else {
            return Ok(());
        };
        // A new association begins: none of its counters stands above what it was.
        if before.iter().zip(&now).all(|(before, now)| now <= before) {
            self.returned += 1;
            return Ok(());
        }
        let (name, before, now) = (COUNTERS[place], before[place], now[place]);
        Err(format!("{name} fell from {before:?} to {now:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "02:00:00:00:01:0A";

    fn station(address: &str, counters: [u64; 8]) -> String {
        let counters = COUNTERS.iter().zip(counters);
        let counters: String = counters.map(|(key, value)| format!(",\"{key}\":{value}")).collect();
        format!("{{\"MACAddress\":\"{address}\"{counters}}}")
    }

    fn faults(checker: &mut Checker, stations: &[String]) -> Vec<String> {
        let stations = stations.iter().map(|text| serde_json::from_str(text).unwrap());
        let mut faults = Vec::new();
        checker.check(&stations.collect::<Vec<_>>(), |fault| faults.push(fault));
        faults
    }

    #[test]
    fn a_counter_that_falls_alone_is_a_fault_and_all_at_once_are_a_new_association() {
        let mut checker = Checker::default();
        assert!(faults(&mut checker, &[station(A, [9; 8])]).is_empty());
        let found = faults(&mut checker, &[station(A, [9, 8, 10, 9, 9, 9, 9, 9])]);
        assert_eq!(found, [format!("{A}: RxBytes fell from Some(9) to Some(8)")]);
        assert!(faults(&mut checker, &[station(A, [1; 8])]).is_empty());
        assert_eq!(checker.returned, 1);
        // Who left is forgotten.
        faults(&mut checker, &[]);
        assert!(faults(&mut checker, &[station(A, [0; 8])]).is_empty());
        assert_eq!(checker.returned, 1);
    }

    #[test]
    fn a_station_is_there_once_and_has_an_address() {
        let lower = A.to_lowercase();
        let stations = [station(A, [9; 8]), station(&lower, [9; 8]), station("x", [9; 8])];
        let found = faults(&mut Checker::default(), &stations);
        assert_eq!(found, [format!("{lower}: it is there twice"), "x: not an address".to_owned()]);
    }
}
