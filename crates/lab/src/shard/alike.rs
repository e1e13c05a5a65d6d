//! When two machines counted alike. Pure.

use model::{reading::Reading, sample::Account};

/// Whether two readings of one trial are the same in everything that figures are made of: what subject and load took in
/// the window, and without a subject everything. When the window began is some nanoseconds off each time, because the
/// agent takes its order in when QEMU's timer lets it.
pub(crate) fn alike(one: &Reading, other: &Reading) -> bool {
    match (window(one), window(other)) {
        (Some((own, load)), Some((other_own, other_load))) => {
            own == other_own && is_near(load, other_load)
        }
        (one_window, other_window) => {
            one_window.is_none() && other_window.is_none() && one == other
        }
    }
}

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
