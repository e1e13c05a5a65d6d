//! Functions that the compiler put into others, by debug information.

use std::sync::Arc;

use addr2line::Context;
use gimli::{EndianReader, RunTimeEndian, SectionId};

use crate::stacks::object::{Elf, gimli_endian};

type Bytes = EndianReader<RunTimeEndian, Arc<[u8]>>;

/// Deeper nesting than any compiler's.
const DEEPEST: usize = 64;

/// The debug information of one file.
pub(super) struct Inlined(Context<Bytes>);

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
