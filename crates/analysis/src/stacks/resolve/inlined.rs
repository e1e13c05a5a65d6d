//! Functions that the compiler put into others, by debug information.

use std::{collections::BTreeSet, sync::Arc};

use addr2line::Context;
use gimli::{EndianReader, Reader, RunTimeEndian, Section, SectionId};

use crate::stacks::{
    budget::HELD,
    object::{Elf, gimli_endian},
};

type Bytes = EndianReader<RunTimeEndian, Arc<[u8]>>;

/// Deeper nesting than any compiler's.
const DEEPEST: usize = 64;

pub(super) struct Inlined(Context<Bytes>);

/// Bytes that a unit takes once it is opened, and an abbreviation: `gimli::Unit` and `gimli::Abbreviation` with what is
/// around them.
const UNIT: u64 = 1024;
const ABBREVIATION: u64 = 192;

/// Bytes that are taken as soon as debug information is opened: all units, and the abbreviations of each. Units may
/// share a table, or begin within another's, so that a small file has gigabytes of them.
fn taken_at_once(dwarf: &gimli::Dwarf<Bytes>) -> u64 {
    let mut tables = BTreeSet::new();
    let mut taken = 0_u64;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let at = header.debug_abbrev_offset();
        taken += UNIT;
        if tables.insert(at.0) {
            taken += abbreviations(dwarf.debug_abbrev.reader().clone(), at.0) * ABBREVIATION;
        }
        if taken > HELD {
            break;
        }
    }
    taken
}

/// Abbreviations of the table at an offset, and attributes beyond the five that each has room for.
fn abbreviations(mut bytes: Bytes, at: usize) -> u64 {
    let mut count = 0;
    let mut read = || {
        bytes.skip(at)?;
        while bytes.read_uleb128()? != 0 {
            bytes.read_uleb128()?;
            bytes.skip(1)?;
            count += 1;
            for attribute in 0_u64.. {
                let (name, form) = (bytes.read_uleb128()?, bytes.read_uleb128()?);
                if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                    bytes.read_sleb128()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
                count += u64::from(attribute % 5 == 4);
            }
        }
        Ok::<(), gimli::Error>(())
    };
    // A table that is cut is the reader's to refuse.
    let _ = read();
    count
}

impl Inlined {
    /// Reads a file's; `None` where it has none.
    pub(super) fn of(elf: &Elf) -> Option<Self> {
        elf.section(".debug_info").filter(|section| section.content.is_some())?;
        let endian = gimli_endian(elf);
        let load = |id: SectionId| -> Result<Bytes, gimli::Error> {
            let Some(contents) = elf.contents(id.name()) else {
                return Ok(Bytes::new(Arc::from([].as_slice()), endian));
            };
            let (bytes, range) = contents.parts();
            Ok(Bytes::new(bytes, endian).range(range))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        let taken = taken_at_once(&dwarf);
        if !elf.budget.take(taken) {
            return None;
        }
        Context::from_dwarf(dwarf).ok().map(Inlined)
    }

    /// The functions at an address, innermost first; the last one is what the others were put into.
    pub(super) fn at(&self, address: u64) -> Vec<String> {
        let mut found = Vec::new();
        let Ok(mut frames) = self.0.find_frames(address).skip_all_loads() else { return found };
        while let (Ok(Some(frame)), true) = (frames.next(), found.len() < DEEPEST) {
            let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            found.push(name.map(|name| name.into_owned()).unwrap_or_default());
        }
        found
    }
}
