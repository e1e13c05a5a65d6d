//! How a driver reaches its card.

use crate::card::{Card, register::Register};

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

/// A card, and the time at which it is accessed: where time is not the world's.
#[derive(Clone, Debug)]
pub struct Bench {
    pub card: Card,
    /// The time, ns.
    pub now_ns: u64,
    /// So much passes with every look at the clock, ns.
    pub tick_ns: u64,
}

impl Bus for Bench {
    fn now(&mut self) -> u64 {
        self.now_ns += self.tick_ns;
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
