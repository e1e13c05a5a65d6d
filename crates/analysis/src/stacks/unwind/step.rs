//! One step outwards: the rules of a row on the registers of a frame.

use super::{
    Cpu, End, Stack, State,
    expression::{Around, evaluate},
    row::{Cfa, Rows, What},
    table::Table,
};
use crate::stacks::profile::Cause;

/// What one step needs alongside the frame.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub cpu: Cpu,
    /// The file's functions.
    pub table: &'a Table,
    /// Their rules.
    pub rows: &'a Rows,
    pub stack: &'a Stack<'a>,
    /// What is added to the file's addresses in this process.
    pub bias: u64,
}

impl Step<'_> {
    /// The caller's registers, by a row's number.
    pub fn caller(&self, row: u32, state: &State) -> Result<State, End> {
        let (row, rules) = self.rows.get(row).ok_or(End::Lost(Cause::Broken))?;
        let source = self.table.source_at(row.source).ok_or(End::Lost(Cause::Broken))?;
        let around = Around { source, cpu: self.cpu, state, stack: self.stack, bias: self.bias };
        let cfa = match row.cfa {
            Cfa::Register(number, offset) => state
                .get(usize::from(number))
                .map(|value| self.cut_to_word(value.wrapping_add_signed(offset)))
                .ok_or(End::Lost(state.lack))?,
            Cfa::Expression(expression) => evaluate(expression, around, None).map_err(End::Lost)?,
        };
        let mut caller = *state;
        caller.set(self.cpu.stack_pointer(), Some(cfa));
        let returns_by = usize::from(row.returns_by);
        // Where nothing is said the return address is in its register still; x86-64 has none for it.
        let mut returns_to = self.cpu.link().and_then(|_| state.get(returns_by)).ok_or(state.lack);
        for rule in rules {
            let number = usize::from(rule.register);
            if self.is_popped(rule.what, state, cfa) {
                continue;
            }
            let value = self.value(rule.what, around, cfa);
            if number == returns_by {
                returns_to = match value {
                    Ok(Some(value)) => Ok(value),
                    Ok(None) => return Err(End::Whole),
                    Err(cause) => Err(cause),
                };
            }
            // Only the return address is needed always; another one may lie behind the copy's end.
            if value == Err(Cause::ShortCopy) {
                caller.lack = Cause::ShortCopy;
            }
            caller.set(number, value.ok().flatten());
        }
        let returns_to = returns_to.map_err(End::Lost)?;
        caller.pc = self.cpu.code_address(returns_to);
        caller.exact = row.is_signal;
        self.check(state, &caller, row.is_signal)
    }

    /// Whether a register's place lies below the stack pointer: then it has its former value again.
    ///
    /// LLVM's tables say for the last instruction of a function, behind all pops, where the frame is, but not
    /// that registers are restored. (Seen in Rust's code: the frame pointer at `ret`.)
    fn is_popped(&self, what: What, state: &State, cfa: u64) -> bool {
        let What::At(offset) = what else { return false };
        let pointer = state.get(self.cpu.stack_pointer());
        state.exact && pointer.is_some_and(|pointer| cfa.wrapping_add_signed(offset) < pointer)
    }

    /// Frames follow each other upwards, or it is no stack.
    fn check(&self, state: &State, caller: &State, is_signal: bool) -> Result<State, End> {
        if caller.pc == 0 {
            return Err(End::Whole);
        }
        let pointer = self.cpu.stack_pointer();
        let (before, after) = (state.get(pointer), caller.get(pointer));
        // A handler may have a stack of its own, anywhere; and a function that calls none needs no frame
        // where return addresses are in a register.
        let rises = is_signal
            || after > before
            || (after == before && state.exact && self.cpu.link().is_some());
        if rises { Ok(*caller) } else { Err(End::Lost(Cause::Broken)) }
    }

    fn cut_to_word(&self, value: u64) -> u64 {
        if self.cpu.word() == 8 { value } else { value & u64::from(u32::MAX) }
    }

    /// A register's former value; `None`: it has none.
    #[inline]
    fn value(&self, what: What, around: Around<'_>, cfa: u64) -> Result<Option<u64>, Cause> {
        let read = |address| self.stack.word(self.cpu, self.cut_to_word(address)).map(Some);
        match what {
            What::Undefined => Ok(None),
            What::At(offset) => read(cfa.wrapping_add_signed(offset)),
            What::Is(offset) => Ok(Some(cfa.wrapping_add_signed(offset))),
            What::Register(other) => {
                around.state.get(usize::from(other)).map(Some).ok_or(around.state.lack)
            }
            What::Constant(value) => Ok(Some(value)),
            What::AtExpression(expression) => read(evaluate(expression, around, Some(cfa))?),
            What::IsExpression(expression) => evaluate(expression, around, Some(cfa)).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_whose_place_is_below_the_stack_has_been_popped() {
        let (table, rows) = (Table::default(), Rows::default());
        let stack = Stack { base: 0x1000, bytes: &[], cut: false };
        let step = Step { cpu: Cpu::X86_64, table: &table, rows: &rows, stack: &stack, bias: 0 };
        let mut state = State::default();
        state.set(Cpu::X86_64.stack_pointer(), Some(0x1000));
        // At `ret` the frame ends one word above the stack pointer, and rbp was below the return address.
        assert!(step.is_popped(What::At(-16), &state, 0x1008));
        assert!(!step.is_popped(What::At(-8), &state, 0x1008));
        // A caller's places are above what it has called.
        state.exact = false;
        assert!(!step.is_popped(What::At(-16), &state, 0x1008));
    }
}
