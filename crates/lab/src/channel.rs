//! Both directions to an agent: orders out, frames in, neither of which may ever block.
//!
//! One loop for every access point. It writes what the peer takes, reads what has come, and looks at
//! patience and at the wish to stop in between. What else is known of a peer is [`Peer`]'s to say; what may
//! come is [`crate::exchange`]'s and [`crate::session`]'s.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use model::{
    span::Span,
    wire::{
        Broken, Decoder, Frame, LONGEST_FRAME, LONGEST_ORDER, Order, PROTOCOL, Refusal, encode,
    },
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
    io::Errno,
    net::Shutdown,
};

use crate::{
    Cancel, Error,
    device::Device,
    exchange::{Allowance, Exchange, Patience, unexpected},
    vm::Failure,
};

/// How often a wait looks for bad news.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How often a peer that a link leads to is told that we are there.
const BEAT: Duration = Duration::from_secs(1);

/// A peer that hears nothing for so long takes us for gone, and restores what it changed. Links that lose some packets
/// repeat them within this time.
const SILENCE: Span = Span::from_secs(10);

/// A reason is no longer than this, bytes; what is longer is cut.
const LONGEST_REASON: usize = 4096;

/// A line before any frame is no longer than this, bytes.
const LONGEST_LINE: usize = 256;

/// The other end, as it is known alongside the stream.
pub(crate) trait Peer {
    /// Why it is no more.
    fn death(&mut self) -> Failure;

    /// What makes waiting pointless although the stream is open.
    fn bad_news(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Bytes that it has shown elsewhere: growth is a sign of life.
    fn life(&self) -> u64 {
        0
    }

    /// The end of its console, where it has one.
    fn console(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The stream to an agent.
#[derive(Debug)]
pub(crate) struct Channel<P> {
    pub(crate) peer: P,
    input: Option<OwnedFd>,
    /// Who tells the peer that we are there, where a link leads to it.
    heart: Option<Heart>,
    /// Held while bytes are written that must not be torn apart.
    whole: Arc<Mutex<()>>,
    output: OwnedFd,
    decoder: Decoder,
    patience: Patience,
    cancel: Cancel,
    exchange: Exchange,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Orders are taken and answered.
    Works,
    /// The peer has not taken what was sent.
    Stuck,
    /// It is of no further use.
    Broken,
}

/// The descriptors of a stream, which may be the same socket.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
}

impl<P: Peer> Channel<P> {
    pub(crate) fn new(
        peer: P,
        Ends { input, output }: Ends,
        patience: Patience,
        cancel: Cancel,
    ) -> io::Result<Self> {
        for end in [&input, &output] {
            let flags = rustix::fs::fcntl_getfl(end)?;
            rustix::fs::fcntl_setfl(end, flags | OFlags::NONBLOCK)?;
        }
        let exchange = Exchange::begin(patience, Allowance::default(), Instant::now());
        let (decoder, state) = (Decoder::default(), State::Works);
        let (input, heart, whole) = (Some(input), None, Arc::default());
        Ok(Self { peer, input, heart, whole, output, decoder, patience, cancel, exchange, state })
    }

    /// From now on the peer is told that we are there, and may take us for gone where it hears nothing.
    pub(crate) fn keep_alive(&mut self) -> io::Result<()> {
        if let Some(input) = &self.input {
            self.heart = Some(Heart::start(input.try_clone()?, Arc::clone(&self.whole))?);
        }
        Ok(())
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    /// Something is awaited from now on that was not ordered through here.
    pub(crate) fn expect(&mut self, allowance: Allowance) {
        self.exchange = Exchange::begin(self.patience, allowance, Instant::now());
    }

    pub(crate) fn send(&mut self, bytes: &[u8], awaited: &'static str) -> Result<(), Error> {
        let whole = Arc::clone(&self.whole);
        let _whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = bytes;
        self.state = State::Stuck;
        while !rest.is_empty() {
            self.may_go_on(awaited)?;
            let (moved, written) = self.turn(rest)?;
            rest = &rest[written..];
            if !moved {
                self.look_around()?;
            }
        }
        self.state = State::Works;
        Ok(())
    }

    /// The next frame; `meanwhile` learns of the peer whenever nothing has come for a moment.
    pub(crate) fn next(
        &mut self,
        awaited: &'static str,
        meanwhile: &mut dyn FnMut(&P),
    ) -> Result<Frame, Error> {
        let next = self.next_or_failure(awaited, meanwhile);
        match &next {
            Ok(_) | Err(Error::Machine(Failure::Refused(_))) => {}
            Err(_) => self.state = State::Broken,
        }
        next
    }

    fn next_or_failure(
        &mut self,
        awaited: &'static str,
        meanwhile: &mut dyn FnMut(&P),
    ) -> Result<Frame, Error> {
        let (frame, bytes) = self.decoded(awaited, meanwhile, take_frame)?;
        Ok(self.looked_at(frame, bytes)?)
    }

    /// Waits a moment in which the peer should say nothing.
    /// Fails with what it refused, or with [`Failure::Unexpected`].
    pub(crate) fn expect_nothing(&mut self, awaited: &'static str) -> Result<(), Error> {
        self.may_go_on(awaited)?;
        if !self.turn(&[])?.0 {
            self.look_around()?;
        }
        match take_frame(&mut self.decoder).map_err(Failure::Stream)? {
            Some((frame, bytes)) => Err(unexpected(&self.looked_at(frame, bytes)?, awaited).into()),
            None => Ok(()),
        }
    }

    /// A line that the peer says before it speaks in frames.
    pub(crate) fn line(&mut self, awaited: &'static str) -> Result<String, Error> {
        self.decoded(awaited, &mut |_| {}, |decoder| decoder.line(LONGEST_LINE))
    }

    fn decoded<T>(
        &mut self,
        awaited: &'static str,
        meanwhile: &mut dyn FnMut(&P),
        take: impl Fn(&mut Decoder) -> Result<Option<T>, Broken>,
    ) -> Result<T, Error> {
        loop {
            self.may_go_on(awaited)?;
            if let Some(taken) = take(&mut self.decoder).map_err(Failure::Stream)? {
                return Ok(taken);
            }
            if !self.turn(&[])?.0 {
                self.look_around()?;
                meanwhile(&self.peer);
            }
        }
    }

    /// Ends the stream: the agent restores what it changed.
    pub(crate) fn hang_up(&mut self) {
        drop((self.heart.take(), self.input.take()));
        // Pipes are ended by the drop, sockets by this.
        let _ = rustix::net::shutdown(&self.output, Shutdown::Both);
    }

    /// Whether patience and everybody's wishes allow to wait on.
    fn may_go_on(&self, awaited: &'static str) -> Result<(), Error> {
        self.cancel.check()?;
        let checked = self.exchange.check(awaited, Instant::now());
        Ok(checked.map_err(|failure| match failure {
            Failure::Hang { awaited, waited, .. } => {
                Failure::Hang { awaited, waited, console: self.peer.console() }
            }
            failure => failure,
        })?)
    }

    /// Nothing has moved for a glance: does the peer live?
    fn look_around(&mut self) -> Result<(), Failure> {
        self.exchange.seen(self.peer.life(), Instant::now());
        self.peer.bad_news()
    }

    /// Reads what has come and writes what is taken, after a glance at most: whether anything moved, and
    /// how much was written.
    fn turn(&mut self, rest: &[u8]) -> Result<(bool, usize), Failure> {
        let wants_more = self.decoder.pending() < LONGEST_FRAME + 4;
        let (readable, writable) = self.ready(wants_more, !rest.is_empty());
        let read = if readable { self.receive()? } else { 0 };
        let written = if writable { self.write(rest)? } else { 0 };
        if read + written > 0 {
            self.exchange.moved(read + written, Instant::now());
        }
        Ok((read + written > 0, written))
    }

    /// Which directions have something to do. Where neither is asked for, a glance passes.
    fn ready(&self, reads: bool, writes: bool) -> (bool, bool) {
        let wanted = |asked, flag| if asked { flag } else { PollFlags::empty() };
        let mut fds = vec![PollFd::new(&self.output, wanted(reads, PollFlags::IN))];
        if let Some(input) = self.input.as_ref().filter(|_| writes) {
            fds.push(PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT));
        }
        // A signal ends the glance early, which does no harm.
        let _ = poll(&mut fds, Some(&POLL_INTERVAL));
        let is_ready = |place: usize| fds.get(place).is_some_and(|fd| !fd.revents().is_empty());
        (reads && is_ready(0), is_ready(1))
    }

    fn receive(&mut self) -> Result<usize, Failure> {
        let mut buffer = [0; 64 * 1024];
        match rustix::io::read(&self.output, &mut buffer[..]) {
            Ok(0) => Err(self.peer.death()),
            Ok(length) => {
                self.decoder.push(&buffer[..length]);
                Ok(length)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(0),
            Err(_) => Err(self.peer.death()),
        }
    }

    fn write(&mut self, rest: &[u8]) -> Result<usize, Failure> {
        let Some(input) = &self.input else { return Err(self.peer.death()) };
        match rustix::io::write(input, rest) {
            Ok(written) => Ok(written),
            Err(Errno::INTR | Errno::AGAIN) => Ok(0),
            Err(_) => Err(self.peer.death()),
        }
    }

    fn looked_at(&mut self, frame: Frame, bytes: usize) -> Result<Frame, Failure> {
        match frame {
            Frame::Hello { protocol, .. } if protocol != PROTOCOL => {
                Err(Failure::Protocol(protocol))
            }
            Frame::Refused(refusal) => Err(Failure::Refused(in_short(refusal))),
            // They go to files, whose lengths are bounded where they are written.
            Frame::Records(_) | Frame::Piece(_) => Ok(frame),
            frame => self.exchange.hold(bytes as u64).map(|()| frame),
        }
    }
}

/// A thread that tells a peer that we are there, whatever else we do meanwhile. Dropping it ends it.
#[derive(Debug)]
struct Heart {
    /// Nothing is sent: its end is what is waited for.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heart {
    fn start(input: OwnedFd, whole: Arc<Mutex<()>>) -> io::Result<Self> {
        let beat = encode(&Order::Alive(SILENCE)).map_err(io::Error::other)?;
        let (stop, stopped) = mpsc::channel();
        let beats = move || {
            while stopped.recv_timeout(BEAT) == Err(mpsc::RecvTimeoutError::Timeout) {
                // Whoever holds it is sending, and bytes are as good. So few are written whole or not at all (pipe(7)).
                if let Ok(_whole) = whole.try_lock() {
                    let _ = rustix::io::write(&input, &beat);
                }
            }
        };
        let thread = thread::Builder::new().name("heart".to_owned()).spawn(beats)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        // Its copy of the descriptor must be closed, or the peer would see no end.
        drop(self.stop.take());
        self.thread.take().map(JoinHandle::join);
    }
}

fn take_frame(decoder: &mut Decoder) -> Result<Option<(Frame, usize)>, Broken> {
    let before = decoder.pending();
    let frame = decoder.take()?;
    Ok(frame.map(|frame| (frame, before - decoder.pending())))
}

/// An order as it goes to the peer.
pub(crate) fn bytes_of(order: &Order) -> Result<Vec<u8>, Failure> {
    let bytes = encode(order).map_err(Failure::Stream)?;
    if bytes.len() > LONGEST_ORDER && !matches!(order, Order::Put(_)) {
        return Err(Failure::LongOrder(bytes.len()));
    }
    Ok(bytes)
}

impl<P: Peer> Device for Channel<P> {
    fn order(&mut self, order: &Order) -> Result<(), Error> {
        let bytes = bytes_of(order)?;
        self.expect(Allowance::of(order));
        self.send(&bytes, "it to take an order in")
    }

    fn frame(&mut self, awaited: &'static str) -> Result<Frame, Error> {
        self.next(awaited, &mut |_| {})
    }
}

/// A refusal whose reason fits on a page.
fn in_short(refusal: Refusal) -> Refusal {
    let message = refusal.to_string();
    if message.len() <= LONGEST_REASON {
        return refusal;
    }
    Refusal::plain(format!("{} …", &message[..message.floor_char_boundary(LONGEST_REASON)]))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        os::unix::net::UnixStream,
        time::Duration,
    };

    use super::*;

    struct Nobody;

    impl Peer for Nobody {
        fn death(&mut self) -> Failure {
            Failure::Lacks("life")
        }
    }

    fn pair(patience_ms: u64, cancel: &Cancel) -> (Channel<Nobody>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let ends = Ends { input: ours.try_clone().unwrap().into(), output: ours.into() };
        let patience = Patience { silence: Duration::from_millis(patience_ms), pace: 1 };
        (Channel::new(Nobody, ends, patience, cancel.clone()).unwrap(), theirs)
    }

    #[test]
    fn a_peer_that_never_reads_ends_patience_and_hears_a_wish_to_stop() {
        let cancel = Cancel::default();
        let (mut channel, _theirs) = pair(100, &cancel);
        let much = vec![0; 4 << 20];
        let message = channel.send(&much, "nothing").unwrap_err().to_string();
        assert!(message.contains("was silent for"), "{message}");
        assert_eq!(channel.state(), State::Stuck);
        cancel.stop();
        assert!(matches!(channel.send(&much, "nothing"), Err(Error::Interrupted)));
    }

    #[test]
    fn a_peer_that_talks_while_it_is_written_to_is_read_meanwhile() {
        let (mut channel, mut theirs) = pair(5_000, &Cancel::default());
        let talker = std::thread::spawn(move || {
            let frame = encode(&Frame::Done).unwrap();
            (0..100_000).for_each(|_| theirs.write_all(&frame).unwrap());
            let mut read = vec![0; 1 << 20];
            theirs.read_exact(&mut read).unwrap();
            theirs
        });
        channel.send(&vec![7; 1 << 20], "nothing").unwrap();
        drop(talker.join().unwrap());
        (0..100_000).for_each(|_| assert_eq!(channel.frame("").unwrap(), Frame::Done));
        assert!(matches!(channel.frame(""), Err(Error::Machine(Failure::Lacks("life")))));
    }

    #[test]
    fn the_longest_order_fits_where_nobody_reads() {
        // One that is busy or stands still reads nothing: its order waits in the socket.
        let (mut channel, _theirs) = pair(1_000, &Cancel::default());
        channel.send(&vec![0; LONGEST_ORDER], "nothing").unwrap();
    }

    #[test]
    fn a_reason_is_cut_between_letters() {
        let long = in_short(Refusal::plain("é".repeat(1 << 18))).to_string();
        assert!(long.len() < LONGEST_REASON + 8 && long.ends_with("é …"), "{}", long.len());
        let short = Refusal::plain("no");
        assert_eq!(in_short(short.clone()), short);
    }
}
