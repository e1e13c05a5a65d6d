//! Whole records out of a stream, one after the other, compressed ones unpacked.
//!
//! Knows where a record begins and ends, and nothing of what it says.

use std::io::{self, Read};

use zstd_safe::{DCtx, InBuffer, OutBuffer};

use super::bytes::Bytes;

/// `struct perf_event_header`.
const HEADER: usize = 8;
const TRACING_DATA: u32 = 66;
const TRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED_WITH_SIZE: u32 = 83;
/// How much is unpacked at once, bytes. A record is at most 64 KiB, so one always fits.
const UNPACKED: usize = 128 * 1024;

/// perf packs the same stacks again and again, to a hundredth and less; zeros go to a thirty-thousandth. More than so
/// many bytes for one, beyond the first [`FREE`], are not the records of any machine.
const MOST_FOR_ONE: u64 = 1000;
const FREE: u64 = 64 << 20;

/// A record that was read.
#[derive(Debug, Default)]
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
    packed: Packed,
}

impl<R: Read> Records<R> {
    pub(super) fn new(reader: R, big: bool, span: (u64, Option<u64>)) -> Self {
        Self { reader, big, at: span.0, left: span.1, packed: Packed::default() }
    }

    /// The next record; whether there is one.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, Broken> {
        loop {
            if self.packed.next(record, self.big)? {
                return Ok(true);
            }
            if !self.next_stored(record)? {
                return match self.packed.left() {
                    0 => Ok(false),
                    left => Err(format!("{left} unpacked bytes at its end are no whole record")),
                };
            }
            match record.kind {
                COMPRESSED => self.packed.take(&record.body),
                COMPRESSED_WITH_SIZE => {
                    let mut body = Bytes::new(&record.body, self.big);
                    let bytes = body.u64().and_then(|size| body.take(size));
                    self.packed.take(bytes.ok_or("a compressed record is shorter than it says")?);
                }
                TRACE | TRACING_DATA => self.skip_trailer(record)?,
                _ => return Ok(true),
            }
        }
    }

    fn next_stored(&mut self, record: &mut Record) -> Result<bool, Broken> {
        if self.left == Some(0) {
            return Ok(false);
        }
        let mut head = [0; HEADER];
        match self.fill(&mut head)? {
            0 if self.left.is_none() => return Ok(false),
            HEADER => (),
            _ => return Err(self.broken_off()),
        }
        let length = header(&head, self.big, record);
        let body = length.and_then(|length| length.checked_sub(HEADER)).ok_or_else(|| {
            format!("the record at byte {} is shorter than its own header", self.at)
        })?;
        record.body.resize(body, 0);
        if self.fill(&mut record.body)? < body {
            return Err(self.broken_off());
        }
        self.pass((body + HEADER) as u64);
        Ok(true)
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

/// Fills in kind and flags, and gives the length with the header.
fn header(head: &[u8], big: bool, record: &mut Record) -> Option<usize> {
    let mut head = Bytes::new(head, big);
    record.kind = head.u32()?;
    record.misc = head.u16()?;
    head.u16().map(usize::from)
}

/// zstd's stream, which goes on from one compressed record to the next.
#[derive(Default)]
struct Packed {
    stream: Option<DCtx<'static>>,
    packed: Vec<u8>,
    packed_at: usize,
    unpacked: Vec<u8>,
    unpacked_at: usize,
    /// Bytes so far that were packed, and that they became.
    sums: (u64, u64),
}

impl Packed {
    fn take(&mut self, bytes: &[u8]) {
        self.packed.drain(..self.packed_at);
        self.packed_at = 0;
        self.packed.extend_from_slice(bytes);
    }

    /// Unpacked bytes that are no record yet.
    fn left(&self) -> usize {
        self.unpacked.len() - self.unpacked_at
    }

    fn next(&mut self, record: &mut Record, big: bool) -> Result<bool, Broken> {
        loop {
            if let Some(length) = self.whole(record, big)? {
                self.unpacked_at += length;
                return Ok(true);
            }
            if !self.unpack()? {
                return Ok(false);
            }
        }
    }

    /// The record at the front, where all of it is there, and its length.
    fn whole(&self, record: &mut Record, big: bool) -> Result<Option<usize>, Broken> {
        let bytes = self.unpacked.get(self.unpacked_at..).unwrap_or_default();
        let Some((head, rest)) = bytes.split_at_checked(HEADER) else { return Ok(None) };
        let length = header(head, big, record).filter(|length| *length >= HEADER);
        let length = length.ok_or("an unpacked record is shorter than its own header")?;
        let Some(body) = rest.get(..length - HEADER) else { return Ok(None) };
        record.body.clear();
        record.body.extend_from_slice(body);
        Ok(Some(length))
    }

    /// Unpacks some more; whether there was any.
    fn unpack(&mut self) -> Result<bool, Broken> {
        const BAD: &str = "its compressed records cannot be unpacked";
        let packed = self.packed.get(self.packed_at..).unwrap_or_default();
        if self.stream.is_none() {
            if packed.is_empty() {
                return Ok(false);
            }
            self.stream = DCtx::try_create();
        }
        let stream = self.stream.as_mut().ok_or(BAD)?;
        self.unpacked.drain(..self.unpacked_at);
        self.unpacked_at = 0;
        let old = self.unpacked.len();
        self.unpacked.resize(old + UNPACKED, 0);
        let mut input = InBuffer::around(packed);
        let mut output = OutBuffer::around(self.unpacked.get_mut(old..).unwrap_or_default());
        stream
            .decompress_stream(&mut output, &mut input)
            .map_err(|code| format!("{BAD}: {}", zstd_safe::get_error_name(code)))?;
        let (read, written) = (input.pos(), output.pos());
        self.packed_at += read;
        self.sums.0 += read as u64;
        self.sums.1 += written as u64;
        if self.sums.1 > FREE + self.sums.0.saturating_mul(MOST_FOR_ONE) {
            return Err(format!(
                "its compressed records are larger than {MOST_FOR_ONE} times what they are packed to; the rest was not read"
            ));
        }
        self.unpacked.truncate(old + written);
        Ok(read > 0 || written > 0)
    }
}
