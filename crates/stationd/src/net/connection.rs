//! One consumer's connection, whatever it speaks: bytes in, bytes out, and an end to patience.
//!
//! A connection whose bytes wait is not read from: a consumer that does not take replies may not ask for more.

use std::{collections::VecDeque, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    net::{RecvFlags, recv},
};

use super::{
    Hub,
    letter::{Letter, Sent, Unsent, send},
    poller::{Interest, READ, WRITE},
};

/// A consumer that takes no byte, or that leaves a request unfinished, is dropped after this.
pub const PATIENCE_NS: u64 = 10_000_000_000;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    Bytes(usize),
    /// None yet.
    Nothing,
    /// The other end has left.
    Gone,
}

#[derive(Debug)]
pub struct Connection {
    socket: OwnedFd,
    token: u64,
    /// What came in and has not been understood yet.
    pub input: Vec<u8>,
    /// What the other end has not taken yet.
    unsent: VecDeque<Unsent>,
    /// What it is waited for, once it is.
    interest: Option<Interest>,
    /// Nothing more is read; it ends with the last byte that waits.
    ends: bool,
    /// Something has to happen by this moment, or the connection is dropped; `None`: it may be idle.
    pub deadline_ns: Option<u64>,
}

impl Connection {
    /// A connection that is waited for under this token, from its first [`Self::rest`] on.
    pub fn new(socket: OwnedFd, token: u64) -> Self {
        Self {
            socket,
            token,
            input: Vec::new(),
            unsent: VecDeque::new(),
            interest: None,
            ends: false,
            deadline_ns: None,
        }
    }

    pub fn receive(&self, buffer: &mut [u8]) -> Received {
        match recv(&self.socket, buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => Received::Gone,
            Ok((bytes, _)) => Received::Bytes(bytes),
            Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
            Err(_) => Received::Gone,
        }
    }

    /// Sends a letter behind what waits already, and empties it.
    pub fn send(&mut self, letter: &mut Letter, hub: &Hub) -> Sent {
        let waited = self.waits();
        let taken = match waited || letter.is_empty() {
            true => Ok(0),
            false => send(&self.socket, letter.parts().map(|(bytes, _)| bytes)),
        };
        if let Ok(taken) = taken
            && taken < letter.len()
        {
            letter.keep(taken, &mut self.unsent);
            if !waited {
                self.deadline_ns = Some(hub.now_ns + PATIENCE_NS);
            }
        }
        letter.clear();
        if taken.is_ok() { self.sent() } else { Sent::Gone }
    }

    /// Sends what waits.
    pub fn go_on(&mut self, hub: &Hub) -> Sent {
        while self.waits() {
            match send(&self.socket, self.unsent.iter().map(Unsent::left)) {
                Ok(0) => break,
                Ok(taken) => self.forget(taken),
                Err(_) => return Sent::Gone,
            }
            self.deadline_ns = self.waits().then_some(hub.now_ns + PATIENCE_NS);
        }
        self.sent()
    }

    fn forget(&mut self, mut taken: usize) {
        while let Some(first) = self.unsent.front_mut() {
            let length = first.left().len();
            if length > taken {
                return first.skip(taken);
            }
            taken -= length;
            self.unsent.pop_front();
        }
    }

    fn sent(&self) -> Sent {
        if self.waits() { Sent::Waits } else { Sent::All }
    }

    pub fn waiting(&self) -> usize {
        self.unsent.iter().map(|part| part.left().len()).sum()
    }

    pub fn waits(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Reads nothing more. Bytes that came and were not read do not take back what was sent: on one machine that is
    /// readable behind a reset.
    pub fn end(&mut self) {
        self.ends = true;
    }

    pub fn ends(&self) -> bool {
        self.ends
    }

    /// The end of a turn: waits for room if something is unsent, for requests otherwise. Whether the connection goes on.
    pub fn rest(&mut self, sent: Sent, hub: &Hub) -> bool {
        let interest = match sent {
            Sent::Gone => return false,
            Sent::All if self.ends => return false,
            Sent::All => READ,
            Sent::Waits => WRITE,
        };
        self.interest.replace(interest) == Some(interest)
            || hub.poller.watch(&self.socket, self.token, interest).is_ok()
    }
}
