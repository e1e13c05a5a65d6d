//! Stubs that jump into other libraries, named after what they jump to: `strlen@plt`.
//!
//! Found by reading the stubs' instructions, because their order is the linker's affair: which cell of the
//! global offset table they load, and which symbol is put there.

use std::collections::BTreeMap;

use object::{Object, ObjectSymbol, ObjectSymbolTable, RelocationTarget};

use super::{Kind, Symbol};
use crate::stacks::{happening::Architecture, object::Elf};

const SECTIONS: [&str; 4] = [".plt", ".plt.sec", ".plt.got", ".iplt"];

/// Both processors' stubs begin at multiples of 8 or 16.
const STEP: usize = 8;

/// More than a table has.
const MOST_STUBS: usize = 1 << 18;

pub(super) fn read(elf: &Elf, out: &mut Vec<Symbol>) {
    let architecture = elf.class.architecture;
    if !matches!(architecture, Architecture::X86_64 | Architecture::Aarch64) {
        return;
    }
    let names = cells(elf);
    if names.is_empty() {
        return;
    }
    for section in SECTIONS.into_iter().filter_map(|name| elf.section(name)) {
        let Some(bytes) = section.content.clone().and_then(|range| elf.bytes().get(range)) else {
            continue;
        };
        for at in (0..bytes.len()).step_by(STEP).take(MOST_STUBS) {
            let Some(stub) = bytes.get(at..) else { break };
            let address = section.address.wrapping_add(at as u64);
            let found = match architecture {
                Architecture::X86_64 => x86_64(stub, address),
                _ => aarch64(stub, address),
            };
            let Some((cell, length)) = found else { continue };
            let Some(name) = names.get(&cell) else { continue };
            out.push(Symbol {
                address,
                end: address.saturating_add(length),
                name: format!("{name}@plt").into(),
                kind: Kind::Stub,
                sized: true,
                local: true,
                weak: false,
            });
        }
    }
}

/// Which symbol is put into which cell.
pub(in crate::stacks) fn cells(elf: &Elf) -> BTreeMap<u64, String> {
    let read = || {
        let file = object::File::parse(elf.bytes()).ok()?;
        let symbols = file.dynamic_symbol_table()?;
        let named = |(cell, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            let name = symbols.symbol_by_index(index).ok()?;
            let name = name.name().ok().filter(|name| !name.is_empty())?;
            Some((cell, name.to_owned()))
        };
        Some(file.dynamic_relocations()?.take(MOST_STUBS).filter_map(named).collect())
    };
    read().unwrap_or_default()
}

/// `[endbr64] [bnd] jmp *CELL(%rip)`: the cell, and the stub's length.
fn x86_64(stub: &[u8], address: u64) -> Option<(u64, u64)> {
    let rest = stub.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(stub);
    let rest = rest.strip_prefix(&[0xf2]).unwrap_or(rest);
    let distance = rest.strip_prefix(&[0xff, 0x25])?.first_chunk()?;
    let behind = (stub.len() - rest.len()) as u64 + 6;
    let distance = i64::from(i32::from_le_bytes(*distance));
    let cell = address.wrapping_add(behind).wrapping_add_signed(distance);
    // What follows pushes the relocation's number and jumps to the linker; in `.plt.got` nothing does.
    let pushes = stub.get(behind as usize) == Some(&0x68);
    let length = if pushes || behind > 6 { 16 } else { 8 };
    Some((cell, length))
}

/// `[bti c] adrp x16, PAGE; ldr x17, [x16, #PART]; …; br x17`
fn aarch64(stub: &[u8], address: u64) -> Option<(u64, u64)> {
    let word = |place: usize| {
        let four = stub.get(place * 4..)?.first_chunk()?;
        Some(u32::from_le_bytes(*four))
    };
    let first = usize::from(word(0)? == 0xd503_245f);
    let (adrp, ldr) = (word(first)?, word(first + 1)?);
    let is_stub = adrp & 0x9f00_001f == 0x9000_0010 && ldr & 0xffc0_03ff == 0xf940_0211;
    if !is_stub {
        return None;
    }
    let pages = u64::from(adrp >> 29 & 3) | u64::from(adrp >> 5 & 0x7_ffff) << 2;
    // 21 bits with a sign.
    let pages = (pages << 43) as i64 >> 43;
    let page = (address.wrapping_add(first as u64 * 4) & !0xfff).wrapping_add_signed(pages << 12);
    let part = u64::from(ldr >> 10 & 0xfff) * 8;
    Some((page.wrapping_add(part), if first == 1 { 24 } else { 16 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_of_both_processors_are_read() {
        // endbr64; bnd jmp *0x2f75(%rip)
        let secure = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x75, 0x2f, 0, 0, 0x0f, 0x1f];
        assert_eq!(x86_64(&secure, 0x1050), Some((0x1050 + 11 + 0x2f75, 16)));
        // jmp *0x2fe2(%rip); push $0
        let plain = [0xff, 0x25, 0xe2, 0x2f, 0, 0, 0x68, 0, 0, 0, 0];
        assert_eq!(x86_64(&plain, 0x1030), Some((0x1036 + 0x2fe2, 16)));
        assert_eq!(x86_64(&[0x90; 16], 0x1030), None);
        // adrp x16, 0x11000 (from 0x610); ldr x17, [x16, #4072]
        let adrp = 0x9000_0010_u32 | (0x11 & 3) << 29 | (0x11 >> 2) << 5;
        let ldr = 0xf940_0211_u32 | (4072 / 8) << 10;
        let stub = [adrp.to_le_bytes(), ldr.to_le_bytes()].concat();
        assert_eq!(aarch64(&stub, 0x610), Some((0x11000 + 4072, 16)));
    }
}
