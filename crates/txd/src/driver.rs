//! The driver: a bounded queue, the card's buffers, one command at a time, and whatever may go wrong with it.
//!
//! It is sans-IO: anyone who runs it offers frames, calls [`Driver::turn`] and does what that says, and calls
//! [`Driver::interrupt`] when the card's line is raised. How it waits for a command is a [`Wait`]'s; all commands
//! go the same way. Nothing is waited for without a bound: a command that does not complete in time costs its frames
//! and a reset, and a card that does not come back after a few resets costs all frames and is given up
//! ([`Driver::is_gone`]).
//!
//! Always: accepted = confirmed + dropped + queued.
//!
//! ```text
//!           ┌───────── a reset, a few times ─────────┐
//!           ▼                                        │
//!  Starting: initialise, allocate…, enable ──────────┴──► Running: transmit ──► Gone
//! ```

pub mod census;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::census::{Counters, Kind, Reason};
use crate::{
    card::{
        LONGEST_FRAME, MOST_BUFFERS, SHORTEST_FRAME,
        register::{
            BUSY, EVENT_ALLOC, EVENT_COMMAND, NO_CARD, OFFSET_ERROR, Register, command, descriptor,
            result,
        },
    },
    wait::{Step, Wait},
};

const QUEUE: usize = 64;
/// A command may take so long, ns: Host AP's patience.
pub const PATIENCE_NS: u64 = 20_000_000;
/// A card that has been reset so often without coming up is gone.
const RESETS: u32 = 10;
/// A command that ends with an error is given again so often while the card is started.
const TRIES: u32 = 3;
/// Commands that may complete within one turn, before anyone who runs the driver has its say again.
const AT_A_TURN: usize = 16;

/// The way to the card's registers. The driver looks at the clock where time matters to it; everything up to the next
/// look happens at that moment.
pub trait Bus {
    /// Looks at the clock, ns; it never goes back.
    fn now(&mut self) -> u64;

    fn read(&mut self, register: Register) -> u16;

    fn write(&mut self, register: Register, value: u16);

    /// Writes bytes to the data register, two at a time.
    fn write_data(&mut self, bytes: &[u8]);

    /// Pulls the reset line.
    fn reset(&mut self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// A command runs: do this, and then take the next turn.
    Wait(Step),
    /// Nothing is to do until a frame is offered: an idle driver arms no timer.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The next step of the start, and how often it was tried.
    Starting(u32, u32),
    Running,
    Gone,
}

/// A command that was given and whose end was not seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Underway {
    kind: Kind,
    issued_ns: u64,
    deadline_ns: u64,
    signalled: bool,
    /// Something depends on its end.
    awaited: bool,
}

#[derive(Debug)]
pub struct Driver {
    wait: Wait,
    phase: Phase,
    queue: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    free: Vec<u16>,
    underway: Option<Underway>,
    given: Vec<u16>,
    fruitless: u32,
    enabled_events: u16,
    counters: Counters,
}

impl Driver {
    pub fn new(wait: Wait) -> Self {
        Self {
            wait,
            phase: Phase::Starting(0, 0),
            queue: VecDeque::with_capacity(QUEUE),
            spare: Vec::new(),
            free: Vec::with_capacity(MOST_BUFFERS.into()),
            underway: None,
            given: Vec::with_capacity(MOST_BUFFERS.into()),
            fruitless: 0,
            enabled_events: 0,
            counters: Counters::default(),
        }
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Frames that wait, and those of the command that runs.
    pub fn queued(&self) -> u64 {
        (self.queue.len() + self.given.len()) as u64
    }

    /// How many more frames it makes sense to offer now: as many as go under one wait, less those that are there.
    /// More are taken too, up to the queue's length.
    pub fn wants(&self) -> usize {
        self.wait.together(usize::from(MOST_BUFFERS)).saturating_sub(self.queue.len())
    }

    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    pub fn is_gone(&self) -> bool {
        self.phase == Phase::Gone
    }

    /// Takes a frame; one that cannot be sent is counted with its reason.
    pub fn offer(&mut self, frame: &[u8]) -> Result<(), Reason> {
        self.counters.accepted += 1;
        let reason = match frame.len() {
            _ if self.phase == Phase::Gone => Reason::NoCard,
            0..SHORTEST_FRAME => Reason::TooShort,
            length if length > LONGEST_FRAME => Reason::TooLong,
            _ if self.queue.len() >= QUEUE => Reason::QueueFull,
            _ => {
                let mut kept = self.spare.pop().unwrap_or_default();
                kept.clear();
                kept.extend_from_slice(frame);
                self.queue.push_back(kept);
                return Ok(());
            }
        };
        self.counters.drop(reason, 1);
        Err(reason)
    }

    /// The card's interrupt: what has happened is read and acknowledged. What follows from it is the next turn's.
    pub fn interrupt(&mut self, bus: &mut impl Bus) {
        self.counters.interrupts += 1;
        bus.now();
        self.handle_events(bus);
    }

    /// Goes on as far as is possible without waiting, and says how to wait then.
    pub fn turn(&mut self, bus: &mut impl Bus) -> Turn {
        for _ in 0..AT_A_TURN {
            if self.is_put_off() && self.queue.is_empty() {
                return Turn::Idle;
            }
            let now = bus.now();
            if self.underway.is_some() {
                if let Some(step) = self.progress(bus, now) {
                    return Turn::Wait(step);
                }
                continue;
            }
            match self.phase {
                Phase::Starting(step, _) => self.start(bus, step),
                Phase::Running if self.queue.is_empty() => return Turn::Idle,
                Phase::Running => self.transmit(bus),
                Phase::Gone => return Turn::Idle,
            }
        }
        Turn::Wait(Step::Look)
    }

    pub fn underway(&self) -> Option<Kind> {
        self.underway.as_ref().map(|underway| underway.kind)
    }

    /// Looks after a command whose end was put off, for anyone who wants to know how things are.
    pub fn settle(&mut self, bus: &mut impl Bus) {
        let now = bus.now();
        let put_off = self.underway.as_ref().filter(|underway| !underway.awaited);
        let Some(deadline_ns) = put_off.map(|underway| underway.deadline_ns) else { return };
        if now >= deadline_ns || bus.read(Register::Command) & BUSY == 0 {
            self.progress(bus, now);
        }
    }

    /// As [`Driver::turn`], but only as far as the end of the command that runs; `None`: none does any more.
    pub fn look(&mut self, bus: &mut impl Bus) -> Option<Step> {
        let now = bus.now();
        self.progress(bus, now)
    }

    /// Looks after the command that runs; `None` where none does any more.
    fn progress(&mut self, bus: &mut impl Bus, now: u64) -> Option<Step> {
        let underway = self.underway.as_mut()?;
        if !underway.signalled {
            let read = bus.read(Register::Command);
            if read == NO_CARD {
                self.give_up(bus, now);
                return None;
            }
            if read & BUSY != 0 {
                if now >= underway.deadline_ns {
                    self.give_up(bus, now);
                    return None;
                }
                let deadline = underway.deadline_ns;
                if !std::mem::replace(&mut underway.awaited, true) {
                    self.enable_events(bus, EVENT_COMMAND);
                }
                return Some(cut(self.wait.step(now), deadline));
            }
        }
        self.finish(bus, now);
        None
    }

    fn finish(&mut self, bus: &mut impl Bus, now: u64) {
        let status = bus.read(Register::Status);
        let events = self.handle_events(bus);
        let Some(underway) = self.underway.take() else { return };
        self.unmask(now, &underway);
        if !underway.signalled && events & EVENT_COMMAND == 0 {
            self.counters.lost_events += 1;
        }
        self.wait.end(now, underway.awaited);
        let tally = self.counters.tally(underway.kind);
        match underway.awaited {
            true => tally.completed(now.saturating_sub(underway.issued_ns)),
            false => tally.deferred(),
        }
        let failed = status & result::MASK != result::DONE;
        tally.failed += u64::from(failed);
        match underway.kind {
            Kind::Transmit if failed => {
                self.counters.drop(Reason::CommandError, self.given.len() as u64);
                self.free.append(&mut self.given);
            }
            Kind::Transmit => self.counters.confirmed += self.given.len() as u64,
            _ => self.step_done(bus, failed),
        }
        self.given.clear();
    }

    /// A command other than to transmit is done: the start goes on, or does this again.
    fn step_done(&mut self, bus: &mut impl Bus, failed: bool) {
        let Phase::Starting(step, tries) = self.phase else { return };
        self.phase = match (failed, tries + 1 < TRIES) {
            (false, _) => Phase::Starting(step + 1, 0),
            (true, true) => Phase::Starting(step, tries + 1),
            (true, false) => return self.reset(bus),
        };
    }

    /// The command that runs will not complete: its frames are dropped and the card is reset.
    fn give_up(&mut self, bus: &mut impl Bus, now: u64) {
        // Frames of a chain whose buffers have come back did leave.
        let back = self.free.len();
        self.handle_events(bus);
        let Some(underway) = self.underway.take() else { return };
        self.unmask(now, &underway);
        self.wait.end(now, false);
        self.counters.timeouts += 1;
        self.counters.tally(underway.kind).failed += 1;
        let left = self.free[back.min(self.free.len())..].iter();
        let left = left.filter(|fid| self.given.contains(fid)).count();
        self.counters.confirmed += left as u64;
        self.counters.drop(Reason::TimedOut, (self.given.len() - left) as u64);
        self.reset(bus);
    }

    /// Resets the card and starts it anew; after a few times in vain it is gone.
    fn reset(&mut self, bus: &mut impl Bus) {
        self.fruitless += 1;
        self.free.clear();
        self.given.clear();
        if self.fruitless > RESETS {
            self.phase = Phase::Gone;
            let frames = self.queue.len() as u64;
            self.counters.drop(Reason::NoCard, frames);
            self.queue.clear();
            return;
        }
        self.counters.resets += 1;
        bus.reset();
        self.enabled_events = 0;
        self.phase = Phase::Starting(0, 0);
    }

    /// Reads and acknowledges what has happened; what there was.
    fn handle_events(&mut self, bus: &mut impl Bus) -> u16 {
        let mut all = 0;
        // One more than there are buffers: each comes with an event of its own.
        for _ in 0..=MOST_BUFFERS {
            let events = bus.read(Register::EvStat);
            if events == 0 || events == NO_CARD {
                break;
            }
            all |= events;
            if events & EVENT_ALLOC != 0 {
                let fid = bus.read(Register::AllocFid);
                if fid != 0 && !self.free.contains(&fid) {
                    self.free.push(fid);
                }
            }
            bus.write(Register::EvAck, events);
        }
        if all & EVENT_COMMAND != 0
            && let Some(underway) = &mut self.underway
        {
            underway.signalled = true;
        }
        all
    }

    fn start(&mut self, bus: &mut impl Bus, step: u32) {
        let last = 1 + u32::from(MOST_BUFFERS);
        match step {
            0 => self.issue(bus, Kind::Initialise, [command::INITIALISE, 0]),
            step if step < last => {
                let room = (descriptor::LENGTH + LONGEST_FRAME) as u16;
                self.issue(bus, Kind::Allocate, [command::ALLOCATE, room]);
            }
            step if step == last => self.issue(bus, Kind::Enable, [command::ENABLE, 0]),
            _ => {
                self.phase = Phase::Running;
                self.fruitless = 0;
            }
        }
    }

    /// Copies the first frames of the queue into buffers and gives the command that sends them.
    fn transmit(&mut self, bus: &mut impl Bus) {
        let frames = self.wait.together(self.queue.len().min(self.free.len()));
        let first = self.free.len() - frames;
        let filled = (0..frames).all(|place| {
            let next = self.free.get(first + place + 1).copied().unwrap_or(0);
            let Some(frame) = self.queue.pop_front() else { return false };
            self.given.push(self.free[first + place]);
            let filled = fill(bus, [self.free[first + place], next], &frame);
            if self.spare.len() < usize::from(MOST_BUFFERS) {
                self.spare.push(frame);
            }
            filled
        });
        self.free.truncate(first);
        let Some(&fid) = self.given.first().filter(|_| filled) else {
            // No buffer has come back, or the frames before it are in buffers that no one will send.
            self.counters.drop(Reason::AccessPath, self.given.len() as u64);
            self.counters.timeouts += 1;
            return self.reset(bus);
        };
        self.issue(bus, Kind::Transmit, [command::TRANSMIT, fid]);
    }

    /// Whether a command runs whose end nothing depends on.
    fn is_put_off(&self) -> bool {
        self.underway.as_ref().is_some_and(|underway| !underway.awaited)
    }

    fn issue(&mut self, bus: &mut impl Bus, kind: Kind, [word, parameter]: [u16; 2]) {
        // A frame that was given to the card leaves by itself; only the next one waits for it.
        let awaited = kind != Kind::Transmit || !self.queue.is_empty() || !self.wait.defers();
        let events = if self.wait.masks() || !awaited { 0 } else { EVENT_COMMAND };
        self.enable_events(bus, events);
        let now = bus.now();
        bus.write(Register::Param0, parameter);
        bus.write(Register::Command, word);
        self.wait.begin(now, kind as usize);
        self.underway = Some(Underway {
            kind,
            issued_ns: now,
            deadline_ns: now.saturating_add(PATIENCE_NS),
            signalled: false,
            awaited,
        });
    }

    fn enable_events(&mut self, bus: &mut impl Bus, events: u16) {
        if self.enabled_events != events {
            self.enabled_events = events;
            bus.write(Register::IntEn, events);
        }
    }

    /// Where interrupts were masked for the command, that is over.
    fn unmask(&mut self, now: u64, underway: &Underway) {
        if self.wait.masks() {
            self.counters.masked_ns += now.saturating_sub(underway.issued_ns);
        }
    }
}

/// A step that does not go beyond the deadline.
fn cut(step: Step, deadline_ns: u64) -> Step {
    match step {
        Step::Look => Step::Look,
        Step::Sleep { until_ns } => Step::Sleep { until_ns: until_ns.min(deadline_ns) },
        Step::Await { until_ns } => Step::Await { until_ns: until_ns.min(deadline_ns) },
    }
}

/// Copies a frame into the first of two buffers, behind a descriptor that names the second; whether the way was open.
fn fill(bus: &mut impl Bus, [fid, next]: [u16; 2], frame: &[u8]) -> bool {
    bus.write(Register::Select0, fid);
    bus.write(Register::Offset0, 0);
    if bus.read(Register::Offset0) & OFFSET_ERROR != 0 {
        return false;
    }
    let mut head = [0; descriptor::LENGTH];
    head[descriptor::LINK..descriptor::LINK + 2].copy_from_slice(&next.to_le_bytes());
    let bytes = (frame.len() as u16).to_le_bytes();
    head[descriptor::BYTES..descriptor::BYTES + 2].copy_from_slice(&bytes);
    bus.write_data(&head);
    bus.write_data(frame);
    true
}
