//! Asks for the values of clients: the subject once, nl80211 and hostapd before and after it.
//!
//! Each answer leaves in a frame of its own, as it was given.

use linux::system::monotonic_ns;
use model::{
    parity::{Answer, Reading},
    wire::{Frame, Part},
};

use crate::{
    census,
    reading::{self, LONGEST},
    session::{End, Session},
    sources,
};

/// A subject may share what it has read within this time, ns: stationd does for half a second. So long passes
/// between what is read before it and its own answer, which is then never older.
const FRESH_NS: u64 = 1_000_000_000;

/// Asks everybody: these commands are the subject's.
pub(super) fn take(session: &mut Session, subject: &[Vec<String>]) -> Result<(), End> {
    let interfaces = census::access_points_now();
    send(session, sources::read(&interfaces, true))?;
    session.sleep_until(monotonic_ns() + FRESH_NS)?;
    for command in subject {
        let names = interfaces.iter().map(|interface| interface.name.as_str());
        for (interface, command) in of_interfaces(command, names) {
            let answer = Answer::Subject(reading::output(session, &command, LONGEST)?);
            send(session, vec![Reading { interface, at_ns: monotonic_ns(), answer }])?;
        }
    }
    send(session, sources::read(&interfaces, true))
}

/// The command for each interface, where it names one.
fn of_interfaces<'a>(
    command: &[String],
    interfaces: impl Iterator<Item = &'a str>,
) -> Vec<(Option<String>, Vec<String>)> {
    const EACH: &str = "{interface}";
    if !command.iter().any(|word| word.contains(EACH)) {
        return vec![(None, command.to_vec())];
    }
    let of = |interface: &str| {
        let words = command.iter().map(|word| word.replace(EACH, interface));
        (Some(interface.to_owned()), words.collect())
    };
    interfaces.map(of).collect()
}

fn send(session: &mut Session, readings: Vec<Reading>) -> Result<(), End> {
    let part = |reading| Frame::Part(Part::Reading(reading));
    readings.into_iter().try_for_each(|one| Ok(session.send(&part(one))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_for_each_interface_that_it_asks_for() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let of = |line: &str| of_interfaces(&words(line), ["wlan0", "wlan1"].into_iter());
        assert_eq!(of("values --all"), [(None, words("values --all"))]);
        let each = of("iw dev {interface} station dump");
        assert_eq!(each.len(), 2);
        assert_eq!(each[1], (Some("wlan1".to_owned()), words("iw dev wlan1 station dump")));
    }
}
