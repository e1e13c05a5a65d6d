//! Files that speak of another file's code: the packed one within it, and the separate one alongside it.

use std::sync::Arc;

use model::name::Sha256Hex;
use thiserror::Error;

use super::xz;
use crate::stacks::{
    files::DebugKey,
    object::{Elf, Malformed},
};

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

/// Why a file with symbols is not used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfit {
    #[error("its debug file is of no use: {0}")]
    Malformed(#[from] Malformed),
    #[error("its debug file is of another build: {0}")]
    Mismatch(#[from] Mismatch),
}

/// What the file with a program's symbols is looked up by: by its link, or where it has none by the program's own name.
pub fn debug_keys<'a>(
    elf: &'a Elf,
    stripped: Option<&'a Sha256Hex>,
    name: Option<&'a str>,
) -> Vec<DebugKey<'a>> {
    let name = elf.debug_link().map(|link| &*link.name).or(name);
    let keys = [
        elf.build_id().map(DebugKey::BuildId),
        stripped.map(DebugKey::Stripped),
        name.map(DebugKey::Name),
    ];
    keys.into_iter().flatten().collect()
}

/// The first file with symbols that is of the same build as `elf`, among those that are found by these keys; without
/// symbols one is only used where none has them.
pub fn debug_file(
    elf: &Elf,
    keys: &[DebugKey<'_>],
    find: &dyn Fn(DebugKey<'_>) -> Option<Arc<[u8]>>,
    unfit: &mut dyn FnMut(Unfit),
) -> Option<Elf> {
    let mut bare = None;
    for key in keys {
        let Some(bytes) = find(*key) else { continue };
        match fitting(elf, *key, bytes) {
            Ok(debug) if debug.has_symbols() => return Some(debug),
            Ok(debug) => bare = bare.or(Some(debug)),
            Err(why) => unfit(why),
        }
    }
    bare
}

fn fitting(elf: &Elf, key: DebugKey<'_>, bytes: Arc<[u8]>) -> Result<Elf, Unfit> {
    let debug = Elf::parse_within(bytes, elf.budget())?;
    match (matching(elf, &debug), key) {
        // What a file lost when it was stripped has no code to prove itself by, and is known by the file.
        (Err(Mismatch::Code), DebugKey::Stripped(_)) | (Ok(()), _) => Ok(debug),
        (Err(why), _) => Err(why.into()),
    }
}

/// Whether `debug` is of the same build as `elf`.
fn matching(elf: &Elf, debug: &Elf) -> Result<(), Mismatch> {
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
