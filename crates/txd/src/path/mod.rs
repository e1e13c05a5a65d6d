//! A driver and its card between two TAPs, in real time: one thread that does what the driver says.
//!
//! Frames that the stack sends over one interface go through the driver and the card and come out of the other. The
//! card is passive: while the driver sleeps, nothing runs, and the card's interrupt is the end of a sleep until the
//! moment at which the card says that its line will rise. That is one timer of the kernel, as a real interrupt is one
//! wake-up; no descriptor of its own is needed for it. What emitting frames costs is the model's and is accounted
//! apart, by this thread's own CPU clock.
//!
//! Frames that wait for the driver wait in the interface's own queue, as behind a driver that has stopped its queue:
//! the driver takes no more of them than go under one command.

pub mod command;
mod mark;

use std::{io, os::fd::OwnedFd, sync::Arc};

use linux::tap::Tap;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};

pub use self::mark::{Mark, Marks};
use crate::{
    card::{Card, LONGEST_FRAME, register::Register},
    driver::{Driver, Turn, bus::Bus},
    wait::{
        Step,
        clock::{monotonic_ns, sleep_until_ns, thread_cpu_ns, timespec},
    },
};

/// Sleeps for an interrupt look so often whether the path is to end, ns.
const LOOK_UP_NS: u64 = 100_000_000;
/// An interface that is down is looked at so often, ns.
const DOWN_NS: u64 = 20_000_000;

/// The card and the world's clock.
#[derive(Debug)]
struct Clocked {
    card: Card,
    now_ns: u64,
}

impl Bus for Clocked {
    fn now(&mut self) -> u64 {
        self.now_ns = monotonic_ns();
        self.now_ns
    }

    fn read(&mut self, register: Register) -> u16 {
        self.card.read(register, self.now_ns)
    }

    fn write(&mut self, register: Register, value: u16) {
        self.card.write(register, value, self.now_ns);
    }

    fn write_data(&mut self, bytes: &[u8]) {
        self.card.write_data(bytes, self.now_ns);
    }

    fn reset(&mut self) {
        self.card.reset(self.now_ns);
    }
}

/// Who is shown each frame that comes out, with the moment, ns.
pub type Observer = Box<dyn FnMut(&[u8], u64) + Send>;

/// Why a path ended other than it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An interface is not there any more.
    #[error("interface {name} is gone: somebody removed it")]
    Interface {
        /// Its name.
        name: String,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// The card does not come up any more.
    #[error("the card does not answer: it was reset {resets} times in vain")]
    Card {
        /// How often.
        resets: u64,
    },
}

/// A driver and its card between two TAPs.
pub struct Path {
    input: Tap,
    output: Tap,
    driver: Driver,
    bus: Clocked,
    marks: Arc<Marks>,
    observer: Option<Observer>,
    buffer: Vec<u8>,
    sent: u64,
    undelivered: u64,
    air_ns: u64,
    spun_ns: u64,
}

impl Path {
    /// From one TAP to another.
    pub fn new((input, output): (Tap, Tap), driver: Driver, card: Card, marks: Arc<Marks>) -> Self {
        let bus = Clocked { card, now_ns: monotonic_ns() };
        Self {
            input,
            output,
            driver,
            bus,
            marks,
            observer: None,
            // One byte more than fits, so that a frame that is too long is seen to be.
            buffer: vec![0; LONGEST_FRAME + 1],
            sent: 0,
            undelivered: 0,
            air_ns: 0,
            spun_ns: 0,
        }
    }

    /// Shows each frame that comes out; what that costs is the model's.
    pub fn observed(mut self, observer: Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sends until it is asked to end.
    ///
    /// # Errors
    ///
    /// An interface that was removed, or a card that died.
    pub fn run(mut self) -> Result<(), Error> {
        let result = self.send();
        self.marks.ended(self.mark());
        result
    }

    fn send(&mut self) -> Result<(), Error> {
        loop {
            if self.marks.is_asked() && self.marks.answer(|| self.mark()) {
                return Ok(());
            }
            match self.driver.turn(&mut self.bus) {
                Turn::Wait(step) => match self.driver.underway() {
                    Some(kind) => command::of(self, kind, step),
                    None => self.carry_out(step),
                },
                Turn::Idle if self.driver.is_gone() => {
                    self.emit();
                    let resets = self.driver.counters().resets;
                    return Err(Error::Card { resets });
                }
                Turn::Idle => self.idle()?,
            }
        }
    }

    /// Waits for the command that runs, until it has ended.
    fn complete(&mut self, mut step: Step) {
        // What has left meanwhile is emitted while this command runs, as a card does both at a time.
        self.emit();
        loop {
            let next = match step {
                Step::Look => spin(self),
                step => {
                    self.carry_out(step);
                    self.driver.look(&mut self.bus)
                }
            };
            match next {
                Some(next) => step = next,
                None => return,
            }
        }
    }

    fn carry_out(&mut self, step: Step) {
        match step {
            Step::Look => {}
            Step::Sleep { until_ns } => {
                self.emit_until(until_ns);
                sleep_until_ns(until_ns);
            }
            Step::Await { until_ns } => self.await_interrupt(until_ns),
        }
    }

    /// Sleeps until the card's line is raised, and handles it; or until a moment.
    fn await_interrupt(&mut self, until_ns: u64) {
        let until_ns = until_ns.min(self.bus.now_ns.saturating_add(LOOK_UP_NS));
        let rises = self.bus.card.next_interrupt_ns();
        let until_ns = rises.map_or(until_ns, |rises| rises.min(until_ns));
        self.emit_until(until_ns);
        if self.bus.now_ns < until_ns {
            sleep_until_ns(until_ns);
        }
        let now = self.bus.now();
        if self.bus.card.interrupt(now) {
            self.driver.interrupt(&mut self.bus);
        }
    }

    /// Emits what leaves before a moment, when it does: wake-ups of the model, which no driver has.
    fn emit_until(&mut self, until_ns: u64) {
        while let Some(leaves) = self.bus.card.next_departure_ns().filter(|&at| at < until_ns) {
            let before = thread_cpu_ns();
            sleep_until_ns(leaves);
            self.bus.now();
            self.air_ns += thread_cpu_ns() - before;
            self.emit();
        }
    }

    /// Emits what has left by the last look at the clock.
    fn emit(&mut self) {
        let now = self.bus.now_ns;
        if self.bus.card.next_departure_ns().is_none_or(|leaves| leaves > now) {
            return;
        }
        let before = thread_cpu_ns();
        while let Some(departed) = self.bus.card.take_departed(now) {
            match self.output.send(&departed.frame) {
                Ok(()) => self.sent += 1,
                Err(_) => {
                    self.undelivered += 1;
                    continue;
                }
            }
            if let Some(observer) = &mut self.observer {
                observer(&departed.frame, monotonic_ns());
            }
        }
        self.air_ns += thread_cpu_ns() - before;
    }

    /// Takes frames from the interface; where there are none, sleeps until there are.
    fn idle(&mut self) -> Result<(), Error> {
        let mut pause = None;
        for place in 0..self.driver.wants() {
            match self.input.receive(&mut self.buffer) {
                Ok(Some(length)) => {
                    // A refusal is counted, and there is nobody else to tell.
                    let _ = self.driver.offer(&self.buffer[..length]);
                }
                Ok(None) if place == 0 => break,
                Ok(None) => return Ok(()),
                Err(source) => {
                    if !is_down(&source) {
                        let name = self.input.name().to_owned();
                        return Err(Error::Interface { name, source });
                    }
                    pause = Some(DOWN_NS);
                    break;
                }
            }
        }
        if self.driver.wants() == 0 || self.driver.queued() > 0 {
            return Ok(());
        }
        self.emit();
        let now = self.bus.now();
        let departure = self.bus.card.next_departure_ns();
        let until = [departure, pause.map(|pause| now + pause)].into_iter().flatten().min();
        let left = until.map(|until| timespec(until.saturating_sub(now)));
        let before = departure.map(|_| thread_cpu_ns());
        let marks = &self.marks;
        let mut both =
            [PollFd::new(marks.wake(), PollFlags::IN), PollFd::new(&self.input, PollFlags::IN)];
        // While it is down the interface is left out: it would end the sleep at once.
        let watched = if pause.is_some() { 1 } else { 2 };
        let ready = poll(&mut both[..watched], left.as_ref());
        let now = self.bus.now();
        if let Some(before) = before
            && ready == Ok(0)
            && departure.is_some_and(|leaves| leaves <= now)
        {
            self.air_ns += thread_cpu_ns() - before;
        }
        Ok(())
    }

    fn mark(&self) -> Mark {
        let lost = self.bus.card.lost();
        let queued = self.driver.queued() as i64 + self.bus.card.on_the_way();
        Mark {
            at_ns: monotonic_ns(),
            cpu_ns: thread_cpu_ns(),
            air_ns: self.air_ns,
            spun_ns: self.spun_ns,
            counters: self.driver.counters().clone(),
            sent: self.sent,
            undelivered: self.undelivered,
            lost,
            queued: queued.max(0) as u64,
            running: self.driver.is_running(),
        }
    }
}

/// Reads the command register until its busy bit is gone, or until the driver would rather do something else.
///
/// It is a function of its own, so that a profile names it: this is the loop that the study is about.
#[inline(never)]
pub fn spin(path: &mut Path) -> Option<Step> {
    let (before, emitted) = (thread_cpu_ns(), path.air_ns);
    let next = loop {
        match path.driver.look(&mut path.bus) {
            Some(Step::Look) => {
                std::hint::spin_loop();
                path.emit();
            }
            next => break next,
        }
    };
    path.spun_ns += (thread_cpu_ns() - before).saturating_sub(path.air_ns - emitted);
    next
}

/// An interface that is down, or was not up yet.
fn is_down(error: &io::Error) -> bool {
    [Errno::IO, Errno::NETDOWN]
        .iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A descriptor to wake a thread with.
fn eventfd() -> io::Result<OwnedFd> {
    use rustix::event::EventfdFlags;
    Ok(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}
