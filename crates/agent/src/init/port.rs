//! The ways to the host: the agent's port, and the line by which a person reaches a service of the access point.
//!
//! The port is a virtio-serial port, found by its name. It can be open only once, so pid 1 opens it and every agent
//! gets the same one. Only a machine to play with has a card for the line; QEMU forwards one port to its address.

use std::{
    fs::{self, File, OpenOptions},
    io,
    net::Ipv4Addr,
    path::Path,
};

use super::{
    error::{Doing, Error},
    namespace::Network,
    topology::Topology,
};

const PORTS: &str = "/sys/class/virtio-ports";
const NAME: &str = "headroom.agent";

/// Opens the port; `None` where the machine has none of that name.
pub(super) fn open() -> Result<Option<File>, Error> {
    let port = find(Path::new(PORTS)).doing(|| format!("read {PORTS}"))?;
    let Some(port) = port else { return Ok(None) };
    let path = Path::new("/dev").join(port);
    let file = OpenOptions::new().read(true).write(true).open(&path);
    file.map(Some).doing(|| format!("open {}", path.display()))
}

fn find(ports: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(ports)? {
        let entry = entry?;
        // A port that the host gave no name has no such file.
        let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        if name.trim_end() == NAME {
            return Ok(Some(entry.file_name().to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// The card of `virtio_net`, the only one that is not wireless.
const CARD: &str = "eth0";
/// Where QEMU forwards to: `lab::vm` names the same one.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 168, 76, 15);
const PREFIX: u8 = 24;

/// Gives the card its address, where the machine has one.
pub(super) fn open_line(topology: &Topology) -> Result<(), Error> {
    if !topology.forward {
        return Ok(());
    }
    let mut network = Network::here()?;
    let card = network.link(CARD)?;
    let doing = || format!("give {CARD} the address {ADDRESS}");
    network.links.add_ipv4(card, ADDRESS, PREFIX).doing(doing)?;
    network.links.set_up(card).doing(|| format!("bring {CARD} up"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_by_the_name_that_the_host_gave_it() {
        let folder = tempfile::tempdir().unwrap();
        for (port, name) in [("vport1p1", Some("org.other\n")), ("vport1p2", None)] {
            fs::create_dir(folder.path().join(port)).unwrap();
            if let Some(name) = name {
                fs::write(folder.path().join(port).join("name"), name).unwrap();
            }
        }
        assert_eq!(find(folder.path()).unwrap(), None);
        fs::write(folder.path().join("vport1p2/name"), "headroom.agent\n").unwrap();
        assert_eq!(find(folder.path()).unwrap().as_deref(), Some("vport1p2"));
    }
}
