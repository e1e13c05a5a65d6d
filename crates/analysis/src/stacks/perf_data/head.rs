//! The head of a recording: its events, and what it says of itself. A file has sections, a pipe records.
//!
//! Format: `tools/perf/Documentation/perf.data-file-format.txt` and `tools/perf/util/header.c`.

use std::io::{Read, Seek, SeekFrom};

use super::{
    super::happening::{Architecture, Head},
    Corrupt,
    bytes::Bytes,
    event::{Event, Events},
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
const HOST: u64 = 3;
const RELEASE: u64 = 4;
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
    host: Option<String>,
    kernel: Option<String>,
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
    let size = Bytes::new(head.get(8..).unwrap_or_default(), big).u64();
    if size == Some(PIPE_HEAD) {
        return Ok(Start {
            big,
            data_at: PIPE_HEAD,
            data_bytes: None,
            is_pipe: true,
            gathered: Gathered::default(),
            faults: Vec::new(),
        });
    }
    file(reader, big)
}

fn file<R: Read + Seek>(reader: &mut R, big: bool) -> Result<Start, Corrupt> {
    const CUT: Corrupt = Corrupt::Head("it ends within its first 104 bytes");
    let head = read_at(reader, 16, 88)?;
    let mut head = Bytes::new(&head, big);
    let mut word = || head.u64().ok_or(CUT);
    let attribute_bytes = word()?;
    let attributes = [word()?, word()?];
    let [data_at, data_bytes] = [word()?, word()?];
    let _event_types = [word()?, word()?];
    let features = [word()?, word()?, word()?, word()?];
    let mut gathered = Gathered::default();
    attribute_sections(reader, &mut gathered, (attribute_bytes, attributes, big))?;
    let mut faults = Vec::new();
    // perf writes the length last, so it is 0 where perf was killed.
    let data_bytes = Some(data_bytes).filter(|bytes| *bytes > 0);
    match data_bytes.map(|bytes| data_at.checked_add(bytes)) {
        Some(Some(behind)) => {
            if feature_sections(reader, &mut gathered, (behind, features, big)).is_none() {
                faults
                    .push("its end is missing, and with it what it says of its machine".to_owned());
            }
        }
        Some(None) => return Err(Corrupt::Head("its length is beyond every number")),
        None => faults.push("it is incomplete: the recording program was killed".to_owned()),
    }
    reader.seek(SeekFrom::Start(data_at)).map_err(Corrupt::Io)?;
    Ok(Start { big, data_at, data_bytes, is_pipe: false, gathered, faults })
}

fn attribute_sections<R: Read + Seek>(
    reader: &mut R,
    gathered: &mut Gathered,
    section: (u64, [u64; 2], bool),
) -> Result<(), Corrupt> {
    const BAD: Corrupt = Corrupt::Head("its list of events cannot be read");
    let (each, [at, length], big) = section;
    let attribute = each.checked_sub(SECTION).filter(|bytes| *bytes > 0).ok_or(BAD)?;
    let section = read_at(reader, at, length)?;
    for one in section.chunks_exact(usize::try_from(each).map_err(|_| BAD)?) {
        let mut one = Bytes::new(one, big);
        let event = one.take(attribute).and_then(|bytes| event(Bytes::new(bytes, big)));
        let mut event = event.ok_or(BAD)?;
        let (ids_at, ids_bytes) = one.u64().zip(one.u64()).ok_or(BAD)?;
        if ids_bytes > 0 {
            let ids = read_at(reader, ids_at, ids_bytes)?;
            event.ids = words(Bytes::new(&ids, big));
        }
        gathered.events.push(event);
    }
    Ok(())
}

fn event(bytes: Bytes) -> Option<Event> {
    let big = bytes.is_big();
    let event = Event::read(bytes)?;
    Some(if big { event.with_bits_reversed() } else { event })
}

fn words(mut bytes: Bytes) -> Vec<u64> {
    std::iter::from_fn(|| bytes.u64()).collect()
}

/// Features stand behind the records: one section for each bit that is set.
fn feature_sections<R: Read + Seek>(
    reader: &mut R,
    gathered: &mut Gathered,
    table: (u64, [u64; 4], bool),
) -> Option<()> {
    let (behind, bits, big) = table;
    let is_set = |bit: &u64| bits[(*bit / 64) as usize] >> (bit % 64) & 1 == 1;
    let features: Vec<u64> = (0..256).filter(is_set).collect();
    let table = read_at(reader, behind, features.len() as u64 * SECTION).ok()?;
    let mut table = Bytes::new(&table, big);
    for feature in features {
        let [at, length] = [table.u64()?, table.u64()?];
        if gathered.wants(feature) {
            gathered.feature(feature, Bytes::new(&read_at(reader, at, length).ok()?, big));
        }
    }
    Some(())
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
    const fn wants(&self, feature: u64) -> bool {
        matches!(feature, BUILD_ID | HOST | RELEASE | MACHINE | COMMAND | EVENT_DESCRIPTION)
    }

    /// One section. What cannot be read is left out: the records do not need it.
    fn feature(&mut self, feature: u64, mut bytes: Bytes) {
        match feature {
            HOST => self.host = bytes.string(),
            RELEASE => self.kernel = bytes.string(),
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
            host: self.host,
            kernel: self.kernel,
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
    let mut event = event(Bytes::new(attribute, body.is_big()))?;
    event.ids = words(body);
    Some(event)
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
