//! `.symtab` and `.dynsym`; and the latter without section headers.

use object::{
    Endianness, Object, ObjectSymbol, SymbolFlags, SymbolSection,
    elf::{DT_GNU_HASH, DT_HASH, DT_STRTAB, DT_SYMTAB, FileHeader32, FileHeader64},
    pod::slice_from_bytes,
    read::elf::{Dyn, ElfFile, FileHeader, GnuHashTable, HashTable, ProgramHeader, Sym},
};

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
    let Ok(file) = object::File::parse(&*source.bytes) else { return };
    let before = out.len();
    let symbols = file.symbols().chain(file.dynamic_symbols()).take(MOST_SYMBOLS);
    for symbol in symbols {
        if matches!(symbol.section(), SymbolSection::Undefined | SymbolSection::Absolute) {
            continue;
        }
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        let Ok(name) = symbol.name_bytes() else { continue };
        let (address, size, info) = (symbol.address(), symbol.size(), st_info.0);
        if !add(code, Entry { name, address, size, info }, out) {
            break;
        }
    }
    if out.len() == before && source.sections.is_empty() {
        match source.word {
            8 => bare::<FileHeader64<Endianness>>(source, code, out),
            _ => bare::<FileHeader32<Endianness>>(source, code, out),
        };
    }
}

/// By the dynamic linker's tables alone.
fn bare<H: FileHeader<Endian = Endianness>>(
    source: &Elf,
    code: &Elf,
    out: &mut Vec<Symbol>,
) -> Option<()> {
    let file = ElfFile::<H>::parse(&*source.bytes).ok()?;
    let endian = file.endian();
    let mut headers = file.elf_program_headers().iter();
    let entries = headers.find_map(|header| header.dynamic(endian, file.data()).ok()?)?;
    let value =
        |tag| entries.iter().find(|entry| entry.tag(endian) == tag).map(|it| it.val(endian));
    let (symbols_at, strings_at) = (value(DT_SYMTAB)?, value(DT_STRTAB)?);
    let (symbols, strings) = (source.at(symbols_at), source.at(strings_at));
    // DT_HASH says the number outright; DT_GNU_HASH by its last chain; and linkers put the strings right behind the symbols.
    let by_hash = || {
        let table = HashTable::<H>::parse(endian, source.at(value(DT_HASH)?)).ok()?;
        Some(table.symbol_table_length() as usize)
    };
    let by_gnu_hash = || {
        let table = GnuHashTable::<H>::parse(endian, source.at(value(DT_GNU_HASH)?)).ok()?;
        table.symbol_table_length(endian).map(|length| length as usize)
    };
    let between =
        || usize::try_from(strings_at.checked_sub(symbols_at)? / size_of::<H::Sym>() as u64).ok();
    let count = by_hash().or_else(by_gnu_hash).or_else(between)?;
    // Not more than the segment holds, whatever a table says.
    let count = count.min(symbols.len() / size_of::<H::Sym>()).min(MOST_SYMBOLS);
    let (all, _) = slice_from_bytes::<H::Sym>(symbols, count).ok()?;
    for symbol in all.iter().filter(|symbol| symbol.st_shndx(endian).0 != 0) {
        let name = strings.get(symbol.st_name(endian) as usize..).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let (address, size) = (symbol.st_value(endian).into(), symbol.st_size(endian).into());
        if !add(code, Entry { name, address, size, info: symbol.st_info().0 }, out) {
            break;
        }
    }
    Some(())
}

/// Adds an entry that is a function; whether there is room for more. Many symbols can have one long name, which each of
/// them keeps twice.
fn add(code: &Elf, entry: Entry<'_>, out: &mut Vec<Symbol>) -> bool {
    let Some(symbol) = function(code, entry) else { return true };
    let fits = code.budget.take((2 * symbol.name.len() + size_of::<Symbol>()) as u64);
    if fits {
        out.push(symbol);
    }
    fits
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
    let is_arm = code.architecture == Architecture::Arm;
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
