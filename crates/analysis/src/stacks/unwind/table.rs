//! Every function that unwind information speaks of, found by address, and the rules of its ranges.
//!
//! Functions are read once and sorted here: `.eh_frame_hdr` is absent, short or wrong too often to be searched. Rules are
//! little programs: samples come back to the same functions, so all ranges of one are decoded when the first is asked for,
//! and kept.

use std::collections::BTreeMap;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EndianSlice,
    RegisterRule, RunTimeEndian, UnwindContext, UnwindSection, Vendor,
};

use super::REGISTERS;
use crate::stacks::{
    happening::Architecture,
    object::{Contents, Elf, gimli_endian},
};

/// More functions than any file has: what is beyond is not read.
const MOST_ENTRIES: usize = 1 << 23;

/// Rules of one file that are kept: about 100 MiB. Beyond it a function counts as unreadable.
const MOST_RULES: usize = 1 << 22;

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

/// Why there is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    None,
    /// There is one, and it cannot be read.
    Broken,
}

/// The unwind information of one file.
#[derive(Default)]
pub struct Unwinding {
    pub(super) sources: Vec<Source>,
    entries: Vec<Entry>,
    /// What could not be read, in words.
    fault: Option<String>,
    /// For each entry the places of its rows, as far as it was asked for.
    decoded: Vec<Decoded>,
    rows: Rows,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Decoded {
    #[default]
    Not,
    Rows(u32, u32),
    Broken,
}

/// Decoded ranges of addresses.
struct Rows {
    all: Vec<Row>,
    /// How many rules they have together.
    rules: usize,
    context: UnwindContext<usize>,
}

impl Default for Rows {
    fn default() -> Self {
        Rows { all: Vec::new(), rules: 0, context: UnwindContext::new() }
    }
}

/// What holds for a range of addresses.
pub(super) struct Row {
    start: u64,
    end: u64,
    pub(super) cfa: CfaRule<usize>,
    pub(super) rules: Box<[Rule]>,
    /// The register that stands for the return address.
    pub(super) returns_by: u16,
    /// Whether what it interrupted was no call.
    pub(super) is_signal: bool,
    /// The section that it is in.
    pub(super) source: u8,
}

/// How one register's former value is found.
pub(super) struct Rule {
    pub(super) register: u16,
    pub(super) what: RegisterRule<usize>,
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
        self.place(address).and_then(|place| self.entries.get(place).copied())
    }

    fn place(&self, address: u64) -> Option<usize> {
        let place = self.entries.partition_point(|entry| entry.start <= address).checked_sub(1)?;
        // Behind the end is no one's, though a search by starts finds somebody.
        (address < self.entries.get(place)?.end).then_some(place)
    }

    /// The row of an address, by its number.
    pub fn row(&mut self, address: u64) -> Result<u32, Unusable> {
        let place = self.place(address).ok_or(Unusable::None)?;
        self.decoded.resize(self.entries.len(), Decoded::Not);
        if self.decoded[place] == Decoded::Not {
            self.decoded[place] = self.decode(self.entries[place]);
        }
        let Decoded::Rows(first, end) = self.decoded[place] else { return Err(Unusable::Broken) };
        let rows = self.rows.all.get(first as usize..end as usize).unwrap_or_default();
        let within = rows.partition_point(|row| row.start <= address).checked_sub(1);
        let within = within.filter(|within| rows.get(*within).is_some_and(|row| address < row.end));
        within.map(|within| first + within as u32).ok_or(Unusable::Broken)
    }

    pub(super) fn decoded(&self, row: u32) -> Option<&Row> {
        self.rows.all.get(row as usize)
    }

    fn decode(&mut self, entry: Entry) -> Decoded {
        let first = self.rows.all.len();
        let Some(source) = self.sources.get(usize::from(entry.source)) else {
            return Decoded::Broken;
        };
        let read = if source.is_eh {
            self.rows.read(&source.eh_frame(), &source.bases, entry)
        } else {
            self.rows.read(&source.debug_frame(), &source.bases, entry)
        };
        if read.is_none() {
            self.rows.all.truncate(first);
            return Decoded::Broken;
        }
        Decoded::Rows(first as u32, self.rows.all.len() as u32)
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
            vendor: match elf.class.architecture {
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
}

impl Rows {
    fn read<'a, S: UnwindSection<Slice<'a>>>(
        &mut self,
        section: &S,
        bases: &BaseAddresses,
        entry: Entry,
    ) -> Option<()> {
        let offset = S::Offset::from(entry.offset);
        let fde = section.fde_from_offset(bases, offset, S::cie_from_offset).ok()?;
        let returns_by = fde.cie().return_address_register().0;
        let is_signal = fde.is_signal_trampoline();
        let mut rows = fde.rows(section, bases, &mut self.context).ok()?;
        while let Some(row) = rows.next_row().ok()? {
            let (start, end) = (row.start_address(), row.end_address());
            if start >= end {
                continue;
            }
            if self.rules > MOST_RULES || self.all.len() > MOST_RULES {
                return None;
            }
            let registers = row.registers();
            let rules = registers.filter_map(|(of, rule)| rule_of(of.0, rule, returns_by));
            let rules: Box<[Rule]> = rules.collect();
            let cfa = row.cfa().clone();
            self.rules += rules.len();
            let source = entry.source;
            self.all.push(Row { start, end, cfa, rules, returns_by, is_signal, source });
        }
        Some(())
    }
}

/// A rule that we follow; floating-point registers lead nowhere.
fn rule_of(register: u16, rule: &RegisterRule<usize>, returns_by: u16) -> Option<Rule> {
    let is_kept = usize::from(register) < REGISTERS || register == returns_by;
    let is_followed = !matches!(rule, RegisterRule::SameValue | RegisterRule::Architectural);
    (is_kept && is_followed).then(|| Rule { register, what: rule.clone() })
}
