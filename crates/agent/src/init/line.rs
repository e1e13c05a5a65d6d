//! The line to the host, by which a person reaches a service of the access point from outside.
//!
//! Talks to rtnetlink. Only a machine to play with has the card; QEMU forwards one port to the address
//! that is given to it here, and lets nothing else in or out.

use std::net::Ipv4Addr;

use super::{error::Doing, error::Error, namespace::Network, topology::Topology};

/// The card of `virtio_net`, the only one that is not wireless.
const CARD: &str = "eth0";
/// Where QEMU forwards to: `lab::vm` names the same one.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 168, 76, 15);
const PREFIX: u8 = 24;

/// Gives the card its address, where the machine has one.
pub(super) fn open(topology: &Topology) -> Result<(), Error> {
    if !topology.forward {
        return Ok(());
    }
    let mut network = Network::here()?;
    let card = network.link(CARD)?;
    let doing = || format!("give {CARD} the address {ADDRESS}");
    network.links.add_ipv4(card, ADDRESS, PREFIX).doing(doing)?;
    network.links.set_up(card).doing(|| format!("bring {CARD} up"))
}
