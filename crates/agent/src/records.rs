//! Cuts the empty part of their stack from the kernel's samples, and writes records of what was mapped before.
//!
//! All in the kernel's own form, so that whatever reads perf's files reads ours. The kernel leaves room in each sample
//! for the longest stack; what it did not fill is most of what would otherwise leave the device.
//!
//! Formats: `enum perf_event_type` of `include/uapi/linux/perf_event.h`; `FINISHED_ROUND` is of
//! `tools/lib/perf/include/perf/event.h`.

use linux::{
    maps::Mapping,
    perf::records::{HEADER, kind, kind_of, u64_at},
};

pub(crate) const LONGEST_BATCH: usize = 256 * 1024;

/// `PERF_RECORD_FINISHED_ROUND`: all rings have been emptied once, so what follows is not older than what
/// came before the one before.
const FINISHED_ROUND: u32 = 68;

const USER: u16 = 2;

/// Of a sample: instruction, process and thread, time, CPU, period. The chain of callers comes next.
const BEFORE_CHAIN: usize = HEADER + 5 * 8;

/// `PROT_*` and `MAP_*`, as the kernel writes them.
const READ: u32 = 1;
const WRITE: u32 = 2;
const EXECUTE: u32 = 4;
const SHARED: u32 = 1;
const PRIVATE: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// Registers that are sampled, and the stack behind them; `None`: neither is.
    pub(crate) registers: Option<u32>,
    /// What each sample stands for, in place of what the kernel wrote: several clocks sample together.
    pub(crate) period_ns: Option<u64>,
}

/// Where a sample has its period: behind the head, address, thread, time and CPU.
const PERIOD: usize = HEADER + 4 * 8;

/// Whole records, one after the other. Its memory is there from the beginning.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::with_capacity(LONGEST_BATCH) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn has_room(&self, length: usize) -> bool {
        self.bytes.len() + length + HEADER <= LONGEST_BATCH
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Takes a record; of a sample, what is in it.
    pub(crate) fn take(&mut self, record: &[u8], tail: Tail) {
        let begin = self.bytes.len();
        let trimmed = kind_of(record) == Some(kind::SAMPLE)
            && tail.registers.and_then(|count| self.trim(record, count)).is_some();
        if !trimmed {
            self.bytes.extend_from_slice(record);
        }
        if let Some(period) = tail.period_ns.filter(|_| kind_of(record) == Some(kind::SAMPLE))
            && let Some(place) = self.bytes.get_mut(begin + PERIOD..begin + PERIOD + 8)
        {
            place.copy_from_slice(&period.to_ne_bytes());
        }
    }

    /// All rings have been emptied once.
    pub(crate) fn finish_round(&mut self) {
        self.begin(FINISHED_ROUND, 0);
        self.bytes.extend((HEADER as u16).to_ne_bytes());
    }

    pub(crate) fn name(&mut self, pid: u32, tid: u32, name: &[u8]) {
        let from = self.bytes.len();
        self.begin(kind::COMM, USER);
        self.bytes.extend([0; 2]);
        self.numbers(&[pid, tid]);
        self.text(name);
        self.end(from, pid, tid);
    }

    pub(crate) fn mapping(&mut self, pid: u32, mapping: &Mapping) {
        let from = self.bytes.len();
        self.begin(kind::MMAP2, USER);
        self.bytes.extend([0; 2]);
        self.numbers(&[pid, pid]);
        for word in [mapping.start, mapping.end - mapping.start, mapping.offset] {
            self.bytes.extend(word.to_ne_bytes());
        }
        self.numbers(&[mapping.file.major, mapping.file.minor]);
        self.bytes.extend(mapping.file.inode.to_ne_bytes());
        let generation = 0_u64;
        self.bytes.extend(generation.to_ne_bytes());
        self.numbers(&[protection(mapping), if mapping.shared { SHARED } else { PRIVATE }]);
        self.text(&mapping.name);
        self.end(from, pid, pid);
    }

    /// Appends a sample without the part of its stack that was not filled; `None`, and nothing, where it
    /// is not in the form that we ordered.
    fn trim(&mut self, record: &[u8], registers: u32) -> Option<()> {
        let word = |at: usize| u64_at(record, at);
        let chain = usize::try_from(word(BEFORE_CHAIN)?).ok()?;
        let abi = chain.checked_mul(8)?.checked_add(BEFORE_CHAIN + 8)?;
        let registers = if word(abi)? == 0 { 0 } else { registers as usize * 8 };
        let size_at = abi + 8 + registers;
        let size = usize::try_from(word(size_at)?).ok()?;
        let stack = size_at + 8;
        let filled = if size == 0 { 0 } else { word(stack.checked_add(size)?)? };
        // The words behind the stack must stay at multiples of 8.
        let kept = usize::try_from(filled).ok()?.checked_next_multiple_of(8)?.min(size);
        let (before, copied) = (record.get(..size_at)?, record.get(stack..stack + kept)?);
        let from = self.bytes.len();
        self.bytes.extend_from_slice(before);
        self.bytes.extend((kept as u64).to_ne_bytes());
        self.bytes.extend_from_slice(copied);
        if kept > 0 {
            // Where there is no stack, the kernel writes no word of how much was filled either.
            self.bytes.extend(filled.to_ne_bytes());
        }
        self.measure(from);
        Some(())
    }

    fn begin(&mut self, kind: u32, misc: u16) {
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(misc.to_ne_bytes());
    }

    fn numbers(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|number| self.bytes.extend(number.to_ne_bytes()));
    }

    /// A text with a final zero, filled up to a multiple of 8.
    fn text(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        let filled = (text.len() + 1).next_multiple_of(8);
        self.bytes.extend(std::iter::repeat_n(0, filled - text.len()));
    }

    /// Process and thread, time 0, which is before everything, and CPU 0; and the record's length.
    fn end(&mut self, from: usize, pid: u32, tid: u32) {
        self.numbers(&[pid, tid, 0, 0, 0, 0]);
        self.measure(from);
    }

    fn measure(&mut self, from: usize) {
        let length = (self.bytes.len() - from) as u16;
        self.bytes[from + 6..from + 8].copy_from_slice(&length.to_ne_bytes());
    }
}

fn protection(mapping: &Mapping) -> u32 {
    let may = mapping.may;
    [(may.read, READ), (may.write, WRITE), (may.execute, EXECUTE)]
        .into_iter()
        .filter_map(|(may, bit)| may.then_some(bit))
        .sum()
}

#[cfg(test)]
mod tests;
