//! What the interfaces and the loop share: sockets, bytes that wait to be sent, and the hub.

pub mod connection;
pub mod letter;
pub mod poller;
pub(crate) mod server;

use std::{os::fd::OwnedFd, path::Path};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use self::poller::Poller;
pub use self::poller::token;
use crate::{engine::Engine, metrics::own::Own, tally::Tally};

/// What the interfaces share: the engine, the poller, the counters, and the time of this turn.
#[derive(Debug)]
pub struct Hub {
    pub engine: Engine,
    pub poller: Poller,
    pub tally: Tally,
    pub own: Own,
    /// How old a reading may be for a consumer that does not say, ns.
    pub max_age_ns: u64,
    pub now_ns: u64,
}

/// A connection to a UNIX socket that waits for nothing, not even for a place in the other end's queue.
pub(crate) fn connected(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}
