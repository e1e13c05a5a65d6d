//! Callers of code that says nothing of them.
//!
//! musl is built without unwind information, so this is what most stacks of a small device meet. What is
//! followed has to be proven: on x86-64 a word on the stack is the return address if the instruction before
//! it calls the very function that we are in; or if it is behind some other call, near, and everything
//! above it leads to a program's or a thread's beginning. On AArch64 the function's own instructions say
//! where it keeps its return address. Anything less would draw callers that never were.

use super::{Known, LOST, Place, Task};
use crate::stacks::{
    happening::Architecture,
    resolve::code::Code,
    unwind::{
        End, State,
        bare::{
            Call, aarch64_frame, call_before, interrupted, is_thread_end, is_trampoline, jumps_to,
            preserved,
        },
    },
};

/// How far up the stack a call of the function itself is looked for, words.
const FURTHEST: u64 = 512;

/// How far another call may be. Further up, what an earlier call left behind looks like one.
const NEAR: u64 = 24;

/// How far a function may begin before the instruction, bytes, where no one says where it begins.
const LONGEST: u64 = 4096;

/// Frames above a likely caller that have to lead to an end.
const MOST_ABOVE: usize = 64;

/// The file that the kernel maps into every process.
pub(super) const VDSO: &str = "[vdso]";

pub(super) fn caller(
    known: &mut Known<'_>,
    task: Task<'_>,
    place: Place,
    state: &State,
) -> Result<State, End> {
    // A word on the stack may lead into any file but the kernel's, which calls no one.
    for file in task.process.mappings().iter().map(|mapping| mapping.file) {
        if task.files.get_index(file as usize).is_some_and(|mapped| mapped.path != VDSO) {
            known.slot(file, task.files);
        }
    }
    match proven(known, task, place, state) {
        Err(LOST) => likely(known, task, place, state).ok_or(LOST),
        found => found,
    }
}

/// The caller, if the code itself proves it.
fn proven(known: &Known<'_>, task: Task<'_>, place: Place, state: &State) -> Result<State, End> {
    let callee = Callee::of(known, task, place, state).ok_or(LOST)?;
    let address = place.address.wrapping_add(u64::from(!state.exact));
    let bytes = callee.code.elf.at(address);
    if is_trampoline(task.cpu, bytes) {
        return interrupted(task.cpu, state, &task.stack).map_err(End::Lost);
    }
    if !state.exact && is_thread_end(task.cpu, bytes) {
        return Err(End::Whole);
    }
    let found = match task.cpu {
        Architecture::X86_64 => callee.by_words(),
        Architecture::Aarch64 => callee.by_instructions(),
        Architecture::Arm | Architecture::Other => None,
    };
    found.ok_or(LOST)
}

/// A frame whose caller is looked for.
struct Callee<'a> {
    known: &'a Known<'a>,
    task: Task<'a>,
    place: Place,
    state: &'a State,
    code: &'a Code,
    /// Where its function begins, as far as somebody says.
    function: Option<u64>,
}

impl<'a> Callee<'a> {
    fn of(known: &'a Known<'a>, task: Task<'a>, place: Place, state: &'a State) -> Option<Self> {
        let code = known.code(place.file)?;
        let function = code.function(place.address);
        Some(Self { known, task, place, state, code, function })
    }

    /// The nearest word behind a call of the function.
    fn by_words(&self) -> Option<State> {
        let is_call = |call| matches!(call, Call::Direct(target) if self.is_reached_by(target));
        self.nearest(FURTHEST, is_call)
    }

    /// Behind the nearest word of so many that is behind such a call.
    fn nearest(&self, words: u64, is_call: impl Fn(Call) -> bool) -> Option<State> {
        let Task { cpu, stack, .. } = self.task;
        let base = self.state.get(cpu.stack_pointer())?;
        for slot in (0..words).map(|word| base.wrapping_add(word * cpu.word())) {
            let word = stack.word(cpu, slot).ok()?;
            if self.call_at(word).is_some_and(&is_call) {
                return Some(self.returned(slot, word));
            }
        }
        None
    }

    /// Whether a call of `target` gets to the function: itself, by a stub, or by a jump at its end.
    fn is_reached_by(&self, target: u64) -> bool {
        let Some((other, called)) = self.code_at(target) else { return false };
        let code = self.code;
        let same_file = std::ptr::eq(other, code);
        let Some(function) = self.function else {
            let past = self.place.address.checked_sub(called);
            return same_file && past.is_some_and(|past| past < LONGEST);
        };
        if same_file && called == function {
            return true;
        }
        let symbol = other.symbols.at(called).filter(|symbol| symbol.address == called);
        let Some(symbol) = symbol else { return false };
        let (body, called, end) = match symbol.name.strip_suffix("@plt") {
            Some(name) if code.symbols.has_name(function, name) => return true,
            Some(name) => match code.symbols.named(name) {
                Some((start, end)) => (code, start, end),
                None => return false,
            },
            None if same_file => (code, called, symbol.end),
            None => return false,
        };
        let length = usize::try_from(end.saturating_sub(called).min(LONGEST)).unwrap_or(0);
        let body = body.elf.at(called);
        jumps_to(self.task.cpu, body.get(..length).unwrap_or(body), called, function)
    }

    /// Behind the return to `word`, which is at `slot`.
    fn returned(&self, slot: u64, word: u64) -> State {
        let body = self.function.map_or(&[][..], |from| {
            let length = usize::try_from(self.place.address.wrapping_sub(from)).unwrap_or(0);
            let body = self.code.elf.at(from);
            body.get(..length).unwrap_or(body)
        });
        let Task { cpu, stack, .. } = self.task;
        let mut caller = preserved(self.state, &stack, slot, body);
        if self.function.is_none() {
            caller.known = 0;
        }
        caller.pc = word;
        caller.exact = false;
        caller.set(cpu.stack_pointer(), Some(slot.wrapping_add(cpu.word())));
        caller
    }

    /// The frame that the function made, and the call that its return address is behind.
    fn by_instructions(&self) -> Option<State> {
        let Self { task: Task { cpu, stack, .. }, state, .. } = *self;
        let start = self.function?;
        let length = usize::try_from(self.place.address.checked_sub(start)?).ok()?;
        let frame = aarch64_frame(self.code.elf.at(start).get(..length)?);
        let base = state.get(cpu.stack_pointer())?.checked_add_signed(frame.size)?;
        let mut caller = *state;
        for (number, below) in frame.stored.iter().enumerate().filter(|(_, below)| **below != 0) {
            let value = stack.word(cpu, base.wrapping_add_signed(below.checked_neg()?));
            caller.set(number, value.ok());
        }
        caller.set(cpu.stack_pointer(), Some(base));
        caller.pc = cpu.code_address(caller.get(cpu.link()?)?);
        caller.exact = false;
        let moved = base > state.get(cpu.stack_pointer())? || state.exact;
        (moved && self.call_at(caller.pc).is_some()).then_some(caller)
    }

    /// The call that an address is behind.
    fn call_at(&self, address: u64) -> Option<Call> {
        let (code, place) = self.code_at(address.wrapping_sub(8))?;
        let bytes = code.elf.at(place).first_chunk::<8>()?;
        call_before(self.task.cpu, bytes, address)
    }

    fn code_at(&self, address: u64) -> Option<(&'a Code, u64)> {
        let mapping = self.task.process.mapping(address)?;
        let code = self.known.code(mapping.file)?;
        let place = code.elf.address_of(mapping.offset_of(address))?;
        code.elf.is_code(place).then_some((code, place))
    }
}

/// The nearest word behind any call, if all above it is whole.
///
/// It may call by a register, or call what then jumps to the function.
fn likely(known: &mut Known<'_>, task: Task<'_>, place: Place, state: &State) -> Option<State> {
    if task.cpu != Architecture::X86_64 {
        return None;
    }
    let caller = Callee::of(known, task, place, state)?.nearest(NEAR, |_| true)?;
    ends_well(known, task, caller).then_some(caller)
}

fn ends_well(known: &mut Known<'_>, task: Task<'_>, mut state: State) -> bool {
    for _ in 0..MOST_ABOVE {
        let Ok(place) = known.place(task, state.looked_up()) else { return false };
        let next = match known.row(place) {
            Some(Err(LOST)) => proven(known, task, place, &state),
            _ => known.step(task, place, &state),
        };
        match next {
            Ok(caller) => state = caller,
            Err(end) => return end == End::Whole,
        }
    }
    false
}
