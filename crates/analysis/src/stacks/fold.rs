//! Happenings to folded stacks: each distinct stack once, with its samples in each capture.
//!
//! Memory is bounded by the distinct stacks, and a sample costs one look into a table of numbers: names
//! are compared only when a capture has ended, to merge it with the ones before. The result is sorted by
//! names, so it does not depend on the order in which things were seen.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
};

use crate::stacks::{
    perf_data::{Corrupt, Recording, Summary},
    profile::{Frame, Module, Profile, Stack},
    resolve::Resolver,
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
    modules: BTreeMap<Module, u32>,
    frames: BTreeMap<Frame, u32>,
    /// Samples of each stack in each capture.
    stacks: BTreeMap<Vec<u32>, Vec<u64>>,
    captures: Vec<FoldedCapture>,
}

impl Folder {
    /// Folds a whole recording as the next capture. It counts as one even where the recording has no
    /// samples or breaks off: what was read before is kept.
    /// [`Corrupt::NoSamples`] is one of a run's doubts, and for a recording alone it is the end.
    pub fn capture<R: Read + Seek>(
        &mut self,
        recording: &mut Recording<R>,
        resolver: &mut Resolver<'_>,
    ) -> Result<(), Corrupt> {
        let mut seen: BTreeMap<Box<[u32]>, u64> = BTreeMap::new();
        let mut stack = Vec::new();
        let outcome = recording.each(&mut |happening| {
            if !resolver.take(&happening, &mut stack) {
                return;
            }
            match seen.get_mut(stack.as_slice()) {
                Some(samples) => *samples += 1,
                None => drop(seen.insert(stack.as_slice().into(), 1)),
            }
        });
        self.merge(&seen, resolver);
        let summary = recording.summary().clone();
        let faults = summary.faults.iter().cloned().chain(resolver.faults()).collect();
        self.captures.push(FoldedCapture { summary, faults });
        outcome
    }

    /// Adds a capture's stacks under names in place of its own numbers.
    fn merge(&mut self, seen: &BTreeMap<Box<[u32]>, u64>, resolver: &Resolver<'_>) {
        let modules: Vec<u32> =
            resolver.modules().iter().map(|one| intern(&mut self.modules, one)).collect();
        let module = |frame: &Frame| modules.get(frame.module as usize).copied().unwrap_or(0);
        let mut frame = |frame: &Frame| {
            intern(&mut self.frames, &Frame { module: module(frame), ..frame.clone() })
        };
        let frames: Vec<u32> = resolver.frames().iter().map(&mut frame).collect();
        let capture = self.captures.len();
        for (stack, count) in seen {
            let known = |frame: &u32| frames.get(*frame as usize).copied();
            let samples = self.stacks.entry(stack.iter().filter_map(known).collect()).or_default();
            samples.resize(capture + 1, 0);
            samples[capture] += count;
        }
    }

    /// Everything, in the order of names.
    pub fn finish(self) -> Folded {
        let captures = self.captures.len();
        let (modules, module_ranks) = ranked(self.modules);
        let of_module = |module: u32| module_ranks.get(module as usize).copied().unwrap_or(0);
        let frames = self.frames.into_iter();
        let frames = frames.map(|(frame, at)| {
            let module = of_module(frame.module);
            (Frame { module, ..frame }, at)
        });
        let (frames, frame_ranks) = ranked(frames.collect());
        let of_frame = |frame: u32| frame_ranks.get(frame as usize).copied();
        let mut all = vec![0; captures];
        let of = |(frames, mut samples): (Vec<u32>, Vec<u64>)| {
            samples.resize(captures, 0);
            all.iter_mut().zip(&samples).for_each(|(all, samples)| *all += samples);
            Stack { frames: frames.into_iter().filter_map(of_frame).collect(), samples }
        };
        let mut stacks: Vec<Stack> = self.stacks.into_iter().map(of).collect();
        stacks.sort_by(|a, b| a.frames.cmp(&b.frames));
        Folded {
            profile: Profile { modules, frames, stacks, samples: all },
            captures: self.captures,
        }
    }
}

fn intern<T: Ord + Clone>(places: &mut BTreeMap<T, u32>, one: &T) -> u32 {
    if let Some(place) = places.get(one) {
        return *place;
    }
    let place = places.len() as u32;
    places.insert(one.clone(), place);
    place
}

/// Things in order, and for each place before the place now.
fn ranked<T: Ord>(places: BTreeMap<T, u32>) -> (Vec<T>, Vec<u32>) {
    let mut ranks = vec![0; places.len()];
    let mut things = Vec::with_capacity(places.len());
    for (thing, place) in places {
        if let Some(rank) = ranks.get_mut(place as usize) {
            *rank = things.len() as u32;
        }
        things.push(thing);
    }
    (things, ranks)
}
