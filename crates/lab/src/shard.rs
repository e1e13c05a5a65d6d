//! Which trials a shard makes: a pure function of the study, its plan and the number of shards.
//!
//! Trials of one block stay together; blocks are dealt by their expected time. Every shard also makes the same few trials
//! of the plan, the canaries: machines that count alike agree about them to the nanosecond. Putting shards together is
//! [`crate::merge`]'s.

mod alike;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use model::{
    shard::Shard,
    study::Study,
    trial::{PlannedTrial, Purpose, TrialId},
};

pub(crate) use self::alike::alike;
use crate::plan::{self, Start, trial_time};

/// The number of canaries: most of them must agree.
const CANARIES: usize = 3;

/// The trials that every shard makes: the first repetitions of the first variant that makes its subject work, where the
/// fewest clients are. A machine that does not count alike shows it there, and least happens there that is not the same each
/// time.
pub fn canaries(plan: &[PlannedTrial]) -> Vec<&PlannedTrial> {
    let plain = || plan.iter().filter(|planned| planned.id.purpose == Purpose::Cpu);
    let loaded = plain().filter(|planned| planned.order.load.is_some());
    let is_paired = |planned: &PlannedTrial| !planned.host_load.is_anything();
    let first = loaded.min_by_key(|planned| (planned.id.clients, is_paired(planned)));
    let first = first.or(plain().next());
    let Some(TrialId { variant, cell, turn, .. }) = first.map(|planned| &planned.id) else {
        return plan.first().into_iter().collect();
    };
    let same = plain().filter(|planned| {
        let id = &planned.id;
        (&id.variant, &id.cell, id.turn, id.perturbed) == (variant, cell, *turn, None)
    });
    same.take(CANARIES).collect()
}

pub fn part(study: &Study, plan: &[PlannedTrial], shard: Shard) -> Vec<PlannedTrial> {
    let mut parts = parts(study, plan, shard.of());
    parts.swap_remove(shard.number() as usize - 1)
}

pub fn parts(study: &Study, plan: &[PlannedTrial], of: u32) -> Vec<Vec<PlannedTrial>> {
    let owners = owners(study, plan, of);
    let canaries: Vec<&TrialId> = canaries(plan).into_iter().map(|canary| &canary.id).collect();
    let mut parts = vec![Vec::new(); of as usize];
    for planned in plan {
        let owner = owners.get(&planned.block()).copied().unwrap_or(1);
        let is_canary = canaries.contains(&&planned.id);
        let takers = parts.iter_mut().zip(1..).filter(|(_, number)| is_canary || *number == owner);
        takers.for_each(|(part, _)| part.push(planned.clone()));
    }
    parts
}

/// What is made here of a plan: all of it, or a shard's part.
pub fn own(study: &Study, plan: Vec<PlannedTrial>, shard: Option<Shard>) -> Vec<PlannedTrial> {
    match shard {
        Some(shard) => part(study, &plan, shard),
        None => plan,
    }
}

#[derive(Debug)]
struct Block {
    name: String,
    time: Duration,
    starts: BTreeMap<Start, Duration>,
}

#[derive(Clone, Debug, Default)]
struct Work {
    time: Duration,
    starts: BTreeSet<Start>,
}

impl Work {
    /// How long all takes with a block more: what its trials start from is raised once on a machine.
    fn with(&self, block: &Block) -> Duration {
        let new = block.starts.iter().filter(|(start, _)| !self.starts.contains(start));
        self.time + block.time + new.map(|(_, raising)| *raising).sum::<Duration>()
    }

    fn take(&mut self, block: &Block) {
        self.time = self.with(block);
        self.starts.extend(block.starts.keys());
    }
}

/// The shard of every block: the longest comes first, to the shard that is through with it soonest.
fn owners(study: &Study, plan: &[PlannedTrial], shards: u32) -> BTreeMap<String, u32> {
    let canaries = blocks(study, canaries(plan).into_iter());
    let mut work = vec![Work::default(); shards.max(1) as usize];
    work.iter_mut().for_each(|work| canaries.iter().for_each(|block| work.take(block)));
    let mut blocks = blocks(study, plan.iter());
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

fn blocks<'a>(study: &Study, trials: impl Iterator<Item = &'a PlannedTrial>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for planned in trials {
        let name = planned.block();
        let place = *places.entry(name.clone()).or_insert_with(|| {
            blocks.push(Block { name, time: Duration::ZERO, starts: BTreeMap::new() });
            blocks.len() - 1
        });
        blocks[place].time += trial_time(study, planned);
        let start = Start::of(planned);
        blocks[place].starts.insert(start, plan::raising(start.clients));
    }
    blocks
}

/// A first guess at the wall time of a shard's trials on a machine that makes one at a time; and with all that they start
/// from, where nothing is in its cache.
pub fn times(study: &Study, part: &[PlannedTrial]) -> [Duration; 2] {
    let mut work = Work::default();
    let blocks = blocks(study, part.iter());
    blocks.iter().for_each(|block| work.take(block));
    [blocks.iter().map(|block| block.time).sum(), work.time]
}

/// Why a plan cannot be dealt out to machines, where one of its trials feels the machine that it is made on.
pub fn refusal(plan: &[PlannedTrial]) -> Option<String> {
    let felt = plan.iter().find(|planned| !planned.is_counted())?;
    Some(format!(
        "`{}` is measured in real time, which is another on every machine; only counted trials can be shards of one run",
        felt.id
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_file;

    fn study() -> Study {
        let text = "question = \"?\"\n[access-point]\nclients = [9, 60, 114]\n[subject]\nprocess = \"hostapd\"\n\
            [load]\nrun = \"iw dev\"\n[trial]\nrepetitions = 6\n[[variant]]\nname = \"idle\"\nload = \"none\"\n\
            [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nhost-load = \"trial\"\n";
        study_file::parse(text).unwrap()
    }

    #[test]
    fn every_trial_is_one_shards_and_canaries_are_everybodys() {
        let study = study();
        let plan = plan::shown(&study, None);
        let canaries = canaries(&plan);
        let names: Vec<String> = canaries.iter().map(|canary| canary.id.to_string()).collect();
        assert_eq!(names, ["a@9#1", "a@9#2", "a@9#3"], "a load, and the fewest clients");
        for of in [1, 2, 7, 64] {
            let mut seen = BTreeSet::new();
            for shard in Shard::all(of) {
                let own = part(&study, &plan, shard);
                assert!(canaries.iter().all(|canary| own.contains(canary)), "{shard}");
                assert_eq!(own, part(&study, &plan, shard));
                for planned in own.iter().filter(|planned| !canaries.contains(planned)) {
                    assert!(seen.insert(planned.id.to_string()), "{} twice", planned.id);
                }
            }
            assert_eq!(seen.len(), plan.len() - canaries.len(), "{of} shards");
        }
    }

    #[test]
    fn what_is_compared_stays_together_and_time_is_shared_out() {
        let study = study();
        let plan = plan::shown(&study, None);
        let owners = owners(&study, &plan, 4);
        let owner = |id: &str| {
            let planned = plan.iter().find(|planned| planned.id.to_string() == id).unwrap();
            owners[&planned.block()]
        };
        assert_eq!(owner("idle@60#3"), owner("a@60#3"));
        assert_eq!(owner("b@60#3"), owner("b@60#4"), "two that run at the same time");
        let time = |shard| times(&study, &part(&study, &plan, shard))[1];
        let all: Vec<Duration> = Shard::all(4).map(time).collect();
        let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        assert!(most.as_secs_f64() < 1.2 * least.as_secs_f64(), "{all:?}");
    }
}
