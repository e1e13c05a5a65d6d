//! The head of a recording: its events, and what it says of itself. A file has sections, a pipe records.
//!
//! Format: `tools/perf/Documentation/perf.data-file-format.txt` and `tools/perf/util/header.c`; of an event
//! `struct perf_event_attr` in `include/uapi/linux/perf_event.h`, whose versions differ in length only.

use std::{
    collections::BTreeMap,
    io::{Read, Seek, SeekFrom},
    ops::Range,
};

use super::{Corrupt, records::Bytes};
use crate::stacks::{
    happening::{Architecture, Head},
    object::hexadecimal,
};

const LITTLE: &[u8; 8] = b"PERFILE2";
const BIG: &[u8; 8] = b"2ELIFREP";
/// `struct perf_pipe_file_header` is 16 bytes long, `struct perf_file_header` 104.
const PIPE_HEAD: u64 = 16;
const SECTION: u64 = 16;
/// No honest section of those that are read is longer, bytes.
const LONGEST: u64 = 16 << 20;

/// Features by their bits.
const BUILD_ID: u64 = 2;
const MACHINE: u64 = 6;
const COMMAND: u64 = 11;
const EVENT_DESCRIPTION: u64 = 12;

/// Records that stand in for sections in a pipe.
pub(super) const HEADER_ATTRIBUTE: u32 = 64;
pub(super) const HEADER_BUILD_ID: u32 = 67;
pub(super) const EVENT_UPDATE: u32 = 78;
pub(super) const HEADER_FEATURE: u32 = 80;

/// What a file's head says of where things are.
pub(super) struct Start {
    pub(super) big: bool,
    /// Where the records begin.
    pub(super) data_at: u64,
    /// Their length; `None`: up to the end.
    pub(super) data_bytes: Option<u64>,
    /// Whether the head itself comes as records.
    pub(super) is_pipe: bool,
    pub(super) gathered: Gathered,
    pub(super) faults: Vec<String>,
}

/// What has been read of the head so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) events: Vec<Event>,
    machine: Option<String>,
    command: Option<String>,
    names: Vec<(String, Vec<u64>)>,
    build_ids: Vec<(String, String)>,
}

/// Reads everything that stands before the records, and leaves the reader at the first one.
pub(super) fn read<R: Read + Seek>(reader: &mut R) -> Result<Start, Corrupt> {
    let head = read_at(reader, 0, PIPE_HEAD)?;
    let big = match head.first_chunk::<8>() {
        Some(LITTLE) => false,
        Some(BIG) => true,
        _ => return Err(Corrupt::NotPerf),
    };
    let is_pipe = words(Bytes::new(&head, big)).last() == Some(&PIPE_HEAD);
    let (gathered, faults) = (Gathered::default(), Vec::new());
    let mut start = Start { big, data_at: PIPE_HEAD, data_bytes: None, is_pipe, gathered, faults };
    if !is_pipe {
        start.file(reader)?;
    }
    Ok(start)
}

fn words(mut bytes: Bytes) -> Vec<u64> {
    std::iter::from_fn(|| bytes.u64()).collect()
}

impl Start {
    fn file<R: Read + Seek>(&mut self, reader: &mut R) -> Result<(), Corrupt> {
        let head = words(Bytes::new(&read_at(reader, 16, 88)?, self.big));
        let &[each, at, length, data_at, data_bytes, _, _, ref features @ ..] = head.as_slice()
        else {
            return Err(Corrupt::Head("it ends within its first 104 bytes"));
        };
        self.events(reader, each, at..at.saturating_add(length))?;
        // perf writes the length last, so it is 0 where perf was killed.
        self.data_bytes = Some(data_bytes).filter(|bytes| *bytes > 0);
        match self.data_bytes.map(|bytes| data_at.checked_add(bytes)) {
            Some(Some(behind)) => {
                if self.features(reader, behind, features).is_none() {
                    let fault = "its end is missing, and with it what it says of its machine";
                    self.faults.push(fault.to_owned());
                }
            }
            Some(None) => return Err(Corrupt::Head("its length is beyond every number")),
            None => {
                self.faults.push("it is incomplete: the recording program was killed".to_owned());
            }
        }
        self.data_at = data_at;
        reader.seek(SeekFrom::Start(data_at)).map_err(Corrupt::Io)?;
        Ok(())
    }

    /// Each event is a structure of so many bytes, the place of its ids within them.
    fn events<R: Read + Seek>(
        &mut self,
        reader: &mut R,
        each: u64,
        section: Range<u64>,
    ) -> Result<(), Corrupt> {
        const BAD: Corrupt = Corrupt::Head("its list of events cannot be read");
        let attribute = each.checked_sub(SECTION).filter(|bytes| *bytes > 0).ok_or(BAD)?;
        let all = read_at(reader, section.start, section.end - section.start)?;
        for one in all.chunks_exact(usize::try_from(each).map_err(|_| BAD)?) {
            let mut one = Bytes::new(one, self.big);
            let bytes = one.take(attribute);
            let event = bytes.and_then(|bytes| Event::read(Bytes::new(bytes, self.big)));
            let (ids_at, ids_bytes) = one.u64().zip(one.u64()).ok_or(BAD)?;
            let ids = match ids_bytes {
                0 => Vec::new(),
                _ => words(Bytes::new(&read_at(reader, ids_at, ids_bytes)?, self.big)),
            };
            self.gathered.events.push(Event { ids, ..event.ok_or(BAD)? });
        }
        Ok(())
    }

    /// Features stand behind the records: one section for each bit that is set.
    fn features<R: Read + Seek>(&mut self, reader: &mut R, at: u64, bits: &[u64]) -> Option<()> {
        let is_set = |bit: &u64| bits[(*bit / 64) as usize] >> (bit % 64) & 1 == 1;
        let features: Vec<u64> = (0..64 * bits.len() as u64).filter(is_set).collect();
        let table = read_at(reader, at, features.len() as u64 * SECTION).ok()?;
        let mut table = Bytes::new(&table, self.big);
        for feature in features {
            let [at, length] = [table.u64()?, table.u64()?];
            if matches!(feature, BUILD_ID | MACHINE | COMMAND | EVENT_DESCRIPTION) {
                let section = read_at(reader, at, length).ok()?;
                self.gathered.feature(feature, Bytes::new(&section, self.big));
            }
        }
        Some(())
    }
}

/// Grows with what is there and not with what a length claims.
fn read_at<R: Read + Seek>(reader: &mut R, at: u64, length: u64) -> Result<Vec<u8>, Corrupt> {
    const SHORT: Corrupt = Corrupt::Head("it ends within its head");
    if length > LONGEST {
        return Err(Corrupt::Head("a part of its head is too long to be true"));
    }
    reader.seek(SeekFrom::Start(at)).map_err(|_| SHORT)?;
    let mut bytes = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut bytes).map_err(Corrupt::Io)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(SHORT) }
}

impl Gathered {
    /// One section. What cannot be read is left out: the records do not need it.
    fn feature(&mut self, feature: u64, mut bytes: Bytes) {
        match feature {
            MACHINE => self.machine = bytes.string(),
            COMMAND => {
                let count = bytes.u32().unwrap_or(0);
                let words: Vec<_> = (0..count).map_while(|_| bytes.string()).collect();
                self.command = Some(words.join(" ")).filter(|command| !command.is_empty());
            }
            EVENT_DESCRIPTION => {
                let _ = self.descriptions(bytes);
            }
            BUILD_ID => while self.build_id(&mut bytes).is_some() {},
            _ => (),
        }
    }

    fn descriptions(&mut self, mut bytes: Bytes) -> Option<()> {
        let [count, size] = [bytes.u32()?, bytes.u32()?];
        for _ in 0..count {
            bytes.take(size.into())?;
            let ids = bytes.u32()?;
            let name = bytes.string()?;
            let ids = bytes.take_all(ids.into(), 8)?;
            self.names.push((name, words(Bytes::new(ids, bytes.is_big()))));
        }
        Some(())
    }

    /// `struct perf_record_header_build_id`, with its record's head.
    fn build_id(&mut self, bytes: &mut Bytes) -> Option<()> {
        let _kind = bytes.u32()?;
        let [misc, size] = [bytes.u16()?, bytes.u16()?];
        let body = bytes.take(u64::from(size).checked_sub(8)?)?;
        self.build_id_body(misc, Bytes::new(body, bytes.is_big()))
    }

    fn build_id_body(&mut self, misc: u16, mut body: Bytes) -> Option<()> {
        const HAS_SIZE: u16 = 1 << 15;
        body.take(4)?;
        let id = body.take(24)?;
        let size = if misc & HAS_SIZE == 0 { 20 } else { usize::from(id[20]).min(20) };
        let path = String::from_utf8_lossy(body.text()).into_owned();
        self.build_ids.push((path, hexadecimal(&id[..size])));
        Some(())
    }

    /// Takes a record of a pipe's head; whether it was one.
    pub(super) fn take(&mut self, kind: u32, misc: u16, mut body: Bytes) -> bool {
        match kind {
            HEADER_ATTRIBUTE => {
                if let Some(event) = attribute_record(body) {
                    self.events.push(event);
                }
            }
            HEADER_FEATURE => {
                if let Some(feature) = body.u64() {
                    self.feature(feature, body);
                }
            }
            HEADER_BUILD_ID => {
                let _ = self.build_id_body(misc, body);
            }
            EVENT_UPDATE => {
                const NAME: u64 = 2;
                if let Some((NAME, id)) = body.u64().zip(body.u64()) {
                    self.names.push((String::from_utf8_lossy(body.text()).into_owned(), vec![id]));
                }
            }
            _ => return false,
        }
        true
    }

    /// Everything together.
    pub(super) fn finish(mut self) -> (Head, Events) {
        for (at, event) in self.events.iter_mut().enumerate() {
            let shares =
                |(_, ids): &&(String, Vec<u64>)| ids.iter().any(|id| event.ids.contains(id));
            // Without ids the descriptions are in the events' order.
            let name = self.names.iter().find(shares);
            let name = name.or(self.names.get(at).filter(|_| event.ids.is_empty()));
            event.name = name.map(|(name, _)| name.clone());
        }
        let events = Events::new(self.events);
        let chosen = events.chosen();
        let head = Head {
            architecture: match self.machine.as_deref() {
                Some("x86_64") => Architecture::X86_64,
                Some("aarch64") => Architecture::Aarch64,
                Some(name) if name.starts_with("arm") => Architecture::Arm,
                // i386 to i686.
                Some(name) if name.starts_with('i') && name.ends_with("86") => Architecture::I386,
                Some(_) => Architecture::Other,
                None => chosen.architecture(),
            },
            event: chosen.name(),
            frequency: chosen.frequency(),
            stack_bytes: chosen.stack_bytes,
            command: self.command,
            build_ids: self.build_ids,
        };
        (head, events)
    }
}

/// `struct perf_event_attr` says its own length; ids follow it.
fn attribute_record(mut body: Bytes) -> Option<Event> {
    let mut size = body;
    let _kind = size.u32()?;
    let size = size.u32()?;
    let attribute = body.take(size.into())?;
    let mut event = Event::read(Bytes::new(attribute, body.is_big()))?;
    event.ids = words(body);
    Some(event)
}

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

use sample_type::{ADDR, CPU, ID, IDENTIFIER, IP, STREAM_ID, TID, TIME};

const FREQUENCY: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const PRECISE_SHIFT: u32 = 15;

/// The type of events that the kernel counts by itself, and the one of them that counts nothing.
const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;

/// perf's names of hardware and software events, by number.
const HARDWARE_NAMES: &str = "cycles instructions cache-references cache-misses branches branch-misses \
    bus-cycles stalled-cycles-frontend stalled-cycles-backend ref-cycles";
const SOFTWARE_NAMES: &str = "cpu-clock task-clock page-faults context-switches cpu-migrations \
    minor-faults major-faults alignment-faults emulation-faults";

/// One event of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Event {
    kind: u32,
    config: u64,
    period: u64,
    flags: u64,
    pub(super) sample_type: u64,
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
    pub(super) fn read(mut bytes: Bytes) -> Option<Self> {
        let kind = bytes.u32()?;
        let size = bytes.u32()?;
        let config = bytes.u64()?;
        let big = bytes.is_big();
        let mut word = || bytes.u64();
        let [period, sample_type, read_format, flags] = [word()?, word()?, word()?, word()?];
        // On machines that number bits from the highest, C's bit fields are laid out the other way round.
        let flags = if big { flags.reverse_bits() } else { flags };
        // Wake-up and breakpoint, then two more words of configuration.
        let _ = (word(), word(), word());
        let branch_type = word().filter(|_| size >= 80).unwrap_or(0);
        let registers = word().filter(|_| size >= 96).unwrap_or(0);
        let stack_bytes = bytes.u32().filter(|_| size >= 96).unwrap_or(0);
        Some(Self {
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

    pub(super) fn samples(&self) -> bool {
        self.period > 0 && !(self.kind == SOFTWARE && self.config == DUMMY)
    }

    /// perf's name for it.
    pub(super) fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let names = match self.kind {
            0 => HARDWARE_NAMES,
            SOFTWARE => SOFTWARE_NAMES,
            _ => "",
        };
        let place = usize::try_from(self.config).ok();
        let name = place.and_then(|place| names.split_whitespace().nth(place));
        let precise = "p".repeat((self.flags >> PRECISE_SHIFT & 3) as usize);
        let user = if self.flags & EXCLUDE_KERNEL == 0 { "" } else { "u" };
        let colon = if precise.is_empty() && user.is_empty() { "" } else { ":" };
        match name {
            Some(name) => format!("{name}{colon}{user}{precise}"),
            None => format!("type {} config {:#x}", self.kind, self.config),
        }
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

    const fn count(&self, bits: u64) -> u32 {
        (self.sample_type & bits).count_ones()
    }

    /// When a record was made. Records of other kinds than samples carry it at their end.
    pub(super) fn time(&self, body: Bytes, is_sample: bool) -> Option<u64> {
        if !self.has(TIME) {
            return None;
        }
        if is_sample {
            word_at(body, self.count(IDENTIFIER | IP | TID))
        } else {
            let behind = self.count(TIME | ID | STREAM_ID | CPU | IDENTIFIER);
            (self.flags & SAMPLE_ID_ALL != 0).then(|| body.word_from_end(behind)).flatten()
        }
    }

    /// Which event a record belongs to.
    fn id(&self, body: Bytes, is_sample: bool) -> Option<u64> {
        match (is_sample, self.has(IDENTIFIER), self.has(ID)) {
            (true, true, _) => word_at(body, 0),
            (true, false, true) => word_at(body, self.count(IP | TID | TIME | ADDR)),
            (false, true, _) => body.word_from_end(1),
            (false, false, true) => body.word_from_end(self.count(ID | STREAM_ID | CPU)),
            _ => None,
        }
    }
}

fn word_at(mut body: Bytes, word: u32) -> Option<u64> {
    body.take(u64::from(word) * 8)?;
    body.u64()
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
