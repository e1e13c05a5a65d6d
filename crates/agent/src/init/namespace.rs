//! The clients' network namespace, so that the access point shows only what a real one has.
//!
//! It is bound to `/run/netns/clients`, where `ip netns exec clients …` looks for it. Both namespaces have IPv4 only,
//! and their loopback is up.

use std::{
    fs::{self, File},
    io,
    path::Path,
    thread,
};

use linux::{
    link::{Links, enter_new_network_namespace},
    nl80211::Nl80211,
};
use rustix::mount::mount_bind;

use super::error::{Doing, Error};

/// Where the clients' namespace is bound.
pub(crate) const CLIENTS: &str = "/run/netns/clients";

/// Settings of the clients' namespace: many interfaces in one network, so each answers only for
/// itself and uses its own address.
const CLIENT_SETTINGS: [(&str, &str); 3] = [
    ("/proc/sys/net/ipv4/conf/all/arp_ignore", "1"),
    ("/proc/sys/net/ipv4/conf/all/arp_announce", "2"),
    ("/proc/sys/net/ipv4/conf/all/rp_filter", "0"),
];

/// Two conversations that belong to one namespace.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) wireless: Nl80211,
    pub(super) links: Links,
}

impl Network {
    /// Opens both in the calling thread's namespace and settles it.
    pub(super) fn here() -> Result<Self, Error> {
        without_ipv6()?;
        let mut network = Self {
            wireless: Nl80211::open().doing(|| "open nl80211".into())?,
            links: Links::open().doing(|| "open rtnetlink".into())?,
        };
        let loopback = network.link("lo")?;
        network.links.set_up(loopback).doing(|| "bring lo up".into())?;
        Ok(network)
    }

    pub(super) fn link(&mut self, name: &str) -> Result<u32, Error> {
        let index = self.links.index(name).doing(|| format!("find {name}"))?;
        index.ok_or_else(|| Error::new(format!("there is no link {name}")))
    }
}

/// Makes the clients' namespace; the conversations in it can be used from any thread.
pub(super) fn make_clients() -> Result<(Network, File), Error> {
    // Entering is for a thread's whole life, so that the one that does it is not ours.
    let made = thread::spawn(enter_and_bind).join();
    let network = made.map_err(|_| Error::new("the namespace's thread panicked"))??;
    let file = File::open(CLIENTS).doing(|| format!("open {CLIENTS}"))?;
    Ok((network, file))
}

fn enter_and_bind() -> Result<Network, Error> {
    enter_new_network_namespace().doing(|| "make a network namespace".into())?;
    bind(Path::new(CLIENTS)).doing(|| format!("bind {CLIENTS}"))?;
    for (path, value) in CLIENT_SETTINGS {
        fs::write(path, value).doing(|| format!("write {path}"))?;
    }
    Network::here()
}

fn bind(place: &Path) -> io::Result<()> {
    place.parent().map(fs::create_dir_all).transpose()?;
    File::create(place)?;
    mount_bind("/proc/thread-self/ns/net", place).map_err(io::Error::from)
}

/// Interfaces that come up later send no router solicitations: nothing moves on an idle link.
pub(crate) fn without_ipv6() -> Result<(), Error> {
    for scope in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
        match fs::write(&path, "1") {
            // A kernel without IPv6 has nothing to disable.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result.doing(|| format!("write {path}"))?,
        }
    }
    Ok(())
}
