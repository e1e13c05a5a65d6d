//! Folding, with a kernel whose functions are named after their numbers.

use std::{fmt::Write, io::Cursor, sync::Arc};

use analysis::stacks::{
    files::{DebugKey, FileId, Files},
    fold::{Folded, Folder},
    perf_data::{Corrupt, Recording},
};

use crate::test_data::*;

/// Where the kernel's function 0 begins; each is so long.
const FIRST: u64 = 0xffff_ffff_8100_0000;
const LENGTH: u64 = 16;

#[derive(Debug)]
struct Kernel(Arc<[u8]>);

impl Files for Kernel {
    fn file(&self, _: &FileId) -> Option<Arc<[u8]>> {
        None
    }

    fn debug(&self, _: DebugKey<'_>) -> Option<Arc<[u8]>> {
        None
    }

    fn kernel_symbols(&self) -> Result<Arc<[u8]>, String> {
        Ok(Arc::clone(&self.0))
    }
}

/// A stack in the kernel, by its functions' numbers, innermost first.
fn stack(time: u64, pid: u32, functions: &[u64]) -> Vec<u8> {
    let chain = functions.iter().map(|number| FIRST + number * LENGTH + 1);
    let chain = std::iter::once(CONTEXT_KERNEL).chain(chain).collect();
    SampleRecord { misc: KERNEL, pid, chain, ..SampleRecord::at(time) }.bytes()
}

fn folded_with(files: &[Vec<u8>], symbols: &str) -> Folded {
    let mut folder = Folder::default();
    let kernel = Kernel(symbols.as_bytes().into());
    for file in files {
        let mut recording = Recording::open(Cursor::new(file)).unwrap();
        let outcome = folder.capture(&mut recording, &kernel, Vec::new());
        assert!(matches!(outcome, Ok(()) | Err(Corrupt::NoSamples { .. })));
    }
    folder.finish()
}

fn folded(files: &[Vec<u8>]) -> Folded {
    let mut symbols = String::new();
    for number in 0..1000 {
        writeln!(symbols, "{:x} T f{number:x}", FIRST + number * LENGTH).unwrap();
    }
    folded_with(files, &symbols)
}

fn lines(folded: &Folded) -> Vec<(String, Vec<u64>)> {
    let name = |frame: &u32| folded.profile.frames[*frame as usize].name.clone();
    let line = |frames: &[u32]| frames.iter().map(name).collect::<Vec<_>>().join(";");
    let stacks = folded.profile.stacks.iter();
    stacks.map(|stack| (line(&stack.frames), stack.samples.clone())).collect()
}

#[test]
fn the_same_stack_is_kept_once_with_its_samples() {
    let file = file(&[
        stack(1, 7, &[0xb, 0xa]),
        stack(2, 7, &[0xb, 0xa]),
        stack(3, 8, &[0xa]),
        stack(4, 7, &[0xb, 0xa]),
    ]);
    let found = folded(&[file]);
    let expected = [("pid 7;fa;fb".to_owned(), vec![3]), ("pid 8;fa".to_owned(), vec![1])];
    assert_eq!(lines(&found), expected);
    assert_eq!((found.profile.samples, found.captures[0].faults.len()), (vec![4], 0));
}

#[test]
fn captures_are_merged_by_what_frames_are_and_not_by_their_numbers() {
    let first = file(&[stack(1, 7, &[0xb, 0xa]), stack(2, 7, &[0xc])]);
    let second = file(&[stack(1, 7, &[0xc]), stack(2, 7, &[0xb, 0xa]), stack(3, 7, &[0xd])]);
    let found = folded(&[first.clone(), second.clone()]);
    let expected = [
        ("pid 7;fa;fb".to_owned(), vec![1, 1]),
        ("pid 7;fc".to_owned(), vec![1, 1]),
        ("pid 7;fd".to_owned(), vec![0, 1]),
    ];
    assert_eq!(lines(&found), expected);
    assert_eq!(found.profile.samples, [2, 3]);
    let other = folded(&[second, first]);
    assert_eq!(found.profile.frames, other.profile.frames, "the order of captures orders no name");
}

#[test]
fn a_capture_without_samples_keeps_its_place_and_each_has_its_faults() {
    let files = [file(&[]), file(&[stack(1, 7, &[0xa])]), file(&[name(7, "d", 0)])];
    let found = folded_with(&files, "0 T hidden");
    assert_eq!(found.profile.samples, [0, 1, 0]);
    assert_eq!(found.profile.stacks[0].samples, [0, 1, 0]);
    let faults = found.captures.iter().map(|capture| capture.faults.len());
    assert_eq!(faults.collect::<Vec<_>>(), [1, 1, 0], "an empty file says that it is not whole");
}

#[test]
fn a_hundred_thousand_stacks_are_all_there() {
    let numbers = 0..100_000_u64;
    let records: Vec<_> = numbers.map(|n| stack(n + 1, 7, &[n % 1000, 5, n / 1000])).collect();
    let found = folded(&[file(&records)]);
    assert_eq!((found.profile.stacks.len(), found.profile.samples[0]), (100_000, 100_000));
    assert!(found.profile.stacks.iter().all(|stack| stack.samples == [1]));
}
