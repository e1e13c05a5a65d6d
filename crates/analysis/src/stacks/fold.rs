//! Happenings to folded stacks: each distinct stack once, with its samples in each capture.
//!
//! Memory is bounded by the distinct stacks, and a sample costs one look into a table of numbers. The result is
//! sorted by names, so it does not depend on the order in which things were seen.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
};

use crate::stacks::{
    cost::add,
    files::{FileId, Files},
    perf_data::{Corrupt, Recording, Summary},
    profile::{Profile, Stack, exactly},
    resolve::{Names, Resolver},
};

/// Folded captures of one thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    pub profile: Profile,
    /// What else is known of each capture, in the order of [`Profile::samples`].
    pub captures: Vec<FoldedCapture>,
}

/// What is known of a capture alongside its stacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoldedCapture {
    pub summary: Summary,
    /// What reading and resolving found wrong, in sentences.
    pub faults: Vec<String>,
}

/// Folds one capture after the other.
#[derive(Debug, Default)]
pub struct Folder {
    names: Names,
    /// Samples of each stack in each capture.
    stacks: BTreeMap<Box<[u32]>, Vec<u64>>,
    captures: Vec<FoldedCapture>,
}

impl Folder {
    /// Folds a whole recording as the next capture, with the identities of its files (`ids`). It counts as one even where
    /// the recording has no samples or breaks off: what was read before is kept.
    /// [`Corrupt::NoSamples`] is one of a run's doubts, and for a recording alone it is the end.
    pub fn capture<R: Read + Seek>(
        &mut self,
        recording: &mut Recording<R>,
        files: &dyn Files,
        ids: Vec<FileId>,
    ) -> Result<(), Corrupt> {
        let names = std::mem::take(&mut self.names);
        let mut resolver = Resolver::with(names, files, recording.head(), ids);
        let (capture, mut stack) = (self.captures.len(), Vec::new());
        let outcome = recording.each(&mut |happening| {
            if !resolver.take(&happening, &mut stack) {
                return;
            }
            let samples = match self.stacks.get_mut(stack.as_slice()) {
                Some(samples) => samples,
                None => self.stacks.entry(stack.as_slice().into()).or_default(),
            };
            samples.resize(capture + 1, 0);
            samples[capture] += 1;
        });
        let summary = recording.summary().clone();
        let faults = summary.faults.iter().cloned().chain(resolver.faults()).collect();
        self.captures.push(FoldedCapture { summary, faults });
        self.names = resolver.into_names();
        outcome
    }

    /// Everything, in the order of names.
    pub fn finish(self) -> Folded {
        let Names { modules, frames } = self.names;
        let mut samples = vec![0; self.captures.len()];
        self.stacks.values().for_each(|of_stack| add(&mut samples, of_stack));
        let stack = |(frames, samples): (Box<[u32]>, _)| Stack { frames: frames.into(), samples };
        let stacks = self.stacks.into_iter().map(stack).collect();
        let (modules, frames) = (modules.into_iter().collect(), frames.into_iter().collect());
        let profile = Profile { modules, frames, stacks, samples };
        Folded { profile: Profile::merged(&[&profile], exactly), captures: self.captures }
    }
}
