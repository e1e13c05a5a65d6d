//! The model of a Prism2 card (HFA384x), as far as sending goes: registers, buffers, commands, the air.
//!
//! It is passive: what it is follows from what was written and from the time that each access brings along. It has no
//! thread, no clock and no CPU time of its own; [`Card::next_interrupt_ns`] says when its interrupt will rise,
//! [`Card::next_departure_ns`] when a frame will have left. It receives nothing, and its radio hears no one else.
//!
//! ```text
//!  host ── Select/Offset/Data ──► buffers ── Transmit ──► (completes in …) ──► air ──► take_departed
//!       ◄── EvStat: command, alloc, info ◄──────────────────────┘  alloc: the buffer is back ┘
//! ```

mod buffer;
pub mod fault;
pub mod fids;
pub mod register;
#[cfg(test)]
mod tests;
pub mod timing;

use std::collections::VecDeque;

use self::{
    buffer::{Memory, Owner},
    fault::{Fault, Rates},
    fids::Fids,
    register::{
        BUSY, EVENT_ALLOC, EVENT_COMMAND, EVENT_INFO, EVENT_TX, NO_CARD, Register, command,
        descriptor, result,
    },
    timing::{Random, Rate, Spread, airtime_ns, backoff},
};

/// The longest frame that fits a buffer, bytes with its Ethernet header: a full MSDU (802.11, 2304).
pub const LONGEST_FRAME: usize = 2304 - 8 + 14;
/// The shortest that is one: an Ethernet header.
pub const SHORTEST_FRAME: usize = 14;
/// Buffers that a host may have; Host AP uses eight.
pub const MOST_BUFFERS: u16 = 8;

#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// How long a transmit command takes for each of its frames, ns.
    pub completes_in_ns: u64,
    pub spread: Spread,
    /// How long the other commands take, ns; initialising takes ten times as long. An assumption: the field report
    /// calls them “not that interesting”.
    pub others_in_ns: u64,
    /// How long the access path is busy after it was set, ns.
    pub access_ns: u64,
    /// How long its host's CPU stands still for each word of 16 bits that it writes or reads, ns.
    pub bus_word_ns: u64,
    /// The rate on the air; `None`: a frame has left once its command completes.
    pub air: Option<Rate>,
    pub faults: Rates,
    /// What all drawing begins with.
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            completes_in_ns: 150_000,
            spread: Spread::Fixed,
            others_in_ns: 50_000,
            access_ns: 0,
            bus_word_ns: 0,
            air: None,
            faults: Rates::default(),
            seed: 1,
        }
    }
}

/// A command that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Running {
    word: u16,
    /// When it completes; `None`: it stays busy until a reset.
    done_ns: Option<u64>,
    event: bool,
    fails: bool,
    /// The frames of a transmit command that are not done yet: when each is, and its buffer.
    chain: VecDeque<(u64, u16)>,
}

/// A frame that has left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Departed {
    /// When, ns.
    pub at_ns: u64,
    pub frame: Vec<u8>,
}

/// A frame on its way through the air, or before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Flying {
    leaves_ns: u64,
    fid: u16,
    reclaim: bool,
    /// The number of its command.
    command: u64,
}

#[derive(Clone, Debug)]
pub struct Card {
    setup: Setup,
    random: Random,
    dead: bool,
    ready: bool,
    enabled: bool,
    commands: u64,
    running: Option<Running>,
    params: [u16; 3],
    status: u16,
    resp0: u16,
    ev_stat: u16,
    int_en: u16,
    memory: Memory,
    air: VecDeque<Flying>,
    air_free_ns: u64,
    /// Frames of the last command that are done, until its host has seen that it is.
    early: usize,
    departed: VecDeque<Departed>,
    /// Buffers that came back and that the host has not been told of.
    returned: VecDeque<u16>,
    tx_complete: u16,
    info_ns: Option<u64>,
    lost: u64,
    /// The next moment at which something happens by itself: what every access has to look at.
    next_ns: Option<u64>,
    /// Room for a chain, which the next command takes.
    spare: VecDeque<(u64, u16)>,
    given_back: Vec<Vec<u8>>,
}

impl Card {
    /// A card that has just been plugged in.
    pub fn new(setup: Setup) -> Self {
        let random = Random::seeded(setup.seed);
        Self {
            setup,
            random,
            dead: false,
            ready: false,
            enabled: false,
            commands: 0,
            running: None,
            params: [0; 3],
            status: 0,
            resp0: 0,
            ev_stat: 0,
            int_en: 0,
            memory: Memory::default(),
            air: VecDeque::new(),
            air_free_ns: 0,
            early: 0,
            departed: VecDeque::new(),
            returned: VecDeque::new(),
            tx_complete: 0,
            info_ns: None,
            lost: 0,
            next_ns: None,
            spare: VecDeque::new(),
            given_back: Vec::new(),
        }
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Reads a register at a moment.
    pub fn read(&mut self, register: Register, now: u64) -> u16 {
        self.advance(now);
        if self.dead {
            return NO_CARD;
        }
        match register {
            Register::Command => match &self.running {
                Some(running) => running.word | BUSY,
                None => self.status & command::CODE,
            },
            Register::Param0 => self.params[0],
            Register::Param1 => self.params[1],
            Register::Param2 => self.params[2],
            Register::Status => {
                if self.running.is_none() {
                    self.early = 0;
                }
                self.status
            }
            Register::Resp0 => self.resp0,
            Register::Select0 | Register::EvAck => 0,
            Register::Offset0 => self.memory.offset(now),
            Register::AllocFid => self.returned.front().copied().unwrap_or(0),
            Register::TxComplFid => self.tx_complete,
            Register::EvStat => self.ev_stat,
            Register::IntEn => self.int_en,
            Register::Data0 => {
                let mut word = [0; 2];
                self.memory.read(&mut word, now);
                u16::from_le_bytes(word)
            }
        }
    }

    /// Writes a register at a moment.
    pub fn write(&mut self, register: Register, value: u16, now: u64) {
        self.advance(now);
        if self.dead {
            return;
        }
        match register {
            Register::Command => self.command(value, now),
            Register::Param0 => self.params[0] = value,
            Register::Param1 => self.params[1] = value,
            Register::Param2 => self.params[2] = value,
            Register::Select0 => self.memory.select(value),
            Register::Offset0 => {
                self.memory.set(value, now.saturating_add(self.setup.access_ns));
            }
            Register::EvAck => self.acknowledge(value),
            Register::IntEn => self.int_en = value,
            Register::Data0 => self.memory.write(&value.to_le_bytes(), now),
            Register::Status
            | Register::Resp0
            | Register::AllocFid
            | Register::TxComplFid
            | Register::EvStat => {}
        }
    }

    /// Writes many words to the data register, as `outsw` does.
    pub fn write_data(&mut self, bytes: &[u8], now: u64) {
        self.advance(now);
        if !self.dead {
            self.memory.write(bytes, now);
        }
    }

    /// The reset line: everything but a death is forgotten, and what was on the air is lost.
    pub fn reset(&mut self, now: u64) {
        self.advance(now);
        let dead = self.dead;
        // Anyone who gave a command that does not complete knows that its frames are lost; of the others it does not.
        let running = self.running.as_ref().map(|_| self.commands);
        let flying = self.air.iter().filter(|one| Some(one.command) != running).count() as u64;
        let fresh = Self::new(self.setup.clone());
        *self = Self {
            dead,
            commands: self.commands,
            random: self.random,
            departed: std::mem::take(&mut self.departed),
            lost: self.lost + flying,
            ..fresh
        };
    }

    /// Whether the interrupt is raised at a moment.
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
        let of = |event: u16, at: Option<u64>| at.filter(|_| self.int_en & event != 0);
        let running = self.running.as_ref();
        let command = running.filter(|one| one.event).and_then(|one| one.done_ns);
        let alloc = match running {
            Some(one) if matches!(one.word & command::CODE, command::ALLOCATE) => one.done_ns,
            Some(one) if self.setup.air.is_none() => one.chain.front().map(|(at, _)| *at),
            _ => None,
        };
        let back = self.air.front().filter(|one| one.reclaim).map(|one| one.leaves_ns);
        let all = [
            of(EVENT_COMMAND, command),
            of(EVENT_ALLOC, alloc),
            of(EVENT_ALLOC, back),
            of(EVENT_INFO, self.info_ns),
        ];
        all.into_iter().flatten().min()
    }

    /// When the next frame will have left; `None`: none is on its way.
    pub fn next_departure_ns(&self) -> Option<u64> {
        if let Some(departed) = self.departed.front() {
            return Some(departed.at_ns);
        }
        if self.dead {
            return None;
        }
        let flying = self.air.front().map(|flying| flying.leaves_ns);
        let chain = self.running.as_ref().and_then(|one| one.chain.front());
        flying.or(chain.filter(|_| self.setup.air.is_none()).map(|(at, _)| *at))
    }

    /// A frame that has left by a moment, in the order in which they left.
    pub fn take_departed(&mut self, now: u64) -> Option<Departed> {
        self.advance(now);
        self.departed.pop_front()
    }

    /// Gives a frame's memory back, for the next one.
    pub fn give_back(&mut self, frame: Vec<u8>) {
        if self.given_back.len() < usize::from(MOST_BUFFERS) {
            self.given_back.push(frame);
        }
    }

    /// Frames on the air and such as no one has taken from it, less those (perhaps more) that are done of a command
    /// whose status its host has not read yet: the host still counts them as its own.
    pub fn on_the_way(&self) -> i64 {
        (self.air.len() + self.departed.len()) as i64 - self.early as i64
    }

    /// Frames of completed commands that were lost on the air, at a reset or with the card's death.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// Everything that happens by itself until a moment, in its order.
    fn advance(&mut self, now: u64) {
        while self.next_ns.is_some_and(|next| next <= now) {
            let [leaves, part, done, info] = self.to_come();
            match self.next_ns {
                next if next == leaves => self.leave(),
                next if next == part => self.take_part(),
                next if next == done => self.complete(),
                next if next == info => {
                    self.info_ns = None;
                    self.ev_stat |= EVENT_INFO;
                }
                // It was known for a command that is not there any more.
                _ => {}
            }
            self.look_ahead();
        }
    }

    /// When the first frame of the air will have left, when the first frame of the running command's chain is done,
    /// when that command completes, and when information comes.
    fn to_come(&self) -> [Option<u64>; 4] {
        let running = self.running.as_ref();
        [
            self.air.front().map(|one| one.leaves_ns),
            running.and_then(|one| one.chain.front()).map(|(at, _)| *at),
            running.and_then(|one| one.done_ns),
            self.info_ns,
        ]
    }

    fn look_ahead(&mut self) {
        self.next_ns = self.to_come().into_iter().flatten().min();
    }

    /// The first frame of the air has left.
    fn leave(&mut self) {
        let Some(flying) = self.air.pop_front() else { return };
        let Some(buffer) = self.memory.buffer(flying.fid) else { return };
        buffer.owner = Owner::Host;
        let bytes = buffer.word(descriptor::BYTES).map_or(0, usize::from);
        let frame = buffer.bytes.get(descriptor::LENGTH..descriptor::LENGTH + bytes);
        if let Some(frame) = frame {
            let mut kept = self.given_back.pop().unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(frame);
            self.departed.push_back(Departed { at_ns: flying.leaves_ns, frame: kept });
        }
        if flying.reclaim {
            self.returned.push_back(flying.fid);
            self.ev_stat |= EVENT_ALLOC;
        } else {
            self.tx_complete = flying.fid;
            self.ev_stat |= EVENT_TX;
        }
    }

    /// The first frame of the running command's chain goes to the air.
    fn take_part(&mut self) {
        let Some(running) = &mut self.running else { return };
        let Some((at, fid)) = running.chain.pop_front() else { return };
        self.early += 1;
        let reclaim = running.word & command::RECLAIM != 0;
        let leaves_ns = match self.setup.air {
            None => at,
            Some(rate) => {
                let bytes = self.memory.buffer(fid).and_then(|one| one.word(descriptor::BYTES));
                let slots = backoff(&mut self.random);
                at.max(self.air_free_ns) + airtime_ns(bytes.unwrap_or(0).into(), rate, slots)
            }
        };
        self.air_free_ns = leaves_ns;
        self.air.push_back(Flying { leaves_ns, fid, reclaim, command: self.commands });
    }

    fn complete(&mut self) {
        let Some(running) = self.running.take() else { return };
        let code = running.word & command::CODE;
        let mut outcome = if running.fails { result::FAILED } else { result::DONE };
        if !running.fails && !self.carry_out(running.word) {
            outcome = result::FAILED;
        }
        self.status = code | outcome;
        if running.event {
            self.ev_stat |= EVENT_COMMAND;
        }
        self.spare = running.chain;
        self.spare.clear();
    }

    /// What a command other than to transmit does, when it completes; whether it could.
    fn carry_out(&mut self, word: u16) -> bool {
        match word & command::CODE {
            command::INITIALISE => self.ready = true,
            command::ENABLE => self.enabled = self.ready,
            command::DISABLE => self.enabled = false,
            command::ALLOCATE => {
                let fid = self.memory.allocate(self.params[0], MOST_BUFFERS);
                let Some(fid) = fid.filter(|_| self.ready) else { return false };
                self.returned.push_back(fid);
                self.ev_stat |= EVENT_ALLOC;
            }
            command::ACCESS => return Memory::is_record(self.params[0]),
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

    fn command(&mut self, word: u16, now: u64) {
        if self.running.is_some() {
            // A card that is busy does not hear it.
            return;
        }
        self.commands += 1;
        self.early = 0;
        let fault = self.setup.faults.draw(self.commands, &mut self.random);
        if fault == Some(Fault::Death) {
            return self.die();
        }
        let code = word & command::CODE;
        let chain = if code == command::TRANSMIT { self.chain() } else { Some(Fids::default()) };
        let refused = match code {
            command::INITIALISE | command::DISABLE | command::ALLOCATE | command::INQUIRE => false,
            command::ENABLE | command::ACCESS => !self.ready,
            command::TRANSMIT => !self.enabled || chain.is_none(),
            _ => true,
        };
        let fails = refused || fault == Some(Fault::Error);
        let mut at = now;
        if fault == Some(Fault::Late) {
            at = at.saturating_add(self.setup.faults.late_by_ns);
        }
        let mut due = std::mem::take(&mut self.spare);
        match chain {
            Some(fids) if code == command::TRANSMIT && !fails => {
                for &fid in fids.as_slice() {
                    at = at.saturating_add(self.transmit_ns());
                    due.push_back((at, fid));
                }
            }
            _ if code == command::TRANSMIT => at = at.saturating_add(self.transmit_ns()),
            _ if code == command::INITIALISE => {
                at = at.saturating_add(self.setup.others_in_ns.saturating_mul(10));
            }
            _ => at = at.saturating_add(self.setup.others_in_ns),
        }
        if code == command::INQUIRE && !fails {
            self.info_ns = Some(at);
        }
        let stuck = fault == Some(Fault::Stuck);
        if stuck {
            due.clear();
        }
        for (_, fid) in &due {
            if let Some(buffer) = self.memory.buffer(*fid) {
                buffer.owner = Owner::Card;
            }
        }
        let event = fault != Some(Fault::LostEvent);
        let done_ns = (!stuck).then_some(at);
        self.running = Some(Running { word, done_ns, event, fails, chain: due });
        self.look_ahead();
    }

    fn transmit_ns(&mut self) -> u64 {
        self.setup.spread.draw(self.setup.completes_in_ns, &mut self.random)
    }

    /// The buffers of a transmit command in their order; `None` where one is not there or not the host's, or where
    /// the chain does not end.
    fn chain(&mut self) -> Option<Fids> {
        let mut fids = Fids::default();
        let mut fid = self.params[0];
        while fid != 0 {
            let buffer = self.memory.buffer(fid).filter(|one| one.owner == Owner::Host)?;
            let bytes = buffer.word(descriptor::BYTES)?;
            buffer.bytes.get(..descriptor::LENGTH + usize::from(bytes))?;
            if !fids.push(fid) {
                return None;
            }
            fid = buffer.word(descriptor::LINK)?;
        }
        if fids.is_empty() { None } else { Some(fids) }
    }

    fn die(&mut self) {
        self.dead = true;
        self.lost += self.air.len() as u64;
        self.air.clear();
        self.running = None;
        self.look_ahead();
    }
}
