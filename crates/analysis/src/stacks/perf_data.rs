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
mod head;
mod records;

use std::io::{self, Read, Seek};

use self::{
    decode::{Buffers, FINISHED_ROUND, Layout, SAMPLE, happening},
    head::{Events, Start},
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

/// What a recording holds alongside its samples.
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
    big: bool,
}

impl<R: Read + Seek> Recording<R> {
    pub fn open(mut reader: R) -> Result<Self, Corrupt> {
        let start = head::read(&mut reader)?;
        let Start { big, data_at, data_bytes, is_pipe, mut gathered, mut faults } = start;
        let mut records = Records::new(reader, big, (data_at, data_bytes));
        let mut first = None;
        while is_pipe && first.is_none() {
            let mut record = Record::default();
            match records.next(&mut record) {
                Ok(true) => (),
                Ok(false) => break,
                Err(broken) => {
                    faults.push(broken);
                    break;
                }
            }
            let body = Bytes::new(&record.body, big);
            let of_head = gathered.take(record.kind, record.misc, body);
            // Other records of perf's own may stand between those of the head.
            first = (!of_head && record.kind < FIRST_OF_PERF).then_some(record);
        }
        if gathered.events.is_empty() {
            return Err(Corrupt::Head("it names no event"));
        }
        let (head, events) = gathered.finish();
        let others = events.others();
        if !others.is_empty() {
            faults.push(format!(
                "of several events only {} is shown, not {}",
                head.event,
                others.join(", ")
            ));
        }
        let summary = Summary { faults, ..Summary::default() };
        Ok(Self { head, summary, events, records, first, big })
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
        let mut decoder = Decoder {
            summary: &mut self.summary,
            events: &self.events,
            head: &self.head,
            big: self.big,
            buffers: Buffers::default(),
            unreadable: 0,
        };
        let mut rounds = Rounds::default();
        let first = self.first.take();
        let (mut is_read, mut record) = (first.is_some(), first.unwrap_or_default());
        loop {
            if !std::mem::take(&mut is_read) {
                match self.records.next(&mut record) {
                    Ok(true) => (),
                    Ok(false) => break,
                    Err(broken) => {
                        decoder.summary.faults.push(broken);
                        break;
                    }
                }
            }
            let until = match decoder.time(&record) {
                _ if record.kind == FINISHED_ROUND => Some(rounds.finish_round()),
                // perf makes up records of what was there before, and gives them no time.
                None | Some(0) => {
                    decoder.decode(&record, take);
                    None
                }
                Some(time) => rounds.put(time, std::mem::take(&mut record)),
            };
            while let Some(record) = until.and_then(|until| rounds.next(until)) {
                decoder.decode(&record, take);
            }
        }
        while let Some(record) = rounds.next(u64::MAX) {
            decoder.decode(&record, take);
        }
        decoder.finish(rounds.late)
    }
}

/// Makes happenings of records.
struct Decoder<'a> {
    summary: &'a mut Summary,
    events: &'a Events,
    head: &'a Head,
    big: bool,
    buffers: Buffers,
    unreadable: u64,
}

impl Decoder<'_> {
    fn time(&self, record: &Record) -> Option<u64> {
        if record.kind >= FIRST_OF_PERF {
            return None;
        }
        let body = Bytes::new(&record.body, self.big);
        let is_sample = record.kind == SAMPLE;
        self.events.of(body, is_sample)?.0.time(body, is_sample)
    }

    fn decode(&mut self, record: &Record, take: &mut dyn FnMut(Happening<'_>)) {
        if record.kind >= FIRST_OF_PERF {
            return;
        }
        let is_sample = record.kind == SAMPLE;
        let event = self.events.of(Bytes::new(&record.body, self.big), is_sample);
        let Some((event, chosen)) = event else { return };
        if is_sample && !chosen {
            return;
        }
        let architecture = self.head.architecture;
        let layout = Layout { event, architecture, is_big: self.big };
        match happening(record, layout, &mut self.buffers) {
            Some(Some(happening)) => {
                self.summary.take(&happening);
                take(happening);
            }
            Some(None) => (),
            None => self.unreadable += 1,
        }
    }

    fn finish(self, late: u64) -> Result<(), Corrupt> {
        let Self { summary, unreadable, head, .. } = self;
        if unreadable > 0 {
            summary
                .faults
                .push(format!("{unreadable} of its records are shorter than they should be"));
        }
        if late > 0 {
            summary.faults.push(format!("{late} of its records come too late to be in order"));
        }
        if summary.samples > 0 {
            return Ok(());
        }
        Err(Corrupt::NoSamples {
            event: head.event.clone(),
            fault: summary.faults.first().cloned(),
        })
    }
}
