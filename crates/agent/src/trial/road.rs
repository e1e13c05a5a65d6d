//! What the traffic crosses, made for one trial and gone with the value.
//!
//! Either three namespaces on any Linux, sender, router and receiver, with two pairs of virtual links between them; or
//! a WAN side before the virtual access point, whose routing leads to a station over the air.

use std::{fs, net::Ipv4Addr, os::fd::AsFd, path::Path};

use linux::{
    link::Links,
    masquerade,
    namespace::Network,
    netlink::Error,
    proc, sched, system,
    veth::{self, Counters, Offload, Pair, Route},
};
use model::{
    traffic::{Road as Kind, Traffic},
    wire::Refusal,
};

use super::{
    inside::{inside, new_network},
    refused,
};
use crate::init::CLIENTS;

/// The sender's side of the road: its network, the router's address in it, and the sender's.
const WAN: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 231, 0, 0), 24);
const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 231, 0, 1);
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 231, 0, 2);

/// What is refused where the kernel cannot translate addresses.
const NO_NAT: &str =
    "cannot translate addresses (the kernel needs nf_tables, nft_chain_nat and nft_masq)";

/// The sender's link, and the router's end of it.
const UP: &str = "up0";
const DOWN: &str = "wan0";

/// The receiver's side.
const LAN_ROUTER: Ipv4Addr = Ipv4Addr::new(10, 231, 1, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 231, 1, 2);

/// The router's link towards the receiver, and the receiver's.
const PROTECTED: &str = "lan0";
const RECEIVING: &str = "sta0";

const FORWARD: &str = "/proc/sys/net/ipv4/ip_forward";

#[derive(Debug)]
pub(super) struct Road {
    /// Where the sender is.
    pub(super) wan: Network,
    /// Where the receiver is.
    pub(super) lan: Network,
    /// Where packets are forwarded; `None`: the agent's own namespace.
    pub(super) router: Option<Network>,
    /// The receiver's address.
    pub(super) receiver: Ipv4Addr,
    /// The router's interface towards the receiver: what guard protects.
    pub(super) protected: String,
    /// CPUs for the endpoints; empty is any.
    pub(super) near: Vec<u32>,
    ends: Ends,
    /// Takes back what a machine that stays was given.
    undo: Option<Undo>,
}

/// The counters at both ends.
#[derive(Debug)]
struct Ends {
    wan: Links,
    lan: Links,
    receiving: String,
}

impl Road {
    pub(super) fn make(kind: Kind, traffic: &Traffic) -> Result<Self, Refusal> {
        match kind {
            Kind::Veth => over_links(traffic),
            Kind::Radio => over_the_air(traffic),
        }
    }

    /// What the sender's link and the receiver's have carried.
    pub(super) fn counters(&mut self) -> Result<(Counters, Counters), Refusal> {
        let Ends { wan, lan, receiving } = &mut self.ends;
        Ok((counted(wan, UP)?, counted(lan, receiving)?))
    }

    /// Removes it; the namespaces go with their last descriptor.
    pub(super) fn remove(mut self) {
        drop(self.undo.take());
    }
}

impl Ends {
    fn open(wan: &Network, lan: &Network, receiving: &str) -> Result<Self, Refusal> {
        let open = || Links::open().map_err(refused("cannot count a link"));
        let (wan, lan) = (inside(wan, open)?, inside(lan, open)?);
        Ok(Self { wan, lan, receiving: receiving.to_owned() })
    }
}

fn counted(links: &mut Links, name: &str) -> Result<Counters, Refusal> {
    let found = links.counters(name).map_err(refused("cannot read a link's counters"))?;
    found.ok_or_else(|| {
        Refusal::new(
            format!("the link {name} is gone"),
            "it was removed in the middle of the trial",
        )
    })
}

/// The router's receive work is steered to the last of several CPUs and the endpoints keep off it: otherwise the sender
/// would carry its packets to the receiver inside its own system call, and could not outrun them.
fn over_links(traffic: &Traffic) -> Result<Road, Refusal> {
    let (wan, router, lan) = (new_network()?, new_network()?, new_network()?);
    let cpus = system::cpus();
    let (near, busy) = match cpus.split_last() {
        Some((last, near)) if !near.is_empty() => (near.to_vec(), Some(*last)),
        _ => (Vec::new(), None),
    };
    inside(&router, || {
        let segments = traffic.no_offload.then_some(1);
        for (here, there, network) in [(DOWN, UP, &wan), (PROTECTED, RECEIVING, &lan)] {
            let pair = Pair { here, there, network: network.as_fd(), segments };
            let what = "cannot make a pair of virtual links (is the module veth there?)";
            with_links(what, |links| links.make(pair))?;
        }
        up(DOWN, ROUTER, None)?;
        up(PROTECTED, LAN_ROUTER, None)
    })?;
    let end = |name, address, gateway| {
        up(name, address, Some(gateway))?;
        if traffic.threaded { whole(name) } else { Ok(()) }
    };
    inside(&wan, || end(UP, SENDER, ROUTER))?;
    inside(&lan, || end(RECEIVING, RECEIVER, LAN_ROUTER))?;
    inside(&router, || settle(traffic, busy))?;
    Ok(Road {
        ends: Ends::open(&wan, &lan, RECEIVING)?,
        wan,
        lan,
        router: Some(router),
        receiver: RECEIVER,
        protected: PROTECTED.to_owned(),
        near,
        undo: None,
    })
}

/// Gives a link its address, brings it up, and sends everything over the gateway.
fn up(name: &str, address: Ipv4Addr, gateway: Option<Ipv4Addr>) -> Result<(), Refusal> {
    with_links(&format!("cannot bring {name} up"), |links| {
        let index = links.index(name)?.unwrap_or_default();
        links.add_ipv4(index, address, WAN.1)?;
        links.set_up(index)
    })?;
    let Some(gateway) = gateway else { return Ok(()) };
    let route = Route { to: (Ipv4Addr::UNSPECIFIED, 0), gateway, link: None };
    with_links(&format!("cannot route over {name}"), |links| links.add_route(route))
}

/// Does something with the links of the thread's namespace; `what` is said where that fails.
fn with_links<T>(
    what: &str,
    work: impl FnOnce(&mut Links) -> Result<T, Error>,
) -> Result<T, Refusal> {
    Links::open().and_then(|mut links| work(&mut links)).map_err(refused(what))
}

/// What the router does with packets; the thread sees its devices.
fn settle(traffic: &Traffic, busy: Option<u32>) -> Result<(), Refusal> {
    write("/proc/sys/net/ipv4/ip_forward", "1")?;
    if traffic.nat {
        masquerade::add().map_err(refused(NO_NAT))?;
    }
    if let Some(bits) = traffic.link_limit {
        limit(PROTECTED, bits)?;
    }
    if traffic.threaded {
        return threaded(&[DOWN, PROTECTED], busy);
    }
    let Some(busy) = busy else { return Ok(()) };
    for name in [DOWN, PROTECTED] {
        write(&format!("/sys/class/net/{name}/queues/rx-0/rps_cpus"), &mask(busy))?;
    }
    Ok(())
}

/// A link's receive work in threads, on one CPU where that is wanted; [`whole`] is its peer's side of it.
fn threaded(names: &[&str], busy: Option<u32>) -> Result<(), Refusal> {
    for name in names {
        // Without it a virtual link receives through the backlog, which has no thread before 6.x.
        veth::switch_offload(name, Offload::Receive, true)
            .map_err(refused(format!("cannot let {name} receive through NAPI")))?;
        write(&format!("/sys/class/net/{name}/threaded"), "1")?;
    }
    let Some(busy) = busy else { return Ok(()) };
    for pid in proc::pids().map_err(refused("cannot find NAPI's threads"))? {
        let Ok(comm) = fs::read_to_string(format!("/proc/{pid}/comm")) else { continue };
        if names.iter().any(|name| comm.starts_with(&format!("napi/{name}-"))) {
            sched::pin(pid, &[busy]).map_err(refused("cannot place NAPI's threads"))?;
        }
    }
    Ok(())
}

/// What a link sends goes through its peer's NAPI: packets that it cuts itself do not.
fn whole(name: &str) -> Result<(), Refusal> {
    veth::switch_offload(name, Offload::Send, false)
        .map_err(refused(format!("cannot let the peer of {name} receive through NAPI")))
}

/// No more than this over a link, bits in a second.
fn limit(name: &str, bits: u64) -> Result<(), Refusal> {
    with_links(&format!("cannot limit {name} (the kernel needs sch_tbf)"), |links| {
        let index = links.index(name)?.unwrap_or_default();
        links.limit(index, bits)
    })
}

/// A CPU in the form of `rps_cpus`: words of 32 bits, the highest first.
fn mask(cpu: u32) -> String {
    let mut words = vec![format!("{:x}", 1_u32 << (cpu % 32))];
    words.extend((0..cpu / 32).map(|_| "00000000".to_owned()));
    words.join(",")
}

fn write(path: &str, value: &str) -> Result<(), Refusal> {
    fs::write(path, value).map_err(refused(format!("cannot write {value} to {path}")))
}

#[derive(Debug)]
struct Undo {
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

/// The station is the first of the second radio where there is one (5 GHz, 80 MHz wide), else of the first: hwsim delivers
/// at once whatever the rate, but the rate says how frames are aggregated. The WAN side is made for the trial and removed
/// with it; the clients' namespace is pid 1's and gets one route.
fn over_the_air(traffic: &Traffic) -> Result<Road, Refusal> {
    if !Path::new(CLIENTS).exists() {
        return Err(Refusal::new(
            "there is no station to send to",
            format!("{CLIENTS} is not there: this road is the virtual access point's; use veth"),
        ));
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
    with_links(
        "cannot make a pair of virtual links (boot the guest with headroom.wan=yes)",
        |links| {
            links.remove(DOWN)?;
            let segments = traffic.no_offload.then_some(1);
            links.make(Pair { here: DOWN, there: UP, network: wan.as_fd(), segments })
        },
    )?;
    up(DOWN, ROUTER, None)?;
    inside(&wan, || up(UP, SENDER, Some(ROUTER)))?;
    inside(&undo.clients, || {
        with_links("cannot route from the station to the WAN side", |links| links.add_route(route))
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
    let found = with_links("cannot look for a station", |links| {
        let mut station =
            |radio| Ok(links.index(&format!("sta{radio}"))?.map(|link| (radio, link)));
        Ok(station(1)?.or(station(0)?))
    })?;
    found.ok_or_else(|| {
        let why = "the access point has no clients; give it at least one";
        Refusal::new("there is no station to send to", why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_written_as_the_kernel_reads_it() {
        assert_eq!([mask(0), mask(5), mask(33)], ["1", "20", "2,00000000"]);
    }
}
