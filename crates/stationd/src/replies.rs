//! Replies that are encoded once for each reading and shared by all who ask.

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
#[derive(Debug, Default)]
pub(crate) struct Shared<I> {
    inputs: Option<I>,
    bytes: Rc<Vec<u8>>,
}

impl<I: PartialEq> Shared<I> {
    /// The bytes, which are made again where the inputs differ: in the same memory, unless the last ones are still being
    /// sent.
    pub(crate) fn get(&mut self, inputs: I, make: impl FnOnce(&mut Vec<u8>)) -> Rc<Vec<u8>> {
        if self.inputs.as_ref() != Some(&inputs) {
            self.inputs = Some(inputs);
            if Rc::get_mut(&mut self.bytes).is_none() {
                self.bytes = Rc::default();
            }
            if let Some(bytes) = Rc::get_mut(&mut self.bytes) {
                bytes.clear();
                make(bytes);
            }
        }
        Rc::clone(&self.bytes)
    }
}

impl Replies {
    /// Of a shape that takes about so many bytes for a station, with or without clocks.
    pub fn new(station: usize, clocks: bool) -> Self {
        Self { station, clocks, entries: Vec::new() }
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
