//! Files that speak of another file's code: the packed one within it, and the separate one alongside it.

use thiserror::Error;

use super::xz;
use crate::stacks::object::Elf;

/// Larger packed tables are no one's; unpacked they would fill the memory.
const MOST_PACKED: usize = 16 << 20;

/// How often the decoder holds what it unpacks: its dictionary, its block, and what it gives.
const COPIES: u64 = 3;

/// Why a file is of another build.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// Both have ids, and they differ.
    #[error("its build id is another")]
    BuildId,
    /// The CRC in `.gnu_debuglink` is another file's.
    #[error("its CRC is not the one in .gnu_debuglink")]
    Crc,
    /// Nothing but the code could tell, and it is another.
    #[error("neither file has a build id, and .text differs")]
    Code,
    #[error("it is for another processor")]
    Processor,
}

/// Whether `debug` is of the same build as `elf`.
pub fn matching(elf: &Elf, debug: &Elf) -> Result<(), Mismatch> {
    if elf.class().architecture != debug.class().architecture {
        return Err(Mismatch::Processor);
    }
    match (elf.build_id(), debug.build_id()) {
        (Some(one), Some(other)) if one == other => return Ok(()),
        (Some(_), Some(_)) => return Err(Mismatch::BuildId),
        _ => {}
    }
    if elf.debug_link().is_some_and(|link| crc32(debug.bytes()) == link.crc) || elf.same_code(debug)
    {
        return Ok(());
    }
    Err(if elf.debug_link().is_some() { Mismatch::Crc } else { Mismatch::Code })
}

/// The file within `.gnu_debugdata`: symbols that `.dynsym` lacks, packed with xz.
pub fn packed(elf: &Elf) -> Option<Elf> {
    let packed = elf.contents(".gnu_debugdata").filter(|packed| packed.len() <= MOST_PACKED)?;
    let size = xz::unpacked(&packed)?;
    if !elf.budget().take(size.saturating_mul(COPIES)) {
        return None;
    }
    let mut bytes = Vec::new();
    lzma_rs::xz_decompress(&mut &*packed, &mut bytes).ok()?;
    Elf::parse_within(bytes.into(), elf.budget()).ok()
}

/// CRC-32 as zlib computes it; gdb's manual, "Separate Debug Files".
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
