//! Samples around the user's stack: kernels, chains, generated code, processes that are not known.

use std::sync::Arc;

use analysis::stacks::{
    files::{DebugKey, FileId, Files},
    happening::{Architecture, Happening, Head, Map, Registers, Sample},
    profile::{Cause, Naming},
    resolve::Resolver,
};

use super::program::Here;

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

/// Each frame of a sample as `module!name`, outermost first, and how it got its name. Stacks were to be copied.
fn resolved(files: &dyn Files, sample: Sample<'_>) -> (Vec<String>, Vec<Naming>) {
    let head = Head { stack_bytes: 32768, ..Head::default() };
    let mut resolver = Resolver::new(files, &head, Vec::new());
    let map =
        Map { pid: 7, start: sample.ip, length: 1, offset: 0, path: "[vdso]", build_id: None };
    let mut out = Vec::new();
    assert!(!resolver.take(&Happening::Map(map), &mut out));
    assert!(resolver.take(&Happening::Sample(sample), &mut out));
    let frames = out.iter().map(|place| resolver.frame(*place).expect("a frame"));
    let frame = |frame: &analysis::stacks::profile::Frame| {
        let module = &resolver.module(frame.module).expect("a module").name;
        (format!("{module}!{}", frame.name), frame.naming)
    };
    frames.map(frame).unzip()
}

fn in_kernel(kernel: &[u64]) -> Sample<'_> {
    Sample { pid: 5, tid: 5, in_kernel: true, kernel, ..Sample::default() }
}

fn registers(mask: u64) -> Option<Registers> {
    Some(Registers { values: [0x1000; 64], mask, architecture: Architecture::X86_64 })
}

#[test]
fn the_kernels_frames_are_outermost_first_with_their_modules() {
    let files = Names(
        "ffffffff81000000 T entry\nffffffff81001000 t middle\nffffffffc0000000 t rx\t[mac80211]\n",
    );
    // The outermost is behind a call at the end of `entry`.
    let kernel = [0xffff_ffff_c000_0000, 0xffff_ffff_8100_1010, 0xffff_ffff_8100_1000];
    let (names, _) = resolved(&files, in_kernel(&kernel));
    assert_eq!(names, ["[process]!pid 5", "[kernel]!entry", "[kernel]!middle", "[mac80211]!rx"]);
}

#[test]
fn a_filter_that_the_kernel_compiled_is_named_by_its_caller_and_other_code_without_a_symbol_is_not()
{
    let files = Names(
        "ffffffff81000000 T entry\nffffffff81001000 t __seccomp_filter\nffffffff81002000 t other\n",
    );
    let no_symbol = Naming::Unknown(Cause::NoSymbol);
    for (caller, name, naming) in [
        (0xffff_ffff_8100_1010, "[bpf]!seccomp filter", Naming::Synthesised),
        (0xffff_ffff_8100_2010, "[kernel]!no symbol", no_symbol),
    ] {
        let kernel = [0xffff_ffff_7000_0000, caller, 0xffff_ffff_8100_0010];
        let (names, namings) = resolved(&files, in_kernel(&kernel));
        assert_eq!((&*names[3], namings[3]), (name, naming));
    }
}

#[test]
fn a_kernel_that_hides_its_symbols_is_one_frame() {
    let (names, namings) = resolved(&Names("0000000000000000 T entry\n"), in_kernel(&[1, 2, 3]));
    assert_eq!((names.len(), namings[1]), (2, Naming::Unknown(Cause::KernelHidden)));
}

#[test]
fn code_of_no_file_is_no_mapping_and_once_for_several_frames() {
    let sample = Sample { pid: 5, tid: 5, chain: &[0x1000, 0x2000], ..Sample::default() };
    let (names, namings) = resolved(&Names(""), sample);
    assert_eq!(names, ["[process]!pid 5", "anonymous!no mapping"]);
    assert_eq!(namings[1], Naming::Unknown(Cause::NoMapping));
}

#[test]
fn generated_code_is_named_and_its_caller_is_not() {
    let sample = |pid| {
        let registers = registers(1 << 7 | 1 << 8);
        Sample { pid, tid: pid, registers, stack: &[0; 64], ..Sample::default() }
    };
    let files = Names("1000 10 JS:poll");
    let (names, namings) = resolved(&files, sample(5));
    assert_eq!(names[1..], ["[generated code]!no unwind info", "[generated code]!JS:poll"]);
    assert_eq!(namings[1], Naming::Unknown(Cause::NoUnwindInfo));
    assert_eq!(resolved(&files, sample(6)).0[1], "anonymous!no mapping");
}

#[test]
fn a_process_that_gives_its_memory_back_has_no_stack_that_a_longer_copy_would_hold() {
    let files = Names("ffffffff81000000 T exit_mmap\n");
    let sample = Sample { registers: registers(1), ..in_kernel(&[0xffff_ffff_8100_0010]) };
    let (_, namings) = resolved(&files, sample);
    assert_eq!(namings[1], Naming::Unknown(Cause::NoMapping));
    assert!(!namings.contains(&Naming::Unknown(Cause::ShortCopy)));
}

#[test]
fn the_kernels_code_for_64_bit_programs_is_not_a_32_bit_programs() {
    let own = std::fs::read(std::env::current_exe().expect("a path")).expect("our own code");
    let files = Here { instead: Some(("[vdso]".to_owned(), own)), ..Here::default() };
    for (ip, is_known) in [(0xf7fc_8000, false), (0x7ffc_f7fc_8000, true)] {
        let (names, _) = resolved(&files, Sample { pid: 7, tid: 7, ip, ..Sample::default() });
        let innermost = names.last().unwrap();
        assert_eq!(innermost != "[vdso]!no file", is_known, "{names:?}");
    }
}
