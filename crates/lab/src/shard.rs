//! Which trials a shard makes: a pure function of the study, its plan and the number of shards.
//!
//! Trials of one block stay together; blocks are dealt by their expected time. Every shard also makes one trial of the
//! plan, the canary: machines that count alike agree about it to the nanosecond. Putting shards together is
//! [`crate::merge`]'s.

use std::{collections::BTreeMap, path::Path, time::Duration};

use model::{
    experiment::{Any, Experiment, Planned},
    shard::Shard,
};

use crate::run_folder::{self, Recorded};

/// What must be known of a kind's trials to deal them out.
pub trait Dealt: Experiment {
    /// A first guess at the wall time of one trial.
    fn guess(study: &Self::Study, planned: &Self::Planned) -> Duration;

    /// Whether its figures are the same on every machine.
    fn is_counted(study: &Self::Study, planned: &Self::Planned) -> bool;

    /// Whether it makes its subject work, so that machines that do not count alike would show it.
    fn is_telling(_planned: &Self::Planned) -> bool {
        true
    }

    /// Whether two readings of one trial are the same in everything that figures are made of.
    fn agree(one: &Self::Reading, other: &Self::Reading) -> bool {
        one == other
    }
}

/// The trial that every shard makes.
pub fn canary<K: Dealt>(plan: &[K::Planned]) -> Option<&K::Planned> {
    plan.iter().find(|planned| K::is_telling(planned)).or(plan.first())
}

/// The trials of one shard, in the order of the plan.
pub fn part<K: Dealt>(study: &K::Study, plan: &[K::Planned], shard: Shard) -> Vec<K::Planned> {
    let owners = owners::<K>(study, plan, shard.of());
    let canary = canary::<K>(plan).map(Planned::id);
    let is_ours = |planned: &&K::Planned| {
        owners.get(&planned.block()) == Some(&shard.number())
            || canary.as_deref() == Some(&planned.id())
    };
    plan.iter().filter(is_ours).cloned().collect()
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

/// How far a shard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Trials that were made.
    pub made: usize,
    /// All of its own.
    pub planned: usize,
}

impl Progress {
    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.made == self.planned
    }
}

/// How far the shard in a folder is; `None` where it has not begun.
pub fn progress(folder: &Path) -> Option<Progress> {
    let recorded = run_folder::read_any(folder).ok()?;
    Some(match &recorded {
        Any::Clients(recorded) => so_far(recorded),
        Any::Contention(recorded) => so_far(recorded),
        Any::Completion(recorded) => so_far(recorded),
    })
}

fn so_far<K: Experiment>(recorded: &Recorded<K>) -> Progress {
    Progress { made: recorded.trials.len(), planned: recorded.run.plan.len() }
}

/// The shard of every block: the longest comes first, to the shard that has the least so far.
fn owners<K: Dealt>(study: &K::Study, plan: &[K::Planned], shards: u32) -> BTreeMap<String, u32> {
    let mut blocks: Vec<(String, Duration)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for planned in plan {
        let name = planned.block();
        let place = *places.entry(name.clone()).or_insert_with(|| {
            blocks.push((name, Duration::ZERO));
            blocks.len() - 1
        });
        blocks[place].1 += K::guess(study, planned);
    }
    // Stable: blocks of one length stay in the plan's order.
    blocks.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let mut loads = vec![Duration::ZERO; shards.max(1) as usize];
    let deal = |(name, time): (String, Duration)| {
        let least = (0..loads.len()).min_by_key(|shard| loads[*shard]).unwrap_or_default();
        loads[least] += time;
        (name, least as u32 + 1)
    };
    blocks.into_iter().map(deal).collect()
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
    use std::collections::BTreeSet;

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
    fn every_trial_is_one_shards_and_the_canary_is_everybodys() {
        let study = study();
        let plan = plan::trials(&study, &plan::Unlocated(&study));
        let canary = canary::<Clients>(&plan).unwrap();
        assert_eq!(canary.id.to_string(), "a@114#1", "the first that has a load");
        for of in [1, 2, 7, 64] {
            let mut seen = BTreeSet::new();
            for shard in Shard::all(of) {
                let own = part::<Clients>(&study, &plan, shard);
                assert!(own.contains(canary), "{shard}");
                assert_eq!(own, part::<Clients>(&study, &plan, shard));
                for planned in own.iter().filter(|planned| *planned != canary) {
                    assert!(seen.insert(planned.id()), "{} twice", planned.id());
                }
            }
            assert_eq!(seen.len(), plan.len() - 1, "{of} shards");
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
        let time = |shard: u32| -> Duration {
            let own = plan.iter().filter(|planned| owners[&planned.block()] == shard);
            own.map(|planned| Clients::guess(&study, planned)).sum()
        };
        let all: Vec<Duration> = (1..=4).map(time).collect();
        let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
        assert!(most.as_secs_f64() < 1.2 * least.as_secs_f64(), "{all:?}");
    }
}
