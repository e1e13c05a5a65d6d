//! Which descriptors are ready: one epoll instance, each descriptor under a token.
//!
//! epoll and not poll, because the set hardly changes: a turn costs the same for one consumer and for
//! sixty. It reads and writes nothing.

use std::{
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    event::{Timespec, epoll},
    io::{self, Errno},
};

/// At most this many descriptors are told of in one turn; the others are in the next.
const AT_ONCE: usize = 64;
const SECOND: u64 = 1_000_000_000;

/// What a descriptor is waited for: [`READ`], also for the other end's leaving, or [`WRITE`].
pub type Interest = epoll::EventFlags;
pub const READ: Interest = Interest::IN;
pub const WRITE: Interest = Interest::OUT;

/// What a ready descriptor is, in the 64 bits that the kernel keeps for it: a kind, and below it a connection's place.
pub mod token {
    /// The pipe that signals are reported through.
    pub const SIGNAL: u64 = 0;
    pub const ENGINE: u64 = 1 << 32;
    /// The connection to ubus's broker.
    pub const BROKER: u64 = 2 << 32;
    pub const RPC_LISTENER: u64 = 3 << 32;
    pub const HTTP_LISTENER: u64 = 4 << 32;
    /// Connections of consumers, each with its place.
    pub const RPC: u64 = 5 << 32;
    pub const HTTP: u64 = 6 << 32;
}

#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    /// Tokens of those that are ready in this turn.
    ready: Vec<u64>,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, ready: Vec::with_capacity(AT_ONCE) })
    }

    /// Waits for this of a descriptor, whatever it was waited for before.
    pub fn watch(&self, source: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let data = epoll::EventData::new_u64(token);
        match epoll::add(&self.epoll, &source, data, interest) {
            Err(Errno::EXIST) => epoll::modify(&self.epoll, source, data, interest),
            result => result,
        }
    }

    pub fn remove(&self, source: impl AsFd) {
        // A descriptor that was not waited for is what was asked for.
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Waits until something is ready, or this many ns have passed. A signal ends it early, with nothing.
    pub fn wait(&mut self, patience_ns: Option<u64>) -> io::Result<()> {
        self.ready.clear();
        let patience = patience_ns
            .map(|ns| Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as _ });
        let mut events = [const { MaybeUninit::uninit() }; AT_ONCE];
        match epoll::wait(&self.epoll, &mut events, patience.as_ref()) {
            Err(Errno::INTR) => {}
            result => {
                self.ready.extend(result?.0.iter().map(|event: &epoll::Event| event.data.u64()))
            }
        }
        Ok(())
    }

    /// The token of a ready descriptor, by its place in this turn.
    pub fn ready(&self, place: usize) -> Option<u64> {
        self.ready.get(place).copied()
    }
}
