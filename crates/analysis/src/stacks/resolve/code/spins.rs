//! Which of a file's functions have loops with a spin-wait hint, and whose loop an address is in.
//!
//! A function is taken apart when the first sample is in it. In code with debug information the loop belongs
//! to the innermost function that both the hint and the jump back are in: the hint alone may have come out
//! of the standard library.

use std::collections::BTreeMap;

use super::Code;
use crate::stacks::{
    hint::{self, HintLoop},
    profile::Frame,
};

/// By the functions' first addresses.
#[derive(Debug, Default)]
pub(in super::super) struct Spins {
    functions: BTreeMap<u64, Vec<Owned>>,
    /// The kernel's own code in every process: it tries again where a clock was set meanwhile, which is no
    /// waiting, and has the hint there, and a barrier that looks like one.
    pub(in super::super) is_kernels: bool,
}

/// A loop, and the functions that it is in, innermost first: names of inlined ones and of what they are in.
#[derive(Debug)]
struct Owned {
    within: HintLoop,
    names: Vec<String>,
}

impl Code {
    /// Marks the frame at an address, innermost first, whose loop the address is in.
    pub(super) fn mark_loop(&mut self, address: u64, frames: &mut [Frame]) {
        let Some((start, end)) = self.bounds(address).filter(|_| !self.spins.is_kernels) else {
            return;
        };
        if !self.spins.functions.contains_key(&start) {
            let found = self.loops(start, end);
            self.spins.functions.insert(start, found);
        }
        let known = self.spins.functions.get(&start).into_iter().flatten();
        let around = known.map(|one| (one.within.at(address), one));
        // Of two loops that share their beginning the one that is known to wait counts.
        let Some((spin, owner)) = around.max_by_key(|(spin, _)| *spin) else { return };
        let shared = frames.iter().rev().zip(owner.names.iter().rev());
        let shared = shared.take_while(|(frame, name)| frame.name == **name).count().max(1);
        let owner = frames.len().checked_sub(shared);
        if let Some(frame) = owner.and_then(|place| frames.get_mut(place)) {
            frame.spin = spin;
        }
    }

    fn loops(&self, start: u64, end: u64) -> Vec<Owned> {
        let code = self.elf.at(start);
        let length = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let code = code.get(..length).unwrap_or(code);
        let owned = |within: HintLoop| {
            let names = |address: u64| self.frames(address).into_iter().map(|frame| frame.name);
            let (hint, jump): (Vec<_>, Vec<_>) =
                (names(within.hint).collect(), names(within.jump).collect());
            let both = hint.iter().rev().zip(jump.iter().rev());
            let both = both.take_while(|(one, other)| one == other).count();
            let names = hint.into_iter().rev().take(both).rev();
            Owned { within, names: names.collect() }
        };
        hint::loops(self.cpu, code, start).into_iter().map(owned).collect()
    }
}
