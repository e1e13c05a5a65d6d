//! Replies that are encoded once for each reading and shared by anyone who asks.
//!
//! One of these for each shape of a reply about one access point. What a shape looks like is its encoder's to know.

use std::rc::Rc;

use crate::{
    points::Point,
    table::{Generation, Table},
};

/// The newest reply of each point, in one shape.
#[derive(Debug)]
pub struct Replies {
    /// What one station takes, roughly, bytes: room for the first reply.
    station: usize,
    /// Whether values are shown that move while nothing happens, as for how long a station has been idle.
    clocks: bool,
    entries: Vec<Shared<Inputs>>,
}

/// Everything that a reply is made of: the table's generation, which every value but clocks and noise moves, the noise,
/// and where clocks are shown, when they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inputs {
    generation: Generation,
    noise_dbm: Option<i8>,
    read_ns: Option<u64>,
}

/// Bytes that are made of these inputs.
#[derive(Debug)]
pub(crate) struct Shared<I> {
    /// `None` before the first.
    inputs: Option<I>,
    bytes: Rc<Vec<u8>>,
}

impl<I> Default for Shared<I> {
    fn default() -> Self {
        Self { inputs: None, bytes: Rc::default() }
    }
}

impl<I: PartialEq> Shared<I> {
    /// The bytes, which are made anew where the inputs are others.
    pub(crate) fn get(&mut self, inputs: I, make: impl FnOnce(&mut Vec<u8>)) -> Rc<Vec<u8>> {
        if self.inputs.as_ref() != Some(&inputs) {
            self.inputs = Some(inputs);
            // Anyone who still sends the last ones keeps them; else their memory is used again.
            let mut bytes = Rc::try_unwrap(std::mem::take(&mut self.bytes)).unwrap_or_default();
            bytes.clear();
            make(&mut bytes);
            self.bytes = Rc::new(bytes);
        }
        Rc::clone(&self.bytes)
    }
}

impl Replies {
    /// Of a shape without clocks, that takes about so many bytes for a station.
    pub fn new(station: usize) -> Self {
        Self { station, clocks: false, entries: Vec::new() }
    }

    /// Of a shape with clocks.
    pub fn with_clocks(station: usize) -> Self {
        Self { clocks: true, ..Self::new(station) }
    }

    /// The reply about a point's stations: encoded anew, behind what stands there, only where something has changed.
    pub fn reply(
        &mut self,
        point: &Point,
        table: &Table,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Rc<Vec<u8>> {
        let place = usize::from(point.id);
        if self.entries.len() <= place {
            self.entries.resize_with(place + 1, Shared::default);
        }
        let inputs = Inputs {
            generation: table.generation_of(point.id),
            noise_dbm: point.noise_dbm,
            read_ns: point.read_ns.filter(|_| self.clocks),
        };
        self.entries[place].get(inputs, |bytes| {
            bytes.reserve(table.count(point.id) * self.station);
            encode(bytes);
        })
    }
}
