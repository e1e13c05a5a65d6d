//! What the applications used and waited for: from their groups' counters and their threads.
//!
//! A group's counter holds also what processes that have ended used; threads tell what no counter does, the
//! waiting. Of an application with more threads than are read in one tick, each is read in turn, and the rate
//! of its last interval stands for the tick. A thread that lives shorter than a tick is not seen waiting.

use std::path::{Path, PathBuf};

use linux::{cgroup, load};

use super::{
    Watched,
    source::{File, Tick, below, grown, text},
    thread::{Nothing, Thread},
    workers::numbers,
};
use crate::reading::Application;

/// Threads of one application that are followed.
const MOST: usize = 256;
/// Threads of all applications that are read in a tick.
const BUDGET: usize = 48;
/// Each application's least part of it.
const LEAST: usize = 2;
/// Ticks in which each thread is read once, where a group's counter tells what all of them used: what is left to
/// tell, who waits and where it ran, moves slowly.
const ROUND: usize = 5;
/// How often threads are listed anew, ns.
const RESCAN_NS: u64 = 2_000_000_000;
/// How often memory, and what a quota held back, are read, ns: both move slowly.
const SLOW_NS: u64 = 1_000_000_000;
/// Groups below an application's own that are looked into for threads.
const MOST_GROUPS: usize = 64;

/// What an application was charged with in a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charged {
    /// By CPU number; empty where nothing tells.
    pub(crate) by_cpu: Vec<u64>,
}

/// Something that counts CPU time.
#[derive(Debug)]
enum Meter {
    /// `cpuacct.usage_percpu`, ns of each CPU.
    ByCpu(File),
    /// `cpuacct.usage`, ns.
    Total(File),
    /// `cpu.stat` of version 2, µs.
    Unified(File),
}

/// A number of a file, and what makes it ns or KiB.
#[derive(Debug)]
struct Counter {
    file: File,
    label: &'static [u8],
    scale: u64,
}

#[derive(Debug)]
struct Follow {
    thread: Thread,
    at_ns: u64,
    /// Shares of a CPU that it ran and waited in its last interval; `None` before there was one.
    ran: Option<f64>,
    waited: Option<f64>,
}

/// One application, read again and again.
#[derive(Debug, Default)]
struct State {
    watched: Watched,
    meters: Vec<Meter>,
    held_back: Vec<Counter>,
    memory: Vec<File>,
    threads: Vec<Follow>,
    /// The thread that is read next.
    next: usize,
    scan_at_ns: u64,
    slow_at_ns: u64,
    memory_kib: Option<u64>,
    before: Option<(Vec<u64>, u64)>,
    /// What a quota held back, ns, and when that was read.
    throttled_before: Option<(u64, u64)>,
    /// The share of the last second that it held back.
    throttled: Option<f64>,
}

/// The applications, in the policy's order.
#[derive(Debug)]
pub(crate) struct Applications {
    root: PathBuf,
    schedstat: bool,
    states: Vec<State>,
}

impl Applications {
    pub(crate) fn new(root: &Path, schedstat: bool) -> Self {
        Self { root: root.to_owned(), schedstat, states: Vec::new() }
    }

    /// What each did since the last time, and what it was charged with on each CPU. One that was not watched
    /// before, whose groups changed, or whose counters went back has used nothing for one tick.
    pub(crate) fn read(
        &mut self,
        watched: &[Watched],
        tick: &mut Tick<'_>,
    ) -> Vec<(Application, Charged)> {
        self.states.resize_with(watched.len(), State::default);
        let budget = (BUDGET / watched.len().max(1)).max(LEAST);
        let mut found = Vec::with_capacity(watched.len());
        for (state, watched) in self.states.iter_mut().zip(watched) {
            if state.watched.folders != watched.folders {
                *state = State::open(watched);
            }
            if state.watched.pids != watched.pids || state.watched.name != watched.name {
                state.watched = watched.clone();
                state.scan_at_ns = 0;
            }
            if tick.at_ns >= state.scan_at_ns {
                state.scan(&self.root, self.schedstat);
                state.scan_at_ns = tick.at_ns + RESCAN_NS;
            }
            found.push(state.read(budget, self.schedstat, tick));
        }
        found
    }
}

impl State {
    fn open(watched: &Watched) -> Self {
        let mut state = Self { watched: watched.clone(), ..Self::default() };
        for folder in &watched.folders {
            let open = |name: &str| File::open(folder.join(name));
            if let Some(file) = open("cpuacct.usage_percpu") {
                state.meters.push(Meter::ByCpu(file));
            } else if let Some(file) = open("cpuacct.usage") {
                state.meters.push(Meter::Total(file));
            }
            // Version 1's `cpu.stat` has `throttled_time`, version 2's both others.
            let stat = text(folder.join("cpu.stat")).unwrap_or_default();
            for (label, scale) in [("throttled_time", 1), ("throttled_usec", 1000)] {
                let counter = stat.contains(label).then(|| open("cpu.stat")).flatten();
                let label = label.as_bytes();
                state.held_back.extend(counter.map(|file| Counter { file, label, scale }));
            }
            state.memory.extend(open("memory.current").or_else(|| open("memory.usage_in_bytes")));
        }
        // Both versions count the same processes on hybrid machines.
        if state.meters.is_empty() {
            for folder in &watched.folders {
                let stat = text(folder.join("cpu.stat")).unwrap_or_default();
                let counts = stat.contains("usage_usec");
                let file = counts.then(|| File::open(folder.join("cpu.stat"))).flatten();
                state.meters.extend(file.map(Meter::Unified));
            }
        }
        state
    }

    /// Finds the threads that came, and keeps those that it had.
    fn scan(&mut self, root: &Path, schedstat: bool) {
        let mut tids = self.tids(root);
        tids.truncate(MOST);
        self.threads.retain(|follow| tids.contains(&follow.thread.tid));
        for tid in tids {
            if !self.threads.iter().any(|follow| follow.thread.tid == tid) {
                let thread = Thread::open(root, tid, schedstat);
                self.threads.extend(thread.map(|thread| Follow {
                    thread,
                    at_ns: 0,
                    ran: None,
                    waited: None,
                }));
            }
        }
    }

    fn tids(&self, root: &Path) -> Vec<u32> {
        let folder = self.watched.folders.first();
        if let Some(tids) = folder.and_then(|folder| members(folder)) {
            return tids;
        }
        let tasks = |pid: &u32| numbers(&below(root, "/proc").join(pid.to_string()).join("task"));
        self.watched.pids.iter().flat_map(tasks).collect()
    }

    fn read(
        &mut self,
        budget: usize,
        schedstat: bool,
        tick: &mut Tick<'_>,
    ) -> (Application, Charged) {
        let followed = self.follow(budget, tick);
        self.look_at_the_slow(tick);
        let (charged_ns, mut charged) = self.charged(tick.buffer).unwrap_or_default();
        let mut application = Application {
            name: self.watched.name.clone(),
            runs: !self.threads.is_empty() || charged_ns > 0,
            charged_ns,
            waited_ns: schedstat.then_some(followed.waited_ns),
            throttled_ns: self.throttled.map(|share| (share * tick.span_ns as f64) as u64),
            memory_kib: self.memory_kib,
            ..Application::default()
        };
        if self.meters.is_empty() {
            application.charged_ns = followed.ran_by_cpu.iter().sum();
        }
        if charged.by_cpu.is_empty() {
            charged.by_cpu = scaled(followed.ran_by_cpu, application.charged_ns);
        }
        (application, charged)
    }

    /// Reads as many threads as the budget has, and tells of all.
    fn follow(&mut self, budget: usize, tick: &mut Tick<'_>) -> Followed {
        let count = self.threads.len();
        let wanted = if self.meters.is_empty() { count } else { count.div_ceil(ROUND) };
        let budget = wanted.min(budget);
        let mut gone = Vec::new();
        for step in 0..budget {
            let place = (self.next + step) % count;
            let Some(follow) = self.threads.get_mut(place) else { continue };
            if follow.read(tick) == Err(Nothing::Gone) {
                gone.push(follow.thread.tid);
            }
        }
        self.next = (self.next + budget) % count.max(1);
        if !gone.is_empty() {
            self.threads.retain(|follow| !gone.contains(&follow.thread.tid));
            self.scan_at_ns = tick.at_ns;
        }
        let mut followed = Followed::default();
        for follow in &self.threads {
            let ns =
                |share: Option<f64>| (share.unwrap_or(0.0) * tick.span_ns as f64).round() as u64;
            followed.waited_ns += ns(follow.waited);
            let Some(cpu) = follow.thread.cpu.and_then(|cpu| usize::try_from(cpu).ok()) else {
                continue;
            };
            if followed.ran_by_cpu.len() <= cpu {
                followed.ran_by_cpu.resize(cpu + 1, 0);
            }
            followed.ran_by_cpu[cpu] += ns(follow.ran);
        }
        followed
    }

    /// What the meters counted since the last time, ns, and on which CPUs; `None` where something went back.
    fn charged(&mut self, buffer: &mut [u8]) -> Option<(u64, Charged)> {
        let now = self.counted(buffer);
        let before = std::mem::replace(&mut self.before, now);
        let ((now_by_cpu, now), (before_by_cpu, before)) = (self.before.as_ref()?, before?);
        let by_cpu = now_by_cpu.iter().zip(&before_by_cpu);
        let by_cpu: Option<Vec<u64>> = by_cpu.map(|(now, before)| grown(*now, *before)).collect();
        let (by_cpu, rest) = (by_cpu?, grown(*now, before)?);
        let sum = by_cpu.iter().sum::<u64>().saturating_add(rest);
        // Where one group tells CPUs apart and another does not, no one knows.
        let by_cpu = if rest == 0 { by_cpu } else { Vec::new() };
        Some((sum, Charged { by_cpu }))
    }

    /// What the meters say now: by CPU, and without CPUs.
    fn counted(&self, buffer: &mut [u8]) -> Option<(Vec<u64>, u64)> {
        let mut by_cpu = Vec::new();
        let mut others = 0_u64;
        for meter in &self.meters {
            match meter {
                Meter::ByCpu(file) => {
                    let text = file.read(buffer)?;
                    for (cpu, word) in load::words(text).enumerate() {
                        if by_cpu.len() <= cpu {
                            by_cpu.push(0);
                        }
                        by_cpu[cpu] += load::number(word)?;
                    }
                }
                Meter::Total(file) => others += file.number(buffer)?,
                Meter::Unified(file) => {
                    others += file.labelled(b"usage_usec", buffer)?.saturating_mul(1000);
                }
            }
        }
        Some((by_cpu, others))
    }

    /// Memory, and what a quota held back, once a second.
    fn look_at_the_slow(&mut self, tick: &mut Tick<'_>) {
        if tick.at_ns < self.slow_at_ns {
            return;
        }
        self.slow_at_ns = tick.at_ns + SLOW_NS;
        let bytes: Option<u64> = self.memory.iter().map(|file| file.number(tick.buffer)).sum();
        self.memory_kib = bytes.filter(|_| !self.memory.is_empty()).map(|bytes| bytes / 1024);
        let counters = self.held_back.iter();
        let each = counters
            .map(|one| Some(one.file.labelled(one.label, tick.buffer)?.saturating_mul(one.scale)));
        let now: Option<u64> = each.sum();
        let now = now.filter(|_| !self.held_back.is_empty()).map(|now| (now, tick.at_ns));
        let before = std::mem::replace(&mut self.throttled_before, now);
        self.throttled = before.zip(now).and_then(|((before, then), (now, at))| {
            let passed = at.checked_sub(then).filter(|&passed| passed > 0)?;
            Some(grown(now, before)? as f64 / passed as f64)
        });
    }
}

/// What an application's threads did in a tick.
#[derive(Default)]
struct Followed {
    waited_ns: u64,
    ran_by_cpu: Vec<u64>,
}

impl Follow {
    fn read(&mut self, tick: &mut Tick<'_>) -> Result<(), Nothing> {
        let spent = self.thread.read(tick);
        let interval = std::mem::replace(&mut self.at_ns, tick.at_ns);
        let interval = tick.at_ns.saturating_sub(interval).max(1) as f64;
        let share = |ns: u64| ns as f64 / interval;
        self.ran = spent.ok().map(|spent| share(spent.ran_ns));
        self.waited = spent.ok().and_then(|spent| spent.waited_ns).map(share);
        spent.map(drop)
    }
}

/// The same proportions with this sum.
fn scaled(parts: Vec<u64>, wanted: u64) -> Vec<u64> {
    let sum: u64 = parts.iter().sum();
    if sum == 0 {
        return Vec::new();
    }
    let scale = wanted as f64 / sum as f64;
    parts.into_iter().map(|part| (part as f64 * scale).round() as u64).collect()
}

/// The threads in a group and in those below it; `None` where the folder does not list them.
fn members(folder: &Path) -> Option<Vec<u32>> {
    let list = |folder: &Path| {
        let text = text(folder.join("cgroup.threads")).or_else(|| text(folder.join("tasks")))?;
        Some(text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>())
    };
    let mut tids = list(folder)?;
    let mut groups = cgroup::below(folder);
    let mut looked = 0;
    while let Some(group) = groups.pop().filter(|_| looked < MOST_GROUPS) {
        looked += 1;
        tids.extend(list(&group).unwrap_or_default());
        groups.extend(cgroup::below(&group));
    }
    Some(tids)
}

#[cfg(test)]
#[path = "applications_tests.rs"]
mod tests;
