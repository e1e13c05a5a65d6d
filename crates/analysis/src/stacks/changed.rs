//! Which functions of a program have other instructions than any of a former build has.
//!
//! Builds put the same function elsewhere, so instructions are held against each other without the distances in them: what leads
//! to code is known by the name of that code, and what leads to data by its section, or by the symbol that the linker puts there.
//! So a function counts as unchanged where nothing but a constant in memory became another: constants are data, and this is
//! about code. Only x86-64 is taken apart, in files with symbols. No byte is run.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use iced_x86::{ConstantOffsets, Decoder, DecoderOptions, Instruction, OpKind};
use sha2::{Digest, Sha256};

use super::{
    happening::Architecture,
    names::{readable, without_unit},
    object::Elf,
    symbols::{Symbol, Symbols, cells},
};

/// Pages begin at multiples of it, in files as in memory.
const PAGE: u64 = 4096;

/// Of a longer function the rest is not read, and functions that are longer together are not held against each other: it would
/// be time for a file that is made up to take it. Bytes.
const LONGEST: u64 = 1 << 20;
const MOST: u64 = 64 << 20;

/// So much of a name's end tells it from others, bytes.
const TELLING: usize = 256;

/// What a function is known by.
type Sum = [u8; 32];

/// A function that is another one than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Its name, readable.
    pub name: String,
    /// Where it is, before relocation.
    pub code: Range<u64>,
}

/// A part of a function on one page, with what the file has for that page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnPage<'a> {
    /// Where on the page the function's part is.
    pub code: Range<u16>,
    /// Where on the page the content begins.
    pub from: u16,
    /// What the program's code holds there.
    pub content: &'a [u8],
}

/// Functions of a program whose instructions no function of the former build has, by address. `None` where they cannot be told
/// apart: on another processor, or without symbols.
pub fn functions(before: &Elf, after: &Elf) -> Option<Vec<Changed>> {
    let (before, after) = (Program::of(before)?, Program::of(after)?);
    let known: BTreeSet<Sum> = before.functions().map(|one| before.body(one)).collect();
    let changed = after.functions().filter(|one| !known.contains(&after.body(one)));
    let named = |one: &Symbol| Changed { name: readable(&one.name), code: one.address..one.end };
    Some(changed.map(named).collect())
}

/// A function's parts, one for each page that it lies on.
pub fn pages<'a>(elf: &'a Elf, code: &Range<u64>) -> Vec<OnPage<'a>> {
    let first = code.start / PAGE * PAGE;
    let end = code.end.min(code.start.saturating_add(LONGEST));
    let firsts = (first..end).step_by(PAGE as usize);
    firsts.filter_map(|page| on_page(elf, page, code)).collect()
}

fn on_page<'a>(elf: &'a Elf, page: u64, code: &Range<u64>) -> Option<OnPage<'a>> {
    let segment = elf.segments().iter().find(|segment| {
        let end = segment.address.saturating_add(segment.in_file);
        segment.executable && (segment.address..end).contains(&page.max(code.start))
    })?;
    let from = page.max(segment.address);
    let all = elf.at(from);
    let content = all.get(..((PAGE - (from - page)) as usize).min(all.len()))?;
    let place = |address: u64| address.saturating_sub(page).min(PAGE) as u16;
    let from = place(from);
    let first = place(code.start);
    let end = place(code.end).min(from + content.len() as u16);
    (first < end).then_some(OnPage { code: first..end, from, content })
}

/// A program that is taken apart.
struct Program<'a> {
    elf: &'a Elf,
    symbols: Symbols,
    cells: BTreeMap<u64, String>,
}

impl<'a> Program<'a> {
    fn of(elf: &'a Elf) -> Option<Self> {
        if elf.class().architecture != Architecture::X86_64 {
            return None;
        }
        let program = Self { elf, symbols: Symbols::of(elf, None, None), cells: cells(elf) };
        let lengths = program.functions().map(|one| one.end - one.address);
        let length = lengths.fold(0_u64, u64::saturating_add);
        (1..=MOST).contains(&length).then_some(program)
    }

    /// Those whose length is known.
    fn functions(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.all().iter().filter(|one| one.sized && one.end > one.address)
    }

    /// What a function does, wherever it is.
    fn body(&self, function: &Symbol) -> Sum {
        let length = (function.end - function.address).min(LONGEST) as usize;
        let all = self.elf.at(function.address);
        let code = all.get(..length).unwrap_or(all);
        let mut decoder = Decoder::with_ip(64, code, function.address, DecoderOptions::NONE);
        let mut body = Sha256::new();
        while decoder.can_decode() {
            let first = decoder.position();
            let one = decoder.decode();
            let bytes = &code[first..decoder.position()];
            match led_to(&one, &decoder.get_constant_offsets(&one)) {
                None => body.update(bytes),
                Some((distance, target)) => {
                    body.update(&bytes[..distance.start]);
                    body.update(&bytes[distance.end..]);
                    body.update(self.place(function, target));
                }
            }
        }
        body.finalize().into()
    }

    /// The name of an address, the same in every build.
    fn place(&self, function: &Symbol, address: u64) -> String {
        if (function.address..function.end).contains(&address) {
            return format!("+{}", address - function.address);
        }
        if let Some(symbol) = self.symbols.at(address) {
            let name = without_unit(&symbol.name);
            let cut = name.floor_char_boundary(name.len().saturating_sub(TELLING));
            return format!("{}+{}", &name[cut..], address - symbol.address);
        }
        let section = || self.elf.section_at(address).map(|section| section.name.clone());
        self.cells.get(&address).cloned().or_else(section).unwrap_or_default()
    }
}

/// Where an instruction leads by a distance from itself, and which of its bytes that distance is.
fn led_to(one: &Instruction, constants: &ConstantOffsets) -> Option<(Range<usize>, u64)> {
    let bytes = |first: usize, size: usize| first..first + size;
    if one.op_kinds().any(|kind| kind == OpKind::NearBranch64) {
        let distance = bytes(constants.immediate_offset(), constants.immediate_size());
        return Some((distance, one.near_branch_target()));
    }
    let distance = bytes(constants.displacement_offset(), constants.displacement_size());
    one.is_ip_rel_memory_operand().then(|| (distance, one.ip_rel_memory_address()))
}
