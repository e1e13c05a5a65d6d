//! The conversation with the host, and the only place that waits: for frames, time, signals and children.
//!
//! Talks to the stream and to signals. It knows no order's meaning: that is [`crate::dispatch`]'s.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use linux::{process::Signals, system::monotonic_ns};
use model::wire::{Frame, Order, PROTOCOL, Refusal};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create,
        timerfd_settime,
    },
};

use crate::{
    census, facts,
    stream::{Lost, Stream},
};

/// How often a port without a host is looked at, ns. Polling it would return at once.
const HOST_CHECK_NS: u64 = 100_000_000;

/// Signals that end the agent; it restores first.
const ENDING: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::HUP];

#[derive(Debug, thiserror::Error)]
pub enum Stop {
    #[error(transparent)]
    Lost(#[from] Lost),
    #[error("signal {0}")]
    Signal(i32),
    #[error("cannot wait")]
    Wait(#[source] io::Error),
}

/// What ended an order before its end.
#[derive(Debug)]
pub enum End {
    Refused(Refusal),
    Order(Box<Order>),
    Stop(Stop),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// How long to look for something, and how often, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polling {
    /// Then it is given up.
    pub(crate) for_ns: u64,
    /// From one look to the next.
    pub(crate) every_ns: u64,
}

#[derive(Debug)]
pub enum Woken {
    Due,
    /// A child of ours has ended, perhaps several.
    Child,
    /// A watched process has ended: its place in the list.
    Ended(usize),
    Ring,
}

/// The stream and the signals, waited for together.
#[derive(Debug)]
pub struct Session {
    stream: Stream,
    signals: Signals,
    /// The kernel may let `poll` itself sleep a thousandth longer than it was asked to, which is late by
    /// 1 ms each second; a timer of absolute time is not late.
    timer: OwnedFd,
}

impl Session {
    /// Blocks the signals that are from now on read.
    pub fn new(stream: Stream) -> io::Result<Self> {
        let [term, int, hup] = ENDING;
        let signals = Signals::block(&[Signal::CHILD, term, int, hup])?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { stream, signals, timer })
    }

    /// Waits for a host where the port has none, and begins a conversation.
    pub(crate) fn await_host(&mut self) -> Result<(), Stop> {
        while self.stream.awaits_host() {
            let timeout = timespec(HOST_CHECK_NS);
            let mut fds = [PollFd::new(&self.signals, PollFlags::IN)];
            poll(&mut fds, Some(&timeout)).map_err(|errno| Stop::Wait(errno.into()))?;
            self.take_signal()?;
        }
        self.stream.forget();
        Ok(())
    }

    /// Whether the port has lost its host, and may get another.
    pub(crate) fn awaits_host(&self) -> bool {
        self.stream.awaits_host()
    }

    /// Whether the host speaks to us through a port, so that this may be a virtual access point of headroom's.
    pub(crate) fn is_on_port(&self) -> bool {
        self.stream.is_port()
    }

    /// Says who we are, and what the programs in question are.
    pub fn hello(&mut self, programs: Vec<model::facts::Program>) -> Result<(), Stop> {
        let facts = Box::new(model::facts::Facts { programs, ..facts::gather() });
        self.send(&Frame::Hello { protocol: PROTOCOL, facts })
    }

    pub fn census(&mut self) -> Result<(), Stop> {
        self.send(&Frame::Census(census::take()))
    }

    pub fn send(&mut self, frame: &Frame) -> Result<(), Stop> {
        Ok(self.stream.send(frame)?)
    }

    /// Sends [`Frame::Records`] with these bytes.
    pub(crate) fn send_records(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        Ok(self.stream.send_records(bytes)?)
    }

    /// Waits until a moment of the monotonic clock, ns, or until something happens; `watched` are
    /// descriptors that become readable when a process ends.
    pub fn wait(&mut self, until: Option<u64>, watched: &[OwnedFd]) -> Result<Woken, End> {
        self.wait_for(until, watched, &[])
    }

    /// Waits until a moment of the monotonic clock, ns, whatever happens meanwhile.
    pub(crate) fn sleep_until(&mut self, until: u64) -> Result<(), End> {
        while !matches!(self.wait(Some(until), &[])?, Woken::Due) {}
        Ok(())
    }

    /// Looks again and again until something is seen; `None` when patience is over.
    pub(crate) fn until<T>(
        &mut self,
        polling: Polling,
        mut look: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>, End> {
        let until = monotonic_ns() + polling.for_ns;
        loop {
            if let Some(seen) = look() {
                return Ok(Some(seen));
            }
            if monotonic_ns() >= until {
                return Ok(None);
            }
            self.wait(Some(monotonic_ns() + polling.every_ns), &[])?;
        }
    }

    /// [`Session::wait`], also for rings that become readable when they are to be emptied.
    pub fn wait_for(
        &mut self,
        until: Option<u64>,
        watched: &[OwnedFd],
        rings: &[BorrowedFd<'_>],
    ) -> Result<Woken, End> {
        self.set_timer(until)?;
        loop {
            let mut fds = Vec::with_capacity(4 + watched.len() + rings.len());
            fds.push(PollFd::from_borrowed_fd(self.stream.input(), PollFlags::IN));
            // Nothing is asked of the output: a reader that is gone is told anyway.
            fds.push(PollFd::from_borrowed_fd(self.stream.output(), PollFlags::empty()));
            fds.push(PollFd::new(&self.signals, PollFlags::IN));
            fds.push(PollFd::new(&self.timer, PollFlags::IN));
            fds.extend(
                watched.iter().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)),
            );
            fds.extend(rings.iter().map(|&fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            // How exact this is does not matter: it is no moment of a measurement.
            let silence = self.stream.may_be_silent_for().map(timespec);
            match poll(&mut fds, silence.as_ref()) {
                Ok(0) => return Err(Stop::from(self.stream.silent()).into()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Stop::Wait(errno.into()).into()),
            }
            let happened: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if let Some(woken) = self.explain(&happened, watched.len())? {
                return Ok(woken);
            }
        }
    }

    /// What the descriptors mean that have something to tell.
    fn explain(&mut self, happened: &[bool], watched: usize) -> Result<Option<Woken>, End> {
        if happened[2] && self.take_signal()? {
            return Ok(Some(Woken::Child));
        }
        if happened[0] {
            return match self.stream.receive().map_err(Stop::from)? {
                Some(order) => Err(End::Order(order.into())),
                None => Ok(None),
            };
        }
        if happened[1] {
            return Err(Stop::from(Lost::Ended).into());
        }
        let (watched, rings) = happened[4..].split_at(watched);
        if let Some(place) = watched.iter().position(|&ended| ended) {
            return Ok(Some(Woken::Ended(place)));
        }
        if happened[3] {
            return Ok(Some(Woken::Due));
        }
        Ok(rings.contains(&true).then_some(Woken::Ring))
    }

    /// Sets the timer to a moment; `None`, and only that, stops it.
    fn set_timer(&self, until: Option<u64>) -> Result<(), Stop> {
        let it_value = until.map_or(timespec(0), |until| timespec(until.max(1)));
        let time = Itimerspec { it_interval: timespec(0), it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &time)
            .map(drop)
            .map_err(|errno| Stop::Wait(errno.into()))
    }

    /// Takes one signal: whether it speaks of a child.
    fn take_signal(&mut self) -> Result<bool, Stop> {
        match self.signals.next() {
            None => Ok(false),
            Some(number) if number == Signal::CHILD.as_raw() => Ok(true),
            Some(number) => Err(Stop::Signal(number)),
        }
    }
}

fn timespec(nanos: u64) -> Timespec {
    // Both parts fit: u64 nanoseconds are at most 584 years.
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}
