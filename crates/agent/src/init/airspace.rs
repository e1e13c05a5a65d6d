//! The air: the access point's radios, the clients' radios and interfaces, and their addresses.
//!
//! The first half of hwsim's radios stays with the access point; the second half goes to the clients' namespace.

use std::{fs::File, os::fd::AsFd};

use linux::nl80211::{Interface, Wiphy};

use super::{
    error::{Doing, Error},
    namespace::{self, Network},
    topology::{Client, Topology, access_point_address},
};

const PREFIX: u8 = 16;

#[derive(Debug)]
pub(super) struct Airspace {
    network: Network,
    /// The number of wlanK at place K.
    interfaces: Vec<u32>,
}

impl Airspace {
    /// Divides the radios and makes the clients' interfaces.
    pub(super) fn prepare(topology: &Topology) -> Result<Self, Error> {
        let mut network = Network::here()?;
        let (mut clients, namespace) = namespace::make_clients()?;
        let wiphys = hand_over(topology, &mut network, &namespace)?;
        for (radio, wiphy) in (0..).zip(&wiphys) {
            populate(&mut clients, wiphy, topology.clients_of(radio))?;
        }
        let interfaces = (0..topology.radios)
            .map(|radio| address_access_point(&mut network, radio))
            .collect::<Result<_, _>>()?;
        Ok(Self { network, interfaces })
    }

    /// How many clients of a radio may exchange data, as the kernel counts.
    pub(super) fn authorised(&mut self, radio: u32) -> Result<u32, Error> {
        let doing = || format!("count the stations of wlan{radio}");
        let index = self.interfaces.get(radio as usize).copied().unwrap_or_default();
        self.network.wireless.authorised_stations(index).doing(doing)
    }
}

/// Moves the second half of the radios to the clients and returns it.
fn hand_over(
    topology: &Topology,
    network: &mut Network,
    namespace: &File,
) -> Result<Vec<Wiphy>, Error> {
    let mut all = network.wireless.wiphys().doing(|| "list the radios".into())?;
    let (planned, found) = (2 * topology.radios, all.len());
    if u32::try_from(found) != Ok(planned) {
        return Err(Error::new(format!("{found} radios where {planned} were planned")));
    }
    let theirs = all.split_off(found / 2);
    remove_interfaces(network, &theirs)?;
    for wiphy in &theirs {
        let doing = || format!("move {} to the clients", wiphy.name);
        network.wireless.set_wiphy_netns_fd(wiphy.index, namespace.as_fd()).doing(doing)?;
    }
    Ok(theirs)
}

/// hwsim gives each radio an interface of its own, with a name and an address that we do not want.
fn remove_interfaces(network: &mut Network, wiphys: &[Wiphy]) -> Result<(), Error> {
    let all = network.wireless.interfaces().doing(|| "list the interfaces".into())?;
    let is_theirs = |one: &&Interface| wiphys.iter().any(|wiphy| wiphy.index == one.wiphy);
    for interface in all.iter().filter(is_theirs) {
        let doing = || format!("remove {}", interface.name);
        network.wireless.delete_interface(interface.index).doing(doing)?;
    }
    Ok(())
}

fn populate(
    network: &mut Network,
    wiphy: &Wiphy,
    clients: impl Iterator<Item = Client>,
) -> Result<(), Error> {
    for client in clients {
        let name = client.interface();
        let index = network
            .wireless
            .add_station_interface(wiphy.index, &name, client.hardware_address())
            .doing(|| format!("add {name} to {}", wiphy.name))?;
        // A radio with one client would let it sleep, one with two would not: none sleeps.
        network.wireless.set_power_save(index, false).doing(|| format!("keep {name} awake"))?;
        network
            .links
            .add_ipv4(index, client.address(), PREFIX)
            .doing(|| format!("give {name} the address {}", client.address()))?;
    }
    Ok(())
}

fn address_access_point(network: &mut Network, radio: u32) -> Result<u32, Error> {
    let name = format!("wlan{radio}");
    let index = network.link(&name)?;
    let address = access_point_address(radio);
    let doing = || format!("give {name} the address {address}");
    network.links.add_ipv4(index, address, PREFIX).doing(doing)?;
    Ok(index)
}
