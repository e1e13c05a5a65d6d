//! The columns of the station table: one vector for each value that is read again and again.
//!
//! Columns know no keys and no sessions; [`super::Table`] does. An unknown value is a mark in its
//! column and `None` to the one that asks, never 0.

use linux::nl80211::{Chains, Count, Rate, StationFlags, StationReading};

use crate::counter::{Counter, Step, Width};

/// A value that only rises within an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Bytes from the station, MPDU payloads.
    RxBytes,
    /// Bytes to the station, MPDU payloads.
    TxBytes,
    /// MSDUs and MMPDUs from the station.
    RxPackets,
    /// MSDUs and MMPDUs to the station.
    TxPackets,
    /// Frames that were sent again.
    TxRetries,
    /// Frames that were given up.
    TxFailed,
    /// Frames from the station that were dropped for an unspecified reason.
    RxDropped,
    /// Frames from the station with a wrong check sum.
    FcsErrors,
    /// MPDUs from the station, with any check sum.
    RxMpdus,
    /// Airtime that the station used to send, µs.
    RxAirtime,
    /// Airtime that was used to send to the station, µs.
    TxAirtime,
}

/// How many [`Counted`] there are.
const COUNTED: usize = Counted::TxAirtime as usize + 1;

/// A value that rises and falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// Since the last frame from the station, ms.
    InactiveMs,
    /// Since the association, s.
    ConnectedS,
    /// Strength of the last frame, dBm.
    Signal,
    /// Strength, averaged by the driver, dBm.
    SignalAverage,
    /// Strength of the station's acknowledgements, dBm.
    AckSignal,
    /// What the rate control expects to get through, kbit/s.
    ExpectedKbps,
}

const GAUGES: usize = Gauge::ExpectedKbps as usize + 1;

/// Stands for “unknown” in a gauge's column: no gauge can have it.
const UNKNOWN: i64 = i64::MIN;

/// The strengths that were seen in an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalHistory {
    /// The weakest, dBm.
    pub min: i8,
    /// The strongest, dBm.
    pub max: i8,
    sum: i64,
    pub samples: u32,
}

impl SignalHistory {
    const NONE: Self = Self { min: i8::MAX, max: i8::MIN, sum: 0, samples: 0 };

    /// The mean, dBm, to the nearest.
    pub fn mean(&self) -> i8 {
        let samples = i64::from(self.samples.max(1));
        // Strengths are negative; rounding half away from zero, as `f64::round` does.
        let half = self.sum.signum() * samples / 2;
        ((self.sum + half) / samples) as i8
    }

    fn see(&mut self, dbm: i8) {
        self.min = self.min.min(dbm);
        self.max = self.max.max(dbm);
        self.sum += i64::from(dbm);
        self.samples = self.samples.saturating_add(1);
    }
}

/// Values of all slots, each kind in a row of its own.
#[derive(Debug, Default)]
pub(super) struct Columns {
    counters: [Vec<Counter>; COUNTED],
    /// Which counters a slot has: one bit each.
    counted: Vec<u16>,
    gauges: [Vec<i64>; GAUGES],
    tx_rate: Vec<Option<Rate>>,
    rx_rate: Vec<Option<Rate>>,
    flags: Vec<Option<StationFlags>>,
    chains: Vec<Chains>,
    chains_average: Vec<Chains>,
    history: Vec<SignalHistory>,
}

impl Columns {
    /// Adds a slot, or empties one.
    pub(super) fn clear(&mut self, slot: usize) {
        if slot == self.counted.len() {
            self.counters.iter_mut().for_each(|column| column.push(Counter::default()));
            self.gauges.iter_mut().for_each(|column| column.push(UNKNOWN));
            self.counted.push(0);
            self.tx_rate.push(None);
            self.rx_rate.push(None);
            self.flags.push(None);
            self.chains.push(Chains::default());
            self.chains_average.push(Chains::default());
            self.history.push(SignalHistory::NONE);
            return;
        }
        self.gauges.iter_mut().for_each(|column| column[slot] = UNKNOWN);
        self.counted[slot] = 0;
        (self.tx_rate[slot], self.rx_rate[slot], self.flags[slot]) = (None, None, None);
        (self.chains[slot], self.chains_average[slot]) = (Chains::default(), Chains::default());
        self.history[slot] = SignalHistory::NONE;
    }

    pub(super) fn counter(&self, slot: usize, which: Counted) -> Option<u64> {
        let known = self.counted[slot] & 1 << which as u16 != 0;
        known.then(|| self.counters[which as usize][slot].total())
    }

    pub(super) fn gauge(&self, slot: usize, which: Gauge) -> Option<i64> {
        Some(self.gauges[which as usize][slot]).filter(|value| *value != UNKNOWN)
    }

    pub(super) fn tx_rate(&self, slot: usize) -> Option<Rate> {
        self.tx_rate[slot]
    }

    pub(super) fn rx_rate(&self, slot: usize) -> Option<Rate> {
        self.rx_rate[slot]
    }

    pub(super) fn flags(&self, slot: usize) -> Option<StationFlags> {
        self.flags[slot]
    }

    pub(super) fn chains(&self, slot: usize) -> (Chains, Chains) {
        (self.chains[slot], self.chains_average[slot])
    }

    pub(super) fn history(&self, slot: usize) -> Option<SignalHistory> {
        Some(self.history[slot]).filter(|history| history.samples > 0)
    }

    /// Takes a reading; whether anything changed but the two clocks, which always do.
    pub(super) fn take(&mut self, slot: usize, reading: &StationReading) -> Taken {
        let mut taken = Taken::default();
        self.take_counters(slot, reading, &mut taken);
        self.set(slot, Gauge::InactiveMs, reading.inactive_ms.map(i64::from));
        self.set(slot, Gauge::ConnectedS, reading.connected_s.map(i64::from));
        self.take_signal(slot, reading, &mut taken);
        taken.changed |= replace(&mut self.tx_rate[slot], reading.tx_rate);
        taken.changed |= replace(&mut self.rx_rate[slot], reading.rx_rate);
        taken.changed |= replace(&mut self.flags[slot], reading.flags);
        taken
    }

    fn take_counters(&mut self, slot: usize, reading: &StationReading, taken: &mut Taken) {
        let narrow = |value: Option<u32>| {
            value.map(|value| Raw { value: value.into(), width: Width::Bits32 })
        };
        let wide = |value: Option<u64>| value.map(|value| Raw { value, width: Width::Bits64 });
        let either = |count: Option<Count>| {
            let width = |wide| if wide { Width::Bits64 } else { Width::Bits32 };
            count.map(|count| Raw { value: count.value, width: width(count.wide) })
        };
        let readings = [
            (Counted::RxBytes, either(reading.rx_bytes)),
            (Counted::TxBytes, either(reading.tx_bytes)),
            (Counted::RxPackets, narrow(reading.rx_packets)),
            (Counted::TxPackets, narrow(reading.tx_packets)),
            (Counted::TxRetries, narrow(reading.tx_retries)),
            (Counted::TxFailed, narrow(reading.tx_failed)),
            (Counted::RxDropped, wide(reading.rx_dropped)),
            (Counted::FcsErrors, narrow(reading.fcs_errors)),
            (Counted::RxMpdus, narrow(reading.rx_mpdus)),
            (Counted::RxAirtime, wide(reading.rx_duration_us)),
            (Counted::TxAirtime, wide(reading.tx_duration_us)),
        ];
        for (which, reading) in readings {
            match reading.map(|raw| self.count(slot, which, raw)) {
                None | Some(Step::Same) => {}
                Some(Step::Rose) => taken.changed = true,
                Some(Step::Reset) => (taken.changed, taken.reset) = (true, true),
            }
        }
    }

    fn count(&mut self, slot: usize, which: Counted, raw: Raw) -> Step {
        let counter = &mut self.counters[which as usize][slot];
        let bit = 1 << which as u16;
        if self.counted[slot] & bit == 0 {
            self.counted[slot] |= bit;
            *counter = Counter::starting_at(raw.value);
            return Step::Rose;
        }
        counter.advance(raw.value, raw.width)
    }

    fn take_signal(&mut self, slot: usize, reading: &StationReading, taken: &mut Taken) {
        let gauges = [
            (Gauge::Signal, reading.signal_dbm.map(i64::from)),
            (Gauge::SignalAverage, reading.signal_average_dbm.map(i64::from)),
            (Gauge::AckSignal, reading.ack_signal_dbm.map(i64::from)),
            (Gauge::ExpectedKbps, reading.expected_throughput_kbps.map(i64::from)),
        ];
        for (which, value) in gauges {
            taken.changed |= self.set(slot, which, value);
        }
        if let Some(dbm) = reading.signal_dbm {
            self.history[slot].see(dbm);
        }
        self.chains[slot] = reading.chain_signal;
        self.chains_average[slot] = reading.chain_signal_average;
    }

    fn set(&mut self, slot: usize, which: Gauge, value: Option<i64>) -> bool {
        replace(&mut self.gauges[which as usize][slot], value.unwrap_or(UNKNOWN))
    }
}

/// A counter as the driver gave it.
struct Raw {
    value: u64,
    width: Width,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// A value other than the two clocks is another than before.
    pub(super) changed: bool,
    /// The driver's counters began again.
    pub(super) reset: bool,
}

fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        let mut columns = Columns::default();
        columns.clear(0);
        columns
    }

    #[test]
    fn what_was_never_read_is_unknown_and_what_reads_0_is_0() {
        let mut columns = columns();
        assert_eq!(columns.counter(0, Counted::TxFailed), None);
        assert_eq!(columns.gauge(0, Gauge::Signal), None);
        let reading = StationReading { tx_failed: Some(0), ..StationReading::default() };
        columns.take(0, &reading);
        assert_eq!(columns.counter(0, Counted::TxFailed), Some(0));
        assert_eq!(columns.counter(0, Counted::TxRetries), None);
    }

    #[test]
    fn the_clocks_alone_are_no_change() {
        let mut columns = columns();
        let reading = StationReading {
            rx_packets: Some(7),
            inactive_ms: Some(10),
            connected_s: Some(1),
            ..StationReading::default()
        };
        assert!(columns.take(0, &reading).changed);
        let later = StationReading { inactive_ms: Some(1010), connected_s: Some(2), ..reading };
        assert!(!columns.take(0, &later).changed);
        assert!(columns.take(0, &StationReading { rx_packets: Some(8), ..later }).changed);
    }

    #[test]
    fn the_strengths_that_were_seen_have_a_rounded_mean() {
        let mut columns = columns();
        for dbm in [-40, -51, -60] {
            columns.take(0, &StationReading { signal_dbm: Some(dbm), ..Default::default() });
        }
        let history = columns.history(0).unwrap();
        assert_eq!((history.min, history.max, history.mean(), history.samples), (-60, -40, -50, 3));
    }

    #[test]
    fn a_slot_that_is_used_again_remembers_nothing() {
        let mut columns = columns();
        let reading =
            StationReading { rx_packets: Some(7), signal_dbm: Some(-40), ..Default::default() };
        columns.take(0, &reading);
        columns.clear(0);
        assert_eq!(columns.counter(0, Counted::RxPackets), None);
        assert_eq!((columns.gauge(0, Gauge::Signal), columns.history(0)), (None, None));
    }
}
