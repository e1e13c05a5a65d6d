//! Gives recorded conversations with the kernel back.
//!
//! A [`Recording`] is a file of datagrams; it knows netlink's headers and nothing of what the messages mean. A
//! [`Replay`] stands in the socket's place and answers each request as the kernel did then, so that a dump of real
//! stations can be read again anywhere.
//!
//! The file is a line that names the format and the byte order, then for each datagram one byte (0 for a
//! request, 1 for a reply), its length in four bytes (little end first), and its bytes. A reply belongs
//! to the last request before it.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
};

use super::{
    message::{self, HEADER, Request, u32_at},
    transport::{Patience, Transport, delivered},
};

#[cfg(target_endian = "little")]
const FORMAT: &[u8] = b"headroom netlink 1 le\n";
#[cfg(target_endian = "big")]
const FORMAT: &[u8] = b"headroom netlink 1 be\n";

const REQUEST: u8 = 0;
const REPLY: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    #[error("not a netlink recording of this machine's byte order (format 1)")]
    Format,
    #[error("the recording is damaged at byte {at}")]
    Damaged { at: usize },
}

/// One request, and the datagrams that answered it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// What was asked; empty for what the kernel said unasked.
    pub request: Vec<u8>,
    pub replies: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    pub exchanges: Vec<Exchange>,
}

impl Recording {
    pub fn read(bytes: &[u8]) -> Result<Self, RecordingError> {
        let mut rest = bytes.strip_prefix(FORMAT).ok_or(RecordingError::Format)?;
        let mut recording = Self::default();
        while !rest.is_empty() {
            let damaged = RecordingError::Damaged { at: bytes.len() - rest.len() };
            let (kind, datagram, behind) = entry(rest).ok_or(damaged)?;
            match kind {
                REQUEST => recording.begin(datagram),
                REPLY => recording.answer(datagram),
                _ => return Err(damaged),
            }
            rest = behind;
        }
        Ok(recording)
    }

    pub fn replay(&self, mut each: impl FnMut(&[u8])) {
        for datagram in self.exchanges.iter().flat_map(|exchange| &exchange.replies) {
            each(datagram);
        }
    }

    fn begin(&mut self, request: &[u8]) {
        self.exchanges.push(Exchange { request: request.to_vec(), replies: Vec::new() });
    }

    fn answer(&mut self, reply: &[u8]) {
        if self.exchanges.is_empty() {
            self.begin(&[]);
        }
        if let Some(exchange) = self.exchanges.last_mut() {
            exchange.replies.push(reply.to_vec());
        }
    }
}

/// The entry at the front: which kind, its bytes, and what follows.
fn entry(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<5>()?;
    let [kind, length @ ..] = *head;
    let (datagram, behind) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
    Some((kind, datagram, behind))
}

/// A kernel that says what it said in a recording.
///
/// A request is answered as the next one with the same bytes (but for the sequence number) was; after
/// the last of them it begins again at the first, so that a recorded dump can be polled for ever. What
/// was never asked is refused as not supported.
#[derive(Debug)]
pub struct Replay {
    exchanges: Vec<Exchange>,
    /// Where the search for the next answer begins.
    next: usize,
    waiting: VecDeque<(usize, usize, u32)>,
    refusals: VecDeque<Vec<u8>>,
    fd: OwnedFd,
}

impl Replay {
    pub fn new(recording: Recording) -> io::Result<Self> {
        let fd = eventfd(1, EventfdFlags::CLOEXEC)?;
        let exchanges = recording.exchanges;
        let (waiting, refusals) = (VecDeque::with_capacity(64), VecDeque::new());
        Ok(Self { exchanges, next: 0, waiting, refusals, fd })
    }

    fn place(&self, request: &[u8]) -> Option<usize> {
        let count = self.exchanges.len();
        (0..count)
            .map(|step| (self.next + step) % count)
            .find(|at| self.exchanges.get(*at).is_some_and(|one| same(&one.request, request)))
    }
}

impl AsFd for Replay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Transport for Replay {
    fn send(&mut self, datagram: &[u8]) -> Result<(), Errno> {
        let sequence = u32_at(datagram, message::SEQUENCE).ok_or(Errno::INVAL)?;
        let Some(at) = self.place(datagram) else {
            self.refusals.push_back(refusal(sequence));
            return Ok(());
        };
        self.next = at + 1;
        let count = self.exchanges.get(at).map_or(0, |exchange| exchange.replies.len());
        self.waiting.extend((0..count).map(|reply| (at, reply, sequence)));
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Patience) -> Result<usize, Errno> {
        if let Some(refusal) = self.refusals.pop_front() {
            return Ok(delivered(&refusal, buffer));
        }
        let (at, reply, sequence) = self.waiting.pop_front().ok_or(Errno::AGAIN)?;
        let exchange = self.exchanges.get(at).ok_or(Errno::AGAIN)?;
        let length = delivered(exchange.replies.get(reply).ok_or(Errno::AGAIN)?, buffer);
        renumber(buffer.get_mut(..length).unwrap_or_default(), sequence);
        Ok(length)
    }
}

/// Whether two requests ask the same: all but the sequence number and the port is equal.
fn same(one: &[u8], other: &[u8]) -> bool {
    let parts = |bytes: &[u8]| Some((u32_at(bytes, 0)?, u32_at(bytes, 4)?));
    parts(one).is_some() && parts(one) == parts(other) && one.get(HEADER..) == other.get(HEADER..)
}

/// Gives all messages of a datagram the number of the request that they answer now.
fn renumber(datagram: &mut [u8], sequence: u32) {
    let mut rest = datagram;
    while let Some(length) = u32_at(rest, 0) {
        message::number(rest, sequence);
        let step = (length as usize).next_multiple_of(4).max(HEADER);
        rest = rest.get_mut(step..).unwrap_or_default();
    }
}

/// What the kernel answers to a command that it does not know.
fn refusal(sequence: u32) -> Vec<u8> {
    let code = Errno::OPNOTSUPP.raw_os_error();
    Request::new("", message::NLMSG_ERROR).fixed(&(-code).to_ne_bytes()).bytes(0, sequence)
}
