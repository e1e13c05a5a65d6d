//! Network links: their numbers, state and addresses, and the namespaces that hold them.
//!
//! Talks to rtnetlink over [`crate::netlink`]. Links are made and removed by [`crate::veth`]; wireless ones come
//! from [`crate::nl80211`]. A conversation belongs to the network namespace of the thread that
//! opened it.

use std::{io, net::Ipv4Addr};

use libc::{IFA_ADDRESS, IFA_LOCAL, IFLA_IFNAME, RTM_GETLINK, RTM_NEWADDR, RTM_NEWLINK};
use rustix::{
    io::Errno,
    thread::{UnshareFlags, unshare_unsafe},
};

use crate::netlink::{Error, Protocol, Request, Socket, u32_at, unless};

/// What makes a thing that is not there yet.
pub(crate) const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;

const IFF_UP: u32 = libc::IFF_UP as u32;

#[derive(Debug)]
pub struct Links {
    pub(crate) socket: Socket,
}

impl Links {
    pub fn open() -> Result<Self, Error> {
        Ok(Self { socket: Socket::open(Protocol::Route)? })
    }

    /// The number of the link with this name; `None` where there is no such link.
    pub fn index(&mut self, name: &str) -> Result<Option<u32>, Error> {
        self.ask(name, link_index)
    }

    /// Whether the link with this name is up; `None` where there is no such link.
    pub fn is_up(&mut self, name: &str) -> Result<Option<bool>, Error> {
        self.ask(name, link_is_up)
    }

    /// What the kernel says of the link with this name; `None` where there is no such link.
    pub(crate) fn ask<T>(
        &mut self,
        name: &str,
        read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let request =
            Request::new("RTM_GETLINK", RTM_GETLINK).fixed(&link(0, 0)).text(IFLA_IFNAME, name);
        let found = self.socket.ask(request, read).map(|found| found.into_iter().next());
        unless(Errno::NODEV, found)
    }

    pub fn set_up(&mut self, index: u32) -> Result<(), Error> {
        self.socket.act(Request::new("RTM_NEWLINK", RTM_NEWLINK).fixed(&link(index, IFF_UP)))
    }

    /// Gives a link an address; having it already is success.
    pub fn add_ipv4(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> Result<(), Error> {
        let request = Request::new("RTM_NEWADDR", RTM_NEWADDR)
            .flags(CREATE)
            .fixed(&address_header(index, prefix))
            .attribute(IFA_LOCAL, &address.octets())
            .attribute(IFA_ADDRESS, &address.octets());
        unless(Errno::EXIST, self.socket.act(request))
    }
}

/// Moves the calling thread, and what it starts from now on, into a new network namespace.
///
/// Sockets that are already open stay where they are; other threads do too.
pub fn enter_new_network_namespace() -> io::Result<()> {
    // SAFETY: only the network namespace is left behind. Descriptors stay shared with the other
    // threads, which is what the function's contract is about.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)
}

/// `struct ifreq` of an interface of this name, which is cut where it is too long.
pub(crate) fn interface_request(name: &str) -> libc::ifreq {
    // SAFETY: an all-zero `ifreq` is a valid one: an empty name, a null pointer and no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes().take(room)) {
        *place = byte as libc::c_char;
    }
    request
}

/// `struct ifinfomsg`, with only the up flag open to change.
fn link(index: u32, flags: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    bytes[12..].copy_from_slice(&IFF_UP.to_ne_bytes());
    bytes
}

fn link_index(payload: &[u8]) -> Option<u32> {
    u32_at(payload, 4)
}

fn link_is_up(payload: &[u8]) -> Option<bool> {
    Some(u32_at(payload, 8)? & IFF_UP != 0)
}

/// `struct ifaddrmsg`: family, prefix, flags, scope (global), link.
fn address_header(index: u32, prefix: u8) -> [u8; 8] {
    let mut bytes = [libc::AF_INET as u8, prefix, 0, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&index.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_found_by_its_name_or_absent() {
        let mut links = Links::open().unwrap();
        assert_eq!(links.index("lo").unwrap(), Some(1));
        assert!(links.is_up("lo").unwrap().is_some());
        let absent = "headroom-none";
        assert_eq!((links.index(absent).unwrap(), links.is_up(absent).unwrap()), (None, None));
    }

    #[test]
    fn a_link_message_is_read_as_it_is_written_and_a_cut_one_is_none() {
        let messages = [link(77, IFF_UP), link(77, 0)];
        let read = messages.map(|one| (link_index(&one), link_is_up(&one)));
        assert_eq!(read, [(Some(77), Some(true)), (Some(77), Some(false))]);
        assert_eq!((link_index(&[0; 7]), link_is_up(&[0; 11])), (None, None));
        assert_eq!(address_header(1, 16)[..4], [libc::AF_INET as u8, 16, 0, 0]);
        assert_eq!(u32_at(&address_header(300, 16), 4), Some(300));
    }
}
