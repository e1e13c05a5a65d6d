//! The driver: a bounded queue, the card's buffers, one command at a time, and whatever may go wrong with it.
//!
//! It is sans-IO: anyone who runs it offers frames, calls [`Driver::turn`] and does what that says, and calls
//! [`Driver::interrupt`] when the card's line is raised. How it waits for a command is a [`Wait`]'s; all commands
//! go the same way. Nothing is waited for without a bound: a command that does not complete in time costs its frames
//! and a reset, and a card that does not come back after a few resets costs all frames and is [`Driver::gone`].
//!
//! Always: accepted = confirmed + dropped + queued.
//!
//! ```text
//!           ┌───────── a reset, a few times ─────────┐
//!           ▼                                        │
//!  Starting: initialise, access, allocate…, enable ──┴──► Running: transmit, inquire ──► Gone
//! ```

pub mod bus;
pub mod census;
#[cfg(test)]
mod explore;
mod fill;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::{
    bus::Bus,
    census::{Counters, Kind, Reason},
};
use crate::{
    card::{
        LONGEST_FRAME, MOST_BUFFERS, SHORTEST_FRAME,
        fids::Fids,
        register::{
            BUSY, EVENT_ALLOC, EVENT_COMMAND, NO_CARD, Register, command, descriptor, result,
        },
    },
    wait::{Ended, Step, Wait},
};

/// A command that ends with an error is given again so often while the card is started.
const TRIES: u32 = 3;
/// Buffers that are all on the air may stay there for this many times the patience: at 1 Mb/s one takes 19 ms.
const AIR_PATIENCE: u64 = 10;
/// Commands that may complete within one turn, before anyone who runs the driver has its say again.
const AT_A_TURN: usize = 16;
/// The record that is written at the start (`HFA384X_RID_CNFPORTTYPE`), and what (a station).
const PORT_TYPE: (u16, u16) = (0xfc00, 1);
/// What is inquired (`HFA384X_INFO_COMMTALLIES`).
const TALLIES: u16 = 0xf100;

/// What a driver is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Frames that may wait.
    pub queue: usize,
    /// A command may take so long, ns. Host AP's is 20 ms.
    pub patience_ns: u64,
    /// A card that has been reset so often without coming up is gone.
    pub resets: u32,
    /// Inquires so often, with the next frame, ns; `None`: never.
    pub inquire_every_ns: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { queue: 64, patience_ns: 20_000_000, resets: 10, inquire_every_ns: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// A command runs, or all buffers are on the air: do this, and then take the next turn.
    Wait(Step),
    /// Nothing is to do until a frame is offered: what the driver does by itself it does along with frames, so that
    /// an idle driver arms no timer.
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
    /// The buffers of its frames.
    fids: Fids,
    signalled: bool,
    /// Something depends on its end.
    awaited: bool,
}

#[derive(Debug)]
pub struct Driver {
    settings: Settings,
    wait: Box<dyn Wait>,
    phase: Phase,
    queue: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    free: Vec<u16>,
    underway: Option<Underway>,
    starved_ns: Option<u64>,
    inquire_ns: Option<u64>,
    fruitless: u32,
    enabled_events: u16,
    counters: Counters,
}

impl Driver {
    /// A driver whose card has just been plugged in.
    pub fn new(settings: Settings, wait: Box<dyn Wait>) -> Self {
        Self {
            settings,
            wait,
            phase: Phase::Starting(0, 0),
            queue: VecDeque::with_capacity(settings.queue),
            spare: Vec::new(),
            free: Vec::with_capacity(MOST_BUFFERS.into()),
            underway: None,
            starved_ns: None,
            inquire_ns: None,
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
        (self.queue.len() + self.underway.as_ref().map_or(0, |one| one.fids.len())) as u64
    }

    /// How many more frames it makes sense to offer now: as many as go under one wait, less those that are there.
    /// More are taken too, up to the queue's length.
    pub fn wants(&self) -> usize {
        self.wait.together(usize::from(MOST_BUFFERS)).saturating_sub(self.queue.len())
    }

    /// Whether the card is up.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether it has given the card up.
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
            _ if self.queue.len() >= self.settings.queue => Reason::QueueFull,
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
                Phase::Starting(step, tries) => self.start(bus, step, tries),
                Phase::Running => {
                    if let Some(turn) = self.run(bus, now) {
                        return turn;
                    }
                }
                Phase::Gone => return Turn::Idle,
            }
        }
        Turn::Wait(Step::Look)
    }

    /// The command that runs.
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

    /// The command that runs has completed.
    fn finish(&mut self, bus: &mut impl Bus, now: u64) {
        let status = bus.read(Register::Status);
        let events = self.handle_events(bus);
        let Some(underway) = self.underway.take() else { return };
        self.unmask(now, &underway);
        if !underway.signalled && events & EVENT_COMMAND == 0 {
            self.counters.lost_events += 1;
        }
        self.wait.end(Ended { at_ns: now, done: underway.awaited });
        let tally = self.counters.tally(underway.kind);
        match underway.awaited {
            true => tally.completed(now.saturating_sub(underway.issued_ns)),
            false => tally.deferred(),
        }
        let failed = status & result::MASK != result::DONE;
        tally.failed += u64::from(failed);
        match underway.kind {
            Kind::Transmit if failed => {
                self.counters.drop(Reason::CommandError, underway.fids.len() as u64);
                self.free.extend(underway.fids.as_slice());
            }
            Kind::Transmit => self.counters.confirmed += underway.fids.len() as u64,
            _ => self.step_done(bus, failed),
        }
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
        self.wait.end(Ended { at_ns: now, done: false });
        self.counters.timeouts += 1;
        self.counters.tally(underway.kind).failed += 1;
        let left = self.free[back.min(self.free.len())..].iter();
        let left = left.filter(|fid| underway.fids.as_slice().contains(fid)).count();
        self.counters.confirmed += left as u64;
        self.counters.drop(Reason::TimedOut, (underway.fids.len() - left) as u64);
        self.reset(bus);
    }

    /// Resets the card and starts it anew; after a few times in vain it is gone.
    fn reset(&mut self, bus: &mut impl Bus) {
        self.fruitless += 1;
        self.free.clear();
        self.starved_ns = None;
        if self.fruitless > self.settings.resets {
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

    /// The next command of the start.
    fn start(&mut self, bus: &mut impl Bus, step: u32, tries: u32) {
        let buffers = u32::from(MOST_BUFFERS);
        let last = 2 + buffers;
        match step {
            0 => self.issue(bus, Kind::Initialise, [command::INITIALISE, 0]),
            1 => {
                if self.configure(bus).is_err() {
                    self.phase = Phase::Starting(step, tries + 1);
                    return if tries >= TRIES {
                        self.reset(bus)
                    };
                }
                self.issue(bus, Kind::Access, [command::ACCESS | command::WRITE, PORT_TYPE.0]);
            }
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

    /// The next command of a card that is up; what to do where there is none.
    fn run(&mut self, bus: &mut impl Bus, now: u64) -> Option<Turn> {
        if let Some(every) = self.settings.inquire_every_ns
            && now >= *self.inquire_ns.get_or_insert(now.saturating_add(every))
        {
            self.inquire_ns = Some(now.saturating_add(every));
            self.issue(bus, Kind::Inquire, [command::INQUIRE, TALLIES]);
            return None;
        }
        if self.queue.is_empty() {
            return Some(Turn::Idle);
        }
        if self.free.is_empty() {
            self.handle_events(bus);
        }
        if self.free.is_empty() {
            return self.starved(bus, now);
        }
        self.starved_ns = None;
        self.transmit(bus);
        None
    }

    /// All buffers are on the air: one of them comes back with an interrupt.
    fn starved(&mut self, bus: &mut impl Bus, now: u64) -> Option<Turn> {
        let since = *self.starved_ns.get_or_insert(now);
        let patience = self.settings.patience_ns.saturating_mul(AIR_PATIENCE);
        let until_ns = since.saturating_add(patience);
        if now >= until_ns || bus.read(Register::EvStat) == NO_CARD {
            self.counters.timeouts += 1;
            self.reset(bus);
            return None;
        }
        self.enable_events(bus, EVENT_ALLOC);
        Some(Turn::Wait(Step::Await { until_ns }))
    }

    /// Copies the first frames of the queue into buffers and gives the command that sends them.
    fn transmit(&mut self, bus: &mut impl Bus) {
        let at_most = self.queue.len().min(self.free.len());
        let frames = self.wait.together(at_most).clamp(1, at_most);
        let fids = Fids::split_off(&mut self.free, frames);
        for (place, &fid) in fids.as_slice().iter().enumerate() {
            let Some(frame) = self.queue.pop_front() else { break };
            let next = fids.as_slice().get(place + 1).copied().unwrap_or(0);
            let filled = Self::fill(bus, fid, next, &frame);
            if self.spare.len() < usize::from(MOST_BUFFERS) {
                self.spare.push(frame);
            }
            if filled.is_err() {
                // The frames before it are in buffers that no one will send.
                self.counters.drop(Reason::AccessPath, place as u64 + 1);
                self.counters.timeouts += 1;
                return self.reset(bus);
            }
        }
        let first = fids.as_slice().first().copied().unwrap_or(0);
        self.issue(bus, Kind::Transmit, [command::TRANSMIT | command::RECLAIM, first]);
        if let Some(underway) = &mut self.underway {
            underway.fids = fids;
        }
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
            deadline_ns: now.saturating_add(self.settings.patience_ns),
            fids: Fids::default(),
            signalled: false,
            awaited,
        });
    }

    /// Lets these events raise the interrupt.
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
