//! A guard that runs: it wakes when its senses, a signal, its time, or a request at one of its sockets wants it.
//!
//! It asks the clock and passes things on; it decides nothing and writes nothing itself.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use linux::system::boottime_ns;
use listen::Hosts;
use rustix::{
    event::{PollFd, PollFlags, poll},
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};

use super::{
    guard::Guard,
    signals::Signals,
    sockets::{Answer, Sockets},
};
use crate::{
    control, decide, failure::Failure, flags, journal::Report, output::complain, sense::Woken,
    status::Status,
};

/// The watchdog hears of guard so often, ns.
const BEAT_NS: u64 = 800_000_000;

#[derive(Debug)]
pub struct Session {
    name: String,
    guard: Guard,
    sockets: Sockets,
    signals: Signals,
    /// Rings so often that the watchdog is never left without a word.
    heart: OwnedFd,
    /// How long this tick is to be, and when it began, ns.
    tick_ns: u64,
    ticked_ns: u64,
}

impl Session {
    /// Begins.
    /// A failure is one line, and nothing is changed or left behind.
    pub fn begin(flags: &flags::Run, signals: Signals, name: &str) -> Result<Self, Failure> {
        // A dry run keeps its socket apart: it may run beside a guard that acts.
        let state = &flags.place.state;
        let folder = if flags.dry_run { state.join("dry-run") } else { state.clone() };
        let guard = Guard::begin(flags, &folder, name)?;
        let hosts = Hosts::named(flags.hosts.iter().cloned());
        let sockets = Sockets::open(&control::socket(&folder), flags.listen, hosts)
            .map_err(|error| Failure::environment(&error))?;
        let heart = alarm(BEAT_NS, BEAT_NS).map_err(|error| Failure::environment(&error))?;
        let (tick_ns, ticked_ns) = (decide::TICK_NS, boottime_ns());
        guard.say_what_is_watched();
        Ok(Self { name: name.to_owned(), guard, sockets, signals, heart, tick_ns, ticked_ns })
    }

    /// Runs until a signal comes, its time is over, or, with `--once`, its second tick is done: differences
    /// need two looks.
    pub fn run(&mut self, flags: &flags::Run) -> Result<(), Failure> {
        let span = flags.span.map(|span| alarm(span.as_nanos(), 0));
        let deadline = span.transpose().map_err(|error| Failure::environment(&error))?;
        let mut ticks = 0;
        loop {
            let is_called = self.wait(deadline.as_ref())?;
            if is_called && self.heed(deadline.as_ref()) {
                return Ok(());
            }
            let (now, guard) = (boottime_ns(), &mut self.guard);
            if is_called || self.sockets.has_connections() {
                self.sockets.serve(now, &mut |request| guard.answer(request));
            }
            // A fifth early is a timer's own; who knocks does not bring the tick forward.
            if now - self.ticked_ns >= self.tick_ns / 5 * 4 {
                self.ticked_ns = now;
                self.tick_ns = self.guard.tick(now);
                ticks += 1;
            }
            if flags.once && ticks > 1 {
                return Ok(());
            }
        }
    }

    /// Looks at what may have called: the heart, signals, the deadline. Whether it is over. Most ticks are called
    /// by no one, and then none of it costs a system call.
    fn heed(&mut self, deadline: Option<&OwnedFd>) -> bool {
        if self.signals.stops() || deadline.is_some_and(is_over) {
            return true;
        }
        if has_rung(&self.heart) {
            self.guard.beat();
        }
        if self.signals.reloads() {
            let (Answer::Done(text) | Answer::Refused(text)) = self.guard.reload();
            complain(&self.name, text.trim_end());
        }
        false
    }

    /// Sleeps until the next tick is due, or something is to be looked at: whether that is so.
    fn wait(&mut self, deadline: Option<&OwnedFd>) -> Result<bool, Failure> {
        let descriptors: Vec<BorrowedFd<'_>> = self
            .signals
            .descriptors()
            .into_iter()
            .chain([self.heart.as_fd()])
            .chain(deadline.map(AsFd::as_fd))
            .chain(self.sockets.descriptors())
            .collect();
        let busy = self.tick_ns <= decide::TICK_NS;
        let woken = self.guard.senses().wait(busy, &descriptors);
        match woken.map_err(|error| Failure::environment(&error))? {
            // Something begins: the next tick is as soon as ticks are.
            Woken::Traffic | Woken::Pressure => self.tick_ns = decide::TICK_NS,
            Woken::Time => {}
            Woken::Descriptor(_) => return Ok(true),
        }
        Ok(false)
    }

    pub fn status(&self) -> Status {
        self.guard.status()
    }

    /// Puts everything back.
    pub fn end(self) -> Report {
        self.guard.end()
    }
}

/// A descriptor that becomes readable after so long, and again and again after so long.
fn alarm(span_ns: u64, again_ns: u64) -> rustix::io::Result<OwnedFd> {
    let timer =
        timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let time = |ns: u64| Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as _,
    };
    // A timer of no time would never ring.
    let value = Itimerspec { it_interval: time(again_ns), it_value: time(span_ns.max(1)) };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &value)?;
    Ok(timer)
}

/// Whether it rang. It is never read, so what rang once rings on.
fn is_over(timer: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(timer, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// Whether it rang since the last call.
fn has_rung(timer: &OwnedFd) -> bool {
    let mut times = [0; 8];
    rustix::io::read(timer, &mut times).is_ok()
}
