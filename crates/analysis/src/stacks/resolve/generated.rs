//! Reads `/tmp/perf-PID.map`: names of the code that a program makes while it runs, written by that program.
//!
//! A line is a start and a size, hexadecimal, and a name up to its end (`tools/perf/Documentation/jit-interface.txt`).
//! Anyone can write such a file, so damaged lines are skipped, and names are only text.

use std::collections::BTreeMap;

use crate::stacks::{budget::Budget, symbols::LONGEST_NAME};

/// Memory for a function without its name, bytes.
const AROUND: usize = 64;

#[derive(Debug, Default)]
pub(super) struct GeneratedCode {
    /// By first address: the address behind the last one, and the name.
    functions: BTreeMap<u64, (u64, Box<str>)>,
}

impl GeneratedCode {
    pub(super) fn parse(text: &[u8], budget: &Budget) -> Self {
        let mut generated = Self::default();
        for (start, end, name) in text.split(|byte| *byte == b'\n').filter_map(function) {
            if !budget.take((name.len() + AROUND) as u64) {
                break;
            }
            // Code is moved and its place used again: what was written last holds.
            while let Some((&within, _)) = generated.functions.range(start..end).next() {
                generated.functions.remove(&within);
            }
            generated.functions.insert(start, (end, name.into()));
        }
        generated
    }

    /// The function that an address is in.
    pub(super) fn at(&self, address: u64) -> Option<&str> {
        let (_, (end, name)) = self.functions.range(..=address).next_back()?;
        (address < *end).then_some(name)
    }
}

/// A line: first address, behind the last one, name.
fn function(line: &[u8]) -> Option<(u64, u64, &str)> {
    let mut words = std::str::from_utf8(line).ok()?.splitn(3, ' ');
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (start, size) = (number()?, number()?);
    let name = words.next()?.trim();
    let end = start.checked_add(size).filter(|end| *end > start)?;
    (!name.is_empty() && name.len() <= LONGEST_NAME).then_some((start, end, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_last_holds_and_what_is_no_line_is_left_out() {
        let text = b"1000 100 JS:~poll /app.js:3:1\nnonsense\n\n1100 0 none\n1100 xyz none\n-1 5 none\n\
            ffffffffffffffff 5 none\n\xff 1 none\n2000 100 old\n2050 100 other\n1ff0 80 new\n1100 10 last";
        let generated = GeneratedCode::parse(text, &Budget::default());
        let poll = Some("JS:~poll /app.js:3:1");
        let cases = [
            (0xfff, None),
            (0x1000, poll),
            (0x10ff, poll),
            (0x110f, Some("last")),
            (0x1110, None),
            (0x2000, Some("new")),
            (0x206f, Some("new")),
            // Its beginning was written over.
            (0x2070, None),
            (u64::MAX, None),
        ];
        for (address, name) in cases {
            assert_eq!(generated.at(address), name, "{address:#x}");
        }
    }
}
