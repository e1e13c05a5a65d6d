//! Rules that are little programs: in procedure linkage tables, in signal frames, after realigned stacks.
//!
//! gimli runs them; we answer what they ask for.

use gimli::{Encoding, EvaluationResult, Format, UnwindExpression, Value};

use super::{Cpu, Stack, State, table::Source};
use crate::stacks::profile::Cause;

/// More steps than any rule takes; a damaged one may jump in a circle.
const MOST_STEPS: u32 = 256;

/// What a rule is evaluated with.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// The section that the rule is in.
    pub(super) source: &'a Source,
    pub(super) cpu: Cpu,
    pub(super) state: &'a State,
    pub(super) stack: &'a Stack<'a>,
    /// What is added to addresses of the file.
    pub(super) bias: u64,
}

/// The value that an expression computes; `first` is on its stack when it starts.
pub(super) fn evaluate(
    expression: UnwindExpression<usize>,
    around: Around<'_>,
    first: Option<u64>,
) -> Result<u64, Cause> {
    let (source, broken) = (around.source, |_| Cause::Broken);
    let bytes = if source.is_eh() {
        expression.get(&source.eh_frame()).map_err(broken)?
    } else {
        expression.get(&source.debug_frame()).map_err(broken)?
    };
    let encoding = Encoding { address_size: source.word(), format: Format::Dwarf32, version: 4 };
    let mut program = bytes.evaluation(encoding);
    program.set_max_iterations(MOST_STEPS);
    if let Some(first) = first {
        program.set_initial_value(first);
    }
    let mut asks = program.evaluate().map_err(broken)?;
    for _ in 0..MOST_STEPS {
        asks = match asks {
            EvaluationResult::Complete => {
                let value = program.value_result().ok_or(Cause::Broken)?;
                return value.to_u64(mask(around.cpu)).map_err(broken);
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = around.state.get(usize::from(register.0));
                let value = value.ok_or(around.state.lack)?;
                program.resume_with_register(Value::Generic(value))
            }
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let value = around.stack.bytes_at(address, size.min(8))?;
                program.resume_with_memory(Value::Generic(value))
            }
            EvaluationResult::RequiresRelocatedAddress(address) => {
                program.resume_with_relocated_address(address.wrapping_add(around.bias))
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

fn mask(cpu: Cpu) -> u64 {
    if cpu.word() == 8 { u64::MAX } else { u64::from(u32::MAX) }
}
