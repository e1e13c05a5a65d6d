//! Every function that unwind information speaks of, found by address, and the rules of its ranges.
//!
//! Functions are read once and sorted here: `.eh_frame_hdr` is absent, short or wrong too often to be searched. Rules are
//! little programs, which are run for one address: samples come back to it, so anyone who asks keeps the row.

use std::collections::BTreeMap;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EndianSlice,
    Register, RegisterRule, RunTimeEndian, UnwindContext, UnwindSection, Vendor,
};

use super::REGISTERS;
use crate::stacks::{
    happening::Architecture,
    object::{Contents, Elf},
    profile::Cause,
};

/// More functions than any file has: what is beyond is not read.
const MOST_ENTRIES: usize = 1 << 23;

/// Rules of one file that are given out: about 100 MiB. Beyond it a function counts as unreadable.
const MOST_RULES: usize = 1 << 22;

/// How one register's former value is found.
pub(super) type Rule = (Register, RegisterRule<usize>);

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// A function, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its first address, before relocation.
    pub start: u64,
    /// Behind its last address.
    pub end: u64,
    /// Where it is described, and in which section.
    offset: usize,
    source: u8,
}

/// The unwind information of one file.
#[derive(Default)]
pub struct Unwinding {
    pub(super) sources: Vec<Source>,
    entries: Vec<Entry>,
    /// What could not be read, in words.
    fault: Option<String>,
    /// How many rows and rules were given out.
    rules: usize,
    context: UnwindContext<usize>,
}

/// What holds at an address.
#[derive(Debug)]
pub struct Row {
    pub(super) cfa: CfaRule<usize>,
    pub(super) rules: Box<[Rule]>,
    /// The register that stands for the return address.
    pub(super) returns_by: Register,
    /// Whether what it interrupted was no call.
    pub(super) is_signal: bool,
    /// The section that it is in.
    pub(super) source: u8,
}

pub(super) struct Source {
    pub(super) is_eh: bool,
    contents: Contents,
    bases: BaseAddresses,
    endian: RunTimeEndian,
    pub(super) word: u8,
    vendor: Vendor,
}

impl Unwinding {
    /// Reads a file's, and its debug file's where the file itself lacks a function.
    pub fn of(elf: &Elf, debug: Option<&Elf>) -> Self {
        let mut found = Unwinding::default();
        if let Some((contents, address)) = elf.eh_frame() {
            found.add(elf, contents, Some(address));
        }
        for elf in [Some(elf), debug].into_iter().flatten() {
            if let Some(contents) = elf.contents(".debug_frame") {
                found.add(elf, contents, None);
            }
        }
        found.entries.sort_by_key(|entry| (entry.start, entry.source, entry.offset));
        // What the program itself would use counts.
        found.entries.dedup_by_key(|entry| entry.start);
        found
    }

    /// Functions, by address.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// The function that an address is in.
    pub fn entry(&self, address: u64) -> Option<Entry> {
        let place = self.entries.partition_point(|entry| entry.start <= address).checked_sub(1)?;
        // Behind the end is no one's, though a search by starts finds somebody.
        self.entries.get(place).copied().filter(|entry| address < entry.end)
    }

    /// The row of an address; or whether no entry covers the address, or one that cannot be read.
    pub fn row(&mut self, address: u64) -> Result<Row, Cause> {
        let entry = self.entry(address).ok_or(Cause::NoUnwindInfo)?;
        let (source, context) = (&self.sources[usize::from(entry.source)], &mut self.context);
        let row = if source.is_eh {
            source.row(&source.eh_frame(), (entry, address), context)
        } else {
            source.row(&source.debug_frame(), (entry, address), context)
        };
        let row = row.map_err(|_| Cause::Broken)?;
        self.rules += 1 + row.rules.len();
        if self.rules > MOST_RULES { Err(Cause::Broken) } else { Ok(row) }
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
            endian: elf.endian,
            word: elf.word,
            vendor: match elf.architecture {
                Architecture::Aarch64 => Vendor::AArch64,
                _ => Vendor::Default,
            },
        };
        let (place, before) = (self.sources.len() as u8, self.entries.len());
        let read = if source.is_eh {
            source.entries(&source.eh_frame(), place, &mut self.entries)
        } else {
            source.entries(&source.debug_frame(), place, &mut self.entries)
        };
        let more = (self.entries.len() - before) * size_of::<Entry>();
        if !elf.budget.take(more as u64) {
            self.entries.truncate(before);
        }
        if let Err(error) = read {
            let name = if source.is_eh { ".eh_frame" } else { ".debug_frame" };
            self.fault = Some(format!("{name}: {error}"));
        }
        self.sources.push(source);
    }
}

impl Source {
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

    /// A file has a handful of common entries and thousands of functions: the former are read once.
    fn entries<'a, S: UnwindSection<Slice<'a>>>(
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

    fn row<'a, S: UnwindSection<Slice<'a>>>(
        &self,
        section: &S,
        (entry, address): (Entry, u64),
        context: &mut UnwindContext<usize>,
    ) -> gimli::Result<Row> {
        let offset = S::Offset::from(entry.offset);
        let fde = section.fde_from_offset(&self.bases, offset, S::cie_from_offset)?;
        let returns_by = fde.cie().return_address_register();
        let row = fde.unwind_info_for_address(section, &self.bases, context, address)?;
        let rules = row.registers().filter(|rule| is_followed(rule, returns_by)).cloned().collect();
        let (cfa, is_signal) = (row.cfa().clone(), fde.is_signal_trampoline());
        Ok(Row { cfa, rules, returns_by, is_signal, source: entry.source })
    }
}

/// Whether a rule leads anywhere; floating-point registers do not.
fn is_followed((register, rule): &Rule, returns_by: Register) -> bool {
    let is_general = usize::from(register.0) < REGISTERS || *register == returns_by;
    is_general && !matches!(rule, RegisterRule::SameValue | RegisterRule::Architectural)
}
