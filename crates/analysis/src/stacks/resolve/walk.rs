//! From frame to frame, through whatever files the addresses are in.

mod bare;

use std::collections::{BTreeMap, BTreeSet};

use self::bare::VDSO;
use super::{
    Names,
    code::{Code, Row, Site},
    generated::GeneratedCode,
    loading::Loading,
};
use crate::stacks::{
    budget::HELD,
    files::{FileId, Files},
    happening::{Architecture, Sample},
    kernel::Kernel,
    profile::{Cause, Frame, Module, Naming},
    space::{MappedFile, Process},
    unwind::{End, Stack, State, Step},
};

/// Deeper than any copy of a stack can be: the smallest frame has 8 bytes, the largest copy 64 KiB.
const MOST_FRAMES: usize = 10_000;

/// The module of code that a process made, where it wrote down the names.
const GENERATED: &str = "[generated code]";

/// The module of code that is in no file.
const ANONYMOUS: &str = "anonymous";

const BROKEN: End = End::Lost(Cause::Broken);

/// A process that the recording does not know.
pub(super) static NOTHING_MAPPED: Process = Process::unknown();

pub(super) struct Known<'f> {
    loading: Loading<'f>,
    /// By the files' places in `space`.
    codes: Vec<Slot>,
    pub(super) names: Names,
    /// The names that processes wrote of the code that they made, by process.
    generated: BTreeMap<u32, GeneratedCode>,
    /// The kernel's frames by their addresses.
    kernel: BTreeMap<u64, u32>,
    /// Lines for people; a set, because many samples fail for one reason.
    pub(super) faults: BTreeSet<String>,
}

#[derive(Default)]
pub(super) enum Slot {
    #[default]
    Unread,
    Nothing,
    /// A file that is not at hand; its module.
    Missing(u32),
    Loaded(Box<Code>),
}

/// What a process has mapped, and the files that this is of, by their numbers.
#[derive(Clone, Copy)]
pub(super) struct AddressSpace<'a> {
    pub(super) pid: u32,
    pub(super) process: &'a Process,
    pub(super) files: &'a [MappedFile],
}

/// Whether a process's seccomp filter is what is called from an address. The kernel compiles that filter without giving
/// it a symbol, and its call is the only indirect one there (`seccomp_run_filters` in `kernel/seccomp.c`, which
/// compilers put into its caller).
fn calls_filter(kernel: &Kernel, address: u64) -> bool {
    let callers = ["__seccomp_filter", "seccomp_run_filters"];
    kernel.function(address).is_some_and(|(name, _)| callers.contains(&name))
}

/// What all frames of one sample have in common.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) cpu: Architecture,
    pub(super) at: AddressSpace<'a>,
    pub(super) stack: &'a Stack<'a>,
}

/// An address of a file, and how its caller is found.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) address: u64,
    pub(super) row: Row,
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
            codes: Vec::new(),
            names,
            generated: BTreeMap::new(),
            kernel: BTreeMap::new(),
            faults: BTreeSet::new(),
        }
    }

    /// All frames of a sample, innermost first, and how and in which module the stack ended.
    pub(super) fn walk(
        &mut self,
        at: AddressSpace<'_>,
        sample: &Sample<'_>,
        out: &mut Vec<u32>,
    ) -> (End, Option<u32>) {
        let first = sample.registers.and_then(|all| Some((all.architecture, State::of(&all)?)));
        let Some((cpu, mut state)) = first else {
            return (End::Lost(Cause::NoUnwindInfo), None);
        };
        let base = state.get(cpu.stack_pointer()).unwrap_or(0);
        let stack = Stack { base, bytes: sample.stack, cut: sample.stack_cut };
        let around = Around { cpu, at, stack: &stack };
        for _ in 0..MOST_FRAMES {
            let (address, file) = match self.locate(at, state.looked_up()) {
                Ok(found) => found,
                Err(stop) => {
                    let Some(frame) = self.generated(at.pid, state.looked_up(), stop.1) else {
                        return stop;
                    };
                    out.push(frame);
                    let module = self.names.module(GENERATED, false);
                    return (End::Lost(Cause::NoUnwindInfo), Some(module));
                }
            };
            let row = self.frames(file, address, out);
            let place = Place { file, address, row };
            let next = match self.step(around, place, &state) {
                Err(End::Lost(Cause::NoUnwindInfo)) if place.row.is_err() => {
                    bare::caller(self, around, place, &state)
                }
                next => next,
            };
            state = match next {
                Ok(caller) => caller,
                Err(end) => return (end, self.module_of(file)),
            };
        }
        (BROKEN, None)
    }

    /// The caller by unwind information alone; `NoUnwindInfo` where there is none.
    #[inline]
    pub(super) fn step(
        &self,
        around: Around<'_>,
        place: Place,
        state: &State,
    ) -> Result<State, End> {
        let Some(Slot::Loaded(code)) = self.codes.get(place.file as usize) else {
            return Err(End::Lost(Cause::NoFile));
        };
        let bias = state.looked_up().wrapping_sub(place.address);
        if code.cpu != around.cpu {
            return Err(BROKEN);
        }
        code.unwind.caller(place.row?, state, Step { cpu: around.cpu, stack: around.stack, bias })
    }

    /// Where an address is, with what is known of it.
    pub(super) fn place(&mut self, at: AddressSpace<'_>, address: u64) -> Result<Place, End> {
        let (address, file) = self.locate(at, address).map_err(|(end, _)| end)?;
        let row = self.site(file, address).map_or(Err(BROKEN), |(_, site)| site.row);
        Ok(Place { file, address, row })
    }

    /// A file by its number, if it is loaded.
    pub(super) fn code(&self, file: u32) -> Option<&Code> {
        match self.codes.get(file as usize)? {
            Slot::Loaded(code) => Some(code),
            _ => None,
        }
    }

    fn module_of(&self, file: u32) -> Option<u32> {
        self.code(file).map(|code| code.module)
    }

    /// The frames of a stack that the kernel walked, innermost first.
    pub(super) fn chain(&mut self, at: AddressSpace<'_>, chain: &[u64], out: &mut Vec<u32>) {
        for (place, address) in chain.iter().enumerate() {
            let address = address.wrapping_sub(u64::from(place > 0));
            match self.locate(at, address) {
                Ok((address, file)) => {
                    let _ = self.frames(file, address, out);
                }
                Err((End::Lost(cause), module)) => {
                    let named = self.generated(at.pid, address, module);
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
            if self.loading.budget.refusals() > refusals {
                self.is_too_large(&path, "");
            }
            self.generated.insert(pid, generated.unwrap_or_default());
        }
        let name = self.generated.get(&pid)?.at(address)?.to_owned();
        let module = self.names.module(GENERATED, false);
        Some(self.names.frames.of(Frame::of(name, Naming::Named, module)))
    }

    pub(super) fn unknown_in(&mut self, cause: Cause, module: Option<u32>) -> u32 {
        let module = module.unwrap_or_else(|| self.names.module(ANONYMOUS, false));
        self.names.unknown(cause, module)
    }

    /// The kernel's frame at an address. Code without a symbol has a name where only one thing is called from there.
    pub(super) fn kernel_frame(
        &mut self,
        kernel: &Kernel,
        address: u64,
        caller: Option<u64>,
    ) -> u32 {
        if let Some(frame) = self.kernel.get(&address) {
            return *frame;
        }
        let unknown = Naming::Unknown(Cause::NoSymbol);
        let (name, naming, module) = match kernel.function(address) {
            Some((name, module)) => (name, Naming::Named, module),
            None if caller.is_some_and(|caller| calls_filter(kernel, caller)) => {
                ("seccomp filter", Naming::Synthesised, "[bpf]")
            }
            None => (Cause::NoSymbol.name(), unknown, "[kernel]"),
        };
        let module = self.names.module(module, true);
        let frame = self.names.frames.of(Frame::of(name.to_owned(), naming, module));
        self.kernel.insert(address, frame);
        frame
    }

    /// Which place of which file is at an address.
    fn locate(
        &mut self,
        at: AddressSpace<'_>,
        address: u64,
    ) -> Result<(u64, u32), (End, Option<u32>)> {
        let nothing = (End::Lost(Cause::NoMapping), None);
        let mapping = at.process.mapping(address).ok_or(nothing)?;
        let is_of_32_bits = address <= u64::from(u32::MAX);
        match self.slot(mapping.file, at.files) {
            // What the recorder knows is the kernel's code for 64-bit programs; others have another one.
            Slot::Loaded(code) if code.is_vdso && code.cpu.word() == 8 && is_of_32_bits => {
                Err((End::Lost(Cause::NoFile), Some(code.module)))
            }
            Slot::Loaded(code) => {
                let found = code.elf.address_of(mapping.offset_of(address));
                let broken = (BROKEN, Some(code.module));
                let address = found.ok_or(broken)?;
                Ok((address, mapping.file))
            }
            Slot::Missing(module) => Err((End::Lost(Cause::NoFile), Some(*module))),
            Slot::Nothing | Slot::Unread => Err(nothing),
        }
    }

    /// A file by its number, read if it was not yet.
    pub(super) fn slot(&mut self, file: u32, files: &[MappedFile]) -> &Slot {
        let place = file as usize;
        if self.codes.len() <= place {
            self.codes.resize_with(place + 1, Slot::default);
        }
        if matches!(self.codes.get(place), Some(Slot::Unread)) {
            let read = files.get(place).map_or(Slot::Nothing, |mapped| self.read(mapped));
            if let Some(slot) = self.codes.get_mut(place) {
                *slot = read;
            }
        }
        self.codes.get(place).unwrap_or(&Slot::Nothing)
    }

    fn read(&mut self, mapped: &MappedFile) -> Slot {
        if !mapped.is_file() {
            return Slot::Nothing;
        }
        let refusals = self.loading.budget.refusals();
        let slot = self.load(mapped);
        if self.loading.budget.refusals() > refusals {
            self.is_too_large(&format!("debug information of {}", mapped.path), "unpacked ");
        }
        slot
    }

    fn is_too_large(&mut self, what: &str, unpacked: &str) {
        self.faults.insert(format!(
            "{what} was not used, or not all of it: {unpacked}it is larger than the {} MiB that one recording may take",
            HELD >> 20
        ));
    }

    fn load(&mut self, mapped: &MappedFile) -> Slot {
        let id = self.loading.id(&mapped.path, mapped.build_id.as_deref());
        let Some(elf) = self.loading.load(&id, &mut self.faults) else {
            return Slot::Missing(self.names.module(&mapped.path, false));
        };
        let (name, build_id) = (mapped.path.clone(), elf.build_id.clone());
        let module = self.names.modules.of(Module { name, kernel: false, build_id });
        let debug = self.loading.debug(&elf, &id, &mut self.faults);
        let mut code = Code::new(elf, debug.as_ref(), module);
        code.is_vdso = mapped.path == VDSO;
        if let Some(fault) = code.unwind.fault() {
            self.faults.insert(format!("{}: {fault}", mapped.path));
        }
        Slot::Loaded(Box::new(code))
    }

    /// Adds the frames at an address of a file, innermost first; how their caller is found.
    #[inline]
    fn frames(&mut self, file: u32, address: u64, out: &mut Vec<u32>) -> Row {
        let Some((code, site)) = self.site(file, address) else { return Err(BROKEN) };
        out.extend_from_slice(code.frames_of(site));
        site.row
    }

    #[inline]
    fn site(&mut self, file: u32, address: u64) -> Option<(&Code, Site)> {
        let Some(Slot::Loaded(code)) = self.codes.get_mut(file as usize) else { return None };
        let site = code.site(address, &mut self.names);
        Some((code, site))
    }
}
