//! The head of a recording: its events, and what it says of itself. A file has sections, a pipe records.
//!
//! Format: `tools/perf/Documentation/perf.data-file-format.txt` and `tools/perf/util/header.c`.

use std::{
    io::{Read, Seek, SeekFrom},
    ops::Range,
};

use gimli::{Reader, Result, RunTimeEndian};

use super::{
    Corrupt,
    event::{Event, Events},
    records::{Bytes, take, take_all, text, words},
};
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
const HEADER_ATTRIBUTE: u32 = 64;
const HEADER_BUILD_ID: u32 = 67;
const EVENT_UPDATE: u32 = 78;
const HEADER_FEATURE: u32 = 80;

/// What a recording says before its records, or in the first of them.
pub(super) struct Start {
    pub(super) endian: RunTimeEndian,
    /// Where the records begin, and their length; `None`: up to the end.
    pub(super) data: (u64, Option<u64>),
    /// Whether the head itself comes as records.
    pub(super) is_pipe: bool,
    pub(super) events: Vec<Event>,
    pub(super) faults: Vec<String>,
    machine: Option<String>,
    command: Option<String>,
    /// Names of events, with the ids that each is of.
    names: Vec<(String, Vec<u64>)>,
    build_ids: Vec<(String, String)>,
}

impl Start {
    /// Reads everything that stands before the records, and leaves the reader at the first one.
    pub(super) fn read<R: Read + Seek>(reader: &mut R) -> std::result::Result<Self, Corrupt> {
        let head = read_at(reader, 0, PIPE_HEAD)?;
        let endian = match head.first_chunk::<8>() {
            Some(LITTLE) => RunTimeEndian::Little,
            Some(BIG) => RunTimeEndian::Big,
            _ => return Err(Corrupt::NotPerf),
        };
        let mut start = Self {
            endian,
            data: (PIPE_HEAD, None),
            is_pipe: words(Bytes::new(&head, endian)).last() == Some(&PIPE_HEAD),
            events: Vec::new(),
            faults: Vec::new(),
            machine: None,
            command: None,
            names: Vec::new(),
            build_ids: Vec::new(),
        };
        if !start.is_pipe {
            start.file(reader)?;
        }
        Ok(start)
    }

    fn file<R: Read + Seek>(&mut self, reader: &mut R) -> std::result::Result<(), Corrupt> {
        let head = words(Bytes::new(&read_at(reader, 16, 88)?, self.endian));
        let &[each, at, length, data_at, data_bytes, _, _, ref features @ ..] = head.as_slice()
        else {
            return Err(Corrupt::Head("it ends within its first 104 bytes"));
        };
        self.read_events(reader, each, at..at.saturating_add(length))?;
        // perf writes the length last, so it is 0 where perf was killed.
        self.data = (data_at, Some(data_bytes).filter(|bytes| *bytes > 0));
        if data_bytes == 0 {
            self.faults.push("it is incomplete: the recording program was killed".to_owned());
        } else {
            let behind = data_at.checked_add(data_bytes);
            let behind = behind.ok_or(Corrupt::Head("its length is beyond every number"))?;
            if self.features(reader, behind, features).is_err() {
                let fault = "its end is missing, and with it what it says of its machine";
                self.faults.push(fault.to_owned());
            }
        }
        reader.seek(SeekFrom::Start(data_at)).map_err(Corrupt::Io)?;
        Ok(())
    }

    /// Each event is a structure of so many bytes, the place of its ids within them.
    fn read_events<R: Read + Seek>(
        &mut self,
        reader: &mut R,
        each: u64,
        section: Range<u64>,
    ) -> std::result::Result<(), Corrupt> {
        const BAD: Corrupt = Corrupt::Head("its list of events cannot be read");
        let attribute = each.checked_sub(SECTION).filter(|bytes| *bytes > 0).ok_or(BAD)?;
        let all = read_at(reader, section.start, section.end - section.start)?;
        for one in all.chunks_exact(usize::try_from(each).map_err(|_| BAD)?) {
            let mut one = Bytes::new(one, self.endian);
            let mut event = take(&mut one, attribute).and_then(Event::read).map_err(|_| BAD)?;
            let &[ids_at, ids_bytes] = words(one).as_slice() else { return Err(BAD) };
            if ids_bytes > 0 {
                let ids = read_at(reader, ids_at, ids_bytes)?;
                event.ids = words(Bytes::new(&ids, self.endian));
            }
            self.events.push(event);
        }
        Ok(())
    }

    /// Features stand behind the records: one section for each bit that is set.
    fn features<R: Read + Seek>(
        &mut self,
        reader: &mut R,
        at: u64,
        bits: &[u64],
    ) -> std::result::Result<(), Corrupt> {
        let is_set = |bit: &u64| bits[(*bit / 64) as usize] >> (bit % 64) & 1 == 1;
        let features: Vec<u64> = (0..64 * bits.len() as u64).filter(is_set).collect();
        let table = read_at(reader, at, features.len() as u64 * SECTION)?;
        let table = words(Bytes::new(&table, self.endian));
        for (feature, place) in features.into_iter().zip(table.chunks_exact(2)) {
            if matches!(feature, BUILD_ID | MACHINE | COMMAND | EVENT_DESCRIPTION) {
                let section = read_at(reader, place[0], place[1])?;
                self.feature(feature, Bytes::new(&section, self.endian));
            }
        }
        Ok(())
    }

    /// One section. What cannot be read is left out: the records do not need it.
    fn feature(&mut self, feature: u64, mut bytes: Bytes) {
        match feature {
            MACHINE => self.machine = string(&mut bytes).ok(),
            COMMAND => {
                let count = bytes.read_u32().unwrap_or(0);
                let words: Vec<_> = (0..count).map_while(|_| string(&mut bytes).ok()).collect();
                self.command = Some(words.join(" ")).filter(|command| !command.is_empty());
            }
            EVENT_DESCRIPTION => {
                let _ = self.descriptions(bytes);
            }
            BUILD_ID => while self.build_id(&mut bytes).is_ok() {},
            _ => (),
        }
    }

    fn descriptions(&mut self, mut bytes: Bytes) -> Result<()> {
        let [count, size] = [bytes.read_u32()?, bytes.read_u32()?];
        for _ in 0..count {
            take(&mut bytes, size.into())?;
            let ids = bytes.read_u32()?;
            let name = string(&mut bytes)?;
            self.names.push((name, words(take_all(&mut bytes, ids.into(), 8)?)));
        }
        Ok(())
    }

    /// `struct perf_record_header_build_id`, with its record's head.
    fn build_id(&mut self, bytes: &mut Bytes) -> Result<()> {
        let _kind = bytes.read_u32()?;
        let [misc, size] = [bytes.read_u16()?, bytes.read_u16()?];
        let body = take(bytes, u64::from(size).saturating_sub(8))?;
        self.build_id_body(misc, body)
    }

    fn build_id_body(&mut self, misc: u16, mut body: Bytes) -> Result<()> {
        const HAS_SIZE: u16 = 1 << 15;
        body.skip(4)?;
        let id = take(&mut body, 24)?.slice();
        let size = if misc & HAS_SIZE == 0 { 20 } else { usize::from(id[20]).min(20) };
        let path = String::from_utf8_lossy(text(body)).into_owned();
        self.build_ids.push((path, hexadecimal(&id[..size])));
        Ok(())
    }

    /// Takes a record of a pipe's head; whether it was one. What cannot be read is left out.
    pub(super) fn take(&mut self, kind: u32, misc: u16, mut body: Bytes) -> bool {
        let _ = match kind {
            HEADER_ATTRIBUTE => attribute_record(body).map(|event| self.events.push(event)),
            HEADER_FEATURE => body.read_u64().map(|feature| self.feature(feature, body)),
            HEADER_BUILD_ID => self.build_id_body(misc, body),
            EVENT_UPDATE => self.event_update(body),
            _ => return false,
        };
        true
    }

    fn event_update(&mut self, mut body: Bytes) -> Result<()> {
        const NAME: u64 = 2;
        let [kind, id] = [body.read_u64()?, body.read_u64()?];
        if kind == NAME {
            self.names.push((String::from_utf8_lossy(text(body)).into_owned(), vec![id]));
        }
        Ok(())
    }

    /// Everything together.
    pub(super) fn finish(mut self) -> (Head, Events, Vec<String>) {
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
                Some(_) => Architecture::Other,
                None => chosen.architecture(),
            },
            event: chosen.name(),
            frequency: chosen.frequency(),
            stack_bytes: chosen.stack_bytes,
            command: self.command,
            build_ids: self.build_ids,
        };
        let others = events.others().join(", ");
        if !others.is_empty() {
            let fault = format!("of several events only {} is shown, not {others}", head.event);
            self.faults.push(fault);
        }
        (head, events, self.faults)
    }
}

/// Grows with what is there and not with what a length claims.
fn read_at<R: Read + Seek>(
    reader: &mut R,
    at: u64,
    length: u64,
) -> std::result::Result<Vec<u8>, Corrupt> {
    const SHORT: Corrupt = Corrupt::Head("it ends within its head");
    if length > LONGEST {
        return Err(Corrupt::Head("a part of its head is too long to be true"));
    }
    reader.seek(SeekFrom::Start(at)).map_err(|_| SHORT)?;
    let mut bytes = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut bytes).map_err(Corrupt::Io)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(SHORT) }
}

/// A length and so many bytes, with a text in them: `struct perf_header_string`.
fn string(bytes: &mut Bytes) -> Result<String> {
    let length = bytes.read_u32()?;
    Ok(String::from_utf8_lossy(text(take(bytes, length.into())?)).into_owned())
}

/// `struct perf_event_attr` says its own length; ids follow it.
fn attribute_record(mut body: Bytes) -> Result<Event> {
    let mut size = body;
    size.skip(4)?;
    let attribute = size.read_u32()?;
    let mut event = Event::read(take(&mut body, attribute.into())?)?;
    event.ids = words(body);
    Ok(event)
}
