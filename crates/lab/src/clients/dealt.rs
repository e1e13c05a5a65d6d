//! What must be known of trials of clients to make them as shards, and when two machines count alike.

use std::time::Duration;

use model::{
    experiment::Clients,
    sample::{Account, Sample},
    study::{Mode, Study, Target},
    trial::{PlannedTrial, Recording},
};

use crate::{
    plan::{FirstGuess, Pace},
    shard::Dealt,
};

impl Dealt for Clients {
    fn guess(_: &Study, planned: &PlannedTrial) -> Duration {
        FirstGuess.of(planned)
    }

    fn is_counted(study: &Study, planned: &PlannedTrial) -> bool {
        planned.mode == Mode::Counted && study.access_point.kind == Target::Vm
    }

    fn is_telling(planned: &PlannedTrial) -> bool {
        planned.measure.load.is_some()
    }

    /// What subject and load took at both ends of the window. The agent's order arrives when the host sends it, so it
    /// reads some nanoseconds sooner or later each time: its own time differs, and groups, which the kernel counts in
    /// µs, may be one further.
    fn agree(one: &Recording, other: &Recording) -> bool {
        let ends = |recording: &Recording| {
            let (first, last) = (recording.samples.first(), recording.samples.last());
            first.cloned().zip(last.cloned())
        };
        match (ends(one), ends(other)) {
            (Some((first, last)), Some((other_first, other_last))) => {
                same_cpu(&first, &other_first) && same_cpu(&last, &other_last)
            }
            (None, None) => true,
            _ => false,
        }
    }
}

/// The kernel's unit of a group's time, ns.
const GROUP_NS: u64 = 1_000;

fn same_cpu(one: &Sample, other: &Sample) -> bool {
    let tasks =
        |account: &Account| account.tasks.iter().map(|task| task.run_ns).collect::<Vec<_>>();
    let group = |account: &Account| account.group.as_ref().map(|group| group.usage_ns);
    let same = |one: &Account, other: &Account| {
        let near = match (group(one), group(other)) {
            (Some(one), Some(other)) => one.abs_diff(other) <= GROUP_NS,
            (one, other) => one == other,
        };
        near && tasks(one) == tasks(other)
    };
    let loads = match (&one.load, &other.load) {
        (Some(one), Some(other)) => same(one, other),
        (one, other) => one.is_some() == other.is_some(),
    };
    loads && same(&one.subject, &other.subject)
}
