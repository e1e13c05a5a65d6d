//! Pairs of virtual Ethernet links between namespaces: made, routed over, limited, counted, removed.
//!
//! Talks to rtnetlink over [`crate::netlink`], and to `SIOCETHTOOL`. A conversation belongs to the network
//! namespace of the thread that opened it. A pair goes with either of its namespaces.
//!
//! Formats: `rtnetlink(7)`, `include/uapi/linux/{if_link,veth,pkt_sched,ethtool}.h`.

use std::{io, net::Ipv4Addr, os::fd::AsRawFd, os::fd::BorrowedFd};

use libc::{
    IFLA_IFNAME, IFLA_LINKINFO, IFLA_NET_NS_FD, RTA_DST, RTA_GATEWAY, RTA_OIF, RTM_DELLINK,
    RTM_DELROUTE, RTM_NEWLINK, RTM_NEWQDISC, RTM_NEWROUTE, TCA_KIND, TCA_OPTIONS,
};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
};

use crate::{
    error::checked,
    link::{CREATE, Links, interface_request},
    netlink::{Attributes, Error, Request, unless},
};

const IFLA_STATS64: u16 = 23;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;

/// `struct ifinfomsg`, bytes.
const LINK_HEADER: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_dropped: u64,
    pub tx_dropped: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The end that stays in the conversation's namespace.
    pub here: &'a str,
    pub there: &'a str,
    pub network: BorrowedFd<'a>,
    /// The most segments that one buffer may stand for, on either end.
    pub segments: Option<u32>,
}

impl Links {
    /// Makes a pair; both ends are down.
    /// Fails with the kernel's refusal: `EOPNOTSUPP` without the module, `EEXIST` where a name is taken.
    pub fn make(&mut self, pair: Pair<'_>) -> Result<(), Error> {
        let common = |request: Request| match pair.segments {
            Some(most) => request.number(IFLA_GSO_MAX_SEGS, most),
            None => request,
        };
        let peer = common(
            Request::new("veth", 0)
                .fixed(&[0; LINK_HEADER])
                .text(IFLA_IFNAME, pair.there)
                .attribute(IFLA_NET_NS_FD, &pair.network.as_raw_fd().to_ne_bytes()),
        );
        let data = Request::new("veth", 0).nest(VETH_INFO_PEER, &peer);
        let info = Request::new("veth", 0).text(IFLA_INFO_KIND, "veth").nest(IFLA_INFO_DATA, &data);
        let request = Request::new("RTM_NEWLINK (veth)", RTM_NEWLINK)
            .flags(CREATE)
            .fixed(&[0; LINK_HEADER])
            .text(IFLA_IFNAME, pair.here);
        self.socket.act(common(request).nest(IFLA_LINKINFO, &info))
    }

    /// Removes a link, and the other end with it; one that is not there is success.
    pub fn remove(&mut self, name: &str) -> Result<(), Error> {
        let request = Request::new("RTM_DELLINK", RTM_DELLINK)
            .fixed(&[0; LINK_HEADER])
            .text(IFLA_IFNAME, name);
        unless(Errno::NODEV, self.socket.act(request))
    }

    /// What the link with this name has carried; `None` where there is no such link.
    pub fn counters(&mut self, name: &str) -> Result<Option<Counters>, Error> {
        self.ask(name, counters)
    }

    /// Sends what is for a network over a gateway; to have that route already is success.
    /// Fails with `ENETUNREACH` where the gateway is in no network of ours.
    pub fn add_route(&mut self, route: Route) -> Result<(), Error> {
        let request = Request::new("RTM_NEWROUTE", RTM_NEWROUTE).flags(CREATE);
        unless(Errno::EXIST, self.socket.act(route.of(request)))
    }

    /// Takes a route away; one that is not there is success.
    pub fn remove_route(&mut self, route: Route) -> Result<(), Error> {
        let request = route.of(Request::new("RTM_DELROUTE", RTM_DELROUTE));
        unless(Errno::SRCH, self.socket.act(request))
    }

    /// Lets a link send no more than this, bits in a second, with 50 ms of queue and 5 ms of burst.
    /// Fails with `ENOENT` where the kernel lacks the queue (`sch_tbf`).
    pub fn limit(&mut self, index: u32, bits: u64) -> Result<(), Error> {
        let bytes = (bits / 8).max(1);
        let of = |ms: u64| u32::try_from((bytes * ms / 1000).max(3000)).unwrap_or(u32::MAX);
        let mut parameters = Vec::with_capacity(36);
        // `struct tc_ratespec`: cell_log, linklayer (Ethernet), overhead, cell_align, mpu, rate.
        let rate = u32::try_from(bytes).unwrap_or(u32::MAX);
        parameters.extend_from_slice(&[0, 1, 0, 0, 0, 0, 0, 0]);
        parameters.extend_from_slice(&rate.to_ne_bytes());
        parameters.extend_from_slice(&[0; 12]);
        // Limit, buffer (given in bytes below), mtu.
        for word in [of(50), 0, 0] {
            parameters.extend_from_slice(&word.to_ne_bytes());
        }
        let mut options = Request::new("tbf", 0).attribute(TCA_TBF_PARMS, &parameters);
        options = options.number(TCA_TBF_BURST, of(5));
        if bytes > u64::from(u32::MAX) {
            options = options.attribute(TCA_TBF_RATE64, &bytes.to_ne_bytes());
        }
        let mut header = [0_u8; 20];
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        // Handle 1:, parent TC_H_ROOT.
        header[8..12].copy_from_slice(&0x0001_0000_u32.to_ne_bytes());
        header[12..16].copy_from_slice(&u32::MAX.to_ne_bytes());
        let request = Request::new("RTM_NEWQDISC (tbf)", RTM_NEWQDISC)
            .flags(CREATE)
            .fixed(&header)
            .text(TCA_KIND, "tbf")
            .nest(TCA_OPTIONS, &options);
        self.socket.act(request)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The network; prefix 0 is everything else.
    pub to: (Ipv4Addr, u8),
    pub gateway: Ipv4Addr,
    /// Over this link; `None`: the one that the gateway is on.
    pub link: Option<u32>,
}

impl Route {
    fn of(self, request: Request) -> Request {
        // `struct rtmsg`: table main (254), protocol static (4), scope universe, type unicast (1).
        let header = [libc::AF_INET as u8, self.to.1, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0];
        let mut request = request.fixed(&header);
        if self.to.1 > 0 {
            request = request.attribute(RTA_DST, &self.to.0.octets());
        }
        request = request.attribute(RTA_GATEWAY, &self.gateway.octets());
        match self.link {
            Some(link) => request.number(RTA_OIF, link),
            None => request,
        }
    }
}

fn counters(payload: &[u8]) -> Option<Counters> {
    let attributes = Attributes::new(payload.get(LINK_HEADER..)?);
    statistics(attributes.find(IFLA_STATS64)?.payload)
}

/// `struct rtnl_link_stats64`.
fn statistics(bytes: &[u8]) -> Option<Counters> {
    let word = |place: usize| Some(u64::from_ne_bytes(*bytes.get(8 * place..)?.first_chunk()?));
    Some(Counters {
        rx_packets: word(0)?,
        tx_packets: word(1)?,
        rx_bytes: word(2)?,
        tx_bytes: word(3)?,
        rx_dropped: word(6)?,
        tx_dropped: word(7)?,
    })
}

/// What a link does for the stack in one piece instead of packet by packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Received segments are put together; a virtual link needs it on to receive through NAPI (`ETHTOOL_SGRO`).
    Receive,
    /// Segments are cut on sending; a virtual link needs it off for its peer to receive through NAPI
    /// (`ETHTOOL_STSO`).
    Send,
}

/// Switches an offload of a link of the calling thread's namespace.
/// Fails with `ENODEV` where there is no such link, `EOPNOTSUPP` where it cannot.
pub fn switch_offload(name: &str, offload: Offload, on: bool) -> io::Result<()> {
    let command: u32 = match offload {
        Offload::Receive => 0x2c,
        Offload::Send => 0x1f,
    };
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut value = [command, u32::from(on)];
    let mut request = interface_request(name);
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request reads the name and the two words that `ifru_data` leads to, both of which outlive
    // the call.
    let answer =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    checked(answer).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;
    use crate::{link, namespace::Network};

    #[test]
    fn a_pair_between_namespaces_is_made_counted_and_removed() {
        let result = std::thread::spawn(|| {
            link::enter_new_network_namespace().map_err(|error| error.to_string())?;
            let own = Network::of_this_thread().map_err(|error| error.to_string())?;
            let mut links = Links::open().unwrap();
            let pair = Pair { here: "a", there: "b", network: own.as_fd(), segments: Some(1) };
            links.make(pair).map_err(|error| crate::error::chain(&error))?;
            assert!(links.make(pair).unwrap_err().is_refusal(Errno::EXIST));
            assert_eq!(links.counters("a").unwrap(), Some(Counters::default()));
            let a = links.index("a").unwrap().unwrap();
            links.add_ipv4(a, Ipv4Addr::new(10, 231, 0, 1), 24).unwrap();
            links.set_up(a).unwrap();
            let b = links.index("b").unwrap().unwrap();
            links.set_up(b).unwrap();
            let gateway = Ipv4Addr::new(10, 231, 0, 2);
            let route = Route { to: (Ipv4Addr::UNSPECIFIED, 0), gateway, link: None };
            links.add_route(route).unwrap();
            links.add_route(route).unwrap();
            links.remove_route(route).unwrap();
            switch_offload("a", Offload::Receive, true).unwrap();
            switch_offload("b", Offload::Send, false).unwrap();
            match links.limit(a, 10_000_000) {
                Err(error) if error.is_refusal(Errno::NOENT) => skip::skip!("no sch_tbf"),
                result => result.unwrap(),
            }
            links.remove("a").unwrap();
            assert_eq!(links.counters("b").unwrap(), None);
            links.remove("a").unwrap();
            Ok::<(), String>(())
        });
        if let Err(why) = result.join().unwrap() {
            skip::skip!("no pair can be made here: {why}");
        }
    }

    #[test]
    fn statistics_that_are_cut_are_absent() {
        assert_eq!(statistics(&[0; 63]), None);
        assert_eq!(statistics(&[0; 64]), Some(Counters::default()));
        assert_eq!(counters(&[0; 20]), None, "an attribute that is shorter than its header");
        assert_eq!(counters(&[0; 3]), None);
    }
}
