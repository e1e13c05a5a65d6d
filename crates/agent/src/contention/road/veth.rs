//! A road of three namespaces: sender, router and receiver, with two pairs of virtual links between them.
//!
//! Where the machine has several CPUs the router's receive work is steered to the last one and the endpoints
//! keep off it, as an interrupt of a card would have it: without that the sender itself would carry its
//! packets to the receiver, inside its own system call, and could not outrun them.

use std::{fs, net::Ipv4Addr, os::fd::AsFd};

use linux::{
    link::Links,
    masquerade, proc, sched, system,
    veth::{self, Offload, Pair, Route},
};
use model::{contention::Traffic, wire::Refusal};

use super::{DOWN, Ends, ROUTER, Road, SENDER, UP, WAN};
use crate::contention::{
    inside::{inside, new_network},
    refused,
    road::NO_NAT,
};

/// The receiver's side.
const LAN_ROUTER: Ipv4Addr = Ipv4Addr::new(10, 231, 1, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 231, 1, 2);

/// The router's link towards the receiver, and the receiver's.
const PROTECTED: &str = "lan0";
const RECEIVING: &str = "sta0";

pub(super) fn make(traffic: &Traffic) -> Result<Road, Refusal> {
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
            Links::open().and_then(|mut links| links.make(pair)).map_err(refused(
                "cannot make a pair of virtual links (is the module veth there?)",
            ))?;
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
pub(super) fn up(name: &str, address: Ipv4Addr, gateway: Option<Ipv4Addr>) -> Result<(), Refusal> {
    let what = || format!("cannot bring {name} up");
    let mut links = Links::open().map_err(refused(what()))?;
    let index = links.index(name).map_err(refused(what()))?.unwrap_or_default();
    links.add_ipv4(index, address, WAN.1).map_err(refused(what()))?;
    links.set_up(index).map_err(refused(what()))?;
    let Some(gateway) = gateway else { return Ok(()) };
    let route = Route { to: (Ipv4Addr::UNSPECIFIED, 0), gateway, link: None };
    let added = Links::open().and_then(|mut links| links.add_route(route));
    added.map_err(refused(format!("cannot route over {name}")))
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
pub(super) fn threaded(names: &[&str], busy: Option<u32>) -> Result<(), Refusal> {
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
pub(super) fn whole(name: &str) -> Result<(), Refusal> {
    veth::switch_offload(name, Offload::Send, false)
        .map_err(refused(format!("cannot let the peer of {name} receive through NAPI")))
}

/// No more than this over a link, bits in a second.
pub(super) fn limit(name: &str, bits: u64) -> Result<(), Refusal> {
    let what = || format!("cannot limit {name} (the kernel needs sch_tbf)");
    let index = Links::open().and_then(|mut links| links.index(name)).map_err(refused(what()))?;
    let limited = Links::open().and_then(|mut links| links.limit(index.unwrap_or_default(), bits));
    limited.map_err(refused(what()))
}

/// A CPU in the form of `rps_cpus`: words of 32 bits, the highest first.
fn mask(cpu: u32) -> String {
    let mut words = vec![format!("{:x}", 1_u32 << (cpu % 32))];
    words.extend((0..cpu / 32).map(|_| "00000000".to_owned()));
    words.join(",")
}

pub(super) fn write(path: &str, value: &str) -> Result<(), Refusal> {
    fs::write(path, value).map_err(refused(format!("cannot write {value} to {path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_written_as_the_kernel_reads_it() {
        assert_eq!([mask(0), mask(5), mask(33)], ["1", "20", "2,00000000"]);
    }
}
