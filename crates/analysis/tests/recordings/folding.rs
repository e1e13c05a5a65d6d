//! Folding, with a resolver that names a frame after its address.

use std::{collections::BTreeMap, io::Cursor};

use analysis::stacks::{
    fold::{Folded, Folder, Resolve},
    happening::Happening,
    perf_data::{Corrupt, Recording},
    profile::{Frame, Module, Naming},
};

use crate::test_data::*;

#[derive(Default)]
struct ByAddress {
    frames: Vec<Frame>,
    modules: Vec<Module>,
    places: BTreeMap<Frame, u32>,
}

impl ByAddress {
    fn frame(&mut self, name: String, naming: Naming, module: &str) -> u32 {
        let (kernel, build_id) = (module == "[kernel]", None);
        let module = Module { name: module.to_owned(), kernel, build_id };
        let at = self.modules.iter().position(|one| *one == module).unwrap_or_else(|| {
            self.modules.push(module);
            self.modules.len() - 1
        });
        let frame = Frame::of(name, naming, at as u32);
        *self.places.entry(frame.clone()).or_insert_with(|| {
            self.frames.push(frame);
            self.frames.len() as u32 - 1
        })
    }
}

impl Resolve for ByAddress {
    fn take(&mut self, happening: &Happening<'_>, out: &mut Vec<u32>) -> bool {
        let Happening::Sample(sample) = happening else { return false };
        out.push(self.frame(format!("p{}", sample.pid), Naming::Process, "[process]"));
        let user = sample.chain.iter().rev().map(|address| (address, "/bin/d"));
        let kernel = sample.kernel.iter().rev().map(|address| (address, "[kernel]"));
        for (address, module) in user.chain(kernel) {
            out.push(self.frame(format!("f{address:x}"), Naming::Named, module));
        }
        true
    }

    fn frames(&self) -> &[Frame] {
        &self.frames
    }

    fn modules(&self) -> &[Module] {
        &self.modules
    }

    fn faults(&self) -> Vec<String> {
        vec!["a word".to_owned()]
    }
}

fn stack(time: u64, pid: u32, chain: &[u64]) -> Vec<u8> {
    let chain = [&[CONTEXT_USER], chain].concat();
    SampleRecord { pid, chain, ..SampleRecord::at(time) }.bytes()
}

fn folded(files: &[Vec<u8>]) -> Folded {
    let mut folder = Folder::new();
    for file in files {
        let mut recording = Recording::open(Cursor::new(file)).unwrap();
        let outcome = folder.capture(&mut recording, &mut ByAddress::default());
        assert!(matches!(outcome, Ok(()) | Err(Corrupt::NoSamples { .. })));
    }
    folder.finish()
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
    assert_eq!(lines(&found), [("p7;fa;fb".to_owned(), vec![3]), ("p8;fa".to_owned(), vec![1])]);
    assert_eq!(found.profile.samples, [4]);
    assert_eq!(found.captures[0].faults, ["a word"]);
}

#[test]
fn captures_are_merged_by_what_frames_are_and_not_by_their_numbers() {
    let first = file(&[stack(1, 7, &[0xb, 0xa]), stack(2, 7, &[0xc])]);
    let second = file(&[stack(1, 7, &[0xc]), stack(2, 7, &[0xb, 0xa]), stack(3, 7, &[0xd])]);
    let found = folded(&[first.clone(), second.clone()]);
    let expected = [
        ("p7;fa;fb".to_owned(), vec![1, 1]),
        ("p7;fc".to_owned(), vec![1, 1]),
        ("p7;fd".to_owned(), vec![0, 1]),
    ];
    assert_eq!(lines(&found), expected);
    assert_eq!(found.profile.samples, [2, 3]);
    let other = folded(&[second, first]);
    assert_eq!(found.profile.frames, other.profile.frames, "the order of captures orders no name");
}

#[test]
fn a_capture_without_samples_keeps_its_place() {
    let found = folded(&[file(&[]), file(&[stack(1, 7, &[0xa])]), file(&[name(7, "d", 0)])]);
    assert_eq!(found.profile.samples, [0, 1, 0]);
    assert_eq!(found.profile.stacks[0].samples, [0, 1, 0]);
    assert_eq!(found.captures.len(), 3);
}

#[test]
fn a_hundred_thousand_stacks_are_all_there() {
    let numbers = 0..100_000_u64;
    let records: Vec<_> = numbers.map(|n| stack(n + 1, 7, &[n % 1000, 5, n / 1000])).collect();
    let found = folded(&[file(&records)]);
    assert_eq!((found.profile.stacks.len(), found.profile.samples[0]), (100_000, 100_000));
    assert!(found.profile.stacks.iter().all(|stack| stack.samples == [1]));
}
