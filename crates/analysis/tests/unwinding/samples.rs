//! Samples around the user's stack: kernels, chains, processes that no one knows.

use std::sync::Arc;

use analysis::stacks::{
    files::{DebugKey, FileId, Files},
    happening::{Architecture, Happening, Head, Registers, Sample},
    profile::{Cause, Naming},
    resolve::Resolver,
};

/// Names of code: the kernel's, and what process 5 generated.
#[derive(Debug)]
struct Names(&'static str);

impl Files for Names {
    fn file(&self, id: &FileId) -> Option<Arc<[u8]>> {
        (id.path == "/tmp/perf-5.map").then(|| self.0.as_bytes().into())
    }

    fn debug(&self, _: DebugKey<'_>) -> Option<Arc<[u8]>> {
        None
    }

    fn kernel_symbols(&self) -> Result<Arc<[u8]>, String> {
        Ok(self.0.as_bytes().into())
    }
}

fn resolved(files: &dyn Files, sample: Sample<'_>) -> (Vec<(String, String)>, Vec<Naming>) {
    resolved_with(files, &Head::default(), sample)
}

fn resolved_with(
    files: &dyn Files,
    head: &Head,
    sample: Sample<'_>,
) -> (Vec<(String, String)>, Vec<Naming>) {
    let mut resolver = Resolver::new(files, head, Vec::new());
    let mut out = Vec::new();
    assert!(resolver.take(&Happening::Sample(sample), &mut out));
    let frames = out.iter().map(|place| resolver.frames()[*place as usize].clone());
    let frames: Vec<_> = frames.collect();
    let module = |place: u32| resolver.modules()[place as usize].name.clone();
    let names = frames.iter().map(|frame| (frame.name.clone(), module(frame.module)));
    (names.collect(), frames.iter().map(|frame| frame.naming).collect())
}

#[test]
fn the_kernels_frames_are_outermost_first_with_their_modules() {
    let files = Names(
        "ffffffff81000000 T entry\nffffffff81001000 t middle\nffffffffc0000000 t rx\t[mac80211]\n",
    );
    let kernel = [0xffff_ffff_c000_0000, 0xffff_ffff_8100_1010, 0xffff_ffff_8100_1000];
    let sample = Sample { pid: 5, tid: 5, in_kernel: true, kernel: &kernel, ..Sample::default() };
    let (names, _) = resolved(&files, sample);
    let names: Vec<_> = names.iter().map(|(name, module)| (&**name, &**module)).collect();
    // The outermost is behind a call at the end of `entry`.
    assert_eq!(
        names,
        [
            ("pid 5", "[process]"),
            ("entry", "[kernel]"),
            ("middle", "[kernel]"),
            ("rx", "[mac80211]")
        ]
    );
}

#[test]
fn a_filter_that_the_kernel_compiled_is_named_by_its_caller_and_other_code_without_a_symbol_is_not()
{
    let files = Names(
        "ffffffff81000000 T entry\nffffffff81001000 t __seccomp_filter\nffffffff81002000 t other\n",
    );
    let of = |caller: u64| {
        let kernel = [0xffff_ffff_7000_0000, caller, 0xffff_ffff_8100_0010];
        let sample =
            Sample { pid: 5, tid: 5, in_kernel: true, kernel: &kernel, ..Sample::default() };
        let (names, namings) = resolved(&files, sample);
        (names.last().unwrap().clone(), *namings.last().unwrap())
    };
    let filter = ("seccomp filter".to_owned(), "[bpf]".to_owned());
    assert_eq!(of(0xffff_ffff_8100_1010), (filter, Naming::Synthesised));
    let unknown = ("no symbol".to_owned(), "[kernel]".to_owned());
    assert_eq!(of(0xffff_ffff_8100_2010), (unknown, Naming::Unknown(Cause::NoSymbol)));
}

#[test]
fn a_kernel_that_hides_its_symbols_is_one_frame() {
    let files = Names("0000000000000000 T entry\n");
    let sample =
        Sample { pid: 5, tid: 5, in_kernel: true, kernel: &[1, 2, 3], ..Sample::default() };
    let (names, namings) = resolved(&files, sample);
    assert_eq!(names.len(), 2);
    assert_eq!(namings[1], Naming::Unknown(Cause::KernelHidden));
}

#[test]
fn code_of_nobody_is_no_mapping() {
    let files = Names("");
    let sample = Sample { pid: 5, tid: 5, chain: &[0x1000, 0x2000], ..Sample::default() };
    let (names, namings) = resolved(&files, sample);
    assert_eq!(names[1], ("no mapping".to_owned(), "anonymous".to_owned()));
    assert_eq!((names.len(), namings[1]), (2, Naming::Unknown(Cause::NoMapping)));
}

#[test]
fn generated_code_is_named_and_its_caller_is_not() {
    let architecture = Architecture::X86_64;
    let registers = Some(Registers { values: [0x1000; 64], mask: 1 << 7 | 1 << 8, architecture });
    let sample = Sample { pid: 5, tid: 5, registers, stack: &[0; 64], ..Sample::default() };
    let (names, namings) = resolved(&Names("1000 10 JS:poll"), sample);
    let module = "[generated code]".to_owned();
    assert_eq!(names[2], ("JS:poll".to_owned(), module.clone()));
    assert_eq!((&names[1].1, namings[1]), (&module, Naming::Unknown(Cause::NoUnwindInfo)));
    let (names, _) = resolved(&Names("1000 10 JS:poll"), Sample { pid: 6, tid: 6, ..sample });
    assert_eq!(names[1].0, "no mapping");
}

#[test]
fn a_process_that_gives_its_memory_back_has_no_stack_that_a_longer_copy_would_hold() {
    let files = Names("ffffffff81000000 T exit_mmap\n");
    let head = Head { stack_bytes: 32768, ..Head::default() };
    let kernel = [0xffff_ffff_8100_0010];
    let architecture = Architecture::X86_64;
    let registers = Some(Registers { values: [0x1000; 64], mask: 1, architecture });
    let sample =
        Sample { pid: 5, tid: 5, in_kernel: true, kernel: &kernel, registers, ..Sample::default() };
    let (_, namings) = resolved_with(&files, &head, sample);
    assert_eq!(namings[1], Naming::Unknown(Cause::NoMapping));
    assert!(!namings.contains(&Naming::Unknown(Cause::ShortCopy)));
}
