//! One question of each interface, and what the answers say together: how many clients, or their values.
//!
//! Anyone who compares two variants of stationd asks each of them so. Only values are told that do not move by
//! themselves between two looks at an idle network; [`MOVING`] are the others.

use std::{fmt::Write, os::fd::OwnedFd};

use super::{
    Error, begin,
    consumer::{Consumer, Got},
    flags::{Asks, Flags},
    listening,
    reply::Station,
};
use crate::address;

/// stationd runs, or it does not: the one that asks once does not wait for it for long.
const BEGIN_NS: u64 = 2_000_000_000;

/// Values of the brief reply that move also where no one sends anything: management frames, frames that say
/// “I am here”, and what was sent again of them are counted, and the last of them has a rate and a strength
/// of its own.
pub const MOVING: [&str; 9] = [
    "TxBytes",
    "RxBytes",
    "TxErrors",
    "RxErrors",
    "TxPacketCount",
    "RxPacketCount",
    "TxUnicastPacketCount",
    "Tx_Retransmissions",
    "LastDataUplinkRate",
];

/// What was heard.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What was asked for, with its ends of lines.
    pub text: String,
    /// What was wrong with the replies, a line each.
    pub faults: Vec<String>,
}

/// Asks once about each interface; `None` where a signal came first.
///
/// # Errors
///
/// [`Error`] where no one is there to ask.
pub fn ask(flags: &Flags, signals: &OwnedFd) -> Result<Option<Answer>, Error> {
    let mut poller = listening(signals)?;
    let Some(interfaces) = begin(flags, &mut poller, BEGIN_NS)? else { return Ok(None) };
    let mut consumer = Consumer::new(&interfaces, flags.reply);
    consumer.ask(&flags.socket).map_err(|source| super::unreachable(&flags.socket, source))?;
    let mut answer = Answer::default();
    let mut clients = 0;
    consumer.hear(&mut Got::default(), |place, heard| match heard {
        Ok(stations) => {
            clients += stations.len();
            if flags.asks == Asks::Values {
                stations.iter().for_each(|one| lines(&interfaces[place], one, &mut answer.text));
            }
        }
        Err(wrong) => answer.faults.push(format!("{}: {wrong}", interfaces[place])),
    });
    if flags.asks == Asks::Clients {
        answer.text = format!("{clients}\n");
    }
    Ok(Some(answer))
}

/// A station's values that stay, a line each: `wlan0 02:00:00:00:01:0a SignalStrength=-30`.
fn lines(interface: &str, station: &Station<'_>, out: &mut String) {
    // One way of writing for all: what cannot be read as an address is told as it came.
    let address = address::parse(station.address).map_or_else(
        || station.address.to_owned(),
        |bytes| bytes.map(|b| format!("{b:02x}")).join(":"),
    );
    let number = |value: Option<u64>| value.map_or_else(unknown, |value| value.to_string());
    let level = |value: Option<i64>| value.map_or_else(unknown, |value| value.to_string());
    let staying = [
        ("LastDataDownlinkRate", number(station.downlink_rate)),
        ("DownlinkBandwidth", number(station.bandwidth)),
        ("SignalNoiseRatio", level(station.signal_noise_ratio)),
        ("SignalStrength", level(station.signal)),
    ];
    for (key, value) in staying {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{interface} {address} {key}={value}");
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::flags::HELP;

    #[test]
    fn a_stations_lines_are_its_values_that_stay() {
        let station = Station {
            address: "02:00:00:00:01:0A",
            counters: [Some(9); 8],
            signal: Some(-30),
            bandwidth: Some(80),
            downlink_rate: Some(6000),
            uplink_rate: Some(7),
            signal_noise_ratio: None,
        };
        let mut text = String::new();
        lines("wlan0", &station, &mut text);
        assert_eq!(
            text,
            "wlan0 02:00:00:00:01:0a LastDataDownlinkRate=6000\n\
             wlan0 02:00:00:00:01:0a DownlinkBandwidth=80\n\
             wlan0 02:00:00:00:01:0a SignalNoiseRatio=unknown\n\
             wlan0 02:00:00:00:01:0a SignalStrength=-30\n"
        );
    }

    #[test]
    fn the_help_says_which_values_are_left_out() {
        for name in MOVING {
            assert!(HELP.contains(name), "{name}");
        }
    }
}
