//! Whether what a monitor gets makes sense, from one reply to the next.
//!
//! Pure. A station that leaves and returns begins to count anew, in all its counters at once; a counter
//! that falls alone is a fault.

use std::collections::BTreeMap;

use linux::nl80211::Address;
use serde_json::Value;

use super::reply::{COUNTERS, Object};
use crate::address;

/// Widths of channels, MHz (802.11ah's, 802.11j's, and the usual ones).
const WIDTHS: [u64; 12] = [1, 2, 4, 5, 8, 10, 16, 20, 40, 80, 160, 320];

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
    pub fn check(&mut self, stations: &[Object], mut report: impl FnMut(String)) {
        let before = std::mem::take(&mut self.seen);
        for station in stations {
            if let Err(fault) = self.check_station(station, &before) {
                let name = station.get("MACAddress").and_then(Value::as_str).unwrap_or_default();
                report(format!("{name}: {fault}"));
            }
        }
    }

    fn check_station(
        &mut self,
        station: &Object,
        before: &BTreeMap<Address, Counters>,
    ) -> Result<(), String> {
        let value = |key: &str| station.get(key);
        let address = value("MACAddress").and_then(Value::as_str).and_then(address::parse);
        let address = address.ok_or("not an address")?;
        let signal = value("SignalStrength").and_then(Value::as_i64);
        if let Some(signal) = signal.filter(|dbm| !(-127..=20).contains(dbm)) {
            return Err(format!("a signal of {signal} dBm"));
        }
        let width = value("DownlinkBandwidth").and_then(Value::as_u64);
        if let Some(width) = width.filter(|mhz| !WIDTHS.contains(mhz)) {
            return Err(format!("a channel of {width} MHz"));
        }
        let now = COUNTERS.map(|key| value(key).and_then(Value::as_u64));
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
    use serde_json::json;

    use super::*;

    const A: &str = "02:00:00:00:01:0A";

    fn station(address: &str, counters: [u64; 8]) -> Object {
        let counters = COUNTERS.iter().zip(counters);
        let mut station: Object =
            counters.map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        for (key, value) in [
            ("MACAddress", json!(address)),
            ("SignalStrength", json!(-40)),
            ("DownlinkBandwidth", json!(320)),
        ] {
            station.insert(key.to_owned(), value);
        }
        station
    }

    fn faults(checker: &mut Checker, stations: &[Object]) -> Vec<String> {
        let mut faults = Vec::new();
        checker.check(stations, |fault| faults.push(fault));
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
    fn a_station_is_there_once_and_does_what_radios_do() {
        let lower = A.to_lowercase();
        let mut loud = station("02:00:00:00:01:0B", [0; 8]);
        loud.insert("SignalStrength".to_owned(), json!(100));
        let mut wide = station("02:00:00:00:01:0C", [0; 8]);
        wide.insert("DownlinkBandwidth".to_owned(), json!(21));
        let stations =
            [station(A, [9; 8]), station(&lower, [9; 8]), station("x", [9; 8]), loud, wide];
        let found = faults(&mut Checker::default(), &stations);
        assert_eq!(
            found,
            [
                format!("{lower}: it is there twice"),
                "x: not an address".to_owned(),
                "02:00:00:00:01:0B: a signal of 100 dBm".to_owned(),
                "02:00:00:00:01:0C: a channel of 21 MHz".to_owned(),
            ]
        );
    }
}
