//! wpa_supplicant: one process for the clients of a radio.
//!
//! Writes one configuration a radio, names the interfaces on the command line, and gives orders
//! over the process's global control socket.
//!
//! Left alone, each client would scan for itself, one after the other because they share a radio,
//! and each scan would be read again by all of its siblings: the square of the clients. So their
//! network begins disabled; one client scans, its siblings get the results, and each is then enabled
//! while these are fresh (wpa_supplicant takes them for 5 s) and connects without a scan.

use std::{
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{
    control::Control,
    error::{Doing, Error},
    hostapd::{KEY, network_name},
    mounts::STATE,
    namespace::CLIENTS,
    services::{Output, Service},
    shell,
    topology::{Client, Topology},
};

const PROGRAM: &str = "/sbin/wpa_supplicant";
const SOCKETS: &str = "/run/wpa_supplicant";
/// A scan of one channel takes a twentieth of this.
const SCAN: Duration = Duration::from_secs(1);
const PACE: Duration = Duration::from_millis(20);

/// Writes a radio's configuration and says how to start its supplicant; `None` without clients.
pub(super) fn prepare(topology: &Topology, radio: u32) -> Result<Option<Service>, Error> {
    let clients: Vec<Client> = topology.clients_of(radio).collect();
    if clients.is_empty() {
        return Ok(None);
    }
    let path = format!("{STATE}/wpa_supplicant-{radio}.conf");
    let text = configuration(radio, topology.channel(radio).megahertz);
    fs::write(&path, text).doing(|| format!("write {path}"))?;
    // The clients are devices of other people's, whatever the access point is.
    let program = shell::of_debian("wpa_supplicant", PROGRAM);
    let service = Service::new(format!("wpa_supplicant-{radio}"), program)
        .arguments(["-g".to_owned(), global(radio)])
        .arguments(arguments(&path, &clients))
        .namespace(CLIENTS)
        .output(Output::Log);
    Ok(Some(service))
}

/// The place of a radio's global control socket.
pub(super) fn global(radio: u32) -> String {
    format!("{STATE}/wpa_supplicant-{radio}")
}

/// The clients of a radio, under orders.
#[derive(Debug)]
pub(super) struct Supplicant {
    radio: u32,
    megahertz: u32,
    clients: Vec<Client>,
    control: Control,
}

impl Supplicant {
    /// Begins the conversation, once the process has made all its interfaces.
    pub(super) fn connect(topology: &Topology, radio: u32) -> Result<Self, Error> {
        let doing = || format!("connect to wpa_supplicant-{radio}");
        let there = global(radio);
        let control = Control::connect(format!("{STATE}/ask-clients-{radio}"), Path::new(&there))
            .doing(doing)?;
        control.ask("PING").doing(doing)?;
        let megahertz = topology.channel(radio).megahertz;
        Ok(Self { radio, megahertz, clients: topology.clients_of(radio).collect(), control })
    }

    /// Lets all clients find the access point by one scan, and connect.
    pub(super) fn associate(&self) -> Result<(), Error> {
        let doing = || format!("let the clients of wlan{} associate", self.radio);
        // Without a result each client scans for itself, which takes longer and ends the same way.
        self.scan().doing(doing)?;
        for client in &self.clients {
            self.order(*client, "ENABLE_NETWORK 0").doing(doing)?;
        }
        Ok(())
    }

    fn scan(&self) -> io::Result<()> {
        let (Some(first), Some(last)) = (self.clients.first(), self.clients.last()) else {
            return Ok(());
        };
        self.order(*first, &format!("SCAN TYPE=ONLY freq={}", self.megahertz))?;
        let deadline = Instant::now() + SCAN;
        while Instant::now() < deadline && !self.has_found(*last)? {
            thread::sleep(PACE);
        }
        Ok(())
    }

    fn has_found(&self, client: Client) -> io::Result<bool> {
        let question = format!("IFNAME={} SCAN_RESULTS", client.interface());
        Ok(self.control.ask(&question)?.contains(&network_name(self.radio)))
    }

    fn order(&self, client: Client, order: &str) -> io::Result<()> {
        self.control.order(&format!("IFNAME={} {order}", client.interface()))
    }
}

fn arguments(configuration: &str, clients: &[Client]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for client in clients {
        if !words.is_empty() {
            words.push("-N".into());
        }
        let interface = format!("-i{}", client.interface());
        words.extend([interface, format!("-c{configuration}"), "-Dnl80211".into()]);
    }
    words
}

fn configuration(radio: u32, megahertz: u32) -> String {
    format!(
        "ctrl_interface={SOCKETS}\n\
         update_config=0\n\
         ap_scan=1\n\
         p2p_disabled=1\n\
         filter_ssids=1\n\
         network={{\n\
         \tdisabled=1\n\
         \tssid=\"{ssid}\"\n\
         \tkey_mgmt=WPA-PSK\n\
         \tproto=RSN\n\
         \tpairwise=CCMP\n\
         \tgroup=CCMP\n\
         \tpsk={KEY}\n\
         \tscan_freq={megahertz}\n\
         \tfreq_list={megahertz}\n\
         }}\n",
        ssid = network_name(radio),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_after_the_first_is_announced() {
        let topology = Topology::from_command_line("headroom.clients=6").unwrap();
        let clients: Vec<Client> = topology.clients_of(1).collect();
        let words = arguments("/c", &clients);
        assert_eq!(words, ["-ista1", "-c/c", "-Dnl80211", "-N", "-ista4", "-c/c", "-Dnl80211"]);
    }

    #[test]
    fn only_the_one_channel_is_scanned() {
        let text = configuration(2, 5745);
        assert!(text.contains("scan_freq=5745\n") && text.contains("freq_list=5745\n"));
        assert!(text.contains("ssid=\"headroom-2\"\n"));
    }
}
