//! The virtual access point's road: a WAN side, the access point's routing, the air, a station.
//!
//! The station is the first of the second radio where there is one (5 GHz, 80 MHz wide), else of the first:
//! hwsim delivers at once whatever the rate, but the rate says how frames are aggregated. The WAN side is made
//! for the trial and removed with it; the clients' namespace is pid 1's and gets one route.

use std::{fs, net::Ipv4Addr, os::fd::AsFd, path::Path};

use linux::{
    link::Links,
    masquerade,
    namespace::Network,
    veth::{Pair, Route},
};
use model::{contention::Traffic, wire::Refusal};

use super::{
    DOWN, Ends, ROUTER, Road, SENDER, UP, WAN,
    veth::{limit, threaded, up, whole, write},
};
use crate::{
    contention::{
        inside::{inside, new_network},
        refused,
        road::NO_NAT,
    },
    init::CLIENTS,
};

const FORWARD: &str = "/proc/sys/net/ipv4/ip_forward";

#[derive(Debug)]
pub(super) struct Undo {
    forward: String,
    route: Route,
    clients: Network,
}

impl Drop for Undo {
    fn drop(&mut self) {
        // All of it is done, whatever of it fails: the namespaces may be gone already.
        let _ = Links::open().and_then(|mut links| links.remove(DOWN));
        let _ = inside(&self.clients, || {
            let _ = Links::open().and_then(|mut links| links.remove_route(self.route));
            Ok(())
        });
        let _ = masquerade::remove();
        let _ = fs::write(FORWARD, &self.forward);
    }
}

pub(super) fn make(traffic: &Traffic) -> Result<Road, Refusal> {
    if !Path::new(CLIENTS).exists() {
        return Err(Refusal::Contention {
            what: "there is no station to send to".to_owned(),
            why: format!(
                "{CLIENTS} is not there: this road is the virtual access point's; use veth"
            ),
        });
    }
    let clients = Network::open(Path::new(CLIENTS))
        .map_err(refused("cannot enter the clients' namespace"))?;
    let lan = Network::open(Path::new(CLIENTS))
        .map_err(refused("cannot enter the clients' namespace"))?;
    let (radio, station) = inside(&clients, station)?;
    let wan = new_network()?;
    let forward =
        fs::read_to_string(FORWARD).map_err(refused("cannot ask whether this machine routes"))?;
    let route = Route { to: WAN, gateway: Ipv4Addr::new(10, radio, 0, 1), link: Some(station) };
    let undo = Undo { forward: forward.trim().to_owned(), route, clients };
    // Left behind by an agent that was killed.
    Links::open()
        .and_then(|mut links| {
            links.remove(DOWN)?;
            let segments = traffic.no_offload.then_some(1);
            links.make(Pair { here: DOWN, there: UP, network: wan.as_fd(), segments })
        })
        .map_err(refused(
            "cannot make a pair of virtual links (boot the guest with headroom.wan=yes)",
        ))?;
    up(DOWN, ROUTER, None)?;
    inside(&wan, || up(UP, SENDER, Some(ROUTER)))?;
    inside(&undo.clients, || {
        let added = Links::open().and_then(|mut links| links.add_route(route));
        added.map_err(refused("cannot route from the station to the WAN side"))
    })?;
    write(FORWARD, "1")?;
    let protected = format!("wlan{radio}");
    if traffic.nat {
        masquerade::add().map_err(refused(NO_NAT))?;
    }
    if let Some(bits) = traffic.link_limit {
        limit(&protected, bits)?;
    }
    if traffic.threaded {
        inside(&wan, || whole(UP))?;
        threaded(&[DOWN], None)?;
    }
    let receiving = format!("sta{radio}");
    Ok(Road {
        ends: Ends::open(&wan, &lan, &receiving)?,
        wan,
        lan,
        router: None,
        receiver: Ipv4Addr::new(10, radio, 1, 1),
        protected,
        near: Vec::new(),
        undo: Some(undo),
    })
}

/// The first station of the second radio, else of the first: its radio and its link.
fn station() -> Result<(u8, u32), Refusal> {
    let mut links = Links::open().map_err(refused("cannot look for a station"))?;
    for radio in [1, 0] {
        let found =
            links.index(&format!("sta{radio}")).map_err(refused("cannot look for a station"))?;
        if let Some(index) = found {
            return Ok((radio, index));
        }
    }
    Err(Refusal::Contention {
        what: "there is no station to send to".to_owned(),
        why: "the access point has no clients; give it at least one".to_owned(),
    })
}
