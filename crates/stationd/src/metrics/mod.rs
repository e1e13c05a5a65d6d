//! The metrics page, in Prometheus' text format and in OpenMetrics.
//!
//! Reads what the engine knows at this moment; it asks no one. What is unknown has no sample. A page is
//! written in pieces of bounded size, because a page of 500 stations is larger than all the rest of the
//! daemon's memory.
//!
//! How either format writes it is `listen`'s.

mod families;
pub mod own;
pub mod text;

use listen::{
    Format,
    openmetrics::{self, Kind, quoted},
};

use self::{
    families::{FAMILIES, Family, Of},
    own::Own,
    text::Number,
};
use crate::{
    address,
    engine::Engine,
    points::Point,
    table::{Row, Slot},
    tally::Tally,
};

/// One family's samples of a daemon, or one station's, take less.
const ROOM: usize = 4096;

/// What a page is made of.
pub struct Source<'a> {
    /// What is known of the stations.
    pub engine: &'a Engine,
    pub tally: &'a Tally,
    /// The daemon itself.
    pub own: &'a Own,
    /// What makes wall time of boot time, ns.
    pub wall_offset_ns: i64,
}

impl Source<'_> {
    /// A moment since boot as seconds since 1970.
    fn wall(&self, boot_ns: u64) -> Number {
        Number::from_ms((boot_ns as i64 + self.wall_offset_ns) / 1_000_000)
    }
}

/// How far a page has been written.
#[derive(Clone, Copy, Debug)]
pub struct Scrape {
    format: Format,
    began_ns: u64,
    group: usize,
    family: usize,
    /// The next slot; `None`: the family's head is next.
    slot: Option<Slot>,
}

impl Scrape {
    /// A page that begins now, ns since boot.
    pub fn new(format: Format, now_ns: u64) -> Self {
        Self { format, began_ns: now_ns, group: 0, family: 0, slot: None }
    }

    /// Appends samples up to about this many bytes; whether the page is complete.
    pub fn write(&mut self, source: &Source<'_>, out: &mut Vec<u8>, most: usize) -> bool {
        let most = out.len() + most.saturating_sub(ROOM);
        while let Some(group) = FAMILIES.get(self.group) {
            let Some(family) = group.get(self.family) else {
                (self.group, self.family) = (self.group + 1, 0);
                continue;
            };
            if !self.write_family(family, source, Piece { out, most }) {
                return false;
            }
            (self.family, self.slot) = (self.family + 1, None);
        }
        openmetrics::end(self.format, out);
        true
    }

    /// Whether the family is complete.
    fn write_family(&mut self, family: &Family, source: &Source<'_>, piece: Piece<'_>) -> bool {
        let Piece { out, most } = piece;
        let slot = match self.slot {
            Some(slot) => slot,
            None => {
                family.about.head(self.format, out);
                0
            }
        };
        let mut samples =
            Samples { family, format: self.format, created: Created::No, source, most, out };
        match family.of {
            Of::Station(value) => {
                return self.write_stations(slot, value, samples);
            }
            Of::Point(value) => {
                samples.created = samples.since(source.own.began_ns);
                for point in source.engine.points().present() {
                    samples.of_point(point, value(source, point));
                }
            }
            Of::Free(write) => {
                samples.created = samples.since(source.own.began_ns);
                write(source, &mut samples);
            }
        }
        samples.out.len() < most || {
            // The family is complete; the page goes on with the next one in the next piece.
            (self.family, self.slot) = (self.family + 1, None);
            false
        }
    }

    fn write_stations(
        &mut self,
        from: Slot,
        value: fn(&Row<'_>) -> Option<Number>,
        mut samples: Samples<'_>,
    ) -> bool {
        let (source, most) = (samples.source, samples.most);
        for slot in from..source.engine.table().slots() {
            if samples.out.len() >= most {
                self.slot = Some(slot);
                return false;
            }
            // Who came while the page is written would be on one half of it, or on it twice.
            let Some(row) = source
                .engine
                .table()
                .row(slot)
                .filter(|row| row.session().seen_ns <= self.began_ns)
            else {
                continue;
            };
            let Some(point) = source.engine.points().get(row.session().point) else { continue };
            samples.created = samples.since(row.session().began_ns());
            samples.of_station(point, &row, value(&row));
        }
        true
    }
}

/// A piece of a page, and how long it may become.
struct Piece<'a> {
    out: &'a mut Vec<u8>,
    most: usize,
}

/// When a counter began, for those who want to know.
#[derive(Clone, Copy)]
enum Created {
    No,
    At(Number),
}

/// Where samples of one family are written.
struct Samples<'a> {
    family: &'a Family,
    format: Format,
    created: Created,
    source: &'a Source<'a>,
    most: usize,
    out: &'a mut Vec<u8>,
}

impl Samples<'_> {
    fn since(&self, boot_ns: u64) -> Created {
        match (self.family.about.kind, self.format) {
            (Kind::Counter, Format::OpenMetrics) => Created::At(self.source.wall(boot_ns)),
            _ => Created::No,
        }
    }

    /// A sample without labels.
    fn plain(&mut self, value: Option<Number>) {
        if let Some(value) = value {
            self.sample(value, |_| {});
        }
    }

    /// A sample with these labels.
    fn labelled(&mut self, value: Number, labels: impl Fn(&mut Vec<u8>)) {
        self.sample(value, |out| {
            out.push(b'{');
            labels(out);
            out.push(b'}');
        });
    }

    fn of_point(&mut self, point: &Point, value: Option<Number>) {
        let Some(value) = value else { return };
        self.labelled(value, |labels| {
            labels.extend_from_slice(b"device=");
            quoted(&point.name, labels);
        });
    }

    fn of_station(&mut self, point: &Point, row: &Row<'_>, value: Option<Number>) {
        let Some(value) = value else { return };
        self.labelled(value, |labels| {
            labels.extend_from_slice(b"device=");
            quoted(&point.name, labels);
            labels.extend_from_slice(b",mac_address=\"");
            labels.extend_from_slice(&address::lower(row.address()));
            labels.push(b'"');
        });
    }

    /// One sample, and when its counter began.
    fn sample(&mut self, value: Number, labels: impl Fn(&mut Vec<u8>)) {
        self.family.about.sample(self.out);
        self.rest(value, &labels);
        if let Created::At(moment) = self.created {
            self.family.about.created(self.out);
            self.rest(moment, &labels);
        }
    }

    fn rest(&mut self, value: Number, labels: impl Fn(&mut Vec<u8>)) {
        labels(self.out);
        self.out.push(b' ');
        value.write(self.out);
        self.out.push(b'\n');
    }
}
