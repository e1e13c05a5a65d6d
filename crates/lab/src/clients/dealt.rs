//! What must be known of trials of clients to make them as shards, and when two machines count alike.

use std::time::Duration;

use model::{
    experiment::Clients,
    reading::Reading,
    sample::Account,
    study::{Mode, Study, Target},
    trial::{PlannedTrial, Purpose, TrialId},
};

use crate::{
    plan::{self, FirstGuess, Pace, Start},
    shard::Dealt,
};

impl Dealt for Clients {
    fn guess(_: &Study, planned: &PlannedTrial) -> Duration {
        FirstGuess.of(planned)
    }

    fn start(planned: &PlannedTrial) -> Option<(String, Duration)> {
        let start = Start::of(planned);
        Some((format!("{start:?}"), plan::raising(start.clients)))
    }

    fn is_counted(study: &Study, planned: &PlannedTrial) -> bool {
        planned.mode == Mode::Counted && study.access_point.kind == Target::Vm
    }

    /// The first repetitions of the first variant that makes its subject work, where the fewest clients are: a machine
    /// that does not count alike shows it there, and least happens there that is not the same each time.
    fn canaries(plan: &[PlannedTrial]) -> Vec<&PlannedTrial> {
        let plain = || plan.iter().filter(|planned| planned.id.purpose == Purpose::Cpu);
        let loaded = plain().filter(|planned| planned.order.load.is_some());
        let first = loaded.min_by_key(|planned| planned.id.clients).or(plain().next());
        let Some(TrialId { variant, clients, .. }) = first.map(|planned| &planned.id) else {
            return plan.first().into_iter().collect();
        };
        let same = plain().filter(|planned| {
            let id = &planned.id;
            (&id.variant, &id.clients, id.perturbed) == (variant, clients, None)
        });
        same.take(CANARIES).collect()
    }

    /// What subject and load took in the window. When the window began is some nanoseconds off each time, because the
    /// agent takes its order in when QEMU's timer lets it.
    fn agree(one: &Reading, other: &Reading) -> bool {
        match (window(one), window(other)) {
            (Some((own, load)), Some((other_own, other_load))) => {
                own == other_own && is_near(load, other_load)
            }
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

/// So many trials are canaries: most of them must agree.
const CANARIES: usize = 3;

/// The subject's time in the window, task by task where they stay and else of its group, ns; and the load's.
fn window(reading: &Reading) -> Option<(Vec<u64>, Option<u64>)> {
    let (first, last) = (reading.samples.first()?, reading.samples.last()?);
    let load = first.load.as_ref().zip(last.load.as_ref());
    Some((
        grown(&first.subject, &last.subject),
        load.and_then(|(first, last)| of_group(first, last)),
    ))
}

fn grown(first: &Account, last: &Account) -> Vec<u64> {
    let times = |account: &Account| -> Vec<Option<u64>> {
        account.tasks.iter().map(|task| task.run_ns).collect()
    };
    let tasks = times(first).into_iter().zip(times(last));
    let tasks: Option<Vec<u64>> = tasks.map(|(first, last)| last?.checked_sub(first?)).collect();
    let same = first.tasks.len() == last.tasks.len() && !first.tasks.is_empty();
    tasks.filter(|_| same).unwrap_or_else(|| of_group(first, last).into_iter().collect())
}

fn of_group(first: &Account, last: &Account) -> Option<u64> {
    let usage = |account: &Account| account.group.as_ref().map(|group| group.usage_ns);
    usage(last)?.checked_sub(usage(first)?)
}

/// The kernel counts groups in whole µs, so each end of a window may be one off.
fn is_near(one: Option<u64>, other: Option<u64>) -> bool {
    const GRAIN_NS: u64 = 1_000;
    match (one, other) {
        (Some(one), Some(other)) => one.abs_diff(other) <= 2 * GRAIN_NS,
        (one, other) => one == other,
    }
}
