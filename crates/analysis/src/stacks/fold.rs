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
    happening::Happening,
    perf_data::{Corrupt, Recording, Summary},
    profile::{Frame, Module, Profile, Stack},
    resolve::Resolver,
};

/// Anyone who makes frames out of addresses.
pub trait Resolve {
    /// Takes what happened. For a sample puts its stack into `out`, places in [`Resolve::frames`],
    /// outermost first and the process before all, and says `true`.
    fn take(&mut self, happening: &Happening<'_>, out: &mut Vec<u32>) -> bool;

    /// Every frame so far.
    fn frames(&self) -> &[Frame];

    /// Every module so far.
    fn modules(&self) -> &[Module];

    /// What was wrong, in sentences.
    fn faults(&self) -> Vec<String>;
}

impl Resolve for Resolver<'_> {
    fn take(&mut self, happening: &Happening<'_>, out: &mut Vec<u32>) -> bool {
        Resolver::take(self, happening, out)
    }

    fn frames(&self) -> &[Frame] {
        Resolver::frames(self)
    }

    fn modules(&self) -> &[Module] {
        Resolver::modules(self)
    }

    fn faults(&self) -> Vec<String> {
        Resolver::faults(self)
    }
}

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
    /// What the recording says of itself.
    pub summary: Summary,
    /// What reading and resolving found wrong, in sentences.
    pub faults: Vec<String>,
}

/// Folds one capture after the other.
#[derive(Debug, Default)]
pub struct Folder {
    modules: BTreeMap<Module, u32>,
    frames: BTreeMap<Frame, u32>,
    stacks: Table,
    /// Samples of each stack in each capture.
    samples: Vec<Vec<u64>>,
    captures: Vec<FoldedCapture>,
}

impl Folder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Folds a whole recording as the next capture. It counts as one even where the recording has no
    /// samples or breaks off: what was read before is kept.
    ///
    /// # Errors
    ///
    /// [`Corrupt::NoSamples`] where there was nothing to fold: for a run that is one of its doubts, for
    /// a recording alone it is the end.
    pub fn capture<R: Read + Seek>(
        &mut self,
        recording: &mut Recording<R>,
        resolver: &mut impl Resolve,
    ) -> Result<(), Corrupt> {
        let mut seen = Table::default();
        let mut counts: Vec<u64> = Vec::new();
        let mut stack = Vec::new();
        let outcome = recording.each(&mut |happening| {
            stack.clear();
            if resolver.take(&happening, &mut stack) {
                let place = seen.place(&stack);
                counts.resize(seen.len().max(counts.len()), 0);
                counts[place] += 1;
            }
        });
        let summary = recording.summary().clone();
        self.merge(&seen, &counts, resolver);
        let faults = summary.faults.iter().cloned().chain(resolver.faults()).collect();
        self.captures.push(FoldedCapture { summary, faults });
        outcome
    }

    /// Adds a capture's stacks under names in place of its own numbers.
    fn merge(&mut self, seen: &Table, counts: &[u64], resolver: &impl Resolve) {
        let modules: Vec<u32> =
            resolver.modules().iter().map(|one| intern(&mut self.modules, one)).collect();
        let module = |frame: &Frame| modules.get(frame.module as usize).copied().unwrap_or(0);
        let frames: Vec<u32> = resolver
            .frames()
            .iter()
            .map(|frame| {
                intern(&mut self.frames, &Frame { module: module(frame), ..frame.clone() })
            })
            .collect();
        let capture = self.captures.len();
        let mut stack = Vec::new();
        for (place, count) in counts.iter().enumerate() {
            stack.clear();
            let known = |frame: &u32| frames.get(*frame as usize).copied();
            stack.extend(seen.get(place).iter().filter_map(known));
            let place = self.stacks.place(&stack);
            self.samples.resize_with(self.stacks.len().max(self.samples.len()), Vec::new);
            self.samples[place].resize(capture + 1, 0);
            self.samples[place][capture] += count;
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
        let of_frame = |frame: &u32| frame_ranks.get(*frame as usize).copied();
        let mut stacks: Vec<_> = self.samples.into_iter().enumerate().collect::<Vec<_>>();
        stacks.iter_mut().for_each(|(_, samples)| samples.resize(captures, 0));
        let of = |(place, samples)| Stack {
            frames: self.stacks.get(place).iter().filter_map(of_frame).collect(),
            samples,
        };
        let mut stacks: Vec<Stack> = stacks.into_iter().map(of).collect();
        stacks.sort_by(|a, b| a.frames.cmp(&b.frames));
        let mut samples = vec![0; captures];
        for stack in &stacks {
            for (all, samples) in samples.iter_mut().zip(&stack.samples) {
                *all += samples;
            }
        }
        let profile = Profile { modules, frames, stacks, samples };
        Folded { profile, captures: self.captures }
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

/// Stacks by the order in which they came, each once: open addressing with linear probing. The order of
/// its answers does not depend on the hash, and the hash has no seed.
#[derive(Debug, Default)]
struct Table {
    /// All stacks, one behind the other.
    frames: Vec<u32>,
    /// Where each stack ends.
    ends: Vec<usize>,
    /// A place plus 1 in each slot that is taken; its length is a power of two.
    slots: Vec<u32>,
}

impl Table {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, place: usize) -> &[u32] {
        let start = place.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let range = start.zip(self.ends.get(place).copied()).map(|(start, end)| start..end);
        range.and_then(|range| self.frames.get(range)).unwrap_or_default()
    }

    /// The place of a stack, new or not.
    fn place(&mut self, stack: &[u32]) -> usize {
        if self.slots.len() < 2 * (self.len() + 1) {
            self.grow();
        }
        let slot = self.slot(stack);
        if let Some(place) = self.slots[slot].checked_sub(1) {
            return place as usize;
        }
        self.frames.extend_from_slice(stack);
        self.ends.push(self.frames.len());
        self.slots[slot] = self.len() as u32;
        self.len() - 1
    }

    /// The slot that holds a stack, or that is free for it. At least half of all are free.
    fn slot(&self, stack: &[u32]) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = hash(stack) as usize & last;
        while let Some(place) = self.slots[slot].checked_sub(1) {
            if self.get(place as usize) == stack {
                break;
            }
            slot = (slot + 1) & last;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![0; (self.slots.len() * 2).max(64)];
        for place in 0..self.len() {
            let slot = self.slot(self.get(place));
            self.slots[slot] = place as u32 + 1;
        }
    }
}

/// FNV-1a over words in place of bytes, and the upper half folded in because slots use the lower one.
fn hash(stack: &[u32]) -> u64 {
    let hash = stack.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, frame| {
        (hash ^ u64::from(*frame)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}
