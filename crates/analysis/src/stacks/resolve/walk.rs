//! From frame to frame, through whatever files the addresses are in.

mod bare;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;

use self::bare::VDSO;
use super::{
    Names,
    code::{Code, Site},
    generated::GeneratedCode,
    loading::Loading,
};
use crate::stacks::{
    budget::HELD,
    files::{FileId, Files},
    happening::Architecture,
    kernel::Kernel,
    profile::{Cause, Frame, Module, Naming},
    space::{MappedFile, Process},
    unwind::{End, Row, Stack, State, Step},
};

/// Deeper than any copy of a stack can be: the smallest frame has 8 bytes, the largest copy 64 KiB.
const MOST_FRAMES: usize = 10_000;

/// The module of code that a process made, where it wrote down the names.
const GENERATED: &str = "[generated code]";

/// The module of code that is in no file.
const ANONYMOUS: &str = "anonymous";

const BROKEN: End = End::Lost(Cause::Broken);

const LOST: End = End::Lost(Cause::NoUnwindInfo);

pub(super) struct Known<'f> {
    loading: Loading<'f>,
    /// By the files' places in `space`.
    codes: BTreeMap<u32, Slot>,
    pub(super) names: Names,
    /// The names that processes wrote of the code that they made, by process.
    generated: BTreeMap<u32, GeneratedCode>,
    /// The kernel's frames by their addresses.
    kernel: BTreeMap<u64, u32>,
    /// Lines for people; a set, because many samples fail for one reason.
    pub(super) faults: BTreeSet<String>,
}

enum Slot {
    Nothing,
    /// A file that is not at hand; its module.
    Missing(u32),
    Loaded(Box<Code>),
}

/// What all frames of one sample have in common.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) pid: u32,
    /// What it has mapped, and the files that this is of, by their numbers.
    pub(super) process: &'a Process,
    pub(super) files: &'a IndexSet<MappedFile>,
    pub(super) cpu: Architecture,
    pub(super) stack: Stack<'a>,
}

/// An address of a file.
#[derive(Clone, Copy)]
pub(super) struct Place {
    file: u32,
    address: u64,
}

impl<'f> Known<'f> {
    pub(super) fn new(
        names: Names,
        files: &'f dyn Files,
        architecture: Architecture,
        ids: Vec<FileId>,
    ) -> Self {
        Known {
            loading: Loading { files, budget: files.budget(), architecture, ids },
            codes: BTreeMap::new(),
            names,
            generated: BTreeMap::new(),
            kernel: BTreeMap::new(),
            faults: BTreeSet::new(),
        }
    }

    /// All frames of a sample, innermost first, and how and in which module the stack ended.
    pub(super) fn walk(
        &mut self,
        task: Task<'_>,
        mut state: State,
        out: &mut Vec<u32>,
    ) -> (End, Option<u32>) {
        for _ in 0..MOST_FRAMES {
            let (address, file) = match self.locate(task, state.looked_up()) {
                Ok(found) => found,
                Err(stop) => {
                    let Some(frame) = self.generated(task.pid, state.looked_up(), stop.1) else {
                        return stop;
                    };
                    out.push(frame);
                    let module = self.names.module(GENERATED, false);
                    return (End::Lost(Cause::NoUnwindInfo), Some(module));
                }
            };
            let place = Place { file, address };
            self.frames(place, out);
            let next = match self.step(task, place, &state) {
                Err(LOST) if matches!(self.row(place), Some(Err(_))) => {
                    bare::caller(self, task, place, &state)
                }
                next => next,
            };
            state = match next {
                Ok(caller) => caller,
                Err(end) => return (end, self.code(file).map(|code| code.module)),
            };
        }
        (BROKEN, None)
    }

    /// The caller by unwind information alone; `NoUnwindInfo` where there is none.
    fn step(&self, task: Task<'_>, place: Place, state: &State) -> Result<State, End> {
        let code = self.code(place.file).ok_or(End::Lost(Cause::NoFile))?;
        let bias = state.looked_up().wrapping_sub(place.address);
        if code.elf.architecture != task.cpu {
            return Err(BROKEN);
        }
        let row = self.row(place).unwrap_or(Err(BROKEN))?;
        code.unwind.caller(row, state, Step { cpu: task.cpu, stack: &task.stack, bias })
    }

    /// Where an address is, which is looked at if it was not yet.
    fn place(&mut self, task: Task<'_>, address: u64) -> Result<Place, End> {
        let (address, file) = self.locate(task, address).map_err(|(end, _)| end)?;
        let place = Place { file, address };
        self.site(place);
        Ok(place)
    }

    /// How the caller of a place that was looked at is found.
    fn row(&self, place: Place) -> Option<Result<&Row, End>> {
        let site = self.code(place.file)?.sites.get(&place.address)?;
        Some(site.row.as_ref().map_err(|end| *end))
    }

    /// A file by its number, if it is loaded.
    fn code(&self, file: u32) -> Option<&Code> {
        match self.codes.get(&file)? {
            Slot::Loaded(code) => Some(code),
            _ => None,
        }
    }

    /// The frames of a stack that the kernel walked, innermost first.
    pub(super) fn chain(&mut self, task: Task<'_>, chain: &[u64], out: &mut Vec<u32>) {
        for (place, address) in chain.iter().enumerate() {
            let address = address.wrapping_sub(u64::from(place > 0));
            match self.locate(task, address) {
                Ok((address, file)) => self.frames(Place { file, address }, out),
                Err((End::Lost(cause), module)) => {
                    let named = self.generated(task.pid, address, module);
                    let frame = named.unwrap_or_else(|| self.unknown_in(cause, module));
                    // Several unknown ones in a row say no more than one.
                    if named.is_some() || out.last() != Some(&frame) {
                        out.push(frame);
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// The frame of code that is in no file, where its process wrote down what it is.
    fn generated(&mut self, pid: u32, address: u64, module: Option<u32>) -> Option<u32> {
        if module.is_some() {
            return None;
        }
        if !self.generated.contains_key(&pid) {
            let (path, refusals) = (format!("/tmp/perf-{pid}.map"), self.loading.budget.refusals());
            let text = self.loading.files.file(&self.loading.id(&path, None));
            let generated = text.map(|text| GeneratedCode::parse(&text, &self.loading.budget));
            self.note_refusals(refusals, &path, "");
            self.generated.insert(pid, generated.unwrap_or_default());
        }
        let name = self.generated.get(&pid)?.at(address)?.to_owned();
        let module = self.names.module(GENERATED, false);
        Some(self.names.frame(Frame::of(name, Naming::Named, module)))
    }

    pub(super) fn unknown_in(&mut self, cause: Cause, module: Option<u32>) -> u32 {
        let module = module.unwrap_or_else(|| self.names.module(ANONYMOUS, false));
        self.names.unknown(cause, module)
    }

    /// The kernel's frame at an address. Code without a symbol has a name where only one thing is called from there: the
    /// kernel compiles a process's seccomp filter without giving it a symbol, and its call is the only indirect one of
    /// its caller (`seccomp_run_filters` in `kernel/seccomp.c`, which compilers put into `__seccomp_filter`).
    pub(super) fn kernel_frame(
        &mut self,
        kernel: &Kernel,
        address: u64,
        caller: Option<u64>,
    ) -> u32 {
        if let Some(frame) = self.kernel.get(&address) {
            return *frame;
        }
        let caller = caller.and_then(|caller| kernel.function(caller)).map(|(name, _)| name);
        let unknown = Naming::Unknown(Cause::NoSymbol);
        let (name, naming, module) = match kernel.function(address) {
            Some((name, module)) => (name, Naming::Named, module),
            None if matches!(caller, Some("__seccomp_filter" | "seccomp_run_filters")) => {
                ("seccomp filter", Naming::Synthesised, "[bpf]")
            }
            None => (Cause::NoSymbol.name(), unknown, "[kernel]"),
        };
        let module = self.names.module(module, true);
        let frame = self.names.frame(Frame::of(name.to_owned(), naming, module));
        self.kernel.insert(address, frame);
        frame
    }

    /// Which place of which file is at an address.
    fn locate(&mut self, task: Task<'_>, address: u64) -> Result<(u64, u32), (End, Option<u32>)> {
        let nothing = (End::Lost(Cause::NoMapping), None);
        let mapping = task.process.mapping(address).ok_or(nothing)?;
        let is_of_32_bits = address <= u64::from(u32::MAX);
        match self.slot(mapping.file, task.files) {
            // What the recorder knows is the kernel's code for 64-bit programs; others have another one.
            Slot::Loaded(code) if code.is_vdso && code.elf.word == 8 && is_of_32_bits => {
                Err((End::Lost(Cause::NoFile), Some(code.module)))
            }
            Slot::Loaded(code) => {
                let found = code.elf.address_of(mapping.offset_of(address));
                let address = found.ok_or((BROKEN, Some(code.module)))?;
                Ok((address, mapping.file))
            }
            Slot::Missing(module) => Err((End::Lost(Cause::NoFile), Some(*module))),
            Slot::Nothing => Err(nothing),
        }
    }

    /// A file by its number, read if it was not yet.
    fn slot(&mut self, file: u32, files: &IndexSet<MappedFile>) -> &Slot {
        if !self.codes.contains_key(&file) {
            let mapped = files.get_index(file as usize).filter(|mapped| mapped.is_file());
            let slot = mapped.map_or(Slot::Nothing, |mapped| self.load(mapped));
            self.codes.insert(file, slot);
        }
        self.codes.get(&file).unwrap_or(&Slot::Nothing)
    }

    /// A line, where the budget refused something since there were so many refusals.
    fn note_refusals(&mut self, before: u64, what: &str, unpacked: &str) {
        if self.loading.budget.refusals() > before {
            let most = HELD >> 20;
            self.faults.insert(format!(
                "{what} was not used, or not all of it: {unpacked}it is larger than the {most} MiB that one recording may take"
            ));
        }
    }

    fn load(&mut self, mapped: &MappedFile) -> Slot {
        let refusals = self.loading.budget.refusals();
        let id = self.loading.id(&mapped.path, mapped.build_id.as_deref());
        let slot = match self.loading.load(&id, &mut self.faults) {
            None => Slot::Missing(self.names.module(&mapped.path, false)),
            Some(elf) => {
                let (name, build_id) = (mapped.path.clone(), elf.build_id.clone());
                let module = self.names.module_of(Module { name, kernel: false, build_id });
                let debug = self.loading.debug(&elf, &id, &mut self.faults);
                let code = Code::new(elf, debug.as_ref(), module, mapped.path == VDSO);
                let fault = code.unwind.fault().map(|fault| format!("{}: {fault}", mapped.path));
                self.faults.extend(fault);
                Slot::Loaded(Box::new(code))
            }
        };
        let what = format!("debug information of {}", mapped.path);
        self.note_refusals(refusals, &what, "unpacked ");
        slot
    }

    /// Adds the frames at a place, innermost first.
    fn frames(&mut self, place: Place, out: &mut Vec<u32>) {
        out.extend(self.site(place).into_iter().flat_map(|site| &site.frames));
    }

    fn site(&mut self, place: Place) -> Option<&Site> {
        let Some(Slot::Loaded(code)) = self.codes.get_mut(&place.file) else { return None };
        Some(code.site(place.address, &mut self.names))
    }
}
