//! Fuzzes what reads nl80211's messages: stations, surveys, interfaces, events.
//!
//! The input is one generic-netlink payload, and once more the information within a station's message,
//! so that libFuzzer need not find the two headers first. How to build and run is said in `netlink.rs`;
//! the program is `station`, its corpus `fuzz/corpus/station`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linux::{
    netlink::Request,
    nl80211::{Membership, StationReading, interface, membership, station, stations, survey},
};

const ADDRESS: [u8; 6] = [2, 0, 0, 0, 1, 3];

fuzz_target!(|input: &[u8]| {
    let mut all = Vec::new();
    stations(input, |reading| all.push(*reading));
    assert_eq!(station(input), all.first().copied());
    assert!(all.len() <= 1 + input.len() / 4, "each link costs bytes");
    all.iter().for_each(plausible);
    membership(input, |event| {
        if let Membership::Joined(reading) | Membership::Left { last: reading, .. } = event {
            assert_eq!(Some(*reading), all.first().copied());
        }
    });
    let _ = (interface(input), survey(input));
    inside(input);
});

fn plausible(reading: &StationReading) {
    assert_eq!(reading.attempt, 0);
    for rate in [reading.tx_rate, reading.rx_rate].into_iter().flatten() {
        assert!(
            rate.width_mhz <= 320
                && rate.kbps.is_none_or(|kbps| kbps % 100 == 0 || kbps == u32::MAX)
        );
    }
    for (chain, dbm) in reading.chain_signal.iter() {
        assert_eq!(reading.chain_signal.get(chain), Some(dbm));
    }
    for count in [reading.rx_bytes, reading.tx_bytes].into_iter().flatten() {
        assert!(count.wide || count.value <= u64::from(u32::MAX));
    }
}

fn inside(input: &[u8]) {
    // An attribute's length has sixteen bits.
    let info = input.get(..60_000).unwrap_or(input);
    let message = Request::generic("", 28, 19).number(3, 4).attribute(6, &ADDRESS);
    let whole = station(message.clone().attribute(21, info).body());
    assert!(whole.is_some_and(|reading| reading.address == ADDRESS && reading.link.is_none()));
    stations(message.attribute(21, &[]).attribute(312, info).body(), |reading| {
        assert!(reading.link.is_some() && reading.address == ADDRESS);
    });
}
