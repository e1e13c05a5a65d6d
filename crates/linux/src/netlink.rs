//! Netlink: one socket, requests out, messages and attributes in.
//!
//! Talks to the kernel over `AF_NETLINK`. It knows the shape of messages (headers, attributes,
//! acknowledgements, dumps, generic families) and nothing of what they mean; [`crate::nl80211`] and
//! [`crate::link`] do. It subscribes to no multicast group: every message is the reply to a request.
//!
//! The parsers are pure, borrow from the buffer, and end at the first damaged header, so that no
//! input can make them read past the end, panic or loop.
//!
//! Layout: <https://docs.kernel.org/userspace-api/netlink/intro.html>.

use std::{
    ffi::c_int,
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, sockopt},
};

/// A message header: length, type, flags, sequence, port.
const HEADER: usize = 16;
/// An attribute header: length and type.
const ATTRIBUTE_HEADER: usize = 4;
/// A generic-netlink header: command, version, reserved.
const GENERIC_HEADER: usize = 4;
/// The kernel fills a dump message up to the size of the reader's buffer, at most 32 KiB.
const BUFFER: usize = 32 * 1024;
/// Room in the kernel for replies that wait for us; a dump is paced by it, so it bounds nothing.
const KERNEL_BUFFER: usize = 256 * 1024;
/// The kernel answers within the system call; silence for this long means that no reply will come.
const SILENCE: Duration = Duration::from_secs(30);
/// How often a dump that changed while it was read is read again.
const DUMP_ATTEMPTS: u32 = 8;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Types below this one are netlink's own.
const NLMSG_MIN_TYPE: u16 = 16;

const NLM_F_REQUEST: u16 = 0x01;
const NLM_F_ACK: u16 = 0x04;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLM_F_DUMP: u16 = 0x300;

const NLMSGERR_ATTR_MSG: u16 = 1;
const SOL_NETLINK: c_int = 270;
const NETLINK_EXT_ACK: c_int = 11;

/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER` say how to read an attribute, not which one it is.
const ATTRIBUTE_KIND: u16 = 0x3fff;

const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// A failure to ask the kernel, or its refusal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket could not be made.
    #[error("failed to open a netlink socket")]
    Open(#[source] io::Error),
    /// The request could not be sent, or no reply could be read.
    #[error("failed to exchange netlink messages for {request}")]
    Exchange {
        /// What was asked.
        request: &'static str,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// Replies were lost because the socket's buffer was full (`ENOBUFS`).
    #[error("netlink replies to {request} were lost: the receive buffer was full")]
    Overrun {
        /// What was asked.
        request: &'static str,
    },
    /// The kernel said no.
    #[error("the kernel refused {request}{}", explained(.text))]
    Refused {
        /// What was asked.
        request: &'static str,
        /// The kernel's sentence, where it sent one (extended acknowledgement).
        text: Option<String>,
        /// The error number.
        #[source]
        source: io::Error,
    },
    /// The dump changed under each of the attempts to read it.
    #[error("{request} changed while it was read, {attempts} times")]
    Unsettled {
        /// What was asked.
        request: &'static str,
        /// How often it was read.
        attempts: u32,
    },
    /// The reply is not what the protocol promises.
    #[error("malformed netlink reply to {request}: {what}")]
    Malformed {
        /// What was asked.
        request: &'static str,
        /// What is wrong with the reply.
        what: &'static str,
    },
}

impl Error {
    /// Whether the kernel refused the request with this error number.
    pub fn is_refusal(&self, errno: Errno) -> bool {
        matches!(self, Error::Refused { source, .. }
            if source.raw_os_error() == Some(errno.raw_os_error()))
    }
}

/// The kernel's sentence in brackets, or nothing.
fn explained(text: &Option<String>) -> String {
    text.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}

/// Which part of the kernel a socket talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Links, addresses and routes.
    Route,
    /// The families that are looked up by name.
    Generic,
}

/// A netlink socket; it belongs to the network namespace of the thread that opened it, for good.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Socket {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open(protocol: Protocol) -> Result<Self, Error> {
        let fd = open_fd(protocol).map_err(|errno| Error::Open(errno.into()))?;
        ask_for_extended_acks(&fd).map_err(Error::Open)?;
        Ok(Self { fd, sequence: 0, buffer: vec![0; BUFFER] })
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
        Ok(self.exchange(&request, NLM_F_ACK, read)?.found)
    }

    /// Asks for all of a kind; read again if the kernel says that it changed meanwhile.
    pub fn dump<T>(
        &mut self,
        request: Request,
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, Error> {
        for _ in 0..DUMP_ATTEMPTS {
            let reply = self.exchange(&request, NLM_F_DUMP, &mut read)?;
            if !reply.interrupted {
                return Ok(reply.found);
            }
        }
        Err(Error::Unsettled { request: request.name, attempts: DUMP_ATTEMPTS })
    }

    /// The number of the generic family with this name.
    pub fn family(&mut self, name: &str) -> Result<u16, Error> {
        const REQUEST: &str = "CTRL_CMD_GETFAMILY";
        let request = Request::generic(REQUEST, GENL_ID_CTRL, CTRL_CMD_GETFAMILY)
            .text(CTRL_ATTR_FAMILY_NAME, name);
        let found = self.ask(request, |payload| {
            generic_attributes(payload).find(CTRL_ATTR_FAMILY_ID)?.as_u16()
        })?;
        found
            .first()
            .copied()
            .ok_or(Error::Malformed { request: REQUEST, what: "no family number" })
    }

    fn exchange<T>(
        &mut self,
        request: &Request,
        flags: u16,
        mut read: impl FnMut(&[u8]) -> Option<T>,
    ) -> Result<Reply<T>, Error> {
        let name = request.name;
        self.sequence = self.sequence.wrapping_add(1);
        self.send(request, flags)?;
        let mut reply = Reply { found: Vec::new(), interrupted: false };
        loop {
            let length = self.receive(name)?;
            for message in Messages::new(self.buffer.get(..length).unwrap_or_default()) {
                let message =
                    message.map_err(|Damaged(what)| Error::Malformed { request: name, what })?;
                // A reply to an earlier request whose reading was given up is not ours.
                if message.sequence != self.sequence {
                    continue;
                }
                reply.interrupted |= message.flags & NLM_F_DUMP_INTR != 0;
                match message.meaning(name)? {
                    Meaning::End => return Ok(reply),
                    Meaning::Data => reply.found.extend(read(message.payload)),
                    Meaning::Nothing => {}
                }
            }
        }
    }

    fn send(&mut self, request: &Request, flags: u16) -> Result<(), Error> {
        let bytes = request.finished(flags, self.sequence);
        let kernel = netlink::SocketAddrNetlink::new(0, 0);
        net::sendto(&self.fd, &bytes, SendFlags::empty(), &kernel)
            .map(drop)
            .map_err(|errno| Error::Exchange { request: request.name, source: errno.into() })
    }

    fn receive(&mut self, request: &'static str) -> Result<usize, Error> {
        loop {
            // MSG_TRUNC makes the kernel tell the true length, so that a cut message is seen.
            match net::recv(&self.fd, self.buffer.as_mut_slice(), RecvFlags::TRUNC) {
                Ok((_, length)) if length > self.buffer.len() => {
                    return Err(Error::Malformed { request, what: "longer than the buffer" });
                }
                Ok((_, length)) => return Ok(length),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => return Err(Error::Overrun { request }),
                Err(errno) => return Err(Error::Exchange { request, source: errno.into() }),
            }
        }
    }
}

struct Reply<T> {
    found: Vec<T>,
    interrupted: bool,
}

fn open_fd(protocol: Protocol) -> Result<OwnedFd, Errno> {
    let number = match protocol {
        // NETLINK_ROUTE is 0, which is what «no protocol» sends.
        Protocol::Route => None,
        Protocol::Generic => Some(netlink::GENERIC),
    };
    let fd =
        net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, number)?;
    sockopt::set_socket_recv_buffer_size(&fd, KERNEL_BUFFER)?;
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, Some(SILENCE))?;
    net::bind(&fd, &netlink::SocketAddrNetlink::new(0, 0))?;
    Ok(fd)
}

/// A kernel before 4.12 does not know the option; refusals then come without a sentence.
fn ask_for_extended_acks(fd: &OwnedFd) -> io::Result<()> {
    let on: c_int = 1;
    // SAFETY: the descriptor is open for the whole call, and the pointer and length describe `on`,
    // which outlives it; the kernel only reads from there.
    let status = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            SOL_NETLINK,
            NETLINK_EXT_ACK,
            (&raw const on).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    match status {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(()),
            error => Err(error),
        },
    }
}

/// A request under construction.
#[derive(Clone, Debug)]
pub struct Request {
    name: &'static str,
    kind: u16,
    flags: u16,
    body: Vec<u8>,
}

impl Request {
    /// A request of this type; `name` is what errors call it.
    pub fn new(name: &'static str, kind: u16) -> Self {
        Self { name, kind, flags: 0, body: Vec::new() }
    }

    /// A command to a generic family.
    pub fn generic(name: &'static str, family: u16, command: u8) -> Self {
        Self::new(name, family).fixed(&[command, 1, 0, 0])
    }

    /// Adds flags beyond those that asking and dumping set.
    #[must_use]
    pub fn flags(mut self, flags: u16) -> Self {
        self.flags |= flags;
        self
    }

    /// Appends the fixed structure that stands before the attributes.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.body.extend_from_slice(bytes);
        self.pad();
        self
    }

    /// Appends an attribute.
    ///
    /// A payload beyond an attribute's 16-bit length is cut, and the kernel refuses the result.
    #[must_use]
    pub fn attribute(mut self, kind: u16, payload: &[u8]) -> Self {
        let room = usize::from(u16::MAX) - ATTRIBUTE_HEADER;
        let payload = payload.get(..room).unwrap_or(payload);
        let length = (ATTRIBUTE_HEADER + payload.len()) as u16;
        self.body.extend_from_slice(&length.to_ne_bytes());
        self.body.extend_from_slice(&kind.to_ne_bytes());
        self.body.extend_from_slice(payload);
        self.pad();
        self
    }

    /// Appends an attribute that holds a number.
    #[must_use]
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute that holds a text, ended by NUL.
    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Self {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    fn pad(&mut self) {
        self.body.resize(aligned(self.body.len()), 0);
    }

    fn finished(&self, flags: u16, sequence: u32) -> Vec<u8> {
        let length = (HEADER + self.body.len()) as u32;
        let mut bytes = Vec::with_capacity(HEADER + self.body.len());
        bytes.extend_from_slice(&length.to_ne_bytes());
        bytes.extend_from_slice(&self.kind.to_ne_bytes());
        bytes.extend_from_slice(&(NLM_F_REQUEST | flags | self.flags).to_ne_bytes());
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&0_u32.to_ne_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Netlink aligns everything to four bytes.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// A message whose header does not fit its bytes; the words say how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged(pub &'static str);

/// One message of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// What it is: netlink's own below 16, else the protocol's.
    pub kind: u16,
    /// `NLM_F_…`.
    pub flags: u16,
    /// The number of the request that it answers.
    pub sequence: u32,
    /// What follows the header.
    pub payload: &'a [u8],
}

enum Meaning {
    Data,
    End,
    Nothing,
}

impl Message<'_> {
    fn meaning(&self, request: &'static str) -> Result<Meaning, Error> {
        match self.kind {
            NLMSG_ERROR => self.verdict(request).map(|()| Meaning::End),
            // A dump that failed half-way says so in the message that ends it.
            NLMSG_DONE if self.payload.len() >= 4 => self.verdict(request).map(|()| Meaning::End),
            NLMSG_DONE => Ok(Meaning::End),
            kind if kind >= NLMSG_MIN_TYPE => Ok(Meaning::Data),
            _ => Ok(Meaning::Nothing),
        }
    }

    /// Reads the error number that opens the payload; 0 is an acknowledgement.
    fn verdict(&self, request: &'static str) -> Result<(), Error> {
        let what = "an acknowledgement without an error number";
        let code = i32_at(self.payload, 0).ok_or(Error::Malformed { request, what })?;
        if code >= 0 {
            return Ok(());
        }
        let source = io::Error::from_raw_os_error(code.saturating_neg());
        Err(Error::Refused { request, text: self.explanation(), source })
    }

    /// The extended acknowledgement's sentence: attributes behind the request's (perhaps cut) copy.
    fn explanation(&self) -> Option<String> {
        if self.flags & NLM_F_ACK_TLVS == 0 {
            return None;
        }
        let attributes = if self.kind == NLMSG_DONE {
            self.payload.get(4..)?
        } else {
            let copied = match self.flags & NLM_F_CAPPED {
                0 => usize::try_from(u32_at(self.payload, 4)?).ok()?,
                _ => HEADER,
            };
            self.payload.get(4_usize.checked_add(copied.checked_next_multiple_of(4)?)?..)?
        };
        Attributes::new(attributes).find(NLMSGERR_ATTR_MSG)?.as_text()
    }
}

/// The messages of one datagram; ends after the first damaged one.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Reads a datagram.
    pub fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.rest);
        let Some((message, length)) = message(bytes) else {
            return Some(Err(Damaged("a header that does not fit the datagram")));
        };
        self.rest = bytes.get(aligned(length)..).unwrap_or_default();
        Some(Ok(message))
    }
}

fn message(bytes: &[u8]) -> Option<(Message<'_>, usize)> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let message = Message {
        kind: u16_at(bytes, 4)?,
        flags: u16_at(bytes, 6)?,
        sequence: u32_at(bytes, 8)?,
        payload: bytes.get(HEADER..length)?,
    };
    Some((message, length))
}

/// One attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Which one, without the flags that say how to read it.
    pub kind: u16,
    /// Its bytes.
    pub payload: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// The first two bytes as a number.
    pub fn as_u16(&self) -> Option<u16> {
        u16_at(self.payload, 0)
    }

    /// The first four bytes as a number.
    pub fn as_u32(&self) -> Option<u32> {
        u32_at(self.payload, 0)
    }

    /// The text before the first NUL.
    pub fn as_text(&self) -> Option<String> {
        let text = self.payload.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// The attributes inside this one.
    pub fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.payload)
    }
}

/// A row of attributes; ends at the first that does not fit.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Reads the bytes that follow a fixed structure, or an attribute's payload.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The first attribute of this kind.
    pub fn find(mut self, kind: u16) -> Option<Attribute<'a>> {
        Iterator::find(&mut self, |attribute| attribute.kind == kind)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = std::mem::take(&mut self.rest);
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & ATTRIBUTE_KIND;
        let payload = bytes.get(ATTRIBUTE_HEADER..length)?;
        self.rest = bytes.get(aligned(length)..).unwrap_or_default();
        Some(Attribute { kind, payload })
    }
}

/// The attributes of a generic-netlink message.
pub fn generic_attributes(payload: &[u8]) -> Attributes<'_> {
    Attributes::new(payload.get(GENERIC_HEADER..).unwrap_or_default())
}

/// The number at this place, if the bytes reach so far.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error_message(flags: u16, payload: &[u8]) -> Vec<u8> {
        Request::new("test", NLMSG_ERROR).flags(flags).fixed(payload).finished(0, 7)
    }

    fn only(datagram: &[u8]) -> Message<'_> {
        Messages::new(datagram).next().unwrap().unwrap()
    }

    #[test]
    fn a_request_reads_back_as_the_message_it_is() {
        let bytes = Request::generic("test", 28, 5)
            .number(3, 42)
            .text(4, "wlan0")
            .attribute(6, &[1, 2, 3, 4, 5, 6])
            .finished(NLM_F_ACK, 9);
        let message = only(&bytes);
        assert_eq!((message.kind, message.flags, message.sequence), (28, 5, 9));
        let attributes = generic_attributes(message.payload);
        assert_eq!(attributes.clone().find(3).unwrap().as_u32(), Some(42));
        assert_eq!(attributes.clone().find(4).unwrap().as_text().unwrap(), "wlan0");
        assert_eq!(attributes.clone().find(6).unwrap().payload, [1, 2, 3, 4, 5, 6]);
        assert_eq!(attributes.clone().count(), 3);
        assert_eq!(attributes.find(7), None, "a missing attribute is absent");
    }

    #[test]
    fn several_messages_in_a_datagram_come_in_order() {
        let mut bytes = Request::new("one", 20).fixed(&[1]).finished(0, 1);
        bytes.extend(Request::new("two", 21).finished(0, 1));
        let kinds: Vec<u16> = Messages::new(&bytes).map(|message| message.unwrap().kind).collect();
        assert_eq!(kinds, [20, 21]);
    }

    #[test]
    fn an_acknowledgement_is_no_error_and_a_refusal_carries_its_number() {
        let fine = error_message(0, &0_i32.to_ne_bytes());
        assert!(only(&fine).verdict("test").is_ok());
        let refused = error_message(0, &(-17_i32).to_ne_bytes());
        let error = only(&refused).verdict("test").unwrap_err();
        assert!(error.is_refusal(Errno::EXIST), "{error:?}");
        assert_eq!(error.to_string(), "the kernel refused test");
    }

    #[test]
    fn the_kernels_sentence_is_found_behind_a_capped_request() {
        let mut payload = (-22_i32).to_ne_bytes().to_vec();
        payload.extend([0; HEADER]);
        payload.extend(Request::new("", 0).text(NLMSGERR_ATTR_MSG, "bad day").body);
        let bytes = error_message(NLM_F_CAPPED | NLM_F_ACK_TLVS, &payload);
        let error = only(&bytes).verdict("test").unwrap_err();
        assert_eq!(error.to_string(), "the kernel refused test (bad day)");
    }

    #[test]
    fn an_acknowledgement_without_a_number_is_malformed() {
        let bytes = error_message(0, &[]);
        assert!(matches!(only(&bytes).verdict("test"), Err(Error::Malformed { .. })));
    }

    #[test]
    fn a_header_longer_than_the_datagram_is_damaged_and_ends_it() {
        let mut bytes = Request::new("test", 20).finished(0, 1);
        bytes[0] = 200;
        let mut messages = Messages::new(&bytes);
        assert!(messages.next().unwrap().is_err());
        assert!(messages.next().is_none());
    }

    #[test]
    fn an_attribute_that_claims_no_length_ends_the_row() {
        assert_eq!(Attributes::new(&[0; 64]).count(), 0);
        assert_eq!(Attributes::new(&[3, 0, 1, 0, 9, 9, 9, 9]).count(), 0);
    }

    #[test]
    fn a_flagged_attribute_has_the_kind_without_its_flags() {
        let bytes = Request::new("", 0).attribute(0x8000 | 21, &[]).body;
        assert_eq!(Attributes::new(&bytes).next().unwrap().kind, 21);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic_and_to_an_end(bytes: Vec<u8>) {
            // Each step consumes at least a header, so the counts are bounded by the length.
            prop_assert!(Attributes::new(&bytes).count() <= bytes.len() / ATTRIBUTE_HEADER);
            let messages: Vec<_> = Messages::new(&bytes).collect();
            prop_assert!(messages.len() <= bytes.len() / HEADER + 1);
            for message in messages.into_iter().flatten() {
                let _ = message.meaning("test");
                let _ = message.explanation();
            }
        }

        #[test]
        fn any_attribute_comes_back_as_it_went(kind in 0..=ATTRIBUTE_KIND, payload: Vec<u8>) {
            let bytes = Request::new("", 0).attribute(kind, &payload).body;
            let found = Attributes::new(&bytes).next().unwrap();
            prop_assert_eq!((found.kind, found.payload), (kind, payload.as_slice()));
        }
    }
}
