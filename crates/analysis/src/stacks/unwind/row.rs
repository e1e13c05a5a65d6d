//! Rules for one range of addresses, decoded once and kept.
//!
//! Decoding runs a little program for each function; samples come back to the same ones, so all ranges of a
//! function are kept when the first is asked for.

use gimli::{CfaRule, RegisterRule, UnwindContext, UnwindExpression, UnwindSection};

use super::{
    REGISTERS,
    table::{Entry, Slice, Table},
};

/// Rules of one file that are kept: about 100 MiB. Beyond it a function counts as unreadable.
const MOST_RULES: usize = 1 << 22;

/// Why there is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No entry covers the address.
    None,
    /// There is one, and it cannot be read.
    Broken,
}

/// The decoded rules of a file.
#[derive(Debug, Default)]
pub struct Rows {
    rows: Vec<Row>,
    rules: Vec<Rule>,
    /// For each entry of the table its rows; empty where it was not asked for yet.
    decoded: Vec<Decoded>,
    context: Context,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Decoded {
    #[default]
    Not,
    Rows(u32, u32),
    Broken,
}

struct Context(UnwindContext<usize>);

impl Default for Context {
    fn default() -> Self {
        Context(UnwindContext::new())
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Context")
    }
}

/// What holds for a range of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    start: u64,
    end: u64,
    pub(super) cfa: Cfa,
    first_rule: u32,
    rule_count: u16,
    /// The register that stands for the return address.
    pub(super) returns_by: u16,
    /// Whether what it interrupted was no call.
    pub(super) is_signal: bool,
    pub(super) source: u8,
}

/// How the frame's address is found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cfa {
    Register(u8, i64),
    Expression(UnwindExpression<usize>),
}

/// How one register's former value is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) register: u8,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Undefined,
    At(i64),
    Is(i64),
    Register(u8),
    Constant(u64),
    AtExpression(UnwindExpression<usize>),
    IsExpression(UnwindExpression<usize>),
}

impl Rows {
    /// The row of an address, by its number.
    ///
    /// # Errors
    ///
    /// Where nothing covers the address, or what does cannot be read.
    pub fn find(&mut self, table: &Table, address: u64) -> Result<u32, Unusable> {
        let place = table.place(address).ok_or(Unusable::None)?;
        if self.decoded.len() < table.entries().len() {
            self.decoded.resize(table.entries().len(), Decoded::Not);
        }
        if self.decoded.get(place) == Some(&Decoded::Not) {
            let decoded = self.decode(table, place);
            if let Some(slot) = self.decoded.get_mut(place) {
                *slot = decoded;
            }
        }
        let Some(Decoded::Rows(first, end)) = self.decoded.get(place) else {
            return Err(Unusable::Broken);
        };
        let rows = self.rows.get(*first as usize..*end as usize).unwrap_or_default();
        let within = rows.partition_point(|row| row.start <= address).checked_sub(1);
        let within = within.filter(|within| rows.get(*within).is_some_and(|row| address < row.end));
        within.map(|within| first + within as u32).ok_or(Unusable::Broken)
    }

    pub(super) fn get(&self, row: u32) -> Option<(&Row, &[Rule])> {
        let row = self.rows.get(row as usize)?;
        let first = row.first_rule as usize;
        let rules = self.rules.get(first..first + usize::from(row.rule_count))?;
        Some((row, rules))
    }

    fn decode(&mut self, table: &Table, place: usize) -> Decoded {
        let Some(entry) = table.entries().get(place).copied() else { return Decoded::Broken };
        let first = self.rows.len() as u32;
        if self.rules.len() > MOST_RULES || self.rows.len() > MOST_RULES {
            return Decoded::Broken;
        }
        if self.read(table, &entry).is_none() {
            self.rows.truncate(first as usize);
            return Decoded::Broken;
        }
        Decoded::Rows(first, self.rows.len() as u32)
    }

    fn read(&mut self, table: &Table, entry: &Entry) -> Option<()> {
        let source = table.source_at(entry.source_place())?;
        if source.is_eh() {
            self.read_from(&source.eh_frame(), source.bases(), entry)
        } else {
            self.read_from(&source.debug_frame(), source.bases(), entry)
        }
    }

    fn read_from<'a, S: UnwindSection<Slice<'a>>>(
        &mut self,
        section: &S,
        bases: &gimli::BaseAddresses,
        entry: &Entry,
    ) -> Option<()> {
        let offset = S::Offset::from(entry.offset());
        let fde = section.fde_from_offset(bases, offset, S::cie_from_offset).ok()?;
        let returns_by = fde.cie().return_address_register().0;
        let is_signal = fde.is_signal_trampoline();
        let mut rows = fde.rows(section, bases, &mut self.context.0).ok()?;
        while let Some(row) = rows.next_row().ok()? {
            let range = row.start_address()..row.end_address();
            if range.is_empty() {
                continue;
            }
            if self.rules.len() > MOST_RULES || self.rows.len() > MOST_RULES {
                return None;
            }
            let first_rule = self.rules.len() as u32;
            self.rules.extend(
                row.registers()
                    .filter_map(|(register, rule)| rule_of(register.0, rule, returns_by)),
            );
            self.rows.push(Row {
                start: range.start,
                end: range.end,
                cfa: cfa_of(row.cfa())?,
                first_rule,
                rule_count: (self.rules.len() - first_rule as usize) as u16,
                returns_by,
                is_signal,
                source: entry.source_place(),
            });
        }
        Some(())
    }
}

fn cfa_of(rule: &CfaRule<usize>) -> Option<Cfa> {
    match *rule {
        CfaRule::RegisterAndOffset { register, offset } => {
            Some(Cfa::Register(u8::try_from(register.0).ok()?, offset))
        }
        CfaRule::Expression(expression) => Some(Cfa::Expression(expression)),
    }
}

/// A rule that we follow; floating-point registers lead nowhere.
fn rule_of(register: u16, rule: &RegisterRule<usize>, returns_by: u16) -> Option<Rule> {
    let number = u8::try_from(register).ok()?;
    if usize::from(number) >= REGISTERS && register != returns_by {
        return None;
    }
    let what = match *rule {
        RegisterRule::Undefined => What::Undefined,
        RegisterRule::Offset(offset) => What::At(offset),
        RegisterRule::ValOffset(offset) => What::Is(offset),
        RegisterRule::Register(other) => What::Register(u8::try_from(other.0).ok()?),
        RegisterRule::Expression(expression) => What::AtExpression(expression),
        RegisterRule::ValExpression(expression) => What::IsExpression(expression),
        RegisterRule::Constant(value) => What::Constant(value),
        _ => return None,
    };
    Some(Rule { register: number, what })
}
