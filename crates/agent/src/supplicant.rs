//! Clients of wpa_supplicant: how they find a network, and that they join it.
//!
//! Talks to the global control socket of one process that has many interfaces, all of one radio. It starts nothing.
//!
//! Left alone, each client would scan for itself, one after the other because they share a radio,
//! and each scan would be read again by all of its siblings: the square of the clients. So their
//! network begins disabled; one client scans, its siblings get the results, and each is then enabled
//! while these are fresh (wpa_supplicant takes them for 5 s) and connects without a scan.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use crate::control::Control;

/// A scan of one channel takes a twentieth of this.
const SCAN: Duration = Duration::from_secs(1);
const PACE: Duration = Duration::from_millis(20);

/// A network, as its clients must know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    /// Its name; any bytes.
    pub(crate) ssid: Vec<u8>,
    /// Its primary channel's centre, MHz.
    pub(crate) megahertz: u32,
    pub(crate) key: Key,
}

/// What lets a client into a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Nothing: everybody is.
    Open,
    /// The key itself, in hexadecimal digits (WPA2).
    Psk(String),
    /// What it is derived from (WPA2).
    Passphrase(String),
    /// A password (WPA3).
    Sae(String),
}

impl Network {
    /// Its part of a configuration; disabled, so that nobody joins before the order.
    pub(crate) fn block(&self) -> String {
        let Self { ssid, megahertz, key } = self;
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && *byte != b'"' || *byte == b' ';
        let ssid = match ssid.iter().all(is_plain) {
            true => format!("\"{}\"", String::from_utf8_lossy(ssid)),
            false => ssid.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        let key = match key {
            Key::Open => "\tkey_mgmt=NONE\n".to_owned(),
            Key::Psk(psk) => wpa2(psk),
            Key::Passphrase(phrase) => wpa2(&format!("\"{phrase}\"")),
            Key::Sae(password) => format!(
                "\tkey_mgmt=SAE\n\tproto=RSN\n\tpairwise=CCMP\n\tgroup=CCMP\n\tieee80211w=2\n\tsae_password=\"{password}\"\n"
            ),
        };
        format!(
            "network={{\n\tdisabled=1\n\tssid={ssid}\n{key}\tscan_freq={megahertz}\n\tfreq_list={megahertz}\n}}\n"
        )
    }
}

fn wpa2(psk: &str) -> String {
    format!("\tkey_mgmt=WPA-PSK\n\tproto=RSN\n\tpairwise=CCMP\n\tgroup=CCMP\n\tpsk={psk}\n")
}

/// The words that give one process these interfaces, all with one configuration.
pub(crate) fn arguments(configuration: &str, interfaces: &[String]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for interface in interfaces {
        if !words.is_empty() {
            words.push("-N".into());
        }
        words.extend([format!("-i{interface}"), format!("-c{configuration}"), "-Dnl80211".into()]);
    }
    words
}

/// The clients of a radio, under orders.
#[derive(Debug)]
pub(crate) struct Supplicant {
    network: Network,
    interfaces: Vec<String>,
    control: Control,
}

impl Supplicant {
    /// The process behind a control socket, once it has made all its interfaces.
    pub(crate) fn over(
        control: Control,
        network: Network,
        interfaces: Vec<String>,
    ) -> io::Result<Self> {
        control.ask("PING")?;
        Ok(Self { network, interfaces, control })
    }

    /// Lets all clients find the access point by one scan, and connect.
    pub(crate) fn associate(&self) -> io::Result<()> {
        // Without a result each client scans for itself, which takes longer and ends the same way.
        self.scan()?;
        self.interfaces.iter().try_for_each(|one| self.order(one, "ENABLE_NETWORK 0"))
    }

    fn scan(&self) -> io::Result<()> {
        let (Some(first), Some(last)) = (self.interfaces.first(), self.interfaces.last()) else {
            return Ok(());
        };
        self.order(first, &format!("SCAN TYPE=ONLY freq={}", self.network.megahertz))?;
        let deadline = Instant::now() + SCAN;
        while Instant::now() < deadline && !self.has_found(last)? {
            thread::sleep(PACE);
        }
        Ok(())
    }

    fn has_found(&self, interface: &str) -> io::Result<bool> {
        let name = String::from_utf8_lossy(&self.network.ssid);
        Ok(self.control.ask(&format!("IFNAME={interface} SCAN_RESULTS"))?.contains(&*name))
    }

    fn order(&self, interface: &str, order: &str) -> io::Result<()> {
        self.control.order(&format!("IFNAME={interface} {order}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_after_the_first_is_announced() {
        let words = arguments("/c", &["sta1".to_owned(), "sta4".to_owned()]);
        assert_eq!(words, ["-ista1", "-c/c", "-Dnl80211", "-N", "-ista4", "-c/c", "-Dnl80211"]);
    }

    #[test]
    fn only_the_one_channel_is_scanned_and_any_name_can_be_said() {
        let network = |ssid: &[u8], key| Network { ssid: ssid.to_vec(), megahertz: 5745, key };
        let text = network(b"headroom-2", Key::Psk("00ff".to_owned())).block();
        assert!(text.contains("scan_freq=5745\n") && text.contains("freq_list=5745\n"));
        assert!(text.contains("ssid=\"headroom-2\"\n") && text.contains("\tpsk=00ff\n"));
        let text = network(b"a\"\n", Key::Open).block();
        assert!(text.contains("\tssid=61220a\n\tkey_mgmt=NONE\n"), "{text}");
    }
}
