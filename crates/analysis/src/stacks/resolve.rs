//! Samples to frames: each stack as places in one list of frames, outermost first.
//!
//! Puts together which file is where (`space`), who called (`unwind`) and what that is called (`symbols`,
//! debug information, `kernel`). What was found for an address is kept, so that the second sample there
//! costs a look-up. Contents come from [`Files`]; what was missing or wrong is reported by
//! [`Resolver::faults`]. Counting stacks is `fold`'s business.

mod code;
mod generated;
mod inlined;
mod loading;
mod walk;

use std::collections::BTreeMap;

use indexmap::IndexSet;

use self::walk::{Known, Task};
use super::{
    files::{FileId, Files},
    happening::{Happening, Head, Sample},
    kernel::Kernel,
    profile::{Cause, Frame, Module, Naming},
    space::{Process, Space},
    unwind::{End, Stack, State},
};

pub struct Resolver<'f> {
    files: &'f dyn Files,
    head: Head,
    space: Space,
    known: Known<'f>,
    /// The kernel's symbols, read when the first sample asks for them; `None` within where they are hidden.
    kernel: Option<Option<Kernel>>,
    /// The frame that stands for a process.
    processes: BTreeMap<u32, u32>,
    /// The frames of the sample at hand, innermost first.
    innermost_first: Vec<u32>,
}

impl<'f> Resolver<'f> {
    /// Before the first happening. `ids`: what the recorder says of the files, by path.
    pub fn new(files: &'f dyn Files, head: &Head, ids: Vec<FileId>) -> Self {
        Self::with(Names::default(), files, head, ids)
    }

    /// The same, where names of other recordings are known.
    pub(super) fn with(
        names: Names,
        files: &'f dyn Files,
        head: &Head,
        mut ids: Vec<FileId>,
    ) -> Self {
        for (path, build_id) in &head.build_ids {
            if !ids.iter().any(|id| id.path == *path && id.build_id.is_some()) {
                let build_id = Some(build_id.clone());
                ids.push(FileId { path: path.clone(), sha256: None, build_id });
            }
        }
        Resolver {
            files,
            head: head.clone(),
            space: Space::default(),
            known: Known::new(names, files, head.architecture, ids),
            kernel: None,
            processes: BTreeMap::new(),
            innermost_first: Vec::new(),
        }
    }

    /// Takes the next happening. For a sample `out` has its frames then, outermost first: the process, what
    /// is unknown, the user's part, the kernel's. For anything else `out` stays, and the answer is `false`.
    pub fn take(&mut self, happening: &Happening<'_>, out: &mut Vec<u32>) -> bool {
        let Happening::Sample(sample) = happening else {
            if let Some(pid) = self.space.take(happening) {
                self.processes.remove(&pid);
            }
            return false;
        };
        self.innermost_first.clear();
        let hidden = self.kernel_part(sample);
        let unknown = self.user_part(sample);
        out.clear();
        out.push(self.process(sample.pid));
        out.extend(unknown);
        out.extend(self.innermost_first.iter().rev());
        out.extend(hidden);
        true
    }

    pub fn module(&self, place: u32) -> Option<&Module> {
        self.known.names.modules.get_index(place as usize)
    }

    /// A frame by the number that [`Resolver::take`] gave.
    pub fn frame(&self, place: u32) -> Option<&Frame> {
        self.known.names.frames.get_index(place as usize)
    }

    pub(super) fn into_names(self) -> Names {
        self.known.names
    }

    /// One line for each file that was missing, damaged, or of another build.
    pub fn faults(&self) -> Vec<String> {
        let full =
            "more processes, mappings or files than any machine has; what came last was left out";
        let full = self.space.is_full().then(|| full.to_owned());
        self.known.faults.iter().cloned().chain(full).collect()
    }

    fn process(&mut self, pid: u32) -> u32 {
        if let Some(frame) = self.processes.get(&pid) {
            return *frame;
        }
        let name = self.space.process(pid).and_then(|process| process.name.clone());
        let names = &mut self.known.names;
        let name = name.unwrap_or_else(|| format!("pid {pid}"));
        let module = names.module("[process]", false);
        let frame = names.frame(Frame::of(name, Naming::Process, module));
        self.processes.insert(pid, frame);
        frame
    }

    /// The kernel's frames; one for all of them where they have no names.
    fn kernel_part(&mut self, sample: &Sample<'_>) -> Option<u32> {
        let only = [sample.ip];
        let stack = match sample.kernel {
            [] if sample.in_kernel => &only,
            stack => stack,
        };
        if stack.is_empty() {
            return None;
        }
        let (files, faults) = (self.files, &mut self.known.faults);
        let kernel = self.kernel.get_or_insert_with(|| {
            let text = files.kernel_symbols();
            let kernel = text.and_then(|text| Kernel::parse(&text).map_err(str::to_owned));
            kernel.map_err(|why| faults.insert(format!("kernel symbols: {why}"))).ok()
        });
        let Some(kernel) = kernel else {
            let names = &mut self.known.names;
            let module = names.module("[kernel]", true);
            return Some(names.unknown(Cause::KernelHidden, module));
        };
        for (place, address) in stack.iter().enumerate() {
            // All but the first are behind a call.
            let address = address.wrapping_sub(u64::from(place > 0));
            let caller = stack.get(place + 1).map(|address| address.wrapping_sub(1));
            let frame = self.known.kernel_frame(kernel, address, caller);
            self.innermost_first.push(frame);
        }
        None
    }

    /// The user's frames; the answer is the frame for what could not be found.
    fn user_part(&mut self, sample: &Sample<'_>) -> Option<u32> {
        static NOTHING_MAPPED: Process = Process::unknown();
        let registers = sample.registers.filter(|registers| registers.mask != 0);
        let state = registers.as_ref().and_then(State::of);
        let cpu = registers.map_or(self.head.architecture, |registers| registers.architecture);
        let base = state.and_then(|state| state.get(cpu.stack_pointer())).unwrap_or(0);
        let task = Task {
            pid: sample.pid,
            process: self.space.process(sample.pid).unwrap_or(&NOTHING_MAPPED),
            files: self.space.files(),
            cpu,
            stack: Stack { base, bytes: sample.stack, cut: sample.stack_cut },
        };
        let out = &mut self.innermost_first;
        if let Some(state) = state.filter(|_| !sample.stack.is_empty()) {
            let (end, module) = self.known.walk(task, state, out);
            let End::Lost(cause) = end else { return None };
            return Some(self.known.unknown_in(cause, module));
        }
        let pc = [state.map_or(sample.ip, |state| state.pc)];
        let has_user = registers.is_some() || !sample.in_kernel;
        let chain = match sample.chain {
            [] if has_user => &pc,
            chain => chain,
        };
        self.known.chain(task, chain, out);
        // Where stacks were to be copied, and of this one not a byte was, its callers are missing: a process that gives
        // its memory back, in exit or to become another program, has none. No longer copy would hold more.
        let lost = sample.chain.is_empty() && has_user && self.head.stack_bytes > 0;
        lost.then(|| self.known.unknown_in(Cause::NoMapping, None))
    }
}

/// Modules and frames, each once, by the place of its first appearance.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) modules: IndexSet<Module>,
    pub(super) frames: IndexSet<Frame>,
}

impl Names {
    fn module(&mut self, name: &str, kernel: bool) -> u32 {
        self.module_of(Module { name: name.to_owned(), kernel, build_id: None })
    }

    fn module_of(&mut self, module: Module) -> u32 {
        self.modules.insert_full(module).0 as u32
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        self.frames.insert_full(frame).0 as u32
    }

    /// The frame for what is not known.
    fn unknown(&mut self, cause: Cause, module: u32) -> u32 {
        self.frame(Frame::of(cause.name().to_owned(), Naming::Unknown(cause), module))
    }
}
