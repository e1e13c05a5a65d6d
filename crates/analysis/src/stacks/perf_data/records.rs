//! Reads whole records out of a stream and puts them in order of time.
//!
//! Each CPU has a ring of its own, so records come in order by ring only. After a round, in which every ring was emptied
//! once, no record can come any more that is older than the newest one of the round before
//! (`tools/perf/util/ordered-events.c`). So two rounds are held.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use gimli::{EndianSlice, Error, Reader, Result, RunTimeEndian};

/// `struct perf_event_header`.
const HEADER: usize = 8;
const TRACING_DATA: u32 = 66;
const TRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED_WITH_SIZE: u32 = 83;
/// A recording without rounds is reported in pieces of this size, bytes: memory has an end.
const MOST: usize = 64 << 20;

/// What a record takes with its body: its place in the order, and the allocator's own.
const AROUND: usize = 96;

/// Bytes that are read from the front, in the recording's byte order.
pub(super) type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;

/// The next `length` bytes.
pub(super) fn take<'a>(bytes: &mut Bytes<'a>, length: u64) -> Result<Bytes<'a>> {
    bytes.split(usize::try_from(length).map_err(|_| Error::UnsupportedOffset)?)
}

/// The next `count` things of `each` bytes.
pub(super) fn take_all<'a>(bytes: &mut Bytes<'a>, count: u64, each: u64) -> Result<Bytes<'a>> {
    take(bytes, count.checked_mul(each).ok_or(Error::UnsupportedOffset)?)
}

/// All numbers of eight bytes.
pub(super) fn words(mut bytes: Bytes) -> Vec<u64> {
    std::iter::from_fn(|| bytes.read_u64().ok()).collect()
}

/// Up to the first 0, or all.
pub(super) fn text(bytes: Bytes<'_>) -> &[u8] {
    bytes.slice().split(|byte| *byte == 0).next().unwrap_or_default()
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) kind: u32,
    pub(super) misc: u16,
    pub(super) body: Vec<u8>,
}

/// Why there is no further record, in the words of a sentence.
type Broken = String;

/// Records as they stand in the recording.
pub(super) struct Records<R> {
    reader: R,
    endian: RunTimeEndian,
    /// Where the next record begins.
    at: u64,
    /// Bytes of records that should be left; `None`: up to the end.
    left: Option<u64>,
}

impl<R: Read> Records<R> {
    pub(super) fn new(reader: R, endian: RunTimeEndian, span: (u64, Option<u64>)) -> Self {
        Self { reader, endian, at: span.0, left: span.1 }
    }

    /// The next record, where there is one.
    pub(super) fn next(&mut self) -> std::result::Result<Option<Record>, Broken> {
        if self.left == Some(0) {
            return Ok(None);
        }
        let mut head = [0; HEADER];
        match self.fill(&mut head)? {
            0 if self.left.is_none() => return Ok(None),
            HEADER => (),
            _ => return Err(self.broken_off()),
        }
        let mut head = Bytes::new(&head, self.endian);
        let mut fields = || Ok::<_, Error>((head.read_u32()?, head.read_u16()?, head.read_u16()?));
        let (kind, misc, length) = fields().map_err(|_| self.broken_off())?;
        let body = usize::from(length).checked_sub(HEADER).ok_or_else(|| {
            format!("the record at byte {} is shorter than its own header", self.at)
        })?;
        let mut body = vec![0; body];
        if self.fill(&mut body)? < body.len() {
            return Err(self.broken_off());
        }
        self.at = self.at.saturating_add(length.into());
        self.left = self.left.map(|left| left.saturating_sub(length.into()));
        match kind {
            COMPRESSED | COMPRESSED_WITH_SIZE => {
                Err("its records are compressed; record without `-z`".to_owned())
            }
            // Data follows that is no record: of hardware tracing, and of a pipe's tracepoints.
            TRACE | TRACING_DATA => {
                Err("it holds tracing data; record a clock or cycles alone".to_owned())
            }
            _ => Ok(Some(Record { kind, misc, body })),
        }
    }

    fn broken_off(&self) -> Broken {
        format!("it breaks off within the record at byte {}", self.at)
    }

    /// As many bytes as there are.
    fn fill(&mut self, bytes: &mut [u8]) -> std::result::Result<usize, Broken> {
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.reader.read(rest) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => {
                    return Err(format!("it cannot be read at byte {}: {error}", self.at));
                }
            }
        }
        Ok(filled)
    }
}

/// Records that wait for their turn.
#[derive(Default)]
pub(super) struct Rounds {
    /// By time, and by place in the recording.
    waiting: BTreeMap<(u64, u64), Record>,
    bytes: usize,
    taken: u64,
    newest: u64,
    newest_before: u64,
    newest_reported: u64,
    /// Records that came after a later one was reported.
    pub(super) late: u64,
}

impl Rounds {
    /// Takes a record. What may be reported then.
    pub(super) fn put(&mut self, time: u64, record: Record) -> Option<u64> {
        self.late += u64::from(time < self.newest_reported);
        self.newest = self.newest.max(time);
        self.bytes += record.body.capacity() + AROUND;
        self.waiting.insert((time, self.taken), record);
        self.taken += 1;
        (self.bytes > MOST).then_some(u64::MAX)
    }

    /// A round is over: what may be reported up to which time.
    pub(super) fn finish_round(&mut self) -> u64 {
        std::mem::replace(&mut self.newest_before, self.newest)
    }

    /// The oldest record that is not newer than `until`.
    pub(super) fn next(&mut self, until: u64) -> Option<Record> {
        let oldest = self.waiting.first_entry().filter(|oldest| oldest.key().0 <= until)?;
        self.newest_reported = self.newest_reported.max(oldest.key().0);
        let record = oldest.remove();
        self.bytes -= record.body.capacity() + AROUND;
        Some(record)
    }
}
