//! Which trials a shard makes: a pure function of the study, its plan and the number of shards.
//!
//! Trials of one block stay together; blocks are dealt by their expected time. Every shard also makes the same few trials
//! of the plan, the canaries: machines that count alike agree about them to the nanosecond. Putting shards together is
//! [`crate::merge`]'s.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use model::{
    experiment::{Experiment, Planned},
    reading::Reading,
    shard::Shard,
};

/// What must be known of a kind's trials to deal them out.
pub trait Dealt: Experiment {
    /// A first guess at the wall time of one trial.
    fn guess(study: &Self::Study, planned: &Self::Planned) -> Duration;

    /// What it starts from, and how long that takes to raise; `None` where that is not known.
    fn start(_planned: &Self::Planned) -> Option<(String, Duration)> {
        None
    }

    /// Whether its figures are the same on every machine.
    fn is_counted(study: &Self::Study, planned: &Self::Planned) -> bool;

    /// The trials that every shard makes.
    fn canaries(plan: &[Self::Planned]) -> Vec<&Self::Planned> {
        plan.first().into_iter().collect()
    }

    /// Whether two readings of one trial are the same in everything that figures are made of.
    fn agree(one: &Reading, other: &Reading) -> bool {
        one == other
    }
}

/// The trials of one shard, in the order of the plan.
pub fn part<K: Dealt>(study: &K::Study, plan: &[K::Planned], shard: Shard) -> Vec<K::Planned> {
    let mut parts = parts::<K>(study, plan, shard.of());
    parts.swap_remove(shard.number() as usize - 1)
}

/// The trials of all shards, in order.
pub fn parts<K: Dealt>(study: &K::Study, plan: &[K::Planned], of: u32) -> Vec<Vec<K::Planned>> {
    let owners = owners::<K>(study, plan, of);
    let canaries: Vec<String> = K::canaries(plan).into_iter().map(Planned::id).collect();
    let mut parts = vec![Vec::new(); of as usize];
    for planned in plan {
        let owner = owners.get(&planned.block()).copied().unwrap_or(1);
        let is_canary = canaries.contains(&planned.id());
        let takers = parts.iter_mut().zip(1..).filter(|(_, number)| is_canary || *number == owner);
        takers.for_each(|(part, _)| part.push(planned.clone()));
    }
    parts
}

/// What is made here of a plan: all of it, or a shard's part.
pub fn own<K: Dealt>(
    study: &K::Study,
    plan: Vec<K::Planned>,
    shard: Option<Shard>,
) -> Vec<K::Planned> {
    match shard {
        Some(shard) => part::<K>(study, &plan, shard),
        None => plan,
    }
}

/// A block of a plan.
#[derive(Debug)]
struct Block {
    name: String,
    time: Duration,
    starts: BTreeMap<String, Duration>,
}

/// What one machine is to do.
#[derive(Clone, Debug, Default)]
struct Work {
    time: Duration,
    starts: BTreeSet<String>,
}

impl Work {
    /// How long all takes with a block more: what its trials start from is raised once on a machine.
    fn with(&self, block: &Block) -> Duration {
        let new = block.starts.iter().filter(|(start, _)| !self.starts.contains(*start));
        self.time + block.time + new.map(|(_, raising)| *raising).sum::<Duration>()
    }

    fn take(&mut self, block: &Block) {
        self.time = self.with(block);
        self.starts.extend(block.starts.keys().cloned());
    }
}

/// The shard of every block: the longest comes first, to the shard that is through with it soonest.
fn owners<K: Dealt>(study: &K::Study, plan: &[K::Planned], shards: u32) -> BTreeMap<String, u32> {
    let canaries = blocks::<K>(study, K::canaries(plan).into_iter());
    let mut work = vec![Work::default(); shards.max(1) as usize];
    work.iter_mut().for_each(|work| canaries.iter().for_each(|block| work.take(block)));
    let mut blocks = blocks::<K>(study, plan.iter());
    // Stable: blocks of one length stay in the plan's order.
    blocks.sort_by_key(|block| std::cmp::Reverse(block.time));
    let deal = |block: Block| {
        let least = (0..work.len()).min_by_key(|shard| work[*shard].with(&block));
        let least = least.unwrap_or_default();
        work[least].take(&block);
        (block.name, least as u32 + 1)
    };
    blocks.into_iter().map(deal).collect()
}

/// The blocks of these trials, in their order.
fn blocks<'a, K: Dealt>(
    study: &K::Study,
    trials: impl Iterator<Item = &'a K::Planned>,
) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for planned in trials {
        let name = planned.block();
        let place = *places.entry(name.clone()).or_insert_with(|| {
            blocks.push(Block { name, time: Duration::ZERO, starts: BTreeMap::new() });
            blocks.len() - 1
        });
        blocks[place].time += K::guess(study, planned);
        blocks[place].starts.extend(K::start(planned));
    }
    blocks
}

/// A first guess at the wall time of a shard's trials on a machine that makes one at a time; and with all that they start
/// from, where nothing is in its cache.
pub fn times<K: Dealt>(study: &K::Study, part: &[K::Planned]) -> [Duration; 2] {
    let mut work = Work::default();
    let blocks = blocks::<K>(study, part.iter());
    blocks.iter().for_each(|block| work.take(block));
    [blocks.iter().map(|block| block.time).sum(), work.time]
}

/// Why a plan cannot be dealt out to machines, where one of its trials feels the machine that it is made on.
pub fn refusal<K: Dealt>(study: &K::Study, plan: &[K::Planned]) -> Option<String> {
    let felt = plan.iter().find(|planned| !K::is_counted(study, planned))?;
    Some(format!(
        "`{}` is measured in real time, which is another on every machine; only counted trials can be shards of one run",
        felt.name(study)
    ))
}

#[cfg(test)]
mod tests {
    use model::{experiment::Clients, study::Study};

    use super::*;
    use crate::{plan, study_file};

    fn study() -> Study {
        let text = "question = \"?\"\n[access-point]\nclients = [9, 60, 114]\n[subject]\nprocess = \"hostapd\"\n\
            [load]\nrun = \"iw dev\"\n[trial]\nrepetitions = 6\n[[variant]]\nname = \"idle\"\nload = \"none\"\n\
            [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nhost-load = \"trial\"\n";
        study_file::parse(text).unwrap()
    }

    #[test]
    fn every_trial_is_one_shards_and_canaries_are_everybodys() {
        let study = study();
        let plan = plan::trials(&study, &plan::Unlocated(&study));
        let canaries = Clients::canaries(&plan);
        let names: Vec<String> = canaries.iter().map(|canary| canary.id()).collect();
        assert_eq!(names, ["a@9#1", "a@9#2", "a@9#3"], "a load, and the fewest clients");
        for of in [1, 2, 7, 64] {
            let mut seen = BTreeSet::new();
            for shard in Shard::all(of) {
                let own = part::<Clients>(&study, &plan, shard);
                assert!(canaries.iter().all(|canary| own.contains(canary)), "{shard}");
                assert_eq!(own, part::<Clients>(&study, &plan, shard));
                for planned in own.iter().filter(|planned| !canaries.contains(planned)) {
                    assert!(seen.insert(planned.id()), "{} twice", planned.id());
                }
            }
            assert_eq!(seen.len(), plan.len() - canaries.len(), "{of} shards");
        }
    }

    #[test]
    fn what_is_compared_stays_together_and_time_is_shared_out() {
        let study = study();
        let plan = plan::trials(&study, &plan::Unlocated(&study));
        let owners = owners::<Clients>(&study, &plan, 4);
        let owner = |id: &str| {
            let planned = plan.iter().find(|planned| planned.id() == id).unwrap();
            owners[&planned.block()]
        };
        assert_eq!(owner("idle@60#3"), owner("a@60#3"));
        assert_eq!(owner("b@60#3"), owner("b@60#4"), "two that run at the same time");
        let time = |shard| times::<Clients>(&study, &part::<Clients>(&study, &plan, shard))[1];
        let all: Vec<Duration> = Shard::all(4).map(time).collect();
        let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        assert!(most.as_secs_f64() < 1.2 * least.as_secs_f64(), "{all:?}");
    }
}
