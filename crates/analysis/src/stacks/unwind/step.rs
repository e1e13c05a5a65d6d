//! One step outwards: the rules of a row on the registers of a frame.
//!
//! Rules that are little programs themselves (in procedure linkage tables, in signal frames, after realigned stacks) are
//! run by gimli; we answer what they ask for.

use gimli::{CfaRule, Encoding, EvaluationResult, Format, RegisterRule, UnwindExpression, Value};

use super::{
    Architecture, End, Stack, State,
    table::{Row, Source, Unwinding},
};
use crate::stacks::profile::Cause;

/// More steps than any rule takes; a damaged one may jump in a circle.
const MOST_STEPS: u32 = 256;

/// What one step needs alongside the frame.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub cpu: Architecture,
    pub stack: &'a Stack<'a>,
    /// What is added to the file's addresses in this process.
    pub bias: u64,
}

impl Unwinding {
    /// The caller's registers, by a row of this file.
    pub fn caller(&self, row: &Row, state: &State, step: Step<'_>) -> Result<State, End> {
        let source = &self.sources[usize::from(row.source)];
        let cfa = match row.cfa {
            CfaRule::RegisterAndOffset { register, offset } => state
                .get(usize::from(register.0))
                .map(|value| step.cut_to_word(value.wrapping_add_signed(offset)))
                .ok_or(End::Lost(state.lack))?,
            CfaRule::Expression(program) => {
                step.evaluate(program, (source, state), None).map_err(End::Lost)?
            }
        };
        let mut caller = *state;
        caller.set(step.cpu.stack_pointer(), Some(cfa));
        let returns_by = usize::from(row.returns_by.0);
        // Where nothing is said the return address is in its register still; x86-64 has none for it.
        let mut returns_to = step.cpu.link().and_then(|_| state.get(returns_by)).ok_or(state.lack);
        for (register, rule) in &row.rules {
            let number = usize::from(register.0);
            if step.is_popped(rule, state, cfa) {
                continue;
            }
            let value = step.value(rule, (source, state), cfa);
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
        caller.pc = step.cpu.code_address(returns_to.map_err(End::Lost)?);
        caller.exact = row.is_signal;
        step.check(state, &caller, row.is_signal)
    }
}

impl Step<'_> {
    /// Whether a register's place lies below the stack pointer: then it has its former value again.
    ///
    /// LLVM's tables say for the last instruction of a function, behind all pops, where the frame is, but not
    /// that registers are restored. (Seen in Rust's code: the frame pointer at `ret`.)
    fn is_popped(&self, rule: &RegisterRule<usize>, state: &State, cfa: u64) -> bool {
        let RegisterRule::Offset(offset) = rule else { return false };
        let pointer = state.get(self.cpu.stack_pointer());
        state.exact && pointer.is_some_and(|pointer| cfa.wrapping_add_signed(*offset) < pointer)
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
        value & self.cpu.mask()
    }

    /// A register's former value; `None`: it has none.
    #[inline]
    fn value(
        &self,
        rule: &RegisterRule<usize>,
        of: (&Source, &State),
        cfa: u64,
    ) -> Result<Option<u64>, Cause> {
        let read = |address| self.stack.word(self.cpu, self.cut_to_word(address)).map(Some);
        match *rule {
            RegisterRule::Offset(offset) => read(cfa.wrapping_add_signed(offset)),
            RegisterRule::ValOffset(offset) => Ok(Some(cfa.wrapping_add_signed(offset))),
            RegisterRule::Register(other) => {
                of.1.get(usize::from(other.0)).map(Some).ok_or(of.1.lack)
            }
            RegisterRule::Constant(value) => Ok(Some(value)),
            RegisterRule::Expression(program) => read(self.evaluate(program, of, Some(cfa))?),
            RegisterRule::ValExpression(program) => self.evaluate(program, of, Some(cfa)).map(Some),
            _ => Ok(None),
        }
    }

    /// The value that an expression computes; `first` is on its stack when it starts.
    fn evaluate(
        &self,
        expression: UnwindExpression<usize>,
        (source, state): (&Source, &State),
        first: Option<u64>,
    ) -> Result<u64, Cause> {
        let broken = |_| Cause::Broken;
        let bytes = if source.is_eh {
            expression.get(&source.eh_frame())
        } else {
            expression.get(&source.debug_frame())
        };
        let encoding = Encoding { address_size: source.word, format: Format::Dwarf32, version: 4 };
        let mut program = bytes.map_err(broken)?.evaluation(encoding);
        program.set_max_iterations(MOST_STEPS);
        if let Some(first) = first {
            program.set_initial_value(first);
        }
        let mut asks = program.evaluate().map_err(broken)?;
        for _ in 0..MOST_STEPS {
            asks = match asks {
                EvaluationResult::Complete => {
                    let value = program.value_result().ok_or(Cause::Broken)?;
                    return value.to_u64(self.cpu.mask()).map_err(broken);
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = state.get(usize::from(register.0)).ok_or(state.lack)?;
                    program.resume_with_register(Value::Generic(value))
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = self.stack.bytes_at(address, size.min(8).into())?;
                    program.resume_with_memory(Value::Generic(value))
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    program.resume_with_relocated_address(address.wrapping_add(self.bias))
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    program.resume_with_call_frame_cfa(first.ok_or(Cause::Broken)?)
                }
                _ => return Err(Cause::Broken),
            }
            .map_err(broken)?;
        }
        Err(Cause::Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_register_whose_place_is_below_the_stack_has_been_popped() {
        let stack = Stack { base: 0x1000, bytes: &[], cut: false };
        let step = Step { cpu: Architecture::X86_64, stack: &stack, bias: 0 };
        let mut state = State::default();
        state.set(Architecture::X86_64.stack_pointer(), Some(0x1000));
        // At `ret` the frame ends one word above the stack pointer, and rbp was below the return address.
        assert!(step.is_popped(&RegisterRule::Offset(-16), &state, 0x1008));
        assert!(!step.is_popped(&RegisterRule::Offset(-8), &state, 0x1008));
        // A caller's places are above what it has called.
        state.exact = false;
        assert!(!step.is_popped(&RegisterRule::Offset(-16), &state, 0x1008));
    }
}
