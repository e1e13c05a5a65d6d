//! Stacks, folded: each distinct one once, with how often it was seen in each capture.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stacks::cost::add;

/// Folded stacks of one or several captures of the same thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pub modules: Vec<Module>,
    pub frames: Vec<Frame>,
    pub stacks: Vec<Stack>,
    pub samples: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Places in [`Profile::frames`], outermost first. The first one is the process.
    pub frames: Vec<u32>,
    /// Samples in each capture, in the captures' order.
    pub samples: Vec<u64>,
}

/// What tells frames apart: the name first, then the module, whether it is the kernel's, the naming, and inlining.
type Key<'a> = (&'a str, &'a str, bool, Naming, bool);

/// Frames of one profile.
pub(super) fn exactly<'a>(frame: &'a Frame, module: &'a Module) -> Key<'a> {
    (&frame.name, &module.name, module.kernel, frame.naming, frame.inlined)
}

/// Frames of two builds: each may lie in a folder of its own, and inline other functions.
pub(super) fn in_both<'a>(frame: &'a Frame, module: &'a Module) -> Key<'a> {
    (&frame.name, file_name(&module.name), module.kernel, frame.naming, false)
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Profile {
    pub(super) fn module(&self, frame: &Frame) -> &Module {
        &self.modules[frame.module as usize]
    }

    /// Several profiles as one, their captures side by side, in the order of their frames' names. Frames with one key are
    /// one.
    pub(super) fn merged(
        profiles: &[&Profile],
        key: for<'a> fn(&'a Frame, &'a Module) -> Key<'a>,
    ) -> Self {
        let mut places: BTreeMap<Key, (u32, &Frame, &Module)> = BTreeMap::new();
        for profile in profiles {
            for frame in &profile.frames {
                let module = profile.module(frame);
                places.entry(key(frame, module)).or_insert((0, frame, module));
            }
        }
        let mut merged = Self::default();
        let mut modules: BTreeMap<(&str, bool), u32> = BTreeMap::new();
        for ((_, file, kernel, ..), (place, frame, module)) in &mut places {
            *place = merged.frames.len() as u32;
            let module = *modules.entry((*file, *kernel)).or_insert_with(|| {
                merged.modules.push(module.clone());
                merged.modules.len() as u32 - 1
            });
            merged.frames.push(Frame { module, ..frame.clone() });
        }
        merged.samples = profiles.iter().flat_map(|profile| profile.samples.clone()).collect();
        let (mut stacks, mut first): (BTreeMap<Vec<u32>, Vec<u64>>, _) = Default::default();
        for profile in profiles {
            let place = |frame: &Frame| places[&key(frame, profile.module(frame))].0;
            let places: Vec<u32> = profile.frames.iter().map(place).collect();
            for stack in &profile.stacks {
                let frames = stack.frames.iter().map(|frame| places[*frame as usize]).collect();
                let samples = stacks.entry(frames).or_insert_with(|| vec![0; merged.samples.len()]);
                add(&mut samples[first..], &stack.samples);
            }
            first += profile.samples.len();
        }
        let stack = |(frames, samples)| Stack { frames, samples };
        merged.stacks = stacks.into_iter().map(stack).collect();
        merged
    }
}

/// One place in a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// The function as people write it; for a process its name; for what is unknown the reason.
    pub name: String,
    /// A place in [`Profile::modules`].
    pub module: u32,
    pub naming: Naming,
    /// Whether the compiler put it into the frame before it.
    pub inlined: bool,
}

impl Frame {
    /// A function of its own, not an inlined one.
    pub const fn of(name: String, naming: Naming, module: u32) -> Self {
        Self { name, module, naming, inlined: false }
    }
}

/// How a frame got its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// The root of a stack: a process.
    Process,
    /// By a symbol or debug information.
    Named,
    /// Made up from a function's start (`fun_1a2b0`), or from what alone is called there, because the code has no symbols.
    Synthesised,
    /// No one knows what was here, or what called it.
    Unknown(Cause),
}

/// Why a frame is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// No file is mapped at the address.
    NoMapping,
    /// A file is mapped there, and it is not at hand or cannot be read as ELF.
    NoFile,
    /// The file says nothing about how to find the caller.
    NoUnwindInfo,
    /// The stack goes on behind the copied bytes.
    ShortCopy,
    /// The unwind information leads nowhere: to an address or a value that cannot be.
    Broken,
    /// There is neither a symbol nor a function's start.
    NoSymbol,
    /// The kernel hides its symbols.
    KernelHidden,
}

impl Cause {
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    pub const fn advice(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Cause::NoMapping => (
                "no mapping",
                "code without a file: generated code, which has names only in reports of perf's recordings with \
                 `--root` (from /tmp/perf-PID.map), a mapping that was gone before it was read, or a process that was \
                 giving its memory back; record again from the process's start",
            ),
            Cause::NoFile => (
                "no file",
                "bring the file: `--symbols DIR` with the program as it is on the device, stripped or not",
            ),
            Cause::NoUnwindInfo => (
                "no unwind info",
                "build it with -fasynchronous-unwind-tables, or give its unstripped file with `--symbols DIR`; programs \
                 in Go have none",
            ),
            Cause::ShortCopy => {
                ("stack copy too short", "copy more of the stack: `stack-bytes` up to 65528")
            }
            Cause::Broken => (
                "broken unwind info",
                "usually hand-written code or a damaged stack; the frames below it are right",
            ),
            Cause::NoSymbol => ("no symbol", "give the unstripped file with `--symbols DIR`"),
            Cause::KernelHidden => (
                "kernel hidden",
                "let root see the kernel's symbols: `sysctl kernel.kptr_restrict=0`",
            ),
        }
    }
}

/// A file of code, or what stands for one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Module {
    /// Its path, or `[kernel]`, the name of a kernel module in brackets, `[vdso]`, or `[process]`.
    pub name: String,
    /// Whether its code runs in the kernel.
    pub kernel: bool,
    /// The build's id, hexadecimal, where the file is at hand and has one.
    pub build_id: Option<String>,
}
