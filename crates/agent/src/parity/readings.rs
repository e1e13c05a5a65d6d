//! What is said of the clients: by the subject once, and by `iw` and hostapd before and after it.
//!
//! Runs commands and asks hostapd's control socket; each answer leaves in a frame of its own, as it was said.
//! Nothing is parsed: the programs that are asked besides the subject share no code with it or with us, and what
//! their words mean is the host's. Who does not answer has no reading.

use linux::system::monotonic_ns;
use model::{
    parity::{Reading, Source},
    wire::{Frame, Part},
};

use crate::{
    census,
    hostapd::Control,
    reading::{self, LONGEST},
    session::{End, Session},
};

/// A subject may share what it has read within this time, ns: stationd does for half a second. So long passes
/// between what is read before it and its own answer, which is then never older.
const FRESH_NS: u64 = 1_000_000_000;

/// Asks everybody: these commands are the subject's.
///
/// # Errors
///
/// A command of the subject's that fails, or what the session says.
pub(super) fn take(session: &mut Session, subject: &[Vec<String>]) -> Result<(), End> {
    let interfaces = census::names();
    others(session, &interfaces)?;
    session.sleep_until(monotonic_ns() + FRESH_NS)?;
    for command in subject {
        for (interface, command) in of_interfaces(command, &interfaces) {
            let text = reading::output(session, &command, LONGEST)?;
            send(session, Source::Subject, interface, text)?;
        }
    }
    others(session, &interfaces)
}

/// The command for each interface, where it names one.
fn of_interfaces(command: &[String], interfaces: &[String]) -> Vec<(Option<String>, Vec<String>)> {
    const EACH: &str = "{interface}";
    if !command.iter().any(|word| word.contains(EACH)) {
        return vec![(None, command.to_vec())];
    }
    let of = |interface: &String| {
        let words = command.iter().map(|word| word.replace(EACH, interface));
        (Some(interface.clone()), words.collect())
    };
    interfaces.iter().map(of).collect()
}

fn others(session: &mut Session, interfaces: &[String]) -> Result<(), End> {
    for interface in interfaces {
        for (source, of) in [(Source::Iw, "station"), (Source::Survey, "survey")] {
            let command = ["iw", "dev", interface, of, "dump"].map(str::to_owned);
            match reading::output(session, &command, LONGEST) {
                Ok(text) => send(session, source, Some(interface.clone()), text)?,
                Err(End::Refused(_)) => {}
                Err(end) => return Err(end),
            }
        }
        let said = Control::of(interface).and_then(|hostapd| hostapd.all_stations());
        if let Some(text) = said.ok().filter(|text| text.len() as u64 <= LONGEST) {
            send(session, Source::Hostapd, Some(interface.clone()), text)?;
        }
    }
    Ok(())
}

fn send(
    session: &mut Session,
    source: Source,
    interface: Option<String>,
    text: String,
) -> Result<(), End> {
    let at_ns = monotonic_ns();
    Ok(session.send(&Frame::Part(Part::Reading(Reading { source, interface, at_ns, text })))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_for_each_interface_that_it_asks_for() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let interfaces = words("wlan0 wlan1");
        let once = of_interfaces(&words("values --all"), &interfaces);
        assert_eq!(once, [(None, words("values --all"))]);
        let each = of_interfaces(&words("iw dev {interface} station dump"), &interfaces);
        assert_eq!(each.len(), 2);
        assert_eq!(each[1], (Some("wlan1".to_owned()), words("iw dev wlan1 station dump")));
    }
}
