//! One ELF file, taken apart once: where its code is, what tells it from other builds, and the sections that
//! unwinding, symbols and debug information are read from.
//!
//! Whatever the bytes are, the answer is an [`Elf`] or a sentence: files come from devices, and may be
//! cut or damaged. What the sections mean is `unwind`'s and `symbols`' business.

use std::{io::Read, ops::Range, sync::Arc};

use gimli::{EndianArcSlice, Reader, RunTimeEndian};
use object::{
    Endianness, FileKind, Object,
    elf::{FileHeader32, FileHeader64},
    read::elf::{ElfFile, FileHeader, ProgramHeader, SectionHeader},
};

use crate::stacks::{budget::Budget, happening::Architecture};

/// More sections than any linker writes; beyond it somebody plays.
const MOST_SECTIONS: usize = 1 << 17;

/// Longer names of sections are no one's that we ask for.
const LONGEST_NAME: usize = 64;

/// What is in a section: shared, so that readers of debug information need not borrow the file.
pub type Contents = EndianArcSlice<RunTimeEndian>;

#[derive(Clone, Debug)]
pub struct Elf {
    pub bytes: Arc<[u8]>,
    /// What may be made of it.
    pub budget: Budget,
    pub architecture: Architecture,
    /// How many bytes an address has.
    pub word: u8,
    pub endian: RunTimeEndian,
    /// Where it begins to run; 0: nowhere.
    pub entry: u64,
    pub segments: Vec<Segment>,
    /// Its section headers; empty where they were cut off, as `sstrip` does.
    pub sections: Vec<Section>,
    /// The build's id, hexadecimal.
    pub build_id: Option<String>,
    pub debug_link: Option<DebugLink>,
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

    /// The segment whose content has an address before relocation, and how far in.
    fn loaded_at(&self, address: u64) -> Option<(&Segment, u64)> {
        let loaded = self.segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let mut places =
            loaded.map(|segment| Some((segment, address.checked_sub(segment.address)?)));
        places.find_map(|place| place.filter(|(segment, past)| *past < segment.in_file))
    }

    /// The place in the file of an address before relocation.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let (segment, past) = self.loaded_at(address)?;
        past.checked_add(segment.offset)
    }

    /// Where the file's content from an address before relocation to the end of its segment is.
    fn range_from(&self, address: u64) -> Option<Range<usize>> {
        let (segment, past) = self.loaded_at(address)?;
        let first = usize::try_from(segment.offset.checked_add(past)?).ok()?;
        let length = usize::try_from(segment.in_file - past).ok()?;
        let end = first.saturating_add(length).min(self.bytes.len());
        (first < end).then_some(first..end)
    }

    /// Bytes of the file at an address before relocation, up to the end of the segment's content.
    pub fn at(&self, address: u64) -> &[u8] {
        let range = self.range_from(address);
        range.and_then(|range| self.bytes.get(range)).unwrap_or_default()
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

    /// A section's content, unpacked; `None` where there is none, or it cannot be unpacked.
    pub fn contents(&self, name: &str) -> Option<Contents> {
        let section = self.section(name)?;
        let range = section.content.clone().filter(|range| !range.is_empty())?;
        let part = self.part(range);
        if section.compressed { self.unpacked(part) } else { Some(part) }
    }

    fn part(&self, range: Range<usize>) -> Contents {
        Contents::new(Arc::clone(&self.bytes), self.endian).range(range)
    }

    /// `Elf64_Chdr` is type, reserved, size, alignment; `Elf32_Chdr` has no reserved word.
    fn unpacked(&self, mut packed: Contents) -> Option<Contents> {
        let kind = packed.read_u32().ok()?;
        packed.skip(usize::from(self.word) - 4).ok()?;
        let size = packed.read_address(self.word).ok()?;
        packed.skip(self.word.into()).ok()?;
        // What the header promises is all that is ever unpacked.
        if kind != object::elf::ELFCOMPRESS_ZLIB.0 || !self.budget.take(size) {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        flate2::read::ZlibDecoder::new(&*packed).take(size).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == size).then(|| Contents::new(bytes.into(), self.endian))
    }

    /// `.eh_frame` and its address: by its section, or by the pointer in `.eh_frame_hdr`.
    pub(crate) fn eh_frame(&self) -> Option<(Contents, u64)> {
        if let Some(contents) = self.contents(".eh_frame") {
            return Some((contents, self.section(".eh_frame")?.address));
        }
        let header = self.eh_frame_header()?;
        let bases = gimli::BaseAddresses::default().set_eh_frame_hdr(header);
        let parsed = gimli::EhFrameHdr::new(self.at(header), self.endian);
        let address = parsed.parse(&bases, self.word).ok()?.eh_frame_ptr().direct().ok()?;
        Some((self.part(self.range_from(address)?), address))
    }

    /// `.eh_frame_hdr`'s address, the base of some pointers; a hint only, its table is never trusted.
    pub(crate) fn eh_frame_header(&self) -> Option<u64> {
        let is_header = |segment: &&Segment| segment.kind == object::elf::PT_GNU_EH_FRAME.0;
        self.segments.iter().find(is_header).map(|segment| segment.address)
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
    let debug_link = file.gnu_debuglink().ok().flatten().and_then(|(name, crc)| {
        let name = String::from_utf8(name.to_vec()).ok()?;
        Some(DebugLink { name, crc })
    });
    Ok(Elf {
        architecture: architecture(file.architecture()),
        word: if file.is_64() { 8 } else { 4 },
        endian: match endian {
            Endianness::Little => RunTimeEndian::Little,
            Endianness::Big => RunTimeEndian::Big,
        },
        entry: file.entry(),
        segments: segments(&file),
        sections: sections(&file),
        build_id: file.build_id().ok().flatten().map(hexadecimal),
        debug_link,
        bytes: Arc::clone(bytes),
        budget: budget.clone(),
    })
}

fn architecture(said: object::Architecture) -> Architecture {
    match said {
        object::Architecture::X86_64 => Architecture::X86_64,
        object::Architecture::Aarch64 => Architecture::Aarch64,
        object::Architecture::Arm => Architecture::Arm,
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
        let flags = header.sh_flags(endian);
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
            executable: flags.contains(object::elf::SHF_EXECINSTR),
            compressed: flags.contains(object::elf::SHF_COMPRESSED),
        }
    };
    table.iter().take(MOST_SECTIONS).map(one).collect()
}

/// Bytes as digits, the way build ids are reported.
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
