//! Whole records out of a stream, in order of time.
//!
//! Knows where a record begins and ends, and nothing of what it says. Each CPU has a ring of its own, so records come in
//! order by ring only. After a round, in which every ring was emptied once, no record can come any more that is older than
//! the newest one of the round before (`tools/perf/util/ordered-events.c`). So two rounds are held.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

/// `struct perf_event_header`.
const HEADER: usize = 8;
const TRACING_DATA: u32 = 66;
const TRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED_WITH_SIZE: u32 = 83;
/// A recording without rounds is reported in pieces of this size, bytes: memory has an end.
const MOST: usize = 64 << 20;

/// What a record takes alongside its body: its place in the order, and the allocator's own.
const AROUND: usize = 96;

/// Bytes that are read from the front, in the recording's byte order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    rest: &'a [u8],
    big: bool,
}

impl<'a> Bytes<'a> {
    pub(super) const fn new(rest: &'a [u8], big: bool) -> Self {
        Self { rest, big }
    }

    pub(super) const fn is_big(&self) -> bool {
        self.big
    }

    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    /// `count` things of `each` bytes.
    pub(super) fn take_all(&mut self, count: u64, each: u64) -> Option<&'a [u8]> {
        self.take(count.checked_mul(each)?)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        let mut taken = *taken;
        if self.big {
            taken.reverse();
        }
        Some(taken)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The last eight bytes but `words` times eight.
    pub(super) fn word_from_end(&self, words: u32) -> Option<u64> {
        let at = self.rest.len().checked_sub(words as usize * 8)?;
        Self::new(self.rest.get(at..)?, self.big).u64()
    }

    /// Up to the first 0, or all.
    pub(super) fn text(&self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0);
        &self.rest[..end.unwrap_or(self.rest.len())]
    }

    /// A length and so many bytes, with a text in them: `struct perf_header_string`.
    pub(super) fn string(&mut self) -> Option<String> {
        let length = self.u32()?;
        let text = Self::new(self.take(length.into())?, self.big).text();
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) kind: u32,
    pub(super) misc: u16,
    pub(super) body: Vec<u8>,
}

/// Why there is no further record, in the words of a sentence.
pub(super) type Broken = String;

/// Records as they stand in the recording.
pub(super) struct Records<R> {
    reader: R,
    big: bool,
    /// Where the next record begins.
    at: u64,
    /// Bytes of records that should be left; `None`: up to the end.
    left: Option<u64>,
}

impl<R: Read> Records<R> {
    pub(super) fn new(reader: R, big: bool, span: (u64, Option<u64>)) -> Self {
        Self { reader, big, at: span.0, left: span.1 }
    }

    /// The next record, where there is one.
    pub(super) fn next(&mut self) -> Result<Option<Record>, Broken> {
        while let Some(record) = self.next_stored()? {
            match record.kind {
                COMPRESSED | COMPRESSED_WITH_SIZE => {
                    return Err("its records are compressed; record without `-z`".to_owned());
                }
                TRACE | TRACING_DATA => self.skip_trailer(&record)?,
                _ => return Ok(Some(record)),
            }
        }
        Ok(None)
    }

    fn next_stored(&mut self) -> Result<Option<Record>, Broken> {
        if self.left == Some(0) {
            return Ok(None);
        }
        let mut head = [0; HEADER];
        match self.fill(&mut head)? {
            0 if self.left.is_none() => return Ok(None),
            HEADER => (),
            _ => return Err(self.broken_off()),
        }
        let mut head = Bytes::new(&head, self.big);
        let mut fields =
            || Some((head.u32()?, head.u16()?, head.u16()?.checked_sub(HEADER as u16)?));
        let (kind, misc, length) = fields().ok_or_else(|| {
            format!("the record at byte {} is shorter than its own header", self.at)
        })?;
        let mut body = vec![0; length.into()];
        if self.fill(&mut body)? < body.len() {
            return Err(self.broken_off());
        }
        self.pass((body.len() + HEADER) as u64);
        Ok(Some(Record { kind, misc, body }))
    }

    fn pass(&mut self, bytes: u64) {
        self.at = self.at.saturating_add(bytes);
        self.left = self.left.map(|left| left.saturating_sub(bytes));
    }

    fn broken_off(&self) -> Broken {
        format!("it breaks off within the record at byte {}", self.at)
    }

    /// As many bytes as there are.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Broken> {
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

    /// Data that follows a record without being one: of hardware tracing, and of a pipe's tracepoints.
    fn skip_trailer(&mut self, record: &Record) -> Result<(), Broken> {
        let mut body = Bytes::new(&record.body, self.big);
        let length = match record.kind {
            TRACE => body.u64(),
            _ => body.u32().map(|length| u64::from(length).next_multiple_of(8)),
        };
        let length = length.ok_or("a record of tracing data has no length")?;
        let skipped = io::copy(&mut self.reader.by_ref().take(length), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped == length => {
                self.pass(length);
                Ok(())
            }
            _ => Err(self.broken_off()),
        }
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
