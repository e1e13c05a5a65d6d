//! What carries datagrams to the kernel and back: the seam where the world begins.
//!
//! [`Wire`] is a real socket, of netlink or one end of a pair. A recording or a script in its place lets
//! the readers above be driven without a kernel. Nothing here knows what a datagram holds.

use std::{
    collections::VecDeque,
    ffi::c_int,
    fmt::{self, Debug, Formatter},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use rustix::{
    event::{EventfdFlags, eventfd},
    io::Errno,
    net::{
        self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink, sockopt,
    },
};

use super::{Error, Protocol};

use crate::error::checked;

/// Room in the kernel for replies that wait for us; a dump is paced by it, so it bounds nothing.
const KERNEL_BUFFER: usize = 256 * 1024;
/// The kernel answers within the system call; silence for this long means that no reply will come.
const SILENCE: Duration = Duration::from_secs(30);

const SOL_NETLINK: c_int = 270;
const NETLINK_ADD_MEMBERSHIP: c_int = 1;
const NETLINK_EXT_ACK: c_int = 11;

/// Whether a receiver waits where no datagram is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Until one comes, or half a minute has passed.
    Wait,
    /// Not at all; [`Errno::AGAIN`] says that there is none.
    Never,
}

/// Carries datagrams; the descriptor becomes readable when one waits.
pub trait Transport: AsFd + Debug + Send {
    fn send(&mut self, datagram: &[u8]) -> Result<(), Errno>;

    /// Receives one datagram into the buffer and returns its true length, which is greater than the
    /// buffer's where the datagram was cut.
    fn receive(&mut self, buffer: &mut [u8], patience: Patience) -> Result<usize, Errno>;
}

/// A socket that keeps datagrams apart.
#[derive(Debug)]
pub struct Wire {
    fd: OwnedFd,
}

impl Wire {
    /// Opens a netlink socket in the calling thread's network namespace.
    pub fn open(protocol: Protocol) -> Result<Self, Error> {
        let fd = open_fd(protocol).map_err(|errno| Error::Open(errno.into()))?;
        ask_for_extended_acks(&fd).map_err(Error::Open)?;
        Ok(Self { fd })
    }

    pub(crate) fn join(&self, group: u32) -> io::Result<()> {
        set_option(&self.fd, NETLINK_ADD_MEMBERSHIP, group.cast_signed())
    }

    /// Two ends that talk to each other, for a kernel played by a test.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (ours, theirs) = net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self { fd: ours }, Self { fd: theirs }))
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Transport for Wire {
    fn send(&mut self, datagram: &[u8]) -> Result<(), Errno> {
        // Without an address a netlink socket sends to the kernel.
        net::send(&self.fd, datagram, SendFlags::NOSIGNAL).map(drop)
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Patience) -> Result<usize, Errno> {
        // MSG_TRUNC makes the kernel tell the true length, so that a cut message is seen.
        let flags = match patience {
            Patience::Wait => RecvFlags::TRUNC,
            Patience::Never => RecvFlags::TRUNC | RecvFlags::DONTWAIT,
        };
        net::recv(&self.fd, buffer, flags).map(|(_, length)| length)
    }
}

/// What one receive of a script gives.
pub type Reply = Result<Vec<u8>, Errno>;

/// A kernel played by a closure: it sees each request and says what the receives after it give.
pub struct Script<F> {
    answer: F,
    waiting: VecDeque<Reply>,
    fd: OwnedFd,
}

impl<F: FnMut(&[u8]) -> Vec<Reply> + Send> Script<F> {
    /// A kernel that answers so; receives beyond its answers give [`Errno::AGAIN`].
    ///
    /// Its descriptor can always be read, so that whoever polls it comes and looks.
    pub fn new(answer: F) -> io::Result<Self> {
        let fd = eventfd(1, EventfdFlags::CLOEXEC)?;
        Ok(Self { answer, waiting: VecDeque::new(), fd })
    }

    /// Adds what the kernel says without having been asked.
    #[must_use]
    pub fn saying(mut self, reply: Reply) -> Self {
        self.waiting.push_back(reply);
        self
    }
}

impl<F> Debug for Script<F> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Script").field("waiting", &self.waiting.len()).finish()
    }
}

impl<F> AsFd for Script<F> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl<F: FnMut(&[u8]) -> Vec<Reply> + Send> Transport for Script<F> {
    fn send(&mut self, datagram: &[u8]) -> Result<(), Errno> {
        self.waiting.extend((self.answer)(datagram));
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Patience) -> Result<usize, Errno> {
        let datagram = self.waiting.pop_front().ok_or(Errno::AGAIN)??;
        Ok(delivered(&datagram, buffer))
    }
}

/// Copies what fits, as a socket does, and returns the true length.
pub(super) fn delivered(datagram: &[u8], buffer: &mut [u8]) -> usize {
    let fitting = datagram.len().min(buffer.len());
    if let (Some(to), Some(from)) = (buffer.get_mut(..fitting), datagram.get(..fitting)) {
        to.copy_from_slice(from);
    }
    datagram.len()
}

fn open_fd(protocol: Protocol) -> Result<OwnedFd, Errno> {
    let number = match protocol {
        // NETLINK_ROUTE is 0, which is what “no protocol” sends.
        Protocol::Route => None,
        Protocol::Generic => Some(netlink::GENERIC),
        Protocol::Sockets => Some(netlink::SOCK_DIAG),
        Protocol::Netfilter => Some(netlink::NETFILTER),
    };
    let fd =
        net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, number)?;
    sockopt::set_socket_recv_buffer_size(&fd, KERNEL_BUFFER)?;
    sockopt::set_socket_timeout(&fd, sockopt::Timeout::Recv, Some(SILENCE))?;
    bind(&fd, &netlink::SocketAddrNetlink::new(0, 0))?;
    Ok(fd)
}

/// A kernel before 4.12 does not know the option; refusals then come without a sentence.
fn ask_for_extended_acks(fd: &OwnedFd) -> io::Result<()> {
    match set_option(fd, NETLINK_EXT_ACK, 1) {
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(()),
        result => result,
    }
}

fn set_option(fd: &OwnedFd, option: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open for the whole call, and the pointer and length describe `value`,
    // which outlives it; the kernel only reads from there.
    let answer = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            SOL_NETLINK,
            option,
            (&raw const value).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    checked(answer).map(drop)
}
