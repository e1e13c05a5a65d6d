//! The stream to headroom over pipes, sockets, or a port of virtio-serial: frames out, orders in.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use linux::system::monotonic_ns;
use model::wire::{Broken, Decoder, Frame, LONGEST_HEAD, Order, encode, records_head};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::FileType,
    io::Errno,
};

/// A peer that takes nothing for so long is gone: the subject must not wait for it in a foreign group.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

#[derive(Debug, thiserror::Error)]
pub enum Lost {
    #[error("the stream ended")]
    Ended,
    /// The peer does not take what is sent.
    #[error("the stream was not read for {} seconds", PATIENCE.tv_sec)]
    Stuck,
    /// The peer said that it would be heard of, and is not.
    #[error("nothing was heard for {} s", .0 / 1_000_000_000)]
    Silent(u64),
    #[error("the stream failed")]
    Failed(#[source] io::Error),
    /// The peer does not speak our format.
    #[error("the stream is not headroom's")]
    Broken(#[from] Broken),
}

impl From<Errno> for Lost {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PIPE | Errno::CONNRESET | Errno::NODEV => Self::Ended,
            errno => Self::Failed(errno.into()),
        }
    }
}

#[derive(Debug)]
pub struct Stream {
    input: OwnedFd,
    output: OwnedFd,
    decoder: Decoder,
    /// A device whose other end may come back: a port of virtio-serial.
    port: bool,
    /// How long a peer may be silent that has said so, ns.
    silence_ns: Option<u64>,
    /// When it was heard last, on the monotonic clock, ns.
    heard_ns: u64,
}

impl Stream {
    pub fn standard() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        Self::new(input, output)
    }

    pub fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&input)?.st_mode);
        let port = kind == FileType::CharacterDevice && !rustix::termios::isatty(&input);
        let (decoder, heard_ns) = (Decoder::default(), monotonic_ns());
        Ok(Self { input, output, decoder, port, silence_ns: None, heard_ns })
    }

    pub fn send(&mut self, frame: &Frame) -> Result<(), Lost> {
        self.write(&encode(frame)?)
    }

    /// Sends [`Frame::Records`] with these bytes, without another copy of them.
    pub fn send_records(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let mut head = [0; LONGEST_HEAD];
        self.write(records_head(bytes.len(), &mut head))?;
        self.write(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let mut rest = bytes;
        while !rest.is_empty() {
            self.await_room()?;
            match rustix::io::write(&self.output, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// A write to a port without a host would sleep in the kernel, where no signal descriptor wakes it.
    fn await_room(&self) -> Result<(), Lost> {
        let mut fds = [PollFd::new(&self.output, PollFlags::OUT)];
        match poll(&mut fds, Some(&PATIENCE)) {
            Ok(0) => Err(Lost::Stuck),
            Ok(_) if fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => {
                Err(Lost::Ended)
            }
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes what has arrived, and answers the last order that is whole. To be called when
    /// [`Stream::input`] is readable or hung up, else it waits.
    /// Fails with [`Lost::Ended`] at the stream's end, others where it broke.
    pub fn receive(&mut self) -> Result<Option<Order>, Lost> {
        let mut bytes = [0; 4096];
        match rustix::io::read(&self.input, &mut bytes) {
            Ok(0) => return Err(Lost::Ended),
            Ok(length) => {
                self.decoder.push(&bytes[..length]);
                self.heard_ns = monotonic_ns();
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut last = None;
        while let Some(order) = self.decoder.take()? {
            match order {
                Order::Alive(silence) => self.silence_ns = Some(silence.as_nanos()),
                order => last = Some(order),
            }
        }
        Ok(last)
    }

    /// How long the peer may still be silent, ns; `None` where it never said that it would be heard of. What has come and
    /// was not received yet is not known here.
    pub(crate) fn may_be_silent_for(&self) -> Option<u64> {
        let since = monotonic_ns().saturating_sub(self.heard_ns);
        self.silence_ns.map(|silence_ns| silence_ns.saturating_sub(since))
    }

    pub(crate) fn silent(&self) -> Lost {
        Lost::Silent(self.silence_ns.unwrap_or_default())
    }

    pub fn input(&self) -> BorrowedFd<'_> {
        self.input.as_fd()
    }

    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// Whether this is a port of virtio-serial, as a virtual access point has.
    pub(crate) fn is_port(&self) -> bool {
        self.port
    }

    /// Whether this is a port without a host, which may yet come, or come back.
    pub fn awaits_host(&self) -> bool {
        let mut fds = [PollFd::new(&self.input, PollFlags::empty())];
        let polled = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        self.port && polled.is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }

    /// Forgets the half of an order that a peer left behind.
    pub fn forget(&mut self) {
        (self.decoder, self.silence_ns) = (Decoder::default(), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Stream, OwnedFd, OwnedFd) {
        let (input, to_agent) = rustix::pipe::pipe().unwrap();
        let (from_agent, output) = rustix::pipe::pipe().unwrap();
        (Stream::new(input, output).unwrap(), to_agent, from_agent)
    }

    fn introduce(name: &str) -> Order {
        Order::Introduce { subject: Some(name.to_owned()) }
    }

    #[test]
    fn the_last_of_several_orders_is_the_one_that_counts() {
        let (mut stream, to_agent, _from_agent) = pair();
        let mut bytes = encode(&introduce("first")).unwrap();
        bytes.extend(encode(&introduce("second")).unwrap());
        rustix::io::write(&to_agent, &bytes).unwrap();
        assert_eq!(stream.receive().unwrap(), Some(introduce("second")));
    }

    #[test]
    fn a_pipe_never_awaits_a_host() {
        let (stream, to_agent, _from_agent) = pair();
        drop(to_agent);
        assert!(!stream.awaits_host());
    }
}
