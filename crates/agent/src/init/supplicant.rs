//! wpa_supplicant: one process for the clients of a radio.
//!
//! Writes one configuration a radio, names the interfaces on the command line, and gives orders
//! over the process's global control socket, in the words of [`crate::supplicant`].

use std::{fs, path::Path};

use super::{
    error::{Doing, Error},
    hostapd::{KEY, network_name},
    mounts::STATE,
    namespace::CLIENTS,
    services::{Output, Service},
    shell,
    topology::{Client, Topology},
};
use crate::{
    control::Control,
    supplicant::{self, Key, Network, Supplicant},
};

const PROGRAM: &str = "/sbin/wpa_supplicant";
const SOCKETS: &str = "/run/wpa_supplicant";

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
    let service = Service::new(format!("wpa_supplicant-{radio}"), program)
        .arguments(["-g".to_owned(), global(radio)])
        .arguments(supplicant::arguments(&path, &interfaces))
        .namespace(CLIENTS)
        .output(Output::Log);
    Ok(Some(service))
}

/// The place of a radio's global control socket.
pub(super) fn global(radio: u32) -> String {
    format!("{STATE}/wpa_supplicant-{radio}")
}

/// Lets all clients of a radio join.
pub(super) fn associate(topology: &Topology, radio: u32) -> Result<(), Error> {
    let doing = || format!("let the clients of wlan{radio} associate");
    let there = global(radio);
    let control = Control::connect(format!("{STATE}/ask-clients-{radio}"), Path::new(&there));
    let control = control.doing(|| format!("connect to wpa_supplicant-{radio}"))?;
    let all = Supplicant::over(control, network(topology, radio), interfaces(topology, radio));
    all.and_then(|all| all.associate()).doing(doing)
}

fn interfaces(topology: &Topology, radio: u32) -> Vec<String> {
    topology.clients_of(radio).map(|client: Client| client.interface()).collect()
}

fn network(topology: &Topology, radio: u32) -> Network {
    Network {
        ssid: network_name(radio).into_bytes(),
        megahertz: topology.channel(radio).megahertz,
        key: Key::Psk(KEY.to_owned()),
    }
}

fn configuration(topology: &Topology, radio: u32) -> String {
    format!(
        "ctrl_interface={SOCKETS}\n\
         update_config=0\n\
         ap_scan=1\n\
         p2p_disabled=1\n\
         filter_ssids=1\n\
         {}",
        network(topology, radio).block()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_what_images_were_made_with() {
        let topology = Topology::from_command_line("headroom.clients=6").unwrap();
        let text = configuration(&topology, 2);
        assert_eq!(
            text,
            "ctrl_interface=/run/wpa_supplicant\nupdate_config=0\nap_scan=1\np2p_disabled=1\nfilter_ssids=1\n\
             network={\n\tdisabled=1\n\tssid=\"headroom-2\"\n\tkey_mgmt=WPA-PSK\n\tproto=RSN\n\tpairwise=CCMP\n\
             \tgroup=CCMP\n\tpsk=68656164726f6f6d2d6e6574776f726b68656164726f6f6d2d6e6574776f726b\n\
             \tscan_freq=5745\n\tfreq_list=5745\n}\n"
        );
    }
}
