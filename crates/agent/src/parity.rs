//! Does the subject still do its job: asked once the window has closed, while subject and load still run.
//!
//! One client may be sent away: it is held away while everybody counts again, and let back in whatever happens.

mod readings;
mod traffic;

use linux::{
    nl80211::{Address, Nl80211},
    system::monotonic_ns,
};
use model::{
    parity::{Count, Left, Parity, ParityOrder},
    wire::{Census, InterfaceCensus, Refusal},
};

use crate::{
    census,
    hostapd::Control,
    identity::address,
    reading,
    session::{End, Polling, Session},
};

/// Everybody may take this long to notice that a client has left, ns.
const PATIENCE_NS: u64 = 10_000_000_000;

const LOOK_NS: u64 = 100_000_000;

/// A client that was sent away may take this long to come back. It is let in for good anyway.
const RETURN: Polling = Polling { for_ns: 10_000_000_000, every_ns: LOOK_NS };

/// Asks. Nobody is sent away where no client is associated.
pub(crate) fn ask(session: &mut Session, order: &ParityOrder) -> Result<Parity, End> {
    let clients = order.clients.as_deref();
    let before = count(session, clients)?;
    let frames = order.traffic.then(traffic).transpose()?;
    if !order.values.is_empty() {
        readings::take(session, &order.values)?;
    }
    let left = if order.leave { leave(session, clients, &before)? } else { None };
    Ok(Parity { before, frames, left, ..Parity::default() })
}

fn traffic() -> Result<u64, Refusal> {
    traffic::cause()
        .map_err(|error| Refusal::new("cannot send frames from and to the clients", error))
}

fn count(session: &mut Session, clients: Option<&[String]>) -> Result<Count, End> {
    let subject = clients.map(|command| subjects(session, command)).transpose()?;
    // After the command, which may take a while: then a late subject is not seen as a wrong one.
    Ok(Count { census: census::take(), subject })
}

/// The subject's count; a command that fails or says no number is the subject's failure and not ours.
fn subjects(session: &mut Session, command: &[String]) -> Result<Result<u32, String>, End> {
    match reading::output(session, command, reading::COUNTERS) {
        Ok(text) => Ok(number(&text)),
        Err(End::Refused(refusal)) => Ok(Err(refusal.to_string())),
        Err(end) => Err(end),
    }
}

fn number(text: &str) -> Result<u32, String> {
    /// So much of another answer is told, characters.
    const MOST_SHOWN: usize = 200;
    let text = text.trim();
    text.parse().map_err(|_| match text {
        "" => "it says nothing, where a number is expected".to_owned(),
        text => text.chars().take(MOST_SHOWN).collect(),
    })
}

/// Sends a client away and counts until all agree on one less, or until patience ends.
fn leave(
    session: &mut Session,
    clients: Option<&[String]>,
    before: &Count,
) -> Result<Option<Left>, End> {
    let Some((interface, address)) = chosen() else { return Ok(None) };
    let away = Control::of(&interface).and_then(|hostapd| Away::send(hostapd, address));
    let away = away.map_err(|why| {
        Refusal::new(
            format!("cannot send the client {} of {interface} away", self::address(address)),
            why,
        )
    })?;
    let until = monotonic_ns() + PATIENCE_NS;
    let after = loop {
        let after = count(session, clients)?;
        if agree(before, &after, &interface) || monotonic_ns() >= until {
            break after;
        }
        session.wait(Some(monotonic_ns() + LOOK_NS), &[])?;
    };
    drop(away);
    let kernel = |census: &Census| place(census, &interface).and_then(|place| place.kernel);
    let back = || (kernel(&census::take()) >= kernel(&before.census)).then_some(());
    session.until(RETURN, back)?;
    Ok(Some(Left { interface, address: self::address(address), after }))
}

/// The client of the lowest address of the first interface that has any.
fn chosen() -> Option<(String, Address)> {
    let mut nl80211 = Nl80211::open().ok()?;
    census::access_points_now().into_iter().find_map(|interface| {
        let mut lowest: Option<Address> = None;
        let listed = nl80211.stations(interface.index, |station| {
            // hostapd knows a station of several links by the address of the whole.
            let whole = station.mld_address.unwrap_or(station.address);
            if station.flags.is_some_and(|flags| flags.authorised()) {
                lowest = Some(lowest.map_or(whole, |known| known.min(whole)));
            }
        });
        listed.ok()?;
        Some((interface.name, lowest?))
    })
}

/// A client that is held away. Dropping it lets it in again.
#[derive(Debug)]
struct Away {
    hostapd: Control,
    /// The words that let it in; `None` where hostapd keeps no list and it may return at once.
    let_in: Option<String>,
}

impl Away {
    fn send(hostapd: Control, address: Address) -> std::io::Result<Self> {
        let address = self::address(address);
        // Were it denied already, it would not be associated: the entry is ours to take back.
        let denied = hostapd.order(&format!("DENY_ACL ADD_MAC {address}"));
        let let_in = denied.is_ok().then(|| format!("DENY_ACL DEL_MAC {address}"));
        let away = Self { hostapd, let_in };
        away.hostapd.order(&format!("DEAUTHENTICATE {address}"))?;
        Ok(away)
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(words) = &self.let_in {
            // Nobody is left to be told: a hostapd that does not answer has other troubles.
            let _ = self.hostapd.order(words);
        }
    }
}

fn place<'a>(census: &'a Census, interface: &str) -> Option<&'a InterfaceCensus> {
    census.interfaces.iter().find(|place| place.name == interface)
}

/// Whether everybody counts one client less than before: the kernel, hostapd where it answers, and the subject
/// where it is asked and knew a number.
fn agree(before: &Count, after: &Count, interface: &str) -> bool {
    let counts = |count: &Count| {
        let place = place(&count.census, interface).cloned().unwrap_or_default();
        let subject = count.subject.clone().and_then(Result::ok);
        [place.kernel, place.hostapd, subject]
    };
    let one_less = |(before, after): (Option<u32>, Option<u32>)| match before {
        Some(before) => after.is_some_and(|after| after.checked_add(1) == Some(before)),
        None => true,
    };
    counts(before).into_iter().zip(counts(after)).all(one_less)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::daemon;

    fn counted(kernel: Option<u32>, hostapd: Option<u32>, subject: Option<u32>) -> Count {
        let interfaces = vec![
            InterfaceCensus { name: "wlan0".to_owned(), kernel, hostapd },
            InterfaceCensus { name: "wlan1".to_owned(), kernel: Some(9), hostapd: Some(9) },
        ];
        Count { census: Census { interfaces }, subject: subject.map(Ok) }
    }

    #[test]
    fn all_agree_when_each_counts_one_less() {
        let before = counted(Some(38), Some(38), Some(114));
        let agree = |after: Count| super::agree(&before, &after, "wlan0");
        assert!(agree(counted(Some(37), Some(37), Some(113))));
        assert!(!agree(counted(Some(37), Some(37), Some(114))), "the subject has not noticed");
        assert!(!agree(counted(Some(38), Some(37), Some(113))));
        assert!(!agree(counted(Some(37), None, Some(113))), "hostapd has gone silent");
        assert!(!agree(counted(Some(36), Some(37), Some(113))));
    }

    #[test]
    fn who_was_not_asked_need_not_agree() {
        let before = counted(Some(38), None, None);
        assert!(agree(&before, &counted(Some(37), None, None), "wlan0"));
        let wrong = Count { subject: Some(Err("many".to_owned())), ..before.clone() };
        assert!(agree(&wrong, &counted(Some(37), None, None), "wlan0"));
    }

    #[test]
    fn a_client_is_held_away_and_let_in_again_also_where_it_is_not_sent_away() {
        const ALL: [&str; 3] = ["DENY_ACL ADD_MAC", "DEAUTHENTICATE", "DENY_ACL DEL_MAC"];
        let refusal = "hostapd answers `DEAUTHENTICATE 02:00:00:00:01:0a` with FAIL";
        // hostapd's answers, of how many orders, and what is said.
        for (answers, orders, said) in [
            (&["OK\n", "OK\n", "OK\n"][..], 3, None),
            (&["UNKNOWN COMMAND\n", "OK\n"], 2, None),
            (&["OK\n", "FAIL\n", "OK\n"], 3, Some(refusal)),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("wlan0");
            let hostapd = daemon(&path, answers);
            let sent = Away::send(Control::at(path), [2, 0, 0, 0, 1, 10]).map(drop);
            assert_eq!(sent.map_err(|why| why.to_string()).err().as_deref(), said);
            let orders = ALL[..orders].iter().map(|words| format!("{words} 02:00:00:00:01:0a"));
            assert_eq!(hostapd.join().unwrap(), orders.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_count_is_one_number_and_nothing_else() {
        assert_eq!(number(" 114\n"), Ok(114));
        assert_eq!(number("114 clients\n"), Err("114 clients".to_owned()));
        assert!(number("").unwrap_err().contains("nothing"));
        assert_eq!(number(&"x".repeat(1000)).unwrap_err().len(), 200);
    }
}
