//! 32-bit programs on this 64-bit kernel: what perf's register ABI 1 tells of them is unwound and named.

use analysis::stacks::{
    happening::{Happening, Head, Map, Sample},
    resolve::Resolver,
};

use super::program::{Here, ProcessDump, build_of};

/// The program that is built with these flags is unwound to its beginning.
fn unwound(name: &str, flags: &[&str]) {
    let flags = [&["-m32", "-nostdlib", "-static", "-no-pie", "-O2"], flags].concat();
    let Some(program) = build_of("narrow.c", name, "cc", &flags) else { return };
    let Some(dump) = ProcessDump::of_32_bits(&program) else { return };
    let seen = dump.unwound(&Here::default());
    assert_eq!(seen.own(), ["main", "outer", "middle", "inner", "dump"], "{name}: {seen:?}");
    assert!(seen.is_whole(), "{name}: {seen:?}");
}

#[test]
fn a_32_bit_program_is_unwound() {
    unwound("narrow", &["-fomit-frame-pointer"]);
    unwound("narrow-frames", &["-fno-omit-frame-pointer"]);
}

#[test]
fn a_32_bit_program_without_tables_is_unwound_by_its_calls() {
    let flags = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
    unwound("narrow-no-tables", &flags);
}

#[test]
fn the_kernels_code_for_64_bit_programs_is_not_a_32_bit_programs() {
    let own = std::fs::read(std::env::current_exe().expect("a path")).expect("our own code");
    let files = Here { instead: Some(("[vdso]".to_owned(), own)), ..Here::default() };
    let name_at = |start: u64| {
        let mut resolver = Resolver::new(&files, &Head::default(), Vec::new());
        let (pid, length, offset, path) = (7, 0x1000, 0, "[vdso]");
        let map = Map { pid, start, length, offset, path, build_id: None };
        let mut out = Vec::new();
        resolver.take(&Happening::Map(map), &mut out);
        let sample = Sample { pid: 7, tid: 7, ip: start, ..Sample::default() };
        resolver.take(&Happening::Sample(sample), &mut out);
        resolver.frames()[out[1] as usize].name.clone()
    };
    assert_eq!(name_at(0xf7fc_8000), "no file");
    assert_ne!(name_at(0x7ffc_f7fc_8000), "no file");
}
