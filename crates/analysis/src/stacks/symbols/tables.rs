//! `.symtab` and `.dynsym`; and the latter without section headers.

use object::{Object, ObjectSymbol, SymbolFlags, SymbolSection};

use super::{Kind, LONGEST_NAME, Symbol};
use crate::stacks::{happening::Architecture, object::Elf};

/// More symbols than any file has.
const MOST_SYMBOLS: usize = 1 << 23;

/// `STT_…` and `STB_…`: elf.h.
const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const STB_LOCAL: u8 = 0;
const STB_WEAK: u8 = 2;

/// Adds the functions of `source`, whose code is in `code`.
pub(super) fn read(source: &Elf, code: &Elf, out: &mut Vec<Symbol>) {
    let Ok(file) = object::File::parse(source.bytes()) else { return };
    let before = out.len();
    let symbols = file.symbols().chain(file.dynamic_symbols()).take(MOST_SYMBOLS);
    for symbol in symbols {
        if matches!(symbol.section(), SymbolSection::Undefined | SymbolSection::Absolute) {
            continue;
        }
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        let Ok(name) = symbol.name_bytes() else { continue };
        let found = function(
            code,
            Entry { name, address: symbol.address(), size: symbol.size(), info: st_info.0 },
        );
        if found.as_ref().is_some_and(|found| !affords(code, found)) {
            break;
        }
        out.extend(found);
    }
    if out.len() == before && source.sections.is_empty() {
        bare(source, code, out);
    }
}

/// By the dynamic linker's tables alone.
fn bare(source: &Elf, code: &Elf, out: &mut Vec<Symbol>) {
    let Some(dynamic) = source.dynamic() else { return };
    let strings = source.at(dynamic.strings);
    let strings = strings.get(..dynamic.strings_length.min(strings.len())).unwrap_or_default();
    let size = if source.class.is_64 { 24 } else { 16 };
    let table = source.at(dynamic.symbols);
    for entry in table.chunks_exact(size).take(dynamic.count.min(MOST_SYMBOLS)) {
        let read = || {
            let name = source.word32(entry, 0)? as usize;
            // Elf64_Sym: name, info, other, section, value, size; Elf32_Sym has value and size before info.
            let (info, section, address, length) = if size == 24 {
                (4, 6, source.word64(entry, 8)?, source.word64(entry, 16)?)
            } else {
                let word = |at| source.word32(entry, at).map(u64::from);
                (12, 14, word(4)?, word(8)?)
            };
            let defined = *entry.get(section)? != 0 || *entry.get(section + 1)? != 0;
            let name = strings.get(name..)?.split(|byte| *byte == 0).next()?;
            defined.then_some(())?;
            function(code, Entry { name, address, size: length, info: *entry.get(info)? })
        };
        let found = read();
        if found.as_ref().is_some_and(|found| !affords(code, found)) {
            break;
        }
        out.extend(found);
    }
}

/// Many symbols can have one long name, which each of them keeps twice.
fn affords(code: &Elf, symbol: &Symbol) -> bool {
    code.budget.take((2 * symbol.name.len() + size_of::<Symbol>()) as u64)
}

/// An entry of a symbol table, as it stands there.
struct Entry<'a> {
    name: &'a [u8],
    address: u64,
    size: u64,
    info: u8,
}

fn function(code: &Elf, Entry { name, address, size, info }: Entry<'_>) -> Option<Symbol> {
    let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= LONGEST_NAME)?;
    let kind = match info & 15 {
        STT_FUNC => Kind::Function,
        STT_GNU_IFUNC => Kind::Chooser,
        // Mapping symbols (`$x`, `$d.realdata`) say what bytes are, not what they are called.
        STT_NOTYPE if !name.starts_with(['$', '.']) => Kind::Label,
        _ => return None,
    };
    // The lowest bit of ARM's functions says that they are Thumb.
    let is_arm = code.class.architecture == Architecture::Arm;
    let address = if is_arm && kind == Kind::Function { address & !1 } else { address };
    let length = if kind == Kind::Label { 0 } else { size };
    let in_code = || match code.section_at(address) {
        Some(section) => section.executable,
        None => code.is_code(address),
    };
    if name.is_empty() || !in_code() {
        return None;
    }
    Some(Symbol {
        address,
        end: address.saturating_add(length),
        name: name.into(),
        kind,
        sized: length > 0,
        local: info >> 4 == STB_LOCAL,
        weak: info >> 4 == STB_WEAK,
    })
}
