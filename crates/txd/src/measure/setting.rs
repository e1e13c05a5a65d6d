//! Where a trial takes place: two TAPs, each in a network namespace of its own, and a packet socket on each.
//!
//! The namespaces have no name and go with the descriptors, and so do the interfaces: however the program ends, nothing
//! is left.

use std::{fs, io, os::fd::OwnedFd, thread};

use linux::{
    link::{self, Links},
    netlink, packet,
    tap::Tap,
};

/// Why it cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot make a network namespace (run it as root)")]
    Namespace(#[source] io::Error),
    #[error("cannot make the TAP {name}{}", advice(.source))]
    Tap { name: String, source: io::Error },
    /// The interface cannot be brought up.
    #[error("cannot bring interface {name} up")]
    Up {
        name: String,
        #[source]
        source: netlink::Error,
    },
    #[error(
        "cannot open a packet socket on {name} (it needs CAP_NET_RAW, and AF_PACKET in the kernel)"
    )]
    Socket {
        /// The interface's name.
        name: String,
        #[source]
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// No descriptor to wake a thread with.
    #[error("cannot make an event descriptor")]
    Wake(#[source] io::Error),
}

/// What to do about a TAP that cannot be made.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => " (the kernel has no TAPs: load its module tun)",
        io::ErrorKind::PermissionDenied => " (it needs CAP_NET_ADMIN: run it as root)",
        io::ErrorKind::ResourceBusy => " (there is an interface of that name: take another)",
        io::ErrorKind::InvalidInput => " (take a free name of up to 15 letters, without / : %)",
        _ => "",
    }
}

/// One side: an interface that is up, and a socket on it.
#[derive(Debug)]
pub struct Side {
    pub tap: Tap,
    pub socket: OwnedFd,
}

impl Side {
    /// One in a namespace of its own; it receives the frames of one Ethernet type, or only sends.
    pub fn make(name: &'static str, receives: Option<u16>) -> Result<Self, Error> {
        let handle = thread::Builder::new().name("txd-make".to_owned()).spawn(move || {
            link::enter_new_network_namespace().map_err(Error::Namespace)?;
            // No advertisements or solicitations of the kernel's own; without IPv6 there are none.
            let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            let tap =
                Tap::open(name).map_err(|source| Error::Tap { name: name.to_owned(), source })?;
            let index = bring_up(name)?;
            let socket = packet::open(index, receives)
                .map_err(|source| Error::Socket { name: name.to_owned(), source })?;
            Ok(Self { tap, socket })
        });
        let handle = handle.map_err(Error::Thread)?.join();
        handle.unwrap_or_else(|_| Err(Error::Thread(io::ErrorKind::Other.into())))
    }
}

/// Brings an interface of the calling thread's namespace up; its number.
pub fn bring_up(name: &str) -> Result<u32, Error> {
    let up = |source| Error::Up { name: name.to_owned(), source };
    let mut links = Links::open().map_err(up)?;
    let index = links.index(name).map_err(up)?.unwrap_or_default();
    links.set_up(index).map_err(up)?;
    Ok(index)
}
