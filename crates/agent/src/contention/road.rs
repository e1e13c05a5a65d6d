//! What the traffic crosses, made for one trial and gone with the value.
//!
//! Two kinds with one face: three namespaces on any Linux ([`veth`]), or a WAN side before the virtual access
//! point, whose routing leads to a station over the air ([`radio`]).

mod radio;
mod veth;

use std::net::Ipv4Addr;

use linux::{link::Links, namespace::Network, veth::Counters};
use model::{
    contention::{Road as Kind, Traffic},
    wire::Refusal,
};

use super::{inside::inside, refused};

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
    undo: Option<radio::Undo>,
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
            Kind::Veth => veth::make(traffic),
            Kind::Radio => radio::make(traffic),
        }
    }

    /// What the sender's link and the receiver's have carried.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`] where one of them is gone.
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
    found.ok_or_else(|| Refusal::Contention {
        what: format!("the link {name} is gone"),
        why: "it was removed in the middle of the trial".to_owned(),
    })
}
