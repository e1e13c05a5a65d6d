//! wpa_supplicant: one process for the clients of a radio, with one configuration and a global control socket.
//!
//! By themselves all clients would scan, one after the other because they share a radio, and each scan would be read
//! again by all others: the square of the clients. So their network begins disabled; one client scans, the others get
//! the results, and each is then enabled while these are fresh (wpa_supplicant takes them for 5 s) and connects
//! without a scan.

use std::{
    fs, io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{
    error::{Doing, Error},
    hostapd::{KEY, network_name},
    mounts::STATE,
    namespace::CLIENTS,
    services::Service,
    shell,
    topology::{Client, Topology},
};
use crate::control::Control;

const PROGRAM: &str = "/sbin/wpa_supplicant";
const SOCKETS: &str = "/run/wpa_supplicant";

/// A scan of one channel takes a twentieth of this.
const SCAN: Duration = Duration::from_secs(1);
const PACE: Duration = Duration::from_millis(20);

/// Writes a radio's configuration and says how to start its supplicant; `None` without clients.
pub(super) fn prepare(topology: &Topology, radio: u32) -> Result<Option<Service>, Error> {
    let interfaces = interfaces(topology, radio);
    if interfaces.is_empty() {
        return Ok(None);
    }
    let path = format!("{STATE}/wpa_supplicant-{radio}.conf");
    fs::write(&path, configuration(topology, radio)).doing(|| format!("write {path}"))?;
    // The clients are devices of other people's, whatever the access point is.
    let program = shell::of_debian("wpa_supplicant", PROGRAM);
    let words = ["-g".to_owned(), global(radio)].into_iter().chain(arguments(&path, &interfaces));
    Ok(Some(Service {
        arguments: words.map(Into::into).collect(),
        namespace: Some(CLIENTS.into()),
        ..Service::new(format!("wpa_supplicant-{radio}"), program)
    }))
}

/// The words that give one process these interfaces, all with one configuration.
fn arguments(configuration: &str, interfaces: &[String]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for interface in interfaces {
        if !words.is_empty() {
            words.push("-N".into());
        }
        words.extend([format!("-i{interface}"), format!("-c{configuration}"), "-Dnl80211".into()]);
    }
    words
}

pub(super) fn global(radio: u32) -> String {
    format!("{STATE}/wpa_supplicant-{radio}")
}

/// Lets all clients of a radio find the access point by one scan, and join.
pub(super) fn associate(topology: &Topology, radio: u32) -> Result<(), Error> {
    let there = global(radio);
    let control = Control::connect(format!("{STATE}/ask-clients-{radio}"), Path::new(&there));
    let control = control.doing(|| format!("connect to wpa_supplicant-{radio}"))?;
    let join = || -> io::Result<()> {
        control.ask("PING")?;
        // Without a result each client scans for itself, which takes longer and ends the same way.
        scan(&control, topology, radio)?;
        let interfaces = interfaces(topology, radio);
        interfaces.iter().try_for_each(|one| order(&control, one, "ENABLE_NETWORK 0"))
    };
    join().doing(|| format!("let the clients of wlan{radio} associate"))
}

fn scan(control: &Control, topology: &Topology, radio: u32) -> io::Result<()> {
    let interfaces = interfaces(topology, radio);
    let (Some(first), Some(last)) = (interfaces.first(), interfaces.last()) else {
        return Ok(());
    };
    let megahertz = topology.channel(radio).megahertz;
    order(control, first, &format!("SCAN TYPE=ONLY freq={megahertz}"))?;
    let has_found = || -> io::Result<bool> {
        let results = control.ask(&format!("IFNAME={last} SCAN_RESULTS"))?;
        Ok(results.contains(&network_name(radio)))
    };
    let deadline = Instant::now() + SCAN;
    while Instant::now() < deadline && !has_found()? {
        thread::sleep(PACE);
    }
    Ok(())
}

fn order(control: &Control, interface: &str, order: &str) -> io::Result<()> {
    control.order(&format!("IFNAME={interface} {order}"))
}

fn interfaces(topology: &Topology, radio: u32) -> Vec<String> {
    topology.clients_of(radio).map(|client: Client| client.interface()).collect()
}

/// Only the radio's own channel is scanned. The network is disabled, so that nobody joins before the order.
fn configuration(topology: &Topology, radio: u32) -> String {
    let (ssid, megahertz) = (network_name(radio), topology.channel(radio).megahertz);
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
         }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_after_the_first_is_announced() {
        let words = arguments("/c", &["sta1".to_owned(), "sta4".to_owned()]);
        assert_eq!(words, ["-ista1", "-c/c", "-Dnl80211", "-N", "-ista4", "-c/c", "-Dnl80211"]);
    }
}
