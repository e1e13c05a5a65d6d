//! Netlink: one socket, requests out, messages and attributes in.
//!
//! Talks to the kernel over `AF_NETLINK`. It knows the shape of messages (headers, attributes,
//! acknowledgements, dumps, generic families) and nothing of what they mean; [`crate::nl80211`] and
//! [`crate::link`] do. It subscribes to no multicast group: every message is the reply to a request.
//!
//! Layout: <https://docs.kernel.org/userspace-api/netlink/intro.html>.

mod message;

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

use self::message::Meaning;
pub use self::message::{
    Attribute, Attributes, Damaged, Message, Messages, Request, generic_attributes, u32_at,
};

/// The kernel fills a dump message up to the size of the reader's buffer, at most 32 KiB.
const BUFFER: usize = 32 * 1024;
/// Room in the kernel for replies that wait for us; a dump is paced by it, so it bounds nothing.
const KERNEL_BUFFER: usize = 256 * 1024;
/// The kernel answers within the system call; silence for this long means that no reply will come.
const SILENCE: Duration = Duration::from_secs(30);
/// How often a dump that changed while it was read is read again.
const DUMP_ATTEMPTS: u32 = 8;

const NLM_F_ACK: u16 = 0x04;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;

const SOL_NETLINK: c_int = 270;
const NETLINK_EXT_ACK: c_int = 11;

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
