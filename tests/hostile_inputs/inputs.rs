//! Studies, ELF files and recordings that ask for more than they are, made by hand and from packers' real output.
//!
//! Formats: elf(5), `include/uapi/linux/perf_event.h`, DWARF 4 §7.5; a bomb is small here and large when unpacked.

use std::io::Write;

use model::perf_data::file_start;

/// A study with these keys from line 6 on.
pub(crate) fn study(keys: &str) -> String {
    format!(
        "question = \"?\"\n[access-point]\nclients = [18, 60]\n[subject]\nprocess = \"s\"\n{keys}\n\
         [[variant]]\nname = \"a\"\n"
    )
}

/// A section: its name, its flags, its content.
type Section = (&'static str, u64, Vec<u8>);

const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const COMPRESSED: u64 = 1 << 11;

/// Sections that one reader of debug information or another wants.
const DEBUG: &str = ".debug_info .debug_abbrev .debug_line .debug_str .debug_ranges .debug_rnglists .debug_addr \
                     .debug_aranges .debug_frame";

/// Zeros for every section with debug information, each compressed as elf.h's `ELFCOMPRESS_…` says.
pub(crate) fn compressed(packed: Vec<u8>, size: u64, kind: u32) -> Vec<Section> {
    let head = [u64::from(kind), size, 1].map(u64::to_le_bytes).concat();
    let content = [head, packed].concat();
    DEBUG.split(' ').map(|name| (name, COMPRESSED, content.clone())).collect()
}

pub(crate) fn zlib(zeros: usize) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let piece = vec![0; 1 << 20];
    (0..zeros >> 20).for_each(|_| packer.write_all(&piece).unwrap());
    packer.finish().unwrap()
}

/// This many units of the smallest kind.
pub(crate) fn units(count: usize) -> Vec<Section> {
    let unit = [&8_u32.to_le_bytes()[..], &[4, 0], &[0; 4], &[8, 1]].concat();
    vec![(".debug_info", 0, unit.repeat(count)), (".debug_abbrev", 0, vec![1, 0x11, 0, 0, 0, 0])]
}

/// This many functions, all with this name.
pub(crate) fn symbols(count: usize, name: &str) -> Vec<u8> {
    // Name, STB_GLOBAL and STT_FUNC, its section, its address and its size.
    let symbol = [&1_u32.to_le_bytes()[..], &[0x12, 0, 1, 0], &words(&[0x400, 0x100])].concat();
    let table = [vec![0; 24], symbol.repeat(count)].concat();
    let strings = [b"\0", name.as_bytes(), b"\0"].concat();
    elf(&[(".symtab", 0, table), (".strtab", 0, strings)])
}

/// A library with code at 0x400 and these sections.
pub(crate) fn elf(sections: &[Section]) -> Vec<u8> {
    let mut names = b"\0".to_vec();
    let mut headers = vec![vec![0; 64]];
    let mut contents = Vec::new();
    let text = (".text", 6, vec![0x90; 0x1000]);
    let all = [&[text], sections].concat();
    let mut add = |(name, flags, content): &Section, names: &mut Vec<u8>| {
        let (at, place) = (names.len() as u32, 0x400 + contents.len() as u64);
        names.extend([name.as_bytes(), b"\0"].concat());
        let (kind, link, each) = match *name {
            ".symtab" => (SYMTAB, 3_u32, 24),
            ".strtab" | ".shstrtab" => (STRTAB, 0, 0),
            _ => (PROGBITS, 0, 0),
        };
        let address = if *name == ".text" { place } else { 0 };
        let content: &[u8] = if *name == ".shstrtab" { names } else { content };
        headers.push(
            [
                &[at, kind].map(u32::to_le_bytes).concat()[..],
                &words(&[*flags, address, place, content.len() as u64]),
                &[link, 1].map(u32::to_le_bytes).concat(),
                &words(&[8, each]),
            ]
            .concat(),
        );
        contents.extend_from_slice(content);
    };
    all.iter().for_each(|section| add(section, &mut names));
    add(&(".shstrtab", 0, Vec::new()), &mut names);
    let table = 0x400 + contents.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([3_u16, 62].map(u16::to_le_bytes).concat());
    file.extend(1_u32.to_le_bytes());
    file.extend(words(&[0, 64, table]));
    file.extend(0_u32.to_le_bytes());
    let count = headers.len() as u16;
    file.extend([64, 56, 1, 64, count, count - 1].map(u16::to_le_bytes).concat());
    // PT_LOAD, readable and executable.
    file.extend([1_u32, 5].map(u32::to_le_bytes).concat());
    file.extend(words(&[0, 0, 0, 0x1400, 0x1400, 0x1000]));
    file.resize(0x400, 0);
    [file, contents, headers.concat()].concat()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn pair(a: u32, b: u32) -> u64 {
    u64::from(a) | u64::from(b) << 32
}

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(body.len() + 8).unwrap();
    [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat()
}

/// What `sample_id_all` appends: process and thread, time.
const TRAILER: [u64; 2] = [7 | 7 << 32, 1];

fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((text.len() / 8 + 1) * 8, 0);
    bytes
}

fn map(start: u64) -> Vec<u8> {
    let body = words(&[pair(7, 7), start, 0x2000, 0x400, 0, 0, 0, pair(5, 2)]);
    record(10, 2, &[body, padded("/bomb"), words(&TRAILER)].concat())
}

fn sample(misc: u16, context: i64, ip: u64) -> Vec<u8> {
    record(9, misc, &words(&[ip, pair(7, 7), 2, 2_004_008, 2, context as u64, ip]))
}

pub(crate) fn kernel_sample() -> Vec<u8> {
    sample(1, -128, 0xffff_ffff_8100_0000)
}

/// A sample at an address: `/bomb` has its function at 0x1000, and no more from 0x1100 to 0x3000.
pub(crate) fn sample_at(address: u64) -> Vec<u8> {
    sample(2, -512, address)
}

/// A recording of a process of this name with a sample in `/bomb`, and more records behind it.
pub(crate) fn recording(name: &str, more: &[Vec<u8>]) -> Vec<u8> {
    // IP, TID, TIME, CALLCHAIN, PERIOD.
    const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 8;
    const FREQUENCY_AND_SAMPLE_ID_ALL: u64 = 1 << 10 | 1 << 18;
    let mut attributes = [1_u32, 112].map(u32::to_le_bytes).concat();
    attributes.extend(words(&[0, 499, SAMPLE_TYPE, 0, FREQUENCY_AND_SAMPLE_ID_ALL]));
    attributes.resize(112, 0);
    let name = record(3, 1 << 13, &[words(&[pair(7, 7)]), padded(name), words(&TRAILER)].concat());
    let records = [name, map(0x1000), sample(2, -512, 0x1000), more.concat()].concat();
    [file_start(&attributes, records.len() as u64), records].concat()
}

/// The same recording, of the cycles that hardware counts: no one knows how long one takes.
pub(crate) fn of_cycles(mut recording: Vec<u8>) -> Vec<u8> {
    let kind = [1_u32, 112].map(u32::to_le_bytes).concat();
    let at = recording.windows(8).position(|bytes| bytes == kind).unwrap();
    recording[at] = 0;
    recording
}

/// A process with this many mappings and children.
pub(crate) fn forks(maps: u64, children: u32) -> Vec<Vec<u8>> {
    let child =
        |pid: u32| record(7, 0, &words(&[pair(pid, 7), pair(pid, 7), 1, TRAILER[0], TRAILER[1]]));
    let maps = (0..maps).map(|at| map(0x10_0000 + at * 0x4000));
    maps.chain((0..children).map(|at| child(1000 + at))).collect()
}
