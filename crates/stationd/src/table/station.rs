//! One station of the table: its association, and the values that are read again and again.
//!
//! An unknown value is `None` to the one that asks, never 0.
//!
//! Direction: “downlink”, “sent” and “transmitted” are from the access point to the station, which is nl80211's TX.
//! Others have mapped it the other way round.

use linux::nl80211::{Address, Chains, Count, Rate, StationFlags, StationReading};

use super::{Session, Slot};
use crate::{
    address::{self, AddressText},
    counter::{Counter, Step},
    identity::Identity,
    points::Point,
};

/// A value that only rises within an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    RxBytes,
    /// Bytes to the station, MPDU payloads.
    TxBytes,
    /// MSDUs and MMPDUs from the station.
    RxPackets,
    /// MSDUs and MMPDUs to the station. What mac80211 counts for a station was sent to it alone.
    TxPackets,
    /// Frames that were sent again.
    TxRetries,
    /// Frames that were given up.
    TxFailed,
    /// Frames from the station that were dropped for an unspecified reason; the field's daemon calls them `RxErrors`.
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

/// How many [`CounterKind`] there are.
const COUNTED: usize = CounterKind::TxAirtime as usize + 1;

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

/// Stands for “unknown” in a gauge: no gauge can have it.
const UNKNOWN: i64 = i64::MIN;

/// The strengths that were seen in an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalHistory {
    pub min: i8,
    pub max: i8,
    sum: i64,
    samples: u32,
}

impl SignalHistory {
    pub fn mean(&self) -> i8 {
        let samples = i64::from(self.samples.max(1));
        // Strengths are negative; rounding half away from zero, as `f64::round` does.
        let half = self.sum.signum() * samples / 2;
        ((self.sum + half) / samples) as i8
    }

    fn add(&mut self, dbm: i8) {
        self.min = self.min.min(dbm);
        self.max = self.max.max(dbm);
        self.sum += i64::from(dbm);
        self.samples = self.samples.saturating_add(1);
    }
}

#[derive(Debug)]
pub struct Station {
    pub slot: Slot,
    pub session: Session,
    /// Its address as replies have it: the same for the whole association, and so written once.
    pub address_text: AddressText,
    /// Who it is, once that is known.
    pub identity: Option<Box<Identity>>,
    pub tx_rate: Option<Rate>,
    pub rx_rate: Option<Rate>,
    pub flags: Option<StationFlags>,
    /// The strength of the last frame on each antenna.
    pub chains: Chains,
    counters: [Counter; COUNTED],
    /// Which counters are known: one bit each.
    counted: u16,
    gauges: [i64; GAUGES],
    history: SignalHistory,
    /// The links that a multi-link station was told with: one bit for each number.
    links: u16,
    /// The poll that saw it last.
    pub(super) polled: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// A value other than the two clocks is another than before.
    pub(super) any: bool,
    /// The driver's counters began again.
    pub(super) reset: bool,
}

impl Station {
    pub(super) fn new(slot: Slot, session: Session, polled: u64) -> Self {
        Self {
            slot,
            session,
            address_text: address::upper(session.address),
            identity: None,
            tx_rate: None,
            rx_rate: None,
            flags: None,
            chains: Chains::default(),
            counters: [Counter::default(); COUNTED],
            counted: 0,
            gauges: [UNKNOWN; GAUGES],
            history: SignalHistory { min: i8::MAX, max: i8::MIN, sum: 0, samples: 0 },
            links: 0,
            polled,
        }
    }

    pub fn address(&self) -> Address {
        self.session.address
    }

    pub fn counter(&self, which: CounterKind) -> Option<u64> {
        let known = self.counted & 1 << which as u16 != 0;
        known.then(|| self.counters[which as usize].total())
    }

    pub fn gauge(&self, which: Gauge) -> Option<i64> {
        Some(self.gauges[which as usize]).filter(|value| *value != UNKNOWN)
    }

    pub fn signal_history(&self) -> Option<SignalHistory> {
        Some(self.history).filter(|history| history.samples > 0)
    }

    pub fn links(&self) -> u32 {
        self.links.count_ones()
    }

    /// Signal over noise, dB: absent where the noise is unknown, or above the signal.
    pub fn snr_db(&self, point: &Point) -> Option<i64> {
        let ratio = self.gauge(Gauge::Signal)? - i64::from(point.noise_dbm?);
        (ratio >= 0).then_some(ratio)
    }

    /// Takes a reading of the whole station.
    pub(super) fn take(&mut self, reading: &StationReading) -> Difference {
        let mut changed = Difference::default();
        self.take_counters(reading, &mut changed);
        self.set(Gauge::InactiveMs, reading.inactive_ms.map(i64::from));
        self.set(Gauge::ConnectedS, reading.connected_s.map(i64::from));
        changed.any |= self.set(Gauge::Signal, reading.signal_dbm.map(i64::from));
        changed.any |= self.set(Gauge::SignalAverage, reading.signal_average_dbm.map(i64::from));
        changed.any |= self.set(Gauge::AckSignal, reading.ack_signal_dbm.map(i64::from));
        let expected = reading.expected_throughput_kbps.map(i64::from);
        changed.any |= self.set(Gauge::ExpectedKbps, expected);
        changed.any |= replace(&mut self.tx_rate, reading.tx_rate);
        changed.any |= replace(&mut self.rx_rate, reading.rx_rate);
        changed.any |= replace(&mut self.flags, reading.flags);
        self.chains = reading.chain_signal;
        if let Some(dbm) = reading.signal_dbm {
            self.history.add(dbm);
        }
        changed
    }

    /// Takes a reading of one link; the whole station's figures come in a message of their own.
    pub(super) fn take_link(&mut self, link: u8) {
        self.links |= 1 << (link % 16);
    }

    fn take_counters(&mut self, reading: &StationReading, changed: &mut Difference) {
        let count = |value, wide| Some(Count { value, wide });
        let narrow = |value: Option<u32>| value.and_then(|value| count(value.into(), false));
        let wide = |value: Option<u64>| value.and_then(|value| count(value, true));
        // One after the other and not in a loop: this is done for every station at every reading.
        self.count(CounterKind::RxBytes, reading.rx_bytes, changed);
        self.count(CounterKind::TxBytes, reading.tx_bytes, changed);
        self.count(CounterKind::RxPackets, narrow(reading.rx_packets), changed);
        self.count(CounterKind::TxPackets, narrow(reading.tx_packets), changed);
        self.count(CounterKind::TxRetries, narrow(reading.tx_retries), changed);
        self.count(CounterKind::TxFailed, narrow(reading.tx_failed), changed);
        self.count(CounterKind::RxDropped, wide(reading.rx_dropped), changed);
        self.count(CounterKind::FcsErrors, narrow(reading.fcs_errors), changed);
        self.count(CounterKind::RxMpdus, narrow(reading.rx_mpdus), changed);
        self.count(CounterKind::RxAirtime, wide(reading.rx_duration_us), changed);
        self.count(CounterKind::TxAirtime, wide(reading.tx_duration_us), changed);
    }

    #[inline]
    fn count(&mut self, which: CounterKind, count: Option<Count>, changed: &mut Difference) {
        let Some(count) = count else { return };
        let (counter, bit) = (&mut self.counters[which as usize], 1 << which as u16);
        if self.counted & bit == 0 {
            self.counted |= bit;
            *counter = Counter::starting_at(count.value);
            changed.any = true;
            return;
        }
        match counter.advance(count) {
            Step::Same => {}
            Step::Rose => changed.any = true,
            Step::Reset => (changed.any, changed.reset) = (true, true),
        }
    }

    fn set(&mut self, which: Gauge, value: Option<i64>) -> bool {
        replace(&mut self.gauges[which as usize], value.unwrap_or(UNKNOWN))
    }
}

pub fn kbps(rate: Option<Rate>) -> Option<u64> {
    rate?.kbps.map(u64::from)
}

pub fn mhz(rate: Option<Rate>) -> Option<u64> {
    rate.map(|rate| rate.width_mhz.into())
}

fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn station() -> Station {
        let session = Session { point: 0, address: [0; 6], seen_ns: 0, associated_ns: None };
        Station::new(0, session, 0)
    }

    #[test]
    fn what_was_never_read_is_unknown_and_what_reads_0_is_0() {
        let mut station = station();
        assert_eq!(station.counter(CounterKind::TxFailed), None);
        assert_eq!(station.gauge(Gauge::Signal), None);
        station.take(&StationReading { tx_failed: Some(0), ..StationReading::default() });
        assert_eq!(station.counter(CounterKind::TxFailed), Some(0));
        assert_eq!(station.counter(CounterKind::TxRetries), None);
    }

    #[test]
    fn the_strengths_that_were_seen_have_a_rounded_mean() {
        let mut station = station();
        for dbm in [-40, -51, -60] {
            station.take(&StationReading { signal_dbm: Some(dbm), ..Default::default() });
        }
        let history = station.signal_history().unwrap();
        assert_eq!((history.min, history.max, history.mean()), (-60, -40, -50));
    }
}
