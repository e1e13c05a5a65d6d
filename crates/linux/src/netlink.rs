//! Netlink: one socket, requests out, messages and attributes in.
//!
//! It knows the shape of messages; [`crate::nl80211`] and [`crate::link`] know what they mean. Every message is the
//! reply to a request; a listener to a multicast group ([`crate::nl80211::Mlme`]) reads its datagrams itself.
//!
//! Layout: <https://docs.kernel.org/userspace-api/netlink/intro.html>.

mod message;
mod recording;
mod transport;

use std::io;

use rustix::io::Errno;

use self::message::Meaning;
pub(crate) use self::message::{BriefRequest, first};
pub use self::{
    message::{
        Attribute, Attributes, Damaged, Message, Messages, Request, generic_attributes, u32_at,
    },
    recording::{Recording, RecordingError, Replay},
    transport::{Patience, Reply, Script, Transport, Wire},
};

/// The kernel fills a dump message up to the size of the reader's buffer, at most 32 KiB.
const BUFFER: usize = 32 * 1024;
/// How often a dump that changed while it was read is read again.
const DUMP_ATTEMPTS: u32 = 8;

pub(crate) const NLM_F_ACK: u16 = 0x04;
pub(crate) const NLM_F_DUMP: u16 = 0x300;
const NLM_F_DUMP_INTR: u16 = 0x10;
/// A dump that was given up is read to its end before the next request; its end comes before this.
const STALE_DATAGRAMS: u32 = 4096;

const GETFAMILY: &str = "CTRL_CMD_GETFAMILY";
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const CTRL_ATTR_MCAST_GROUPS: u16 = 7;
const CTRL_ATTR_MCAST_GRP_NAME: u16 = 1;
const CTRL_ATTR_MCAST_GRP_ID: u16 = 2;

/// A failure to ask the kernel, or its refusal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to open a netlink socket")]
    Open(#[source] io::Error),
    #[error("failed to exchange netlink messages for {request}")]
    Exchange {
        request: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("netlink replies to {request} were lost: the receive buffer was full")]
    Overrun { request: &'static str },
    #[error("the kernel refused {request}{}", explained(.text))]
    Refused {
        request: &'static str,
        /// The kernel's sentence, where it sent one (extended acknowledgement).
        text: Option<String>,
        #[source]
        source: io::Error,
    },
    #[error("{request} changed while it was read, {attempts} times")]
    Unsettled { request: &'static str, attempts: u32 },
    #[error("malformed netlink reply to {request}: {what}")]
    Malformed { request: &'static str, what: &'static str },
}

impl Error {
    /// Whether the kernel refused the request with this error number.
    pub fn is_refusal(&self, errno: Errno) -> bool {
        matches!(self, Error::Refused { source, .. }
            if source.raw_os_error() == Some(errno.raw_os_error()))
    }

    /// Whether no datagram was there, and none was waited for.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Error::Exchange { source, .. } if source.kind() == io::ErrorKind::WouldBlock)
    }
}

/// A refusal with this number is success: what was asked for is there already, or gone already.
pub(crate) fn unless<T: Default>(number: Errno, result: Result<T, Error>) -> Result<T, Error> {
    match result {
        Err(error) if error.is_refusal(number) => Ok(T::default()),
        result => result,
    }
}

/// The kernel's sentence in brackets, or nothing.
fn explained(text: &Option<String>) -> String {
    text.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}

/// Which part of the kernel a socket talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Route,
    /// The families that are looked up by name.
    Generic,
    /// Sockets, and what they are connected with.
    Sockets,
    Netfilter,
}

/// What it took to read a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCost {
    pub bytes: u64,
    /// How often the dump was begun anew because the list changed while it was read.
    pub restarts: u32,
    /// Whether the last attempt saw the list unchanged from its first message to its last.
    pub settled: bool,
}

/// One netlink socket, and the requests that go over it one at a time.
///
/// It belongs to the network namespace of the thread that opened it, for good.
#[derive(Debug)]
pub struct Socket {
    transport: Box<dyn Transport>,
    sequence: u32,
    buffer: Vec<u8>,
    /// A reply was not read to its end, so that the rest of it may stand in the socket.
    unfinished: bool,
}

impl Socket {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open(protocol: Protocol) -> Result<Self, Error> {
        Ok(Self::over(Wire::open(protocol)?))
    }

    /// Talks over this instead of a new socket.
    pub fn over(transport: impl Transport + 'static) -> Self {
        Self {
            transport: Box::new(transport),
            sequence: 0,
            buffer: vec![0; BUFFER],
            unfinished: false,
        }
    }

    /// Asks the kernel to do something; its acknowledgement is the result.
    pub fn act(&mut self, request: Request) -> Result<(), Error> {
        self.ask(request, |_| None::<()>).map(drop)
    }

    /// Asks one question; `read` sees the payload of each reply and picks what it needs.
    pub fn ask<T>(
        &mut self,
        request: Request,
        read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        Ok(self.collect(&request, NLM_F_ACK, read)?.0)
    }

    /// Asks for all of a kind; read again if the kernel says that it changed meanwhile.
    pub fn dump<T>(
        &mut self,
        request: Request,
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        for _ in 0..DUMP_ATTEMPTS {
            let (found, settled) = self.collect(&request, NLM_F_DUMP, &mut read)?;
            if settled {
                return Ok(found);
            }
        }
        Err(Error::Unsettled { request: request.name, attempts: DUMP_ATTEMPTS })
    }

    pub fn family(&mut self, name: &str) -> Result<u16, Error> {
        self.family_attributes(name, |attributes| {
            attributes.clone().find(CTRL_ATTR_FAMILY_ID)?.as_u16()
        })?
        .ok_or(Error::Malformed { request: GETFAMILY, what: "no family number" })
    }

    /// The number of a multicast group of a generic family; `None` where it has no such group.
    pub fn group(&mut self, family: &str, group: &str) -> Result<Option<u32>, Error> {
        self.family_attributes(family, |attributes| {
            let groups = attributes.clone().find(CTRL_ATTR_MCAST_GROUPS)?.nested();
            groups.map(|one| one.nested()).find_map(|one| {
                let name = one.clone().find(CTRL_ATTR_MCAST_GRP_NAME)?.as_text()?;
                (name == group).then(|| one.find(CTRL_ATTR_MCAST_GRP_ID)?.as_u32()).flatten()
            })
        })
    }

    fn family_attributes<T>(
        &mut self,
        name: &str,
        read: impl Fn(&Attributes<'_>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let request = Request::generic(GETFAMILY, GENL_ID_CTRL, CTRL_CMD_GETFAMILY)
            .text(CTRL_ATTR_FAMILY_NAME, name);
        let found = self.ask(request, |payload| read(&generic_attributes(payload)))?;
        Ok(found.into_iter().next())
    }

    fn collect<T>(
        &mut self,
        request: &Request,
        flags: u16,
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<(Vec<T>, bool), Error> {
        let mut found = Vec::new();
        let mut bytes = request.bytes(flags, 0);
        let cost = self.walk(request.name, &mut bytes, |payload| found.extend(read(payload)))?;
        Ok((found, cost.settled))
    }

    /// Sends a request and shows `each` payload of the reply as it comes. It allocates nothing.
    ///
    /// The request's sequence number is set here.
    pub(crate) fn walk(
        &mut self,
        name: &'static str,
        request: &mut [u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<ReadCost, Error> {
        self.drain(name)?;
        self.send(name, request)?;
        self.unfinished = true;
        let mut cost = ReadCost { settled: true, ..ReadCost::default() };
        loop {
            let length = receive(&mut *self.transport, &mut self.buffer, Patience::Wait, name)?;
            cost.bytes += length as u64;
            let datagram = self.buffer.get(..length).unwrap_or_default();
            if read_datagram(datagram, (name, self.sequence), &mut cost, &mut each)? {
                self.unfinished = false;
                return Ok(cost);
            }
        }
    }

    fn send(&mut self, name: &'static str, request: &mut [u8]) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        message::number(request, self.sequence);
        self.transport
            .send(request)
            .map_err(|errno| Error::Exchange { request: name, source: errno.into() })
    }

    /// Throws away what is left of a reply that was given up.
    ///
    /// The kernel refuses (`EBUSY`) a dump while another runs on the same socket, and one runs until
    /// it has been read to its end (`__netlink_dump_start` in `net/netlink/af_netlink.c`).
    fn drain(&mut self, name: &'static str) -> Result<(), Error> {
        for _ in 0..STALE_DATAGRAMS {
            if !self.unfinished {
                break;
            }
            match receive(&mut *self.transport, &mut self.buffer, Patience::Never, name) {
                Err(error) if error.is_nothing() => self.unfinished = false,
                Err(error @ Error::Exchange { .. }) => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// One datagram; `request` is what errors call it.
pub(crate) fn receive(
    transport: &mut dyn Transport,
    buffer: &mut [u8],
    patience: Patience,
    request: &'static str,
) -> Result<usize, Error> {
    loop {
        match transport.receive(buffer, patience) {
            Ok(length) if length > buffer.len() => {
                return Err(Error::Malformed { request, what: "longer than the buffer" });
            }
            Ok(length) => return Ok(length),
            Err(Errno::INTR) => {}
            Err(Errno::NOBUFS) => return Err(Error::Overrun { request }),
            Err(errno) => return Err(Error::Exchange { request, source: errno.into() }),
        }
    }
}

/// Shows `each` payload of a datagram that answers the request of this name and number; true at the reply's end.
fn read_datagram(
    datagram: &[u8],
    (request, sequence): (&'static str, u32),
    cost: &mut ReadCost,
    each: &mut impl FnMut(&[u8]),
) -> Result<bool, Error> {
    for message in Messages::new(datagram) {
        let message = message.map_err(|Damaged(what)| Error::Malformed { request, what })?;
        // A reply to an earlier request whose reading was given up is not ours.
        if message.sequence != sequence {
            continue;
        }
        cost.settled &= message.flags & NLM_F_DUMP_INTR == 0;
        match message.meaning(request)? {
            Meaning::End => return Ok(true),
            Meaning::Data => each(message.payload),
            Meaning::Nothing => {}
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn families(socket: &mut Socket) -> Vec<u16> {
        let all = Request::generic(GETFAMILY, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
        socket
            .dump(all, |payload| generic_attributes(payload).find(CTRL_ATTR_FAMILY_ID)?.as_u16())
            .unwrap()
    }

    #[test]
    fn this_kernels_families_and_groups_are_found_by_name() {
        let mut socket = Socket::open(Protocol::Generic).unwrap();
        assert_eq!(socket.family("nlctrl").unwrap(), GENL_ID_CTRL);
        assert!(socket.group("nlctrl", "notify").unwrap().is_some());
        assert_eq!(socket.group("nlctrl", "no such group").unwrap(), None);
        assert!(socket.family("no such family").unwrap_err().is_refusal(Errno::NOENT));
        assert!(families(&mut socket).contains(&GENL_ID_CTRL));
    }

    #[test]
    fn a_list_that_was_given_up_does_not_stop_the_next() {
        let all = families(&mut Socket::open(Protocol::Generic).unwrap());
        // The first list on a socket comes in small pieces, so that this one has more than begun.
        let mut socket = Socket::open(Protocol::Generic).unwrap();
        let given_up = Request::generic(GETFAMILY, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
        socket.send(GETFAMILY, &mut given_up.bytes(NLM_F_DUMP, 0)).unwrap();
        socket.unfinished = true;
        assert_eq!(families(&mut socket), all, "the kernel has one list at a time for a socket");
    }
}
