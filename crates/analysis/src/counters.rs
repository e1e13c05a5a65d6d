//! Which counter says what a party spent, and how much it rose between samples.

use std::collections::BTreeMap;

use model::sample::{Account, Sample, Task};
use serde::Serialize;

/// A counter of CPU time, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The control group's usage: holds children that ended too.
    Group,
    /// `schedstat`, summed over the threads.
    Schedstat,
    /// utime + stime, summed over the threads; grain of a clock tick each.
    Ticks,
}

impl Source {
    pub const fn name(self) -> &'static str {
        match self {
            Source::Group => "control group",
            Source::Schedstat => "schedstat",
            Source::Ticks => "utime + stime",
        }
    }

    /// The best counter that every one of the accounts has; `None` where there is none.
    pub(crate) fn best(accounts: &[&Account], clk_tck: u64) -> Option<Self> {
        [Source::Group, Source::Schedstat, Source::Ticks]
            .into_iter()
            .find(|source| accounts.iter().all(|account| source.is_in(account, clk_tck)))
    }

    fn is_in(self, account: &Account, clk_tck: u64) -> bool {
        match self {
            Source::Group => account.group.is_some(),
            Source::Schedstat => {
                !account.tasks.is_empty() && account.tasks.iter().all(|task| task.run_ns.is_some())
            }
            Source::Ticks => !account.tasks.is_empty() && clk_tck > 0,
        }
    }
}

/// What the counter rose by from the first account to the last, ns; `None` where it is absent or fell.
pub(crate) fn spent(source: Source, accounts: &[&Account], clk_tck: u64) -> Option<u64> {
    if !accounts.iter().all(|account| source.is_in(account, clk_tck)) {
        return None;
    }
    accounts
        .windows(2)
        .map(|pair| rose(source, pair, clk_tck))
        .try_fold(0u64, |sum, ns| Some(sum.saturating_add(ns?)))
}

fn rose(source: Source, pair: &[&Account], clk_tck: u64) -> Option<u64> {
    let tasks = |of: &dyn Fn(&Task) -> u64| tasks_rose(pair[0], pair[1], of);
    match source {
        Source::Group => pair[1].group?.usage_ns.checked_sub(pair[0].group?.usage_ns),
        Source::Schedstat => Some(tasks(&|task| task.run_ns.unwrap_or(0))),
        Source::Ticks => Some(ticks_to_ns(tasks(&ticks_of), clk_tck)),
    }
}

fn ticks_of(task: &Task) -> u64 {
    task.utime.saturating_add(task.stime)
}

fn ticks_to_ns(ticks: u64, clk_tck: u64) -> u64 {
    let ns = u128::from(ticks) * 1_000_000_000 / u128::from(clk_tck.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// A thread that is new counts in full, and so does one whose counter fell: its number was taken over
/// by another thread.
fn tasks_rose(from: &Account, to: &Account, of: &dyn Fn(&Task) -> u64) -> u64 {
    let before: BTreeMap<_, _> =
        from.tasks.iter().map(|task| ((task.pid, task.tid), of(task))).collect();
    to.tasks.iter().fold(0u64, |sum, task| {
        let start = before.get(&(task.pid, task.tid)).copied().unwrap_or(0);
        let now = of(task);
        sum.saturating_add(now.checked_sub(start).unwrap_or(now))
    })
}

/// What one thread did between the first and the last sample.
pub(crate) struct ThreadSpent {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) name: String,
    pub(crate) spent_ns: Option<u64>,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

/// The subject's threads that the last sample shows, by process and thread number.
pub(crate) fn by_thread(samples: &[Sample], clk_tck: u64) -> Vec<ThreadSpent> {
    let [first, .., last] = samples else { return Vec::new() };
    let before: BTreeMap<_, _> =
        first.subject.tasks.iter().map(|task| ((task.pid, task.tid), task)).collect();
    let new = Task { run_ns: Some(0), ..Task::default() };
    let mut threads: Vec<_> = last
        .subject
        .tasks
        .iter()
        .map(|task| {
            let start = before.get(&(task.pid, task.tid)).copied().unwrap_or(&new);
            thread(start, task, clk_tck)
        })
        .collect();
    threads.sort_by_key(|thread| (thread.pid, thread.tid));
    threads
}

fn thread(from: &Task, to: &Task, clk_tck: u64) -> ThreadSpent {
    let exact = to.run_ns.zip(from.run_ns).and_then(|(to, from)| to.checked_sub(from));
    let ticks = ticks_of(to).checked_sub(ticks_of(from)).filter(|_| clk_tck > 0);
    ThreadSpent {
        pid: to.pid,
        tid: to.tid,
        name: to.comm.clone(),
        spent_ns: exact.or(ticks.map(|ticks| ticks_to_ns(ticks, clk_tck))),
        voluntary: to.voluntary.saturating_sub(from.voluntary),
        involuntary: to.involuntary.saturating_sub(from.involuntary),
    }
}
