//! One record to a happening.
//!
//! Layouts: `enum perf_event_type` in `include/uapi/linux/perf_event.h`.

use super::{
    head::{Event, sample_type},
    records::{Bytes, Record},
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
/// Names as the kernel gives them to user parts that it walks later.
const CONTEXT_USER_DEFERRED: u64 = -640_i64 as u64;

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

/// How records are laid out.
#[derive(Clone, Copy)]
pub(super) struct Layout<'a> {
    pub(super) event: &'a Event,
    pub(super) architecture: Architecture,
    pub(super) is_big: bool,
}

/// What a record says; `None` where it is too short, `Some(None)` where it says nothing to us.
pub(super) fn happening<'a>(
    record: &'a Record,
    layout: Layout<'_>,
    buffers: &'a mut Buffers,
) -> Option<Option<Happening<'a>>> {
    let mut body = Bytes::new(&record.body, layout.is_big);
    Some(Some(match record.kind {
        SAMPLE => Happening::Sample(sample(record.misc, body, layout, buffers)?),
        MAP | MAP2 => return map(record, body, &mut buffers.text),
        NAME => {
            let [pid, tid] = [body.u32()?, body.u32()?];
            let exec = record.misc & EXEC != 0;
            Happening::Name { pid, tid, name: text(body.text(), &mut buffers.text), exec }
        }
        FORK => {
            let [pid, parent, tid] = [body.u32()?, body.u32()?, body.u32()?];
            Happening::Fork { pid, tid, parent }
        }
        LOST => {
            let _id = body.u64()?;
            Happening::Lost(body.u64()?)
        }
        LOST_SAMPLES => Happening::Lost(body.u64()?),
        THROTTLE => Happening::Throttled,
        _ => return Some(None),
    }))
}

/// Bytes as text; what is none is made one in `buffer`.
fn text<'a>(bytes: &'a [u8], buffer: &'a mut String) -> &'a str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => {
            buffer.clear();
            buffer.push_str(&String::from_utf8_lossy(bytes));
            buffer
        }
    }
}

fn map<'a>(
    record: &Record,
    mut body: Bytes<'a>,
    buffer: &'a mut String,
) -> Option<Option<Happening<'a>>> {
    let [pid, _tid] = [body.u32()?, body.u32()?];
    let [start, length, offset] = [body.u64()?, body.u64()?, body.u64()?];
    let kernel = pid == u32::MAX || record.misc & MODE == KERNEL;
    let mut executable = record.misc & MAP_DATA == 0;
    let mut build_id = None;
    if record.kind == MAP2 {
        let file = body.take(24)?;
        if record.misc & MAP_BUILD_ID != 0 {
            let size = usize::from(*file.first()?).min(20);
            build_id = file.get(4..4 + size).filter(|id| !id.is_empty());
        }
        executable = body.u32()? & EXECUTABLE != 0;
        let _flags = body.u32()?;
    }
    let path = text(body.text(), buffer);
    let map = Map { pid, start, length, offset, path, build_id };
    Some((executable && !kernel).then_some(Happening::Map(map)))
}

fn sample<'a>(
    misc: u16,
    mut body: Bytes<'a>,
    layout: Layout<'_>,
    buffers: &'a mut Buffers,
) -> Option<Sample<'a>> {
    let event = layout.event;
    let length = body.rest().len();
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
        let length = body.u32()?;
        body.take(length.into())?;
    }
    if event.has(sample_type::BRANCH_STACK) {
        skip_branches(&mut body, event.branch_type)?;
    }
    if event.has(sample_type::REGS_USER) {
        sample.registers = registers(&mut body, event.registers, layout.architecture)?;
    }
    if event.has(sample_type::STACK_USER) {
        let size = body.u64()?;
        let copy = body.take(size)?;
        let filled = if size == 0 { 0 } else { body.u64()?.min(size) };
        sample.stack = copy.get(..usize::try_from(filled).ok()?)?;
        // A copy that is full to its end was cut, if it is as long as was asked for or as fits.
        let longest = size >= u64::from(event.stack_bytes) || length >= NEARLY_LONGEST;
        sample.stack_cut = size > 0 && filled == size && longest;
    }
    if buffers.kernel.is_empty() && sample.in_kernel {
        buffers.kernel.push(sample.ip);
    }
    (sample.kernel, sample.chain) = (&buffers.kernel, &buffers.chain);
    Some(sample)
}

fn fixed_part<'a>(misc: u16, body: &mut Bytes<'a>, event: &Event) -> Option<Sample<'a>> {
    let mut sample = Sample { in_kernel: misc & MODE == KERNEL, ..Sample::default() };
    if event.has(sample_type::IDENTIFIER) {
        body.u64()?;
    }
    if event.has(sample_type::IP) {
        sample.ip = body.u64()?;
    }
    if event.has(sample_type::TID) {
        (sample.pid, sample.tid) = (body.u32()?, body.u32()?);
    }
    if event.has(sample_type::TIME) {
        sample.time_ns = body.u64()?;
    }
    for word in [sample_type::ADDR, sample_type::ID, sample_type::STREAM_ID] {
        if event.has(word) {
            body.u64()?;
        }
    }
    if event.has(sample_type::CPU) {
        body.u64()?;
    }
    if event.has(sample_type::PERIOD) {
        sample.period = body.u64()?;
    }
    Some(sample)
}

/// `struct read_format`: one counter, or a group of them.
fn skip_counters(body: &mut Bytes, format: u64) -> Option<()> {
    const TIMES: u64 = 3;
    const ID_AND_LOST: u64 = 1 << 2 | 1 << 4;
    const GROUP: u64 = 1 << 3;
    let each = 1 + u64::from((format & ID_AND_LOST).count_ones());
    let times = u64::from((format & TIMES).count_ones());
    let count = if format & GROUP == 0 { 1 } else { body.u64()? };
    body.take_all(times, 8)?;
    body.take_all(count, each.checked_mul(8)?).map(|_| ())
}

fn skip_branches(body: &mut Bytes, kind: u64) -> Option<()> {
    const INDEX: u64 = 1 << 17;
    const COUNTERS: u64 = 1 << 19;
    let count = body.u64()?;
    body.take_all(u64::from(kind & INDEX != 0), 8)?;
    body.take_all(count, if kind & COUNTERS == 0 { 24 } else { 32 }).map(|_| ())
}

/// The chain's kernel part and its user part. Other contexts are guests': none of ours.
fn split_chain(body: &mut Bytes, in_kernel: bool, buffers: &mut Buffers) -> Option<()> {
    enum Part {
        Kernel,
        User,
        Neither,
    }
    let count = body.u64()?;
    let mut entries = Bytes::new(body.take_all(count, 8)?, body.is_big());
    let mut part = if in_kernel { Part::Kernel } else { Part::User };
    while let Some(entry) = entries.u64() {
        match (entry, &part) {
            (CONTEXT_KERNEL, _) => part = Part::Kernel,
            (CONTEXT_USER, _) => part = Part::User,
            // What follows is no address but a number under which the user part comes later.
            (CONTEXT_USER_DEFERRED, _) => part = Part::Neither,
            (context, _) if context >= CONTEXTS => part = Part::Neither,
            (address, Part::Kernel) => buffers.kernel.push(address),
            (address, Part::User) => buffers.chain.push(address),
            (_, Part::Neither) => (),
        }
    }
    Some(())
}

fn registers(body: &mut Bytes, mask: u64, architecture: Architecture) -> Option<Option<Registers>> {
    let abi = body.u64()?;
    if abi == 0 {
        return Some(None);
    }
    let mut values = Bytes::new(body.take_all(mask.count_ones().into(), 8)?, body.is_big());
    let architecture = if abi == ABI_32 { architecture.of_32_bits() } else { architecture };
    let mut registers = Registers { values: [0; 64], mask, architecture };
    for (at, value) in registers.values.iter_mut().enumerate() {
        if mask >> at & 1 == 1 {
            *value = values.u64()?;
        }
    }
    Some((mask != 0).then_some(registers))
}
