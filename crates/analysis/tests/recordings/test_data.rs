//! Recordings written by hand: the head by `model`, the records as `include/uapi/linux/perf_event.h` has
//! them.

use std::io::Cursor;

use analysis::stacks::{
    happening::Happening,
    perf_data::{Corrupt, Recording, Summary},
};
use model::perf_data::file_start;

/// IP, TID, TIME, CALLCHAIN, CPU, PERIOD, REGS_USER, STACK_USER: what our recorder asks for.
pub(crate) const OURS: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 13;
pub(crate) const STACK_BYTES: u32 = 64;
/// ax and sp and ip of x86, and r15.
pub(crate) const REGISTERS: u64 = 1 | 1 << 7 | 1 << 8 | 1 << 23;

pub(crate) const KERNEL: u16 = 1;
pub(crate) const USER: u16 = 2;
pub(crate) const CONTEXT_KERNEL: u64 = -128_i64 as u64;
pub(crate) const CONTEXT_USER: u64 = -512_i64 as u64;

/// `struct perf_event_attr` of the given sample type: cpu-clock at 499 Hz, with trailers.
pub(crate) fn attributes(sample_type: u64) -> Vec<u8> {
    const FREQUENCY_AND_SAMPLE_ID_ALL: u64 = 1 << 10 | 1 << 18;
    let mut bytes = Vec::new();
    bytes.extend([1_u32.to_le_bytes(), 112_u32.to_le_bytes()].concat());
    for word in [0, 499, sample_type, 0, FREQUENCY_AND_SAMPLE_ID_ALL, 0, 0, 0, 0, REGISTERS] {
        bytes.extend(u64::to_le_bytes(word));
    }
    bytes.extend(STACK_BYTES.to_le_bytes());
    bytes.resize(112, 0);
    bytes
}

pub(crate) fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = (body.len() + 8) as u16;
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat()
}

pub(crate) fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(crate) fn pair(a: u32, b: u32) -> u64 {
    u64::from(a) | u64::from(b) << 32
}

/// What `sample_id_all` appends with [`OURS`]: process and thread, time, CPU.
pub(crate) fn trailer(time: u64) -> Vec<u8> {
    words(&[pair(7, 7), time, 0])
}

pub(crate) fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() / 8 + 1) * 8, 0);
    bytes
}

/// A sample of [`OURS`].
#[derive(Clone)]
pub(crate) struct SampleRecord {
    pub(crate) misc: u16,
    pub(crate) pid: u32,
    pub(crate) time: u64,
    pub(crate) chain: Vec<u64>,
    /// 0: no registers, 1: of 32 bits, 2: of 64 bits.
    pub(crate) abi: u64,
    pub(crate) stack: Vec<u8>,
    /// How much of the copy is filled.
    pub(crate) filled: u64,
}

impl SampleRecord {
    pub(crate) fn at(time: u64) -> Self {
        let (misc, chain) = (USER, vec![CONTEXT_USER, 0x1000]);
        Self { misc, pid: 7, time, chain, abi: 0, stack: Vec::new(), filled: 0 }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut body = words(&[0x1000, pair(self.pid, self.pid + 1), self.time, 1, 2_004_008]);
        body.extend(words(&[self.chain.len() as u64]));
        body.extend(words(&self.chain));
        body.extend(words(&[self.abi]));
        if self.abi != 0 {
            body.extend(words(&[10, 17, 18, 25]));
        }
        body.extend(words(&[self.stack.len() as u64]));
        if !self.stack.is_empty() {
            body.extend(&self.stack);
            body.extend(words(&[self.filled]));
        }
        record(9, self.misc, &body)
    }
}

pub(crate) fn sample(time: u64) -> Vec<u8> {
    SampleRecord::at(time).bytes()
}

pub(crate) fn round() -> Vec<u8> {
    record(68, 0, &[])
}

pub(crate) fn name(pid: u32, name: &str, time: u64) -> Vec<u8> {
    let body = [words(&[pair(pid, pid)]), padded(name), trailer(time)].concat();
    record(3, 1 << 13, &body)
}

pub(crate) fn map(pid: u32, protection: u32, path: &str) -> Vec<u8> {
    let mut body = words(&[pair(pid, pid), 0x1000, 0x2000, 0x400, 0, 0, 0]);
    body.extend(words(&[pair(protection, 0)]));
    body.extend([padded(path), trailer(1)].concat());
    record(10, USER, &body)
}

/// A whole file of [`OURS`].
pub(crate) fn file(records: &[Vec<u8>]) -> Vec<u8> {
    file_of(OURS, records)
}

pub(crate) fn file_of(sample_type: u64, records: &[Vec<u8>]) -> Vec<u8> {
    let records = records.concat();
    let mut file = file_start(&attributes(sample_type), records.len() as u64);
    file.extend(records);
    file
}

/// What is made of the happenings of a recording.
pub(crate) fn each<T>(file: &[u8], of: impl Fn(Happening<'_>) -> Option<T>) -> Vec<T> {
    let mut found = Vec::new();
    let mut recording = Recording::open(Cursor::new(file)).unwrap();
    recording.each(&mut |happening| found.extend(of(happening))).unwrap();
    found
}

/// Each happening in a few words, and what the recording says in the end.
pub(crate) fn read(file: &[u8]) -> (Vec<String>, Summary, Result<(), Corrupt>) {
    let mut recording = Recording::open(Cursor::new(file)).unwrap();
    let mut seen = Vec::new();
    let outcome = recording.each(&mut |happening| seen.push(in_words(&happening)));
    (seen, recording.summary().clone(), outcome)
}

fn in_words(happening: &Happening) -> String {
    match happening {
        Happening::Sample(sample) => format!("{} at {}", sample.pid, sample.time_ns),
        Happening::Map(map) => format!("map {} {:#x} {}", map.pid, map.offset, map.path),
        Happening::Name { pid, name, exec, .. } => format!("{pid} is {name}, exec {exec}"),
        Happening::Fork { pid, tid, parent } => format!("{parent} makes {pid}/{tid}"),
        Happening::Lost(records) => format!("{records} lost"),
        Happening::Throttled => "throttled".to_owned(),
    }
}
