//! A driver and its card between two TAPs, in real time: one thread that does what the driver says.
//!
//! Frames that the stack sends over one interface go through the driver and the card and come out of the other. The
//! card is passive: while the driver sleeps, nothing runs, and the card's interrupt is the end of a sleep until the
//! moment at which the card says that its line will rise. That is one timer of the kernel, as a real interrupt is one
//! wake-up; no descriptor of its own is needed for it. What emitting frames costs is the model's and is accounted
//! apart, by this thread's own CPU clock.
//!
//! Where nothing is to do, it sleeps in the read of the next frame. Anyone who wants something of it then ends that call
//! ([`Marks`]).
//!
//! Frames that wait for the driver wait in the interface's own queue, as behind a driver that has stopped its queue:
//! the driver takes no more of them than go under one command.

mod mark;
mod meter;

use std::{io, sync::Arc};

use linux::tap::Tap;
use rustix::event::{PollFd, PollFlags, poll};

pub use self::mark::{Mark, Marks};
use self::{
    mark::Periods,
    meter::{Meter, reading_ns},
};
use crate::{
    card::{Card, LONGEST_FRAME, register::Register},
    driver::{Bus, Driver, Turn, census::Kind},
    wait::{
        Step,
        clock::{monotonic_ns, sleep_until_ns, thread_cpu_ns, timespec},
    },
};

/// Sleeps for an interrupt look so often whether the path is to end, ns.
const LOOK_UP_NS: u64 = 100_000_000;
/// Between two looks of a loop, a longer time was another thread's, ns: looks are less than one µs apart.
const AWAY_NS: u64 = 10_000;

#[derive(Debug)]
struct Clocked {
    card: Card,
    now_ns: u64,
}

impl Clocked {
    /// Takes the CPU for as long as this many words take on the bus.
    fn stand_still(&mut self, words: u64) {
        let mut left = words * self.card.setup().bus_word_ns;
        if left == 0 {
            return;
        }
        self.now();
        while left > 0 {
            let before = self.now_ns;
            let passed = self.now() - before;
            left = left.saturating_sub(if passed < AWAY_NS { passed } else { 0 });
        }
    }
}

impl Bus for Clocked {
    fn now(&mut self) -> u64 {
        self.now_ns = monotonic_ns();
        self.now_ns
    }

    fn read(&mut self, register: Register) -> u16 {
        self.stand_still(1);
        self.card.read(register, self.now_ns)
    }

    fn write(&mut self, register: Register, value: u16) {
        self.stand_still(1);
        self.card.write(register, value, self.now_ns);
    }

    fn write_data(&mut self, bytes: &[u8]) {
        self.stand_still(bytes.len().div_ceil(2) as u64);
        self.card.write_data(bytes, self.now_ns);
    }

    fn reset(&mut self) {
        self.card.reset(self.now_ns);
    }
}

/// Who is shown each frame that comes out, with the moment, ns.
pub type Observer = Box<dyn FnMut(&[u8], u64) + Send>;

pub struct Path {
    input: Tap,
    output: Tap,
    driver: Driver,
    bus: Clocked,
    marks: Arc<Marks>,
    observer: Observer,
    buffer: Vec<u8>,
    sent: u64,
    undelivered: u64,
    emitting: Meter,
    leaving: Meter,
    spinning: Meter,
    periods: Periods,
    /// Marks for periods, and what the clock of one takes, ns.
    closes: u64,
    reading_ns: u64,
}

impl Path {
    /// From one TAP to another. Each frame that comes out is shown to the observer; what that costs is the model's.
    pub fn new([input, output]: [Tap; 2], driver: Driver, card: Card, observer: Observer) -> Self {
        let bus = Clocked { card, now_ns: monotonic_ns() };
        let reading_ns = reading_ns();
        let meter = Meter::new(reading_ns);
        Self {
            input,
            output,
            driver,
            bus,
            marks: Arc::default(),
            observer,
            // One byte more than fits, so that a frame that is too long is seen to be.
            buffer: vec![0; LONGEST_FRAME + 1],
            sent: 0,
            undelivered: 0,
            emitting: meter,
            leaving: meter,
            spinning: meter,
            periods: Periods::default(),
            closes: 0,
            reading_ns,
        }
    }

    /// Where anyone asks for what it has counted, and for its end.
    pub fn marks(&self) -> Arc<Marks> {
        Arc::clone(&self.marks)
    }

    /// Sends until it is asked to end, or until its card is gone.
    /// Fails where an interface cannot be read.
    pub fn run(mut self) -> io::Result<()> {
        self.marks.begin();
        let result = self.send();
        self.marks.ended(self.mark());
        result
    }

    fn send(&mut self) -> io::Result<()> {
        loop {
            if self.periods.is_due(self.bus.now_ns) {
                self.closes += 1;
                let mark = self.mark();
                self.periods.close(&mark);
            }
            if self.marks.is_asked() && self.answer() {
                return Ok(());
            }
            match self.driver.turn(&mut self.bus) {
                Turn::Wait(step) => match self.driver.underway() {
                    Some(Kind::Transmit) => transmit(self, step),
                    Some(_) => self.complete(step),
                    None => self.carry_out(step),
                },
                Turn::Idle if self.driver.is_gone() => {
                    self.emit();
                    return Ok(());
                }
                Turn::Idle => self.idle()?,
            }
        }
    }

    /// Answers what is asked; whether the path is to end.
    fn answer(&mut self) -> bool {
        self.driver.settle(&mut self.bus);
        let mark = self.mark();
        if self.periods.is_due(mark.at_ns) {
            self.periods.close(&mark);
        }
        if let Some(every_ns) = self.marks.opening() {
            self.periods.open(&mark, every_ns);
        }
        let periods = self.periods.closed().to_vec();
        self.marks.answer(Mark { periods, ..mark })
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
            let begun = self.leaving.begin();
            sleep_until_ns(leaves);
            self.bus.now();
            self.leaving.end(begun);
            self.emit();
        }
    }

    /// Whether something has left by the last look at the clock.
    fn is_due(&self) -> bool {
        self.bus.card.next_departure_ns().is_some_and(|leaves| leaves <= self.bus.now_ns)
    }

    /// Emits what has left by the last look at the clock.
    fn emit(&mut self) {
        if !self.is_due() {
            return;
        }
        let now = self.bus.now_ns;
        while let Some(departed) = self.bus.card.take_departed(now) {
            let begun = self.emitting.begin();
            match self.output.send(&departed.frame) {
                Ok(()) => {
                    self.sent += 1;
                    (self.observer)(&departed.frame, monotonic_ns());
                }
                Err(_) => self.undelivered += 1,
            }
            self.bus.card.give_back(departed.frame);
            self.emitting.end(begun);
        }
    }

    /// Takes frames from the interface; where there are none, sleeps until there is one.
    fn idle(&mut self) -> io::Result<()> {
        self.emit();
        if !self.frame_comes_first() {
            return Ok(());
        }
        let mut room = std::mem::take(&mut self.buffer);
        let mut result = Ok(());
        for place in 0..self.driver.wants() {
            // Only the first is worth a sleep.
            let received = match place {
                0 => self.input.receive_waiting(&mut room),
                _ => self.input.receive(&mut room),
            };
            match received {
                // A refusal is counted, and there is no one else to tell.
                Ok(Some(length)) => _ = self.driver.offer(&room[..length]),
                Ok(None) => break,
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.buffer = room;
        result
    }

    /// Where a frame is about to leave the card, sleeps until it has; false unless one to be taken came before.
    fn frame_comes_first(&mut self) -> bool {
        let Some(leaves) = self.bus.card.next_departure_ns() else { return true };
        let left = timespec(leaves.saturating_sub(self.bus.now_ns));
        let begun = self.leaving.begin();
        let ready = poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&left));
        if ready == Ok(0) {
            self.leaving.end(begun);
        }
        self.bus.now();
        ready == Ok(1)
    }

    fn mark(&self) -> Mark {
        let all = [self.emitting, self.leaving, self.spinning];
        let models = &all[..2];
        let queued = self.driver.queued() as i64 + self.bus.card.on_the_way();
        Mark {
            at_ns: monotonic_ns(),
            cpu_ns: thread_cpu_ns(),
            air_ns: models.iter().map(Meter::alike_ns).sum::<u64>()
                + all.iter().map(Meter::clock_ns).sum::<u64>()
                + self.closes * self.reading_ns,
            spun_ns: self.spinning.total_ns(),
            counters: self.driver.counters().clone(),
            sent: self.sent,
            undelivered: self.undelivered,
            queued: queued.max(0) as u64,
            running: self.driver.is_running(),
            periods: Vec::new(),
        }
    }
}

/// A transmit command, from when it was given until its end was seen.
///
/// It is a function of its own, never inlined and never merged with another, so that a probe at its entry and return
/// (`headroom count`) counts these commands and how long each takes, independently of what the driver counts.
#[inline(never)]
pub fn transmit(path: &mut Path, step: Step) {
    std::hint::black_box(Kind::Transmit);
    path.complete(step);
}

/// Reads the command register until its busy bit is gone, or until the driver would rather do something else.
///
/// It is a function of its own, so that a profile names it: this is the loop that the study is about.
#[inline(never)]
pub fn spin(path: &mut Path) -> Option<Step> {
    let mut begun = path.spinning.begin();
    let next = loop {
        match path.driver.look(&mut path.bus) {
            Some(Step::Look) => {
                std::hint::spin_loop();
                if path.is_due() {
                    begun.without(|| path.emit());
                }
            }
            next => break next,
        }
    };
    path.spinning.end(begun);
    next
}
