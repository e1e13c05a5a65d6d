//! The metrics page, in Prometheus' text format and in OpenMetrics.
//!
//! Reads what the engine knows at this moment; it asks no one. What is unknown has no sample. A page is written once for
//! each reading and shared by all who scrape.
//!
//! How either format writes it is `listen`'s.

mod families;
pub mod own;
pub mod text;

use std::{ops::Range, rc::Rc};

use listen::{
    Format,
    openmetrics::{self, quoted},
};

use self::{
    families::{FAMILIES, Family, Of},
    own::Own,
    text::Number,
};
use crate::{
    address,
    engine::Engine,
    net::Hub,
    replies::Shared,
    table::{Generation, Station},
    tally::Tally,
};

struct Source<'a> {
    engine: &'a Engine,
    tally: &'a Tally,
    own: &'a Own,
    /// What makes wall time of boot time, ns.
    wall_offset_ns: i64,
}

impl Source<'_> {
    /// A moment since boot as seconds since 1970.
    fn wall(&self, boot_ns: u64) -> Number {
        Number::from_ms((boot_ns as i64 + self.wall_offset_ns) / 1_000_000)
    }
}

/// The page of each format as it was written last.
#[derive(Debug, Default)]
pub struct Pages {
    pages: [Shared<Inputs>; 2],
    made_ns: [u64; 2],
}

/// What a page says that has to be true: all but the daemon's own CPU time and memory, and how many scrapers there are.
#[derive(Debug, Default, PartialEq)]
struct Inputs {
    made_ns: u64,
    generation: Generation,
    /// For clocks.
    read_ns: Vec<Option<u64>>,
    wall_offset_ns: i64,
    tally: Tally,
}

impl Pages {
    /// The page, which is shared while nothing has changed, and for as long as a reading is.
    pub fn page(&mut self, format: Format, hub: &mut Hub) -> Rc<Vec<u8>> {
        let wall_offset_ns = hub.own.wall_offset_ns(hub.now_ns);
        let Hub { engine, tally, own, .. } = &*hub;
        let source = Source { engine, tally, own, wall_offset_ns };
        let place = usize::from(format == Format::OpenMetrics);
        if hub.now_ns.saturating_sub(self.made_ns[place]) > hub.max_age_ns {
            self.made_ns[place] = hub.now_ns;
        }
        let inputs = Inputs {
            made_ns: self.made_ns[place],
            generation: engine.table.generation,
            read_ns: engine.points.iter().map(|point| point.read_ns).collect(),
            wall_offset_ns,
            tally: Tally { scrapers: 0, ..*tally },
        };
        self.pages[place].get(inputs, |out| source.write(format, out))
    }
}

impl Source<'_> {
    fn write(&self, format: Format, out: &mut Vec<u8>) {
        let (labels, stations) = self.stations();
        for family in FAMILIES {
            family.about.head(format, out);
            let mut samples = Samples { family, out };
            match family.of {
                Of::Station(value) => {
                    for (station, at) in &stations {
                        if let Some(value) = value(station) {
                            samples.sample(value, |out| out.extend_from_slice(&labels[at.clone()]));
                        }
                    }
                }
                Of::Point(value) => {
                    for point in self.engine.points.present() {
                        if let Some(value) = value(self, point) {
                            samples.texts(value, &[("device", &point.name)]);
                        }
                    }
                }
                Of::One(value) => {
                    value(self).into_iter().for_each(|value| samples.sample(value, |_| {}));
                }
                Of::Labels(write) => write(self, &mut samples),
            }
        }
        openmetrics::end(format, out);
    }

    /// All stations, each with where its labels are: they are the same in every family, and written once.
    fn stations(&self) -> (Vec<u8>, Vec<(&Station, Range<usize>)>) {
        let (mut labels, mut stations) = (Vec::new(), Vec::new());
        for point in self.engine.points.present() {
            for station in self.engine.table.stations(point.id) {
                let begin = labels.len();
                labels.extend_from_slice(b"{device=");
                quoted(&point.name, &mut labels);
                labels.extend_from_slice(b",mac_address=\"");
                labels.extend_from_slice(&address::lower(station.address()));
                labels.extend_from_slice(b"\"}");
                stations.push((station, begin..labels.len()));
            }
        }
        (labels, stations)
    }
}

struct Samples<'a> {
    family: &'a Family,
    out: &'a mut Vec<u8>,
}

impl Samples<'_> {
    /// A sample with these labels, each a name and its value.
    fn texts(&mut self, value: Number, labels: &[(&str, &str)]) {
        self.sample(value, |out| {
            for (place, (name, value)) in labels.iter().enumerate() {
                out.push(if place == 0 { b'{' } else { b',' });
                out.extend_from_slice(name.as_bytes());
                out.push(b'=');
                quoted(value, out);
            }
            out.push(b'}');
        });
    }

    fn sample(&mut self, value: Number, labels: impl Fn(&mut Vec<u8>)) {
        self.family.about.sample(self.out);
        labels(self.out);
        self.out.push(b' ');
        value.write(self.out);
        self.out.push(b'\n');
    }
}
