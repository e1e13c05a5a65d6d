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

use self::walk::{AddressSpace, Known};
use super::{
    files::{FileId, Files},
    happening::{Happening, Head, Sample},
    kernel::Kernel,
    profile::{Cause, Frame, Module, Naming},
    space::Space,
    unwind::{End, State},
};

pub struct Resolver<'f> {
    files: &'f dyn Files,
    head: Head,
    space: Space,
    known: Known<'f>,
    kernel: Symbols,
    /// The frame that stands for a process.
    processes: BTreeMap<u32, u32>,
    /// The frames of the sample at hand, innermost first.
    innermost_first: Vec<u32>,
}

/// The kernel's symbols, read when the first sample asks for them.
enum Symbols {
    Unread,
    Read(Box<Kernel>),
    Hidden,
}

impl<'f> Resolver<'f> {
    /// Before the first happening. `ids`: what the recorder says of the files, by path.
    pub fn new(files: &'f dyn Files, head: &Head, mut ids: Vec<FileId>) -> Self {
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
            known: Known::new(files, head.architecture, ids),
            kernel: Symbols::Unread,
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

    pub fn modules(&self) -> &[Module] {
        &self.known.interned.modules
    }

    /// Every frame so far; a number that [`Resolver::take`] gave is a place in it.
    pub fn frames(&self) -> &[Frame] {
        &self.known.interned.frames
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
        let interned = &mut self.known.interned;
        let name = name.unwrap_or_else(|| format!("pid {pid}"));
        let module = interned.module("[process]", false);
        let frame = interned.frame(Frame::of(name, Naming::Process, module));
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
        if matches!(self.kernel, Symbols::Unread) {
            self.kernel = self.read_kernel();
        }
        let Symbols::Read(kernel) = &self.kernel else {
            let interned = &mut self.known.interned;
            let module = interned.module("[kernel]", true);
            return Some(interned.unknown(Cause::KernelHidden, module));
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

    fn read_kernel(&mut self) -> Symbols {
        let read = self.files.kernel_symbols();
        let parsed = read.and_then(|text| Kernel::parse(&text).map_err(str::to_owned));
        match parsed {
            Ok(kernel) => Symbols::Read(Box::new(kernel)),
            Err(why) => {
                self.known.faults.insert(format!("kernel symbols: {why}"));
                Symbols::Hidden
            }
        }
    }

    /// The user's frames; the answer is the frame for what could not be found.
    fn user_part(&mut self, sample: &Sample<'_>) -> Option<u32> {
        let process = self.space.process(sample.pid);
        let registers = sample.registers.filter(|registers| registers.mask != 0);
        let process = process.unwrap_or(&walk::NOTHING_MAPPED);
        let out = &mut self.innermost_first;
        let at = AddressSpace { pid: sample.pid, process, files: self.space.files() };
        let state = registers.as_ref().and_then(State::of);
        if state.is_some() && !sample.stack.is_empty() {
            let (end, module) = self.known.walk(at, sample, out);
            let End::Lost(cause) = end else { return None };
            return Some(self.known.unknown_in(cause, module));
        }
        let pc = [state.map_or(sample.ip, |state| state.pc)];
        let has_user = registers.is_some() || !sample.in_kernel;
        let chain = match sample.chain {
            [] if has_user => &pc,
            chain => chain,
        };
        self.known.chain(at, chain, out);
        // Where stacks were to be copied, and of this one not a byte was, its callers are missing: a process that gives
        // its memory back, in exit or to become another program, has none. No longer copy would hold more.
        let lost = sample.chain.is_empty() && has_user && self.head.stack_bytes > 0;
        lost.then(|| self.known.unknown_in(Cause::NoMapping, None))
    }
}

/// Modules and frames, each once.
#[derive(Debug, Default)]
struct Interned {
    modules: Vec<Module>,
    frames: Vec<Frame>,
    module_places: BTreeMap<(String, bool), u32>,
    frame_places: BTreeMap<Frame, u32>,
}

impl Interned {
    fn module(&mut self, name: &str, kernel: bool) -> u32 {
        let key = (name.to_owned(), kernel);
        if let Some(place) = self.module_places.get(&key) {
            return *place;
        }
        let place = self.modules.len() as u32;
        self.modules.push(Module { name: key.0.clone(), kernel, build_id: None });
        self.module_places.insert(key, place);
        place
    }

    /// Which build a module is, once its file was read.
    fn identify(&mut self, module: u32, build_id: Option<&str>) {
        if let Some(module) = self.modules.get_mut(module as usize) {
            module.build_id = build_id.map(str::to_owned);
        }
    }

    /// The frame for what no one knows.
    fn unknown(&mut self, cause: Cause, module: u32) -> u32 {
        self.frame(Frame::of(cause.name().to_owned(), Naming::Unknown(cause), module))
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(place) = self.frame_places.get(&frame) {
            return *place;
        }
        let place = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.frame_places.insert(frame, place);
        place
    }
}
