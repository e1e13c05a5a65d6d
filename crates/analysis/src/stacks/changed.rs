//! Which functions of a program have other instructions than the former build's.
//!
//! Builds put the same function elsewhere, so two are held against each other without the distances in them: what leads
//! to code is known by the name of that code, and what leads to data by its section, or by the symbol that the linker puts there.
//! So a function counts as unchanged where nothing but a constant in memory became another: constants are data, and this is
//! about code. Only x86-64 is compared, in files with symbols. No byte is run.

use std::{collections::BTreeMap, ops::Range};

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

/// So many functions of one name are compared with another: more would be time for a made-up file to take.
const MOST_NAMESAKES: usize = 64;

/// So much of a name's end tells it from others, bytes.
const TELLING: usize = 256;

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

/// Functions of a program that the former build does not have with the same name and instructions, by address. `None` where they
/// cannot be told apart: on another processor, or without symbols.
pub fn functions(before: &Elf, after: &Elf) -> Option<Vec<Changed>> {
    let (before, after) = (Program::of(before)?, Program::of(after)?);
    let mut former: BTreeMap<String, Vec<&Symbol>> = BTreeMap::new();
    for one in before.functions() {
        former.entry(readable(&one.name)).or_default().push(one);
    }
    let changed = |one: &Symbol| {
        let name = readable(&one.name);
        let mut namesakes = former.get(&name).into_iter().flatten().take(MOST_NAMESAKES);
        let same = namesakes.any(|old| is_same((&before, old), (&after, one)));
        (!same).then_some(Changed { name, code: one.address..one.end })
    };
    Some(after.functions().filter_map(changed).collect())
}

/// A function's parts, one for each page that it lies on.
pub fn pages<'a>(elf: &'a Elf, code: &Range<u64>) -> Vec<OnPage<'a>> {
    let first = code.start / PAGE * PAGE;
    let end = code.end.min(code.start.saturating_add(LONGEST));
    let firsts = (first..end).step_by(PAGE as usize);
    firsts.filter_map(|page| on_page(elf, page, code)).collect()
}

fn on_page<'a>(elf: &'a Elf, page: u64, code: &Range<u64>) -> Option<OnPage<'a>> {
    let segment = elf.segments.iter().find(|segment| {
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

struct Program<'a> {
    elf: &'a Elf,
    symbols: Symbols,
    cells: BTreeMap<u64, String>,
}

impl<'a> Program<'a> {
    fn of(elf: &'a Elf) -> Option<Self> {
        if elf.class.architecture != Architecture::X86_64 {
            return None;
        }
        let program = Self { elf, symbols: Symbols::of(elf, None), cells: cells(elf) };
        let lengths = program.functions().map(|one| one.end - one.address);
        let length = lengths.fold(0_u64, u64::saturating_add);
        (1..=MOST).contains(&length).then_some(program)
    }

    /// Those whose length is known.
    fn functions(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.all().iter().filter(|one| one.sized && one.end > one.address)
    }

    fn code(&self, function: &Symbol) -> &'a [u8] {
        let length = (function.end - function.address).min(LONGEST) as usize;
        let all = self.elf.at(function.address);
        all.get(..length).unwrap_or(all)
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

/// Whether two functions differ in nothing but how far the same places are from them.
fn is_same(before: (&Program, &Symbol), after: (&Program, &Symbol)) -> bool {
    let codes = [before, after].map(|(program, function)| program.code(function));
    if codes[0].len() != codes[1].len() {
        return false;
    }
    let leads_to =
        |(program, function): (&Program, &Symbol), code: &[u8], at: usize, behind: u64| {
            let four = code.get(at..)?.first_chunk()?;
            let end = function.address + at as u64 + 4 + behind;
            Some(program.place(function, end.wrapping_add_signed(i32::from_le_bytes(*four).into())))
        };
    // A distance counts from the instruction's end: behind one to data a constant may stand.
    let is_distance = |at: usize| {
        let code = codes[1].get(..at).unwrap_or_default();
        let to_data = code.last().is_some_and(|form| form & 0xc7 == 0x05);
        let to_code = matches!(code, [.., 0xe8 | 0xe9] | [.., 0x0f, 0x80..=0x8f]);
        (to_data || to_code)
            && [0, 1, 2, 4].iter().any(|behind| {
                let place = leads_to(after, codes[1], at, *behind);
                place.is_some() && place == leads_to(before, codes[0], at, *behind)
            })
    };
    let mut at = 0;
    while let Some(other) = (at..codes[0].len()).find(|at| codes[0][*at] != codes[1][*at]) {
        let Some(first) = (other.saturating_sub(3).max(at)..=other).find(|at| is_distance(*at))
        else {
            return false;
        };
        at = first + 4;
    }
    true
}
