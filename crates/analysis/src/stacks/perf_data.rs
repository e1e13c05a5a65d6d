//! Reads recordings of stacks: our own, and those of `perf record` in files and pipes.
//!
//! ```text
//! head ─► events        records ─► rounds (order of time) ─► decode ─► Happening
//! ```
//!
//! In constant memory: a record is held until the round after its own has ended. Nothing is believed of
//! the bytes; what cannot be read ends the recording with a fault, and what came before is kept.
//!
//! Why by hand: `linux-perf-data` 0.13 and `linux-perf-event-reader` 0.10 panic on a build id longer than
//! 20 bytes, on a record of an unknown kind and on large counts, drop what they hold where a file is cut
//! off, and take groups of counters for single ones.

mod decode;
mod event;
mod head;
mod records;

use std::io::{self, Read, Seek};

use gimli::RunTimeEndian;

use self::{
    decode::{Buffers, FINISHED_ROUND, SAMPLE, happening},
    event::Events,
    head::Start,
    records::{Bytes, Record, Records, Rounds},
};
use crate::stacks::happening::{Happening, Head};

/// Kinds below are the kernel's records, those above perf's own.
const FIRST_OF_PERF: u32 = 64;

/// Why a recording is of no use. Written to follow the file's name.
#[derive(Debug, thiserror::Error)]
pub enum Corrupt {
    #[error("not a recording: a file of `perf record` begins with PERFILE2")]
    NotPerf,
    /// The head cannot be understood.
    #[error("the recording's head is damaged: {0}")]
    Head(&'static str),
    #[error("cannot read the recording: {0}")]
    Io(io::Error),
    #[error(
        "the recording holds no samples of {event}: {}",
        .fault.as_deref().unwrap_or(
            "nothing ran that it looked at, or the recorder might not look; record while it works, as root"
        )
    )]
    NoSamples {
        event: String,
        /// What was wrong with the recording, if anything was.
        fault: Option<String>,
    },
}

/// What a recording holds apart from its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    pub samples: u64,
    pub lost: u64,
    pub throttled: u64,
    /// The first sample's time and the last one's, ns.
    pub span_ns: Option<(u64, u64)>,
    /// The sum of the samples' periods, in the event's unit.
    pub period: u64,
    /// What was wrong, in words that follow the file's name.
    pub faults: Vec<String>,
}

impl Summary {
    /// CPU of what was sampled, µs a second, where the event counts nanoseconds.
    pub fn cpu_us_per_s(&self, event: &str) -> Option<f64> {
        let counts_ns = event.starts_with("cpu-clock") || event.starts_with("task-clock");
        let (first, last) = self.span_ns?;
        let seconds = last.checked_sub(first).filter(|span| *span > 0)? as f64 / 1e9;
        counts_ns.then_some(self.period as f64 / 1e3 / seconds).filter(|cpu| *cpu > 0.0)
    }

    fn take(&mut self, happening: &Happening<'_>) {
        match happening {
            Happening::Sample(sample) => {
                self.samples += 1;
                self.period = self.period.saturating_add(sample.period);
                let (first, last) = self.span_ns.unwrap_or((sample.time_ns, sample.time_ns));
                self.span_ns = Some((first.min(sample.time_ns), last.max(sample.time_ns)));
            }
            Happening::Lost(records) => self.lost = self.lost.saturating_add(*records),
            Happening::Throttled => self.throttled += 1,
            _ => (),
        }
    }
}

pub struct Recording<R> {
    head: Head,
    summary: Summary,
    events: Events,
    records: Records<R>,
    /// The first record, where it was read to know the head's end.
    first: Option<Record>,
    endian: RunTimeEndian,
    buffers: Buffers,
    /// Records that are too short.
    unreadable: u64,
}

impl<R: Read + Seek> Recording<R> {
    pub fn open(mut reader: R) -> Result<Self, Corrupt> {
        let mut start = Start::read(&mut reader)?;
        let endian = start.endian;
        let mut records = Records::new(reader, endian, start.data);
        let mut first = None;
        while start.is_pipe && first.is_none() {
            let record = match records.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(broken) => {
                    start.faults.push(broken);
                    break;
                }
            };
            let of_head = start.take(record.kind, record.misc, Bytes::new(&record.body, endian));
            // Other records of perf's own may stand between those of the head.
            first = (!of_head && record.kind < FIRST_OF_PERF).then_some(record);
        }
        if start.events.is_empty() {
            return Err(Corrupt::Head("it names no event"));
        }
        let (head, events, faults) = start.finish();
        let summary = Summary { faults, ..Summary::default() };
        let (buffers, unreadable) = (Buffers::default(), 0);
        Ok(Self { head, summary, events, records, first, endian, buffers, unreadable })
    }

    pub const fn head(&self) -> &Head {
        &self.head
    }

    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Gives everything to `take`, in order of time. A recording is read once.
    /// Where there was no sample, that is the error after everything else has been reported.
    pub fn each(&mut self, take: &mut dyn FnMut(Happening<'_>)) -> Result<(), Corrupt> {
        let mut rounds = Rounds::default();
        while let Some(record) = self.next() {
            let until = match self.time(&record) {
                _ if record.kind == FINISHED_ROUND => Some(rounds.finish_round()),
                // perf makes up records of what was there before, and gives them no time.
                None | Some(0) => {
                    self.decode(&record, take);
                    None
                }
                Some(time) => rounds.put(time, record),
            };
            while let Some(record) = until.and_then(|until| rounds.next(until)) {
                self.decode(&record, take);
            }
        }
        while let Some(record) = rounds.next(u64::MAX) {
            self.decode(&record, take);
        }
        self.finish(rounds.late)
    }

    /// The next record, up to the end or to where it breaks off.
    fn next(&mut self) -> Option<Record> {
        let next = self.first.take().map(Some).map_or_else(|| self.records.next(), Ok);
        next.unwrap_or_else(|broken| {
            self.summary.faults.push(broken);
            None
        })
    }

    fn time(&self, record: &Record) -> Option<u64> {
        if record.kind >= FIRST_OF_PERF {
            return None;
        }
        let body = Bytes::new(&record.body, self.endian);
        let is_sample = record.kind == SAMPLE;
        self.events.of(body, is_sample)?.0.time(body, is_sample)
    }

    fn decode(&mut self, record: &Record, take: &mut dyn FnMut(Happening<'_>)) {
        if record.kind >= FIRST_OF_PERF {
            return;
        }
        let is_sample = record.kind == SAMPLE;
        let body = Bytes::new(&record.body, self.endian);
        let event = self.events.of(body, is_sample);
        let Some((event, _)) = event.filter(|(_, chosen)| *chosen || !is_sample) else { return };
        let layout = (event, self.head.architecture);
        match happening(record, body, layout, &mut self.buffers) {
            Ok(Some(happening)) => {
                self.summary.take(&happening);
                take(happening);
            }
            Ok(None) => (),
            Err(_) => self.unreadable += 1,
        }
    }

    fn finish(&mut self, late: u64) -> Result<(), Corrupt> {
        let Self { summary, unreadable, head, .. } = self;
        for (records, why) in [
            (*unreadable, "are shorter than they should be"),
            (late, "come too late to be in order"),
        ] {
            if records > 0 {
                summary.faults.push(format!("{records} of its records {why}"));
            }
        }
        if summary.samples > 0 {
            return Ok(());
        }
        let fault = summary.faults.first().cloned();
        Err(Corrupt::NoSamples { event: head.event.clone(), fault })
    }
}
