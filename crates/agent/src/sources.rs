//! Reads the clients of access points from nl80211 and from hostapd: the sources that confirm what a subject says.
//!
//! hostapd's words are sent as it says them. A source that does not answer has no reading, which the host notices.

use std::collections::BTreeMap;

use linux::{
    nl80211::{Address, Interface, Nl80211, Rate, StationFlags, StationReading},
    system::{boottime_ns, monotonic_ns, wall_ns},
};
use model::parity::{Answer, BitRate, Reading, StationList, StationValues};

use crate::{hostapd::Control, identity, reading::LONGEST};

/// Reads every interface. The kernel comes first: its counters are what must not be old.
pub(crate) fn read(interfaces: &[Interface], asks_hostapd: bool) -> Vec<Reading> {
    let mut nl80211 = Nl80211::open().ok();
    let kernel = interfaces.iter().filter_map(|interface| {
        let list = stations(nl80211.as_mut()?, interface.index)?;
        Some(answered(interface, Answer::Kernel(list)))
    });
    let mut readings: Vec<Reading> = kernel.collect();
    if asks_hostapd {
        readings.extend(interfaces.iter().filter_map(|interface| {
            let words = Control::of(&interface.name).and_then(|hostapd| hostapd.all_stations());
            let words = words.ok().filter(|words| words.len() as u64 <= LONGEST)?;
            Some(answered(interface, Answer::Hostapd(words)))
        }));
    }
    readings
}

fn answered(interface: &Interface, answer: Answer) -> Reading {
    Reading { interface: Some(interface.name.clone()), at_ns: monotonic_ns(), answer }
}

/// The stations of an interface; `None` where they cannot be read, or the list never stood still.
fn stations(nl80211: &mut Nl80211, interface: u32) -> Option<StationList> {
    let mut found: BTreeMap<Address, StationReading> = BTreeMap::new();
    let cost = nl80211.stations(interface, |station| {
        let known = found.entry(station.address).or_insert(*station);
        // Links of one station come behind the whole.
        if known.attempt < station.attempt {
            *known = *station;
        }
    });
    let cost = cost.ok().filter(|cost| cost.settled)?;
    found.retain(|_, station| station.attempt == cost.restarts);
    let mut noise_dbm = None;
    // Drivers without a survey refuse.
    let _ = nl80211.survey(interface, |channel| {
        if channel.in_use {
            noise_dbm = channel.noise_dbm;
        }
    });
    let now_ns = wall_ns();
    let booted_ns = now_ns - boottime_ns() as i64;
    let stations = found.values().map(|station| values(station, booted_ns)).collect();
    Some(StationList { unix_ms: now_ns / 1_000_000, noise_dbm, stations })
}

fn values(station: &StationReading, booted_ns: i64) -> StationValues {
    let at = station.associated_at_boottime_ns;
    StationValues {
        address: identity::address(station.address),
        associated_at_boottime_ns: at,
        associated_at_unix_ms: at.map(|at| (booted_ns + at as i64) / 1_000_000),
        connected_s: station.connected_s,
        inactive_ms: station.inactive_ms,
        rx_bytes: station.rx_bytes.map(|count| count.value),
        tx_bytes: station.tx_bytes.map(|count| count.value),
        rx_packets: station.rx_packets,
        tx_packets: station.tx_packets,
        tx_retries: station.tx_retries,
        tx_failed: station.tx_failed,
        rx_drop_misc: station.rx_dropped,
        rx_duration_us: station.rx_duration_us,
        tx_duration_us: station.tx_duration_us,
        signal_dbm: station.signal_dbm,
        signal_avg_dbm: station.signal_average_dbm,
        ack_signal_dbm: station.ack_signal_dbm,
        chain_signal_dbm: station.chain_signal.iter().map(|(_, dbm)| dbm).collect(),
        rx_rate: station.rx_rate.and_then(bit_rate),
        tx_rate: station.tx_rate.and_then(bit_rate),
        authorized: station.flags.map(StationFlags::authorised),
        authenticated: station.flags.map(StationFlags::authenticated),
        associated: station.flags.map(StationFlags::associated),
        wme: station.flags.map(StationFlags::wme),
    }
}

fn bit_rate(rate: Rate) -> Option<BitRate> {
    Some(BitRate {
        kbps: rate.kbps?,
        width_mhz: rate.width_mhz,
        mode: rate.mode.name().to_owned(),
        mcs: rate.mcs,
        streams: rate.streams,
        short_guard: rate.has_short_guard(),
    })
}

#[cfg(test)]
mod tests {
    use linux::nl80211::{Count, RateMode};

    use super::*;

    #[test]
    fn a_station_has_the_kernels_values_and_no_others() {
        let vht = Rate {
            kbps: Some(433_300),
            mode: RateMode::Vht,
            mcs: Some(9),
            streams: Some(1),
            width_mhz: 80,
            short_guard: true,
            guard_ns: None,
        };
        let station = StationReading {
            address: [2, 0, 0, 0, 1, 10],
            associated_at_boottime_ns: Some(12_345_678_901),
            rx_bytes: Some(Count { value: 4321, wide: true }),
            flags: Some(StationFlags { known: 0b10, set: 0b1010 }),
            tx_rate: Some(vht),
            rx_rate: Some(Rate::default()),
            ..StationReading::default()
        };
        let rate = BitRate {
            kbps: 433_300,
            width_mhz: 80,
            mode: "vht".to_owned(),
            mcs: Some(9),
            streams: Some(1),
            short_guard: true,
        };
        let expected = StationValues {
            address: "02:00:00:00:01:0a".to_owned(),
            associated_at_boottime_ns: Some(12_345_678_901),
            associated_at_unix_ms: Some(1_790_000_012_345),
            rx_bytes: Some(4321),
            tx_rate: Some(rate),
            authorized: Some(true),
            authenticated: Some(false),
            associated: Some(false),
            wme: Some(false),
            ..StationValues::default()
        };
        assert_eq!(values(&station, 1_790_000_000_000_000_000), expected);
        let is_short = |guard_ns| {
            let he = Rate { guard_ns, mode: RateMode::He, short_guard: false, ..vht };
            bit_rate(he).unwrap().short_guard
        };
        assert!(is_short(Some(800)) && !is_short(Some(1600)));
    }
}
