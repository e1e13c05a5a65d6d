//! Clients of the machine's own: stations on spare radios that the kernel simulates (mac80211_hwsim), each associated with
//! one of its access points.
//!
//! ```text
//! networks   which access points there are, and what lets a client in
//! spare      which radios nobody uses
//! apart      the second process: a network namespace, the stations, one wpa_supplicant a radio
//! ```
//!
//! Nothing of them is in a file, and nothing outlives the second process, however it ends: the stations go with its
//! conversation with the kernel, wpa_supplicant with its parent, the namespace with whoever is in it, and the kernel takes the
//! radios back. The second process ends with its line to the agent.

mod apart;
mod networks;
mod spare;

use std::{
    fs::File,
    io::{self, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    process::Child,
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{error::chain, nl80211::Nl80211, process::kill, system::monotonic_ns};
use model::wire::Refusal;

pub use self::apart::{WORD, run};
use self::{apart::Radio, networks::Joinable};
use crate::{
    census,
    session::{End, Polling, Session},
    standby,
};

/// What association may take at most, ns: a start, and a share for each client.
const START_NS: u64 = 100_000_000_000;
const SHARE_NS: u64 = 2_000_000_000;

/// From one count to the next, ns.
const PACE_NS: u64 = 500_000_000;

/// A client that is taken away says so to its access point, in work of the kernel's own.
const LEAVING: Polling = Polling { for_ns: 20_000_000_000, every_ns: PACE_NS };

/// After the last one has joined: delayed work of mac80211, hostapd and wpa_supplicant runs out, ns.
const SETTLING_NS: u64 = 10_000_000_000;

/// So long the second process may take for one step.
const STEP: Duration = Duration::from_secs(30);

/// The clients that there are now. Dropping it takes them away.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    ours: Option<Apart>,
    /// Clients that are not ours.
    others: u32,
}

/// The second process.
#[derive(Debug)]
struct Apart {
    child: Child,
    line: Option<UnixStream>,
}

impl Clients {
    /// Takes those away that there are, and has so many others associate.
    pub(crate) fn have(&mut self, session: &mut Session, clients: u32) -> Result<(), End> {
        let refused = |why: String| Refusal::Associate { clients, why };
        if self.ours.take().is_none() {
            self.others = census::take().clients();
        } else if !has_soon(session, self.others, LEAVING)? {
            return Err(refused("those that were there do not leave".to_owned()).into());
        }
        if clients == 0 {
            return Ok(());
        }
        let radios = radios(clients).map_err(refused)?;
        let ours = Apart::begin(&radios).map_err(|error| refused(error.to_string()))?;
        let joining =
            Polling { for_ns: START_NS + SHARE_NS * u64::from(clients), every_ns: PACE_NS };
        if has_soon(session, self.others.saturating_add(clients), joining)? {
            self.ours = Some(ours);
            return session.sleep_until(monotonic_ns() + SETTLING_NS);
        }
        let came = census::take().clients().saturating_sub(self.others);
        Err(refused(format!("{came} of them associated in time")).into())
    }
}

/// Whether the kernel soon counts so many.
fn has_soon(session: &mut Session, clients: u32, polling: Polling) -> Result<bool, End> {
    let counts = || (census::take().clients() == clients).then_some(());
    session.until(polling, counts).map(|seen| seen.is_some())
}

/// The clients of each spare radio, and the network that they join.
fn radios(clients: u32) -> Result<Vec<Radio>, String> {
    let mut nl80211 = Nl80211::open().map_err(|error| chain(&error))?;
    let wiphys = nl80211.wiphys().map_err(|error| chain(&error))?;
    let interfaces = nl80211.interfaces().map_err(|error| chain(&error))?;
    let networks = networks::joinable(&interfaces, &wiphys)?;
    let spare = spare::radios(&interfaces, &wiphys);
    if spare.is_empty() {
        return Err(
            "no simulated radio is spare: load mac80211_hwsim with more `radios`".to_owned()
        );
    }
    Ok(dealt(&networks, &spare, clients))
}

/// One radio for each network, as far as there are radios, and the clients dealt out among them like cards.
fn dealt(networks: &[Joinable], spare: &[u32], clients: u32) -> Vec<Radio> {
    let used = networks.len().min(spare.len());
    let radios =
        networks.iter().zip(spare).take(used).zip(0u32..).map(|((network, wiphy), place)| {
            let numbers = (place..clients).step_by(used.max(1));
            Radio { wiphy: *wiphy, network: network.0.clone(), clients: numbers.collect() }
        });
    radios.filter(|radio| !radio.clients.is_empty()).collect()
}

impl Apart {
    /// Starts it, gives it the radios, and lets its stations join.
    fn begin(radios: &[Radio]) -> io::Result<Self> {
        let (child, line) = standby::start(&[WORD])?;
        line.set_read_timeout(Some(STEP))?;
        let mut apart = Self { child, line: Some(line) };
        // It is in its own namespace.
        apart.heard()?;
        let namespace = File::open(format!("/proc/{}/ns/net", apart.child.id()))?;
        let mut nl80211 = Nl80211::open().map_err(io::Error::other)?;
        for radio in radios {
            let moved = nl80211.set_wiphy_netns_fd(radio.wiphy, namespace.as_fd());
            moved.map_err(|error| io::Error::other(chain(&error)))?;
        }
        for radio in radios {
            apart.say(&radio.line())?;
            apart.heard()?;
        }
        apart.say("join")?;
        apart.heard()?;
        Ok(apart)
    }

    fn say(&mut self, words: &str) -> io::Result<()> {
        let mut line = self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        line.write_all(format!("{words}\n").as_bytes())
    }

    /// Its answer to a line: whether it could, and why not.
    fn heard(&self) -> io::Result<()> {
        let line = self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        match apart::answer(line)? {
            None => Ok(()),
            Some(why) => Err(io::Error::other(why)),
        }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.line = None;
        let until = Instant::now() + standby::PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = kill(self.child.id());
            }
            sleep(Duration::from_millis(5));
        }
        // The kernel takes stations and radios back in work of its own: what is as it was comes a moment later.
        spare::await_return();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supplicant::{Key, Network};

    #[test]
    fn clients_are_dealt_out_to_as_many_networks_as_there_are_radios() {
        let network =
            |megahertz| Joinable(Network { ssid: b"a".to_vec(), megahertz, key: Key::Open });
        let networks = [network(2412), network(5180), network(5745)];
        let counts = |spare: &[u32], clients| -> Vec<(u32, u32, usize)> {
            let all = dealt(&networks, spare, clients);
            all.iter().map(|one| (one.wiphy, one.network.megahertz, one.clients.len())).collect()
        };
        assert_eq!(counts(&[7, 8, 9], 8), [(7, 2412, 3), (8, 5180, 3), (9, 5745, 2)]);
        assert_eq!(counts(&[7], 8), [(7, 2412, 8)]);
        assert_eq!(counts(&[7, 8, 9], 1), [(7, 2412, 1)]);
    }
}
