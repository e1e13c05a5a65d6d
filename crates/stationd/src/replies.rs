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
    entries: Vec<Entry>,
}

/// Everything that a reply is made of: the table's generation, which every value but clocks and noise moves, the noise,
/// and where clocks are shown, when they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inputs {
    generation: Generation,
    noise_dbm: Option<i8>,
    read_ns: Option<u64>,
}

#[derive(Debug, Default)]
struct Entry {
    /// `None` before the first.
    inputs: Option<Inputs>,
    bytes: Rc<Vec<u8>>,
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
            self.entries.resize_with(place + 1, Entry::default);
        }
        let entry = &mut self.entries[place];
        let inputs = Inputs {
            generation: table.generation_of(point.id),
            noise_dbm: point.noise_dbm,
            read_ns: point.read_ns.filter(|_| self.clocks),
        };
        if entry.inputs != Some(inputs) {
            entry.inputs = Some(inputs);
            // Anyone who still sends the last reply keeps it; else its memory is used again.
            let bytes = match Rc::get_mut(&mut entry.bytes) {
                Some(bytes) => bytes,
                None => {
                    entry.bytes = Rc::default();
                    Rc::make_mut(&mut entry.bytes)
                }
            };
            bytes.clear();
            bytes.reserve(table.count(point.id) * self.station);
            encode(bytes);
        }
        Rc::clone(&entry.bytes)
    }
}
