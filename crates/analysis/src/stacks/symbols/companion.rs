//! The separate file that speaks of another file's code.

use std::sync::Arc;

use model::name::Sha256Hex;

use crate::stacks::{files::DebugKey, object::Elf};

/// Neither a build id nor a CRC tells, and the code is another.
const OTHER_CODE: &str = "neither file has a build id, and .text differs";

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
    unfit: &mut dyn FnMut(String),
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

fn fitting(elf: &Elf, key: DebugKey<'_>, bytes: Arc<[u8]>) -> Result<Elf, String> {
    let debug = Elf::parse_within(bytes, &elf.budget)
        .map_err(|why| format!("its debug file is of no use: {why}"))?;
    match (matching(elf, &debug), key) {
        // What a file lost when it was stripped has no code to prove itself by, and is known by the file.
        (Err(OTHER_CODE), DebugKey::Stripped(_)) | (Ok(()), _) => Ok(debug),
        (Err(why), _) => Err(format!("its debug file is of another build: {why}")),
    }
}

/// Whether `debug` is of the same build as `elf`.
fn matching(elf: &Elf, debug: &Elf) -> Result<(), &'static str> {
    if elf.class.architecture != debug.class.architecture {
        return Err("it is for another processor");
    }
    match (elf.build_id(), debug.build_id()) {
        (Some(one), Some(other)) if one == other => return Ok(()),
        (Some(_), Some(_)) => return Err("its build id is another"),
        _ => {}
    }
    if elf.debug_link().is_some_and(|link| crc32(debug.bytes()) == link.crc) || elf.same_code(debug)
    {
        return Ok(());
    }
    Err(match elf.debug_link() {
        Some(_) => "its CRC is not the one in .gnu_debuglink",
        None => OTHER_CODE,
    })
}

/// CRC-32 as zlib computes it; gdb's manual, "Separate Debug Files".
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
