//! One record to a happening.
//!
//! Layouts: `enum perf_event_type` in `include/uapi/linux/perf_event.h`.

use gimli::{Reader, Result};

use super::{
    event::{Event, sample_type},
    records::{Bytes, Record, take, take_all, text},
};
use crate::stacks::happening::{Architecture, Happening, Map, Registers, Sample};

pub(super) const SAMPLE: u32 = 9;
pub(super) const FINISHED_ROUND: u32 = 68;
const MAP: u32 = 1;
const LOST: u32 = 2;
const NAME: u32 = 3;
const THROTTLE: u32 = 5;
const FORK: u32 = 7;
const MAP2: u32 = 10;
const LOST_SAMPLES: u32 = 13;

/// Bits of a record's flags.
const MODE: u16 = 7;
const KERNEL: u16 = 1;
const MAP_DATA: u16 = 1 << 13;
const EXEC: u16 = 1 << 13;
const MAP_BUILD_ID: u16 = 1 << 14;
const EXECUTABLE: u32 = 4;

/// Values from here on are no addresses but say whose part of a chain follows.
const CONTEXTS: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;

/// Registers of a 32-bit program.
const ABI_32: u64 = 1;
/// A record is at most this long, and the kernel cuts the stack's copy so that it fits.
const NEARLY_LONGEST: usize = 64_000;

/// What a record holds in another form than a happening.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    kernel: Vec<u64>,
    chain: Vec<u64>,
    text: String,
}

/// What a record says; `None` where it says nothing to us. Fails where it is too short.
pub(super) fn happening<'a>(
    record: &'a Record,
    mut body: Bytes<'a>,
    (event, architecture): (&Event, Architecture),
    buffers: &'a mut Buffers,
) -> Result<Option<Happening<'a>>> {
    Ok(Some(match record.kind {
        SAMPLE => Happening::Sample(sample(record.misc, body, (event, architecture), buffers)?),
        MAP | MAP2 => return map(record, body, &mut buffers.text),
        NAME => {
            let [pid, tid] = [body.read_u32()?, body.read_u32()?];
            let exec = record.misc & EXEC != 0;
            Happening::Name { pid, tid, name: lossy(text(body), &mut buffers.text), exec }
        }
        FORK => {
            let [pid, parent, tid] = [body.read_u32()?, body.read_u32()?, body.read_u32()?];
            Happening::Fork { pid, tid, parent }
        }
        LOST => {
            let _id = body.read_u64()?;
            Happening::Lost(body.read_u64()?)
        }
        LOST_SAMPLES => Happening::Lost(body.read_u64()?),
        THROTTLE => Happening::Throttled,
        _ => return Ok(None),
    }))
}

/// Bytes as text; what is none is made one in `buffer`.
fn lossy<'a>(bytes: &'a [u8], buffer: &'a mut String) -> &'a str {
    std::str::from_utf8(bytes).unwrap_or_else(|_| {
        buffer.clear();
        buffer.push_str(&String::from_utf8_lossy(bytes));
        buffer
    })
}

fn map<'a>(
    record: &Record,
    mut body: Bytes<'a>,
    buffer: &'a mut String,
) -> Result<Option<Happening<'a>>> {
    let [pid, _tid] = [body.read_u32()?, body.read_u32()?];
    let [start, length, offset] = [body.read_u64()?, body.read_u64()?, body.read_u64()?];
    let kernel = pid == u32::MAX || record.misc & MODE == KERNEL;
    let mut executable = record.misc & MAP_DATA == 0;
    let mut build_id = None;
    if record.kind == MAP2 {
        let file = take(&mut body, 24)?.slice();
        if record.misc & MAP_BUILD_ID != 0 {
            let size = usize::from(file[0]).min(20);
            build_id = file.get(4..4 + size).filter(|id| !id.is_empty());
        }
        executable = body.read_u32()? & EXECUTABLE != 0;
        let _flags = body.read_u32()?;
    }
    let path = lossy(text(body), buffer);
    let map = Map { pid, start, length, offset, path, build_id };
    Ok((executable && !kernel).then_some(Happening::Map(map)))
}

fn sample<'a>(
    misc: u16,
    mut body: Bytes<'a>,
    (event, architecture): (&Event, Architecture),
    buffers: &'a mut Buffers,
) -> Result<Sample<'a>> {
    let length = body.len();
    let mut sample = fixed_part(misc, &mut body, event)?;
    buffers.kernel.clear();
    buffers.chain.clear();
    if event.has(sample_type::READ) {
        skip_counters(&mut body, event.read_format)?;
    }
    if event.has(sample_type::CALLCHAIN) {
        split_chain(&mut body, sample.in_kernel, buffers)?;
    }
    if event.has(sample_type::RAW) {
        let length = body.read_u32()?;
        take(&mut body, length.into())?;
    }
    if event.has(sample_type::BRANCH_STACK) {
        skip_branches(&mut body, event.branch_type)?;
    }
    if event.has(sample_type::REGS_USER) {
        sample.registers = registers(&mut body, event.registers, architecture)?;
    }
    if event.has(sample_type::STACK_USER) {
        let size = body.read_u64()?;
        let copy = take(&mut body, size)?.slice();
        let filled = if size == 0 { 0 } else { body.read_u64()?.min(size) };
        sample.stack = copy.get(..filled as usize).unwrap_or(copy);
        // A copy that is full to its end was cut, if it is as long as was asked for or as fits.
        let longest = size >= u64::from(event.stack_bytes) || length >= NEARLY_LONGEST;
        sample.stack_cut = size > 0 && filled == size && longest;
    }
    if buffers.kernel.is_empty() && sample.in_kernel {
        buffers.kernel.push(sample.ip);
    }
    (sample.kernel, sample.chain) = (&buffers.kernel, &buffers.chain);
    Ok(sample)
}

fn fixed_part<'a>(misc: u16, body: &mut Bytes<'a>, event: &Event) -> Result<Sample<'a>> {
    let mut sample = Sample { in_kernel: misc & MODE == KERNEL, ..Sample::default() };
    skip_words(body, event, &[sample_type::IDENTIFIER])?;
    if event.has(sample_type::IP) {
        sample.ip = body.read_u64()?;
    }
    if event.has(sample_type::TID) {
        (sample.pid, sample.tid) = (body.read_u32()?, body.read_u32()?);
    }
    if event.has(sample_type::TIME) {
        sample.time_ns = body.read_u64()?;
    }
    let between = [sample_type::ADDR, sample_type::ID, sample_type::STREAM_ID, sample_type::CPU];
    skip_words(body, event, &between)?;
    if event.has(sample_type::PERIOD) {
        sample.period = body.read_u64()?;
    }
    Ok(sample)
}

fn skip_words(body: &mut Bytes, event: &Event, kinds: &[u64]) -> Result<()> {
    let count = kinds.iter().filter(|kind| event.has(**kind)).count();
    body.skip(count * 8)
}

/// `struct read_format`: one counter, or a group of them.
fn skip_counters(body: &mut Bytes, format: u64) -> Result<()> {
    const TIMES: u64 = 3;
    const ID_AND_LOST: u64 = 1 << 2 | 1 << 4;
    const GROUP: u64 = 1 << 3;
    let each = 1 + u64::from((format & ID_AND_LOST).count_ones());
    let times = u64::from((format & TIMES).count_ones());
    let count = if format & GROUP == 0 { 1 } else { body.read_u64()? };
    take_all(body, times, 8)?;
    take_all(body, count, each * 8).map(|_| ())
}

fn skip_branches(body: &mut Bytes, kind: u64) -> Result<()> {
    const INDEX: u64 = 1 << 17;
    const COUNTERS: u64 = 1 << 19;
    let count = body.read_u64()?;
    take_all(body, u64::from(kind & INDEX != 0), 8)?;
    take_all(body, count, if kind & COUNTERS == 0 { 24 } else { 32 }).map(|_| ())
}

/// The chain's kernel part and its user part. Other contexts are guests', or numbers under which the user part comes later.
fn split_chain(body: &mut Bytes, in_kernel: bool, buffers: &mut Buffers) -> Result<()> {
    let count = body.read_u64()?;
    let mut entries = take_all(body, count, 8)?;
    let mut part = if in_kernel { CONTEXT_KERNEL } else { CONTEXT_USER };
    while let Ok(entry) = entries.read_u64() {
        match part {
            _ if entry >= CONTEXTS => part = entry,
            CONTEXT_KERNEL => buffers.kernel.push(entry),
            CONTEXT_USER => buffers.chain.push(entry),
            _ => (),
        }
    }
    Ok(())
}

fn registers(body: &mut Bytes, mask: u64, architecture: Architecture) -> Result<Option<Registers>> {
    let abi = body.read_u64()?;
    if abi == 0 {
        return Ok(None);
    }
    let architecture = if abi == ABI_32 { architecture.of_32_bits() } else { architecture };
    let mut registers = Registers { values: [0; 64], mask, architecture };
    for (at, value) in registers.values.iter_mut().enumerate() {
        if mask >> at & 1 == 1 {
            *value = body.read_u64()?;
        }
    }
    Ok((mask != 0).then_some(registers))
}
