//! The events of a recording: what was sampled, and how their records are laid out.
//!
//! Format: `struct perf_event_attr` in `include/uapi/linux/perf_event.h`, whose versions differ in length only.

use std::collections::BTreeMap;

use gimli::{Endianity, Reader, Result};

use self::sample_type::{ADDR, CPU, ID, IDENTIFIER, IP, STREAM_ID, TID, TIME};
use super::records::Bytes;
use crate::stacks::happening::Architecture;

/// Bits of `sample_type`.
pub(super) mod sample_type {
    pub(in super::super) const IP: u64 = 1;
    pub(in super::super) const TID: u64 = 1 << 1;
    pub(in super::super) const TIME: u64 = 1 << 2;
    pub(in super::super) const ADDR: u64 = 1 << 3;
    pub(in super::super) const READ: u64 = 1 << 4;
    pub(in super::super) const CALLCHAIN: u64 = 1 << 5;
    pub(in super::super) const ID: u64 = 1 << 6;
    pub(in super::super) const CPU: u64 = 1 << 7;
    pub(in super::super) const PERIOD: u64 = 1 << 8;
    pub(in super::super) const STREAM_ID: u64 = 1 << 9;
    pub(in super::super) const RAW: u64 = 1 << 10;
    pub(in super::super) const BRANCH_STACK: u64 = 1 << 11;
    pub(in super::super) const REGS_USER: u64 = 1 << 12;
    pub(in super::super) const STACK_USER: u64 = 1 << 13;
    pub(in super::super) const IDENTIFIER: u64 = 1 << 16;
}

const FREQUENCY: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;

/// The type of events that the kernel counts by itself, and the one of them that counts nothing.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;

/// One event of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    kind: u32,
    config: u64,
    period: u64,
    flags: u64,
    sample_type: u64,
    pub(super) read_format: u64,
    pub(super) branch_type: u64,
    pub(super) registers: u64,
    pub(super) stack_bytes: u32,
    /// Where the file tells one.
    pub(super) name: Option<String>,
    pub(super) ids: Vec<u64>,
}

impl Event {
    /// From the structure's bytes; what an older version lacks is 0.
    pub(super) fn read(mut bytes: Bytes) -> Result<Self> {
        let kind = bytes.read_u32()?;
        let size = bytes.read_u32()?;
        let config = bytes.read_u64()?;
        let is_big = bytes.endian().is_big_endian();
        let mut word = || bytes.read_u64();
        let [period, sample_type, read_format, flags] = [word()?, word()?, word()?, word()?];
        // On machines that number bits from the highest, C's bit fields are laid out the other way round.
        let flags = if is_big { flags.reverse_bits() } else { flags };
        // Wake-up and breakpoint, then two more words of configuration.
        let _ = (word(), word(), word());
        let branch_type = word().ok().filter(|_| size >= 80).unwrap_or(0);
        let registers = word().ok().filter(|_| size >= 96).unwrap_or(0);
        let stack_bytes = bytes.read_u32().ok().filter(|_| size >= 96).unwrap_or(0);
        Ok(Self {
            kind,
            config,
            period,
            flags,
            sample_type,
            read_format,
            branch_type,
            registers,
            stack_bytes,
            ..Self::default()
        })
    }

    /// Samples asked for in a second; `None` where a period was asked for.
    pub(super) fn frequency(&self) -> Option<u32> {
        (self.flags & FREQUENCY != 0).then(|| u32::try_from(self.period).ok()).flatten()
    }

    fn samples(&self) -> bool {
        self.period > 0 && !(self.kind == SOFTWARE && self.config == DUMMY)
    }

    /// perf's name for it.
    pub(super) fn name(&self) -> String {
        let known = || match (self.kind, self.config) {
            (0, 0) => "cycles".to_owned(),
            (0, 1) => "instructions".to_owned(),
            (SOFTWARE, 0) => "cpu-clock".to_owned(),
            (SOFTWARE, 1) => "task-clock".to_owned(),
            (kind, config) => format!("type {kind} config {config:#x}"),
        };
        self.name.clone().unwrap_or_else(known)
    }

    /// By the registers that were asked for, where the file does not say it: arm64 has the program
    /// counter at 32, x86 has r8 to r15 at 16 to 23 (`arch/*/include/uapi/asm/perf_regs.h`).
    pub(super) fn architecture(&self) -> Architecture {
        match self.registers {
            mask if mask & 1 << 32 != 0 => Architecture::Aarch64,
            mask if mask != 0 && mask < 1 << 16 => Architecture::Arm,
            _ => Architecture::X86_64,
        }
    }

    pub(super) const fn has(&self, bits: u64) -> bool {
        self.sample_type & bits != 0
    }

    /// The word of a record behind as many as there are of these kinds, from its front; or before its end.
    fn word(&self, mut body: Bytes, kinds: u64, from_end: bool) -> Option<u64> {
        let bytes = (self.sample_type & kinds).count_ones() as usize * 8;
        let at = if from_end { body.len().checked_sub(bytes)? } else { bytes };
        body.skip(at).ok()?;
        body.read_u64().ok()
    }

    /// When a record was made. Records of other kinds than samples carry it at their end.
    pub(super) fn time(&self, body: Bytes, is_sample: bool) -> Option<u64> {
        let kinds = match (self.has(TIME), is_sample) {
            (false, _) => return None,
            (true, true) => IDENTIFIER | IP | TID,
            (true, false) if self.flags & SAMPLE_ID_ALL == 0 => return None,
            (true, false) => TIME | ID | STREAM_ID | CPU | IDENTIFIER,
        };
        self.word(body, kinds, !is_sample)
    }

    /// Which event a record belongs to.
    fn id(&self, body: Bytes, is_sample: bool) -> Option<u64> {
        let kinds = match (is_sample, self.has(IDENTIFIER), self.has(ID)) {
            (true, true, _) => 0,
            (true, false, true) => IP | TID | TIME | ADDR,
            (false, true, _) => IDENTIFIER,
            (false, false, true) => ID | STREAM_ID | CPU,
            _ => return None,
        };
        self.word(body, kinds, !is_sample)
    }
}

/// All events of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    all: Vec<Event>,
    by_id: BTreeMap<u64, usize>,
    chosen: usize,
}

impl Events {
    /// The first one that gives samples is the one that is reported.
    pub(super) fn new(all: Vec<Event>) -> Self {
        let ids = all.iter().enumerate();
        let by_id = ids.flat_map(|(at, event)| event.ids.iter().map(move |id| (*id, at))).collect();
        let chosen = all.iter().position(Event::samples).unwrap_or(0);
        Self { all, by_id, chosen }
    }

    /// The event that is reported; the default one where there is none at all.
    pub(super) fn chosen(&self) -> Event {
        self.all.get(self.chosen).cloned().unwrap_or_default()
    }

    pub(super) fn others(&self) -> Vec<String> {
        let others = self.all.iter().enumerate().filter(|(at, _)| *at != self.chosen);
        others.filter(|(_, event)| event.samples()).map(|(_, event)| event.name()).collect()
    }

    /// The event of a record, and whether it is the chosen one.
    pub(super) fn of(&self, body: Bytes, is_sample: bool) -> Option<(&Event, bool)> {
        let first = self.all.first()?;
        let id = (self.all.len() > 1).then(|| first.id(body, is_sample)).flatten();
        let at = id.and_then(|id| self.by_id.get(&id).copied());
        let at = at.unwrap_or(if self.all.len() > 1 { 0 } else { self.chosen });
        Some((self.all.get(at)?, at == self.chosen))
    }
}
