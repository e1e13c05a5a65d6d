//! Whether what a monitor gets makes sense, from one reply to the next.
//!
//! Pure. A station that leaves and returns begins to count anew, in all its counters at once; a counter
//! that falls alone is a fault.

use std::collections::BTreeMap;

use linux::nl80211::Address;

use super::reply::{COUNTERS, Station};
use crate::address;

/// Widths of channels, MHz (802.11ah's, 802.11j's, and the usual ones).
const WIDTHS: [u64; 12] = [1, 2, 4, 5, 8, 10, 16, 20, 40, 80, 160, 320];

/// What was seen of the stations of one interface.
#[derive(Debug, Default)]
pub struct Checker {
    seen: BTreeMap<Address, Seen>,
    polls: u64,
    /// Stations that began to count anew.
    pub returned: u64,
}

#[derive(Debug)]
struct Seen {
    counters: [Option<u64>; COUNTERS.len()],
    poll: u64,
}

impl Checker {
    /// Checks the stations of one reply; tells each fault.
    pub fn check(&mut self, stations: &[Station<'_>], mut report: impl FnMut(String)) {
        self.polls += 1;
        for station in stations {
            let result = self.check_station(station);
            if let Err(fault) = result {
                report(format!("{}: {fault}", station.address));
            }
        }
        let poll = self.polls;
        self.seen.retain(|_, seen| seen.poll == poll);
    }

    fn check_station(&mut self, station: &Station<'_>) -> Result<(), String> {
        let address = address::parse(station.address).ok_or("not an address")?;
        plausible(station)?;
        let poll = self.polls;
        let new = Seen { counters: station.counters, poll };
        let Some(seen) = self.seen.insert(address, new) else { return Ok(()) };
        if seen.poll == poll {
            return Err("it is there twice".to_owned());
        }
        match fallen(&seen.counters, &station.counters) {
            None => Ok(()),
            Some(_) if began_anew(&seen.counters, &station.counters) => {
                self.returned += 1;
                Ok(())
            }
            Some(place) => Err(format!(
                "{} fell from {:?} to {:?}",
                COUNTERS[place], seen.counters[place], station.counters[place]
            )),
        }
    }
}

fn plausible(station: &Station<'_>) -> Result<(), String> {
    if let Some(signal) = station.signal.filter(|dbm| !(-127..=20).contains(dbm)) {
        return Err(format!("a signal of {signal} dBm"));
    }
    match station.bandwidth.filter(|mhz| !WIDTHS.contains(mhz)) {
        Some(width) => Err(format!("a channel of {width} MHz")),
        None => Ok(()),
    }
}

type Counters = [Option<u64>; COUNTERS.len()];

/// The first counter that is less than it was, or is known no more.
fn fallen(before: &Counters, now: &Counters) -> Option<usize> {
    before.iter().zip(now).position(|(before, now)| now < before)
}

/// Whether no counter stands above what it was: that of a new association, which is a beginning.
fn began_anew(before: &Counters, now: &Counters) -> bool {
    before.iter().zip(now).all(|(before, now)| now <= before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station(address: &str, counters: [u64; 8]) -> Station<'_> {
        let counters = counters.map(Some);
        let (signal, bandwidth) = (Some(-40), Some(320));
        Station { address, counters, signal, bandwidth, ..Station::default() }
    }

    fn faults(checker: &mut Checker, stations: &[Station<'_>]) -> Vec<String> {
        let mut faults = Vec::new();
        checker.check(stations, |fault| faults.push(fault));
        faults
    }

    const A: &str = "02:00:00:00:01:0A";

    #[test]
    fn a_counter_that_falls_alone_is_a_fault() {
        let mut checker = Checker::default();
        assert!(faults(&mut checker, &[station(A, [9; 8])]).is_empty());
        let found = faults(&mut checker, &[station(A, [9, 8, 10, 9, 9, 9, 9, 9])]);
        assert_eq!(found, [format!("{A}: RxBytes fell from Some(9) to Some(8)")]);
    }

    #[test]
    fn a_station_that_returned_begins_anew() {
        let mut checker = Checker::default();
        faults(&mut checker, &[station(A, [9; 8])]);
        assert!(faults(&mut checker, &[station(A, [1; 8])]).is_empty());
        assert_eq!(checker.returned, 1);
    }

    #[test]
    fn who_left_is_forgotten() {
        let mut checker = Checker::default();
        faults(&mut checker, &[station(A, [9; 8])]);
        faults(&mut checker, &[]);
        assert!(faults(&mut checker, &[station(A, [1; 8])]).is_empty());
        assert_eq!(checker.returned, 0);
    }

    #[test]
    fn a_station_is_there_once_and_has_an_address() {
        let mut checker = Checker::default();
        let lower = A.to_lowercase();
        let found = faults(&mut checker, &[station(A, [9; 8]), station(&lower, [9; 8])]);
        assert_eq!(found, [format!("{lower}: it is there twice")]);
        for wrong in ["", "02:00:00:00:01", "02:00:00:00:01:0A:00", "02:00:00:00:01:+A", "x"] {
            assert_eq!(address::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_no_radio_does_is_a_fault() {
        let loud = Station { signal: Some(100), ..station(A, [0; 8]) };
        assert_eq!(faults(&mut Checker::default(), &[loud]), [format!("{A}: a signal of 100 dBm")]);
        let wide = Station { bandwidth: Some(21), ..station(A, [0; 8]) };
        assert_eq!(faults(&mut Checker::default(), &[wide]), [format!("{A}: a channel of 21 MHz")]);
    }
}
