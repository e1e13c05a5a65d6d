//! One ELF file, taken apart once: where its code is, what tells it from other builds, and the sections that
//! unwinding, symbols and debug information are read from.
//!
//! Whatever the bytes are, the answer is an [`Elf`] or a sentence: files come from devices, and may be
//! cut or damaged. What the sections mean is `unwind`'s and `symbols`' business.

mod contents;
mod dynamic;

use std::{ops::Range, sync::Arc};

use object::{
    Endianness, FileKind, Object,
    elf::{FileHeader32, FileHeader64},
    read::elf::{ElfFile, FileHeader, ProgramHeader, SectionHeader},
};

pub use self::contents::Contents;
pub(crate) use self::dynamic::gimli_endian;
use crate::stacks::{budget::Budget, happening::Architecture};

/// More sections than any linker writes; beyond it somebody plays.
const MOST_SECTIONS: usize = 1 << 17;

/// Longer names of sections are no one's that we ask for.
const LONGEST_NAME: usize = 64;

#[derive(Clone, Debug)]
pub struct Elf {
    bytes: Arc<[u8]>,
    /// What may be made of it.
    pub budget: Budget,
    pub class: Class,
    /// Where it begins to run; 0: nowhere.
    pub entry: u64,
    pub segments: Vec<Segment>,
    /// Its section headers; empty where they were cut off, as `sstrip` does.
    pub sections: Vec<Section>,
    build_id: Option<String>,
    link: Option<DebugLink>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    pub architecture: Architecture,
    pub is_64: bool,
    pub is_little: bool,
}

/// A separate file with debug information, by the name in `.gnu_debuglink`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugLink {
    /// Its name, without folders.
    pub name: String,
    /// CRC-32 of its content.
    pub crc: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub kind: u32,
    pub executable: bool,
    pub offset: u64,
    pub address: u64,
    /// `p_filesz`, bytes.
    pub in_file: u64,
    /// `p_memsz`, bytes.
    pub in_memory: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name; empty where it is longer than any that matters.
    pub name: String,
    pub address: u64,
    /// `sh_size`, bytes.
    pub size: u64,
    /// Where its content is in the file; `None`: it has none there.
    pub content: Option<Range<usize>>,
    pub executable: bool,
    pub compressed: bool,
}

impl Section {
    fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|past| past < self.size)
    }
}

impl Elf {
    /// Takes a file apart.
    /// Fails where it is no program or library, or contradicts itself.
    pub fn parse(bytes: Arc<[u8]>) -> Result<Self, String> {
        Self::parse_within(bytes, &Budget::default())
    }

    /// The same, where what is made of the file is a part of something larger.
    pub fn parse_within(bytes: Arc<[u8]>, budget: &Budget) -> Result<Self, String> {
        match FileKind::parse(&*bytes) {
            Ok(FileKind::Elf32) => read::<FileHeader32<Endianness>>(&bytes, budget),
            Ok(FileKind::Elf64) => read::<FileHeader64<Endianness>>(&bytes, budget),
            _ => Err("not an ELF file".to_owned()),
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The build's id, hexadecimal.
    pub fn build_id(&self) -> Option<&str> {
        self.build_id.as_deref()
    }

    pub fn debug_link(&self) -> Option<&DebugLink> {
        self.link.as_ref()
    }

    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The section that an address is in.
    pub fn section_at(&self, address: u64) -> Option<&Section> {
        self.sections.iter().find(|section| section.address != 0 && section.contains(address))
    }

    /// The address, before relocation, of a place in the file.
    ///
    /// By segments, as the kernel maps them: `p_vaddr` and `p_offset` differ by any whole number of pages.
    /// Of two segments in one page the executable one counts, and pages are mapped whole.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let loaded = || self.segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let exact = |segment: &&Segment| {
            offset.checked_sub(segment.offset).is_some_and(|past| past < segment.in_file)
        };
        let in_page = |segment: &&Segment| {
            let (first, end) =
                (segment.offset & !0xfff, segment.offset.saturating_add(segment.in_file));
            (first..end.checked_next_multiple_of(0x1000).unwrap_or(end)).contains(&offset)
        };
        let found = loaded()
            .filter(|segment| segment.executable)
            .find(exact)
            .or_else(|| loaded().find(exact))
            .or_else(|| loaded().filter(|segment| segment.executable).find(in_page))?;
        Some(offset.wrapping_sub(found.offset).wrapping_add(found.address))
    }

    /// The place in the file of an address before relocation.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments.iter().filter(|segment| segment.kind == PT_LOAD).find_map(|segment| {
            let past =
                address.checked_sub(segment.address).filter(|past| *past < segment.in_file)?;
            past.checked_add(segment.offset)
        })
    }

    /// Bytes of the file at an address before relocation, up to the end of the segment's content.
    pub fn at(&self, address: u64) -> &[u8] {
        let find = || {
            let loaded = self.segments.iter().filter(|segment| segment.kind == PT_LOAD);
            let holds = |segment: &&Segment| {
                address.checked_sub(segment.address).is_some_and(|past| past < segment.in_file)
            };
            let segment = loaded.clone().find(holds)?;
            let past = address - segment.address;
            let first = usize::try_from(segment.offset.checked_add(past)?).ok()?;
            let length = usize::try_from(segment.in_file - past).ok()?;
            let end = first.saturating_add(length).min(self.bytes.len());
            self.bytes.get(first..end)
        };
        find().unwrap_or_default()
    }

    /// Whether code can be at an address.
    pub fn is_code(&self, address: u64) -> bool {
        let within = |segment: &Segment| {
            segment.kind == PT_LOAD
                && segment.executable
                && address.checked_sub(segment.address).is_some_and(|past| past < segment.in_memory)
        };
        self.segments.iter().any(within)
    }

    /// Whether it has names that are not needed to run it.
    pub fn has_symbols(&self) -> bool {
        const NAMING: [&str; 2] = [".symtab", ".debug_info"];
        NAMING.iter().any(|name| self.section(name).is_some_and(|one| one.content.is_some()))
    }

    /// Whether it has code, as a file of symbols alone has not.
    pub fn has_code(&self) -> bool {
        self.eh_frame().is_some() || self.contents(".text").is_some()
    }

    /// Whether another file has the same code: the same bytes in `.text`.
    pub fn same_code(&self, other: &Elf) -> bool {
        let text = |elf: &Elf| {
            let section = elf.section(".text")?;
            Some((section.address, elf.bytes.get(section.content.clone()?)?.to_vec()))
        };
        text(self).is_some_and(|ours| Some(ours) == text(other))
    }

    /// A program header's first of a kind.
    pub(crate) fn segment(&self, kind: u32) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.kind == kind)
    }
}

const PT_LOAD: u32 = object::elf::PT_LOAD.0;

fn read<H: FileHeader<Endian = Endianness>>(
    bytes: &Arc<[u8]>,
    budget: &Budget,
) -> Result<Elf, String> {
    let data: &[u8] = bytes;
    let file =
        ElfFile::<H>::parse(data).map_err(|why| format!("damaged or cut ELF file: {why}"))?;
    let endian = file.endian();
    let header = file.elf_header();
    let kind = header.e_type(endian);
    if kind != object::elf::ET_DYN && kind != object::elf::ET_EXEC {
        return Err(format!("an ELF file of type {}, neither a program nor a library", kind.0));
    }
    let class = Class {
        architecture: architecture(file.architecture()),
        is_64: file.is_64(),
        is_little: file.is_little_endian(),
    };
    let link = file.gnu_debuglink().ok().flatten().and_then(|(name, crc)| {
        let name = String::from_utf8(name.to_vec()).ok()?;
        Some(DebugLink { name, crc })
    });
    Ok(Elf {
        class,
        entry: file.entry(),
        segments: segments(&file),
        sections: sections(&file),
        build_id: file.build_id().ok().flatten().map(hexadecimal),
        link,
        bytes: Arc::clone(bytes),
        budget: budget.clone(),
    })
}

fn architecture(said: object::Architecture) -> Architecture {
    match said {
        object::Architecture::X86_64 => Architecture::X86_64,
        object::Architecture::Aarch64 => Architecture::Aarch64,
        object::Architecture::Arm => Architecture::Arm,
        object::Architecture::I386 => Architecture::I386,
        _ => Architecture::Other,
    }
}

fn segments<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Vec<Segment> {
    let endian = file.endian();
    let one = |header: &H::ProgramHeader| Segment {
        kind: header.p_type(endian).0,
        executable: header.p_flags(endian).0 & object::elf::PF_X.0 != 0,
        offset: header.p_offset(endian).into(),
        address: header.p_vaddr(endian).into(),
        in_file: header.p_filesz(endian).into(),
        in_memory: header.p_memsz(endian).into(),
    };
    file.elf_program_headers().iter().map(one).collect()
}

fn sections<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Vec<Section> {
    let endian = file.endian();
    let table = file.elf_section_table();
    let one = |header: &H::SectionHeader| {
        let name = table.section_name(endian, header).unwrap_or_default();
        let name = if name.len() > LONGEST_NAME { &[] } else { name };
        let flags: u64 = header.sh_flags(endian).0;
        let whole = |(offset, size): (u64, u64)| {
            let first = usize::try_from(offset).ok()?;
            let end = first.checked_add(usize::try_from(size).ok()?)?;
            (end <= file.data().len()).then_some(first..end)
        };
        Section {
            name: String::from_utf8_lossy(name).into_owned(),
            address: header.sh_addr(endian).into(),
            size: header.sh_size(endian).into(),
            content: header.file_range(endian).and_then(whole),
            executable: flags & object::elf::SHF_EXECINSTR.0 != 0,
            compressed: flags & object::elf::SHF_COMPRESSED.0 != 0,
        }
    };
    table.iter().take(MOST_SECTIONS).map(one).collect()
}

/// Bytes as digits, the way build ids are reported.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
