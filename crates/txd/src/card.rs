//! The model of a Prism2 card (HFA384x), as far as sending goes: registers, transmit buffers, commands.
//!
//! It is passive: what it is follows from what was written and from the time that each access brings along. It has no
//! thread, no clock and no CPU time of its own; [`Card::next_interrupt_ns`] says when its interrupt will rise,
//! [`Card::next_departure_ns`] when a frame will have left. It receives nothing, and its frames take the air no time.
//!
//! ```text
//!  host ── Select0/Offset0/data ──► buffers ── Transmit ──► (completes in …) ──► take_departed
//!       ◄── EvStat: command, alloc ◄───────────────────────────┘  alloc: the buffer is back
//! ```

pub mod register;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::register::{
    BUSY, EVENT_ALLOC, EVENT_COMMAND, NO_CARD, OFFSET_ERROR, Register, command, descriptor, result,
};

/// The longest frame that fits a buffer, bytes with its Ethernet header: a full MSDU (802.11, 2304).
pub const LONGEST_FRAME: usize = 2304 - 8 + 14;
/// The shortest that is one: an Ethernet header.
pub const SHORTEST_FRAME: usize = 14;
/// Buffers that a host may have; Host AP uses eight.
pub const MOST_BUFFERS: u16 = 8;
/// The first number of a buffer, and the distance between two.
const FIRST_FID: u16 = 0x0100;
const FID_STEP: u16 = 0x0010;
/// How long commands other than to transmit take, ns; initialising takes ten times as long. An assumption: the field
/// report calls them “not that interesting”.
pub const OTHERS_NS: u64 = 50_000;

/// What real cards do wrong with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It completes this many ns later than it should.
    Late(u64),
    /// It completes, and its event is not raised.
    LostEvent,
    Error,
    /// Its busy bit stays, until the card is reset.
    Stuck,
    /// The card is gone from now on: all its registers read ones.
    Death,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// How long a transmit command takes for each of its frames, ns.
    pub completes_in_ns: u64,
    /// How long its host's CPU stands still for each word of 16 bits that it writes or reads, ns.
    pub bus_word_ns: u64,
    /// What goes wrong, each with the number of its command, from 1.
    pub faults: Vec<(u64, Fault)>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { completes_in_ns: 150_000, bus_word_ns: 0, faults: Vec::new() }
    }
}

/// A transmit buffer; while it is not the host's, its frame waits to leave.
#[derive(Clone, Debug, Default)]
struct Buffer {
    is_the_cards: bool,
    bytes: Vec<u8>,
    room: usize,
}

impl Buffer {
    /// The word at a place, as the host wrote it.
    fn word(&self, place: usize) -> Option<u16> {
        Some(u16::from_le_bytes(*self.bytes.get(place..)?.first_chunk()?))
    }

    /// The frame behind the descriptor; `None` where the host has not written as much as the descriptor says.
    fn frame(&self) -> Option<&[u8]> {
        let length = usize::from(self.word(descriptor::BYTES)?);
        self.bytes.get(descriptor::LENGTH..descriptor::LENGTH + length)
    }
}

#[derive(Clone, Debug)]
struct Running {
    code: u16,
    /// When it completes; `None`: it stays busy until a reset.
    done_ns: Option<u64>,
    event: bool,
    fails: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    pub at_ns: u64,
    pub frame: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct Card {
    setup: Setup,
    dead: bool,
    ready: bool,
    enabled: bool,
    commands: u64,
    running: Option<Running>,
    /// The frames of a transmit command that have not left yet: when each does, and its buffer.
    chain: VecDeque<(u64, u16)>,
    param: u16,
    status: u16,
    ev_stat: u16,
    int_en: u16,
    buffers: Vec<Buffer>,
    /// What the access path leads to: a buffer, and a place in it.
    select: u16,
    offset: usize,
    wrong: bool,
    /// Frames of the last command that have left, until its host has seen that it is done.
    early: usize,
    departed: VecDeque<Departed>,
    /// Buffers that came back and that the host has not been told of.
    returned: VecDeque<u16>,
    given_back: Vec<Vec<u8>>,
}

impl Card {
    pub fn new(setup: Setup) -> Self {
        Self { setup, ..Self::default() }
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    pub fn read(&mut self, register: Register, now: u64) -> u16 {
        self.advance(now);
        if self.dead {
            return NO_CARD;
        }
        match register {
            Register::Command => match &self.running {
                Some(running) => running.code | BUSY,
                None => self.status & command::CODE,
            },
            Register::Status => {
                if self.running.is_none() {
                    self.early = 0;
                }
                self.status
            }
            Register::Offset0 if self.wrong => OFFSET_ERROR,
            Register::Offset0 => self.offset as u16,
            Register::AllocFid => self.returned.front().copied().unwrap_or(0),
            Register::EvStat => self.ev_stat,
            Register::IntEn => self.int_en,
            Register::Param0 => self.param,
            Register::Select0 | Register::EvAck => 0,
        }
    }

    pub fn write(&mut self, register: Register, value: u16, now: u64) {
        self.advance(now);
        if self.dead {
            return;
        }
        match register {
            Register::Command => self.command(value & command::CODE, now),
            Register::Param0 => self.param = value,
            Register::Select0 => self.select = value,
            Register::Offset0 => {
                self.offset = value.into();
                let offset = self.offset;
                let is_right = |one: &mut Buffer| !one.is_the_cards && offset <= one.room;
                self.wrong = !self.buffer(self.select).is_some_and(is_right);
            }
            Register::EvAck => self.acknowledge(value),
            Register::IntEn => self.int_en = value,
            Register::Status | Register::AllocFid | Register::EvStat => {}
        }
    }

    /// Writes bytes where the access path leads, as `outsw` to the data register does; what does not fit is lost.
    pub fn write_data(&mut self, bytes: &[u8], now: u64) {
        self.advance(now);
        if self.dead || self.wrong {
            return;
        }
        let offset = self.offset;
        let Some(buffer) = self.buffer(self.select) else { return };
        let taken = &bytes[..bytes.len().min(buffer.room.saturating_sub(offset))];
        let end = offset + taken.len();
        if buffer.bytes.len() < end {
            buffer.bytes.resize(end, 0);
        }
        buffer.bytes[offset..end].copy_from_slice(taken);
        self.offset = end;
    }

    /// The reset line: everything but a death and what has left is forgotten.
    pub fn reset(&mut self, now: u64) {
        self.advance(now);
        *self = Self {
            setup: std::mem::take(&mut self.setup),
            dead: self.dead,
            commands: self.commands,
            departed: std::mem::take(&mut self.departed),
            ..Self::default()
        };
    }

    pub fn interrupt(&mut self, now: u64) -> bool {
        self.advance(now);
        !self.dead && self.ev_stat & self.int_en != 0
    }

    /// When the interrupt will rise by itself; `None`: not before somebody writes a register. A moment that has
    /// passed means that it is raised.
    pub fn next_interrupt_ns(&self) -> Option<u64> {
        if self.dead {
            return None;
        }
        if self.ev_stat & self.int_en != 0 {
            return Some(0);
        }
        let running = self.running.as_ref().filter(|one| one.event)?;
        running.done_ns.filter(|_| self.int_en & EVENT_COMMAND != 0)
    }

    /// When the next frame will have left; `None`: none is on its way.
    pub fn next_departure_ns(&self) -> Option<u64> {
        let departed = self.departed.front().map(|departed| departed.at_ns);
        departed.or(self.chain.front().map(|(at, _)| *at))
    }

    /// A frame that has left by a moment, in the order in which they left.
    pub fn take_departed(&mut self, now: u64) -> Option<Departed> {
        self.advance(now);
        self.departed.pop_front()
    }

    pub fn give_back(&mut self, frame: Vec<u8>) {
        if self.given_back.len() < usize::from(MOST_BUFFERS) {
            self.given_back.push(frame);
        }
    }

    /// Frames that no one has taken, less those (perhaps more) that have left of a command whose status its host has
    /// not read yet: the host still counts them as its own.
    pub fn on_the_way(&self) -> i64 {
        self.departed.len() as i64 - self.early as i64
    }

    /// Everything that happens by itself until a moment, in its order.
    fn advance(&mut self, now: u64) {
        while let Some(running) = &self.running {
            let next = self.chain.front().map(|(at, _)| *at).or(running.done_ns);
            if next.is_none_or(|next| next > now) {
                return;
            }
            match self.chain.pop_front() {
                Some((at, fid)) => self.leave(at, fid),
                None => self.complete(),
            }
        }
    }

    fn leave(&mut self, at_ns: u64, fid: u16) {
        let mut kept = self.given_back.pop().unwrap_or_default();
        let Some(buffer) = self.buffer(fid) else { return };
        buffer.is_the_cards = false;
        kept.clear();
        kept.extend_from_slice(buffer.frame().unwrap_or_default());
        self.departed.push_back(Departed { at_ns, frame: kept });
        self.early += 1;
        self.returned.push_back(fid);
        self.ev_stat |= EVENT_ALLOC;
    }

    fn complete(&mut self) {
        let Some(running) = self.running.take() else { return };
        let done = !running.fails && self.carry_out(running.code);
        self.status = running.code | if done { result::DONE } else { result::FAILED };
        if running.event {
            self.ev_stat |= EVENT_COMMAND;
        }
    }

    /// What a command other than to transmit does, when it completes; whether it could.
    fn carry_out(&mut self, code: u16) -> bool {
        match code {
            command::INITIALISE => self.ready = true,
            command::ENABLE => self.enabled = self.ready,
            command::ALLOCATE => {
                let there = self.buffers.len() as u16;
                if there >= MOST_BUFFERS || self.param == 0 || !self.ready {
                    return false;
                }
                self.buffers.push(Buffer { room: self.param.into(), ..Buffer::default() });
                self.returned.push_back(FIRST_FID + there * FID_STEP);
                self.ev_stat |= EVENT_ALLOC;
            }
            _ => {}
        }
        true
    }

    fn acknowledge(&mut self, events: u16) {
        self.ev_stat &= !events;
        if events & EVENT_ALLOC != 0 {
            self.returned.pop_front();
            // The register shows one buffer at a time; the event comes again for the next.
            if !self.returned.is_empty() {
                self.ev_stat |= EVENT_ALLOC;
            }
        }
    }

    fn command(&mut self, code: u16, now: u64) {
        if self.running.is_some() {
            // A card that is busy does not hear it.
            return;
        }
        self.commands += 1;
        self.early = 0;
        let fault = self.setup.faults.iter().find(|(number, _)| *number == self.commands);
        let fault = fault.map(|(_, fault)| *fault);
        let late = if let Some(Fault::Late(ns)) = fault { ns } else { 0 };
        let at = now.saturating_add(late);
        let takes = self.setup.completes_in_ns;
        let (could, done_ns) = match code {
            command::INITIALISE => (true, at + 10 * OTHERS_NS),
            command::ALLOCATE => (true, at + OTHERS_NS),
            command::ENABLE => (self.ready, at + OTHERS_NS),
            command::TRANSMIT if fault != Some(Fault::Error) && self.enabled => {
                let there = self.link(at);
                (there, self.chain.back().map_or(at.saturating_add(takes), |(at, _)| *at))
            }
            command::TRANSMIT => (false, at.saturating_add(takes)),
            _ => (false, at + OTHERS_NS),
        };
        match fault {
            Some(Fault::Death) => {
                self.dead = true;
                self.chain.clear();
                return;
            }
            Some(Fault::Stuck) => self.chain.clear(),
            _ => {}
        }
        for place in 0..self.chain.len() {
            let fid = self.chain[place].1;
            self.buffer(fid).into_iter().for_each(|buffer| buffer.is_the_cards = true);
        }
        self.running = Some(Running {
            code,
            done_ns: Some(done_ns).filter(|_| fault != Some(Fault::Stuck)),
            event: fault != Some(Fault::LostEvent),
            fails: !could || fault == Some(Fault::Error),
        });
    }

    /// Puts the buffers of a transmit command into the chain, each with the moment at which it leaves; false where one
    /// is not there or not the host's, or where the chain does not end.
    fn link(&mut self, mut at: u64) -> bool {
        let mut fid = self.param;
        while fid != 0 {
            at = at.saturating_add(self.setup.completes_in_ns);
            let most = usize::from(MOST_BUFFERS);
            let buffer = self.buffer(fid).filter(|one| !one.is_the_cards && one.frame().is_some());
            let next = buffer.and_then(|buffer| buffer.word(descriptor::LINK));
            let Some(next) = next.filter(|_| self.chain.len() < most) else {
                self.chain.clear();
                return false;
            };
            self.chain.push_back((at, fid));
            fid = next;
        }
        !self.chain.is_empty()
    }

    fn buffer(&mut self, fid: u16) -> Option<&mut Buffer> {
        let distance = fid.checked_sub(FIRST_FID)?;
        self.buffers.get_mut(usize::from(distance / FID_STEP)).filter(|_| distance % FID_STEP == 0)
    }
}
