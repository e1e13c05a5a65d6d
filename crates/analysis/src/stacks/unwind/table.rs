//! Every function that unwind information speaks of, found by address.
//!
//! Read once and sorted here: `.eh_frame_hdr` is absent, short or wrong too often to be searched.

use std::collections::BTreeMap;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EndianSlice,
    RunTimeEndian, UnwindSection, Vendor,
};

use crate::stacks::{
    happening::Architecture,
    object::{Contents, Elf, gimli_endian},
};

/// More functions than any file has: what is beyond is not read.
const MOST_ENTRIES: usize = 1 << 23;

pub(super) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// A function, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its first address, before relocation.
    pub start: u64,
    /// Behind its last address.
    pub end: u64,
    /// Where it is described.
    offset: usize,
    source: u8,
}

impl Entry {
    /// The number of the section that describes it.
    pub(super) fn source_place(&self) -> u8 {
        self.source
    }

    /// Where in that section it is described.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }
}

/// The functions of one file.
#[derive(Clone, Debug, Default)]
pub struct Table {
    sources: Vec<Source>,
    entries: Vec<Entry>,
    /// What could not be read, in words.
    fault: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    is_eh: bool,
    contents: Contents,
    bases: BaseAddresses,
    endian: RunTimeEndian,
    word: u8,
    vendor: Vendor,
}

impl Table {
    /// Reads a file's, and its debug file's where the file itself lacks a function.
    pub fn of(elf: &Elf, debug: Option<&Elf>) -> Self {
        let mut table = Table::default();
        if let Some((contents, address)) = elf.eh_frame() {
            table.add(elf, contents, Some(address));
        }
        for elf in [Some(elf), debug].into_iter().flatten() {
            if let Some(contents) = elf.contents(".debug_frame") {
                table.add(elf, contents, None);
            }
        }
        table.entries.sort_by_key(|entry| (entry.start, entry.source, entry.offset));
        // What the program itself would use counts.
        table.entries.dedup_by_key(|entry| entry.start);
        table
    }

    /// Functions, by address.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is wrong with it.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// The place of the function that an address is in.
    pub fn place(&self, address: u64) -> Option<usize> {
        let place = self.entries.partition_point(|entry| entry.start <= address).checked_sub(1)?;
        // Behind the end is no one's, though a search by starts finds somebody.
        (address < self.entries.get(place)?.end).then_some(place)
    }

    /// The function that an address is in.
    pub fn entry(&self, address: u64) -> Option<Entry> {
        self.place(address).and_then(|place| self.entries.get(place).copied())
    }

    /// A section by its number.
    pub(super) fn source_at(&self, place: u8) -> Option<&Source> {
        self.sources.get(usize::from(place))
    }

    fn add(&mut self, elf: &Elf, contents: Contents, address: Option<u64>) {
        let mut bases = BaseAddresses::default();
        let start = |name: &str| elf.section(name).map(|section| section.address);
        if let Some(address) = start(".text") {
            bases = bases.set_text(address);
        }
        if let Some(address) = start(".got") {
            bases = bases.set_got(address);
        }
        if let Some(address) = elf.eh_frame_header() {
            bases = bases.set_eh_frame_hdr(address);
        }
        if let Some(address) = address {
            bases = bases.set_eh_frame(address);
        }
        let source = Source {
            is_eh: address.is_some(),
            contents,
            bases,
            endian: gimli_endian(elf),
            word: elf.word_bytes() as u8,
            vendor: match elf.class().architecture {
                Architecture::Aarch64 => Vendor::AArch64,
                _ => Vendor::Default,
            },
        };
        let place = self.sources.len() as u8;
        let before = self.entries.len();
        let read = source.entries(place, &mut self.entries);
        let more = (self.entries.len() - before) * size_of::<Entry>();
        if !elf.budget().take(more as u64) {
            self.entries.truncate(before);
        }
        if let Err(error) = read {
            self.fault = Some(format!("{}: {error}", source.name()));
        }
        self.sources.push(source);
    }
}

impl Source {
    fn name(&self) -> &'static str {
        if self.is_eh { ".eh_frame" } else { ".debug_frame" }
    }

    pub(super) fn bases(&self) -> &BaseAddresses {
        &self.bases
    }

    pub(super) fn word(&self) -> u8 {
        self.word
    }

    pub(super) fn is_eh(&self) -> bool {
        self.is_eh
    }

    pub(super) fn eh_frame(&self) -> EhFrame<Slice<'_>> {
        let mut section = EhFrame::new(&self.contents, self.endian);
        section.set_address_size(self.word);
        section.set_vendor(self.vendor);
        section
    }

    pub(super) fn debug_frame(&self) -> DebugFrame<Slice<'_>> {
        let mut section = DebugFrame::new(&self.contents, self.endian);
        section.set_address_size(self.word);
        section.set_vendor(self.vendor);
        section
    }

    fn entries(&self, place: u8, out: &mut Vec<Entry>) -> gimli::Result<()> {
        if self.is_eh {
            self.entries_of(&self.eh_frame(), place, out)
        } else {
            self.entries_of(&self.debug_frame(), place, out)
        }
    }

    /// A file has a handful of common entries and thousands of functions: the former are read once.
    fn entries_of<'a, S: UnwindSection<Slice<'a>>>(
        &self,
        section: &S,
        place: u8,
        out: &mut Vec<Entry>,
    ) -> gimli::Result<()> {
        let mut known: BTreeMap<usize, CommonInformationEntry<Slice<'a>>> = BTreeMap::new();
        let mut entries = section.entries(&self.bases);
        while let Some(entry) = entries.next()? {
            let CieOrFde::Fde(partial) = entry else { continue };
            let parsed = partial.parse(|section, bases, offset| {
                let key = gimli::UnwindOffset::into(offset);
                if let Some(cie) = known.get(&key) {
                    return Ok(cie.clone());
                }
                let cie = section.cie_from_offset(bases, offset)?;
                known.insert(key, cie.clone());
                Ok(cie)
            });
            // One that cannot be read leaves the others as they are.
            let Ok(fde) = parsed else { continue };
            let (start, end) = (fde.initial_address(), fde.end_address());
            // A linker that drops a function leaves its description behind, at 0.
            if start != 0 && start < end {
                out.push(Entry { start, end, offset: fde.offset(), source: place });
            }
            if out.len() >= MOST_ENTRIES {
                break;
            }
        }
        Ok(())
    }
}
