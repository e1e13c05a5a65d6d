//! Packet sockets: whole frames to and from one interface, by `send` and `recv` of the descriptor.
//!
//! Format: `packet(7)`.

use std::{
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use crate::error::checked;

/// Opens a socket on the interface with this number, in the calling thread's namespace. It receives the frames
/// of one Ethernet type (0x0800 is IPv4); `None`: nothing, it only sends.
/// Fails with `EPERM` without `CAP_NET_RAW`, `ENODEV` where there is no such interface.
pub fn open(interface: u32, ether_type: Option<u16>) -> io::Result<OwnedFd> {
    let protocol = ether_type.unwrap_or(0).to_be();
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers only. It is opened for no protocol, so that nothing is received before
    // it is bound.
    let raw = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    // SAFETY: an all-zero `sockaddr_ll` is a valid one.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = interface as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer leads to a `sockaddr_ll` of the length that is given, which outlives the call.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_does_not_exist_is_refused() {
        let code = open(u32::MAX >> 1, None).unwrap_err().raw_os_error();
        assert!(matches!(code, Some(libc::ENODEV | libc::EPERM)), "{code:?}");
    }
}
