//! One thread's time: on a CPU, waiting for one, and where.
//!
//! `schedstat` tells both in ns. Without it, `stat` tells the time on a CPU in clock ticks and the waiting is
//! unknown.

use std::path::Path;

use linux::{load, proc};

use super::source::{File, Tick, below, grown};

/// What a thread did since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// On a CPU, ns.
    pub(crate) ran_ns: u64,
    /// Runnable, and not on a CPU, ns.
    pub(crate) waited_ns: Option<u64>,
}

/// Why there is nothing to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nothing {
    Gone,
    /// It was not read before, or its counters went back.
    New,
}

/// Whether `schedstat` is kept: a kernel that could and does not shows zeros, also for process 1.
pub(crate) fn has_schedstat(root: &Path) -> bool {
    let text = super::source::text(below(root, "/proc/1/schedstat"));
    text.is_some_and(|text| text.split_whitespace().any(|word| word != "0"))
}

/// A thread that is read again and again.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) tid: u32,
    /// The CPU that it ran on last; `None` until it was read.
    pub(crate) cpu: Option<u32>,
    schedstat: Option<File>,
    /// Open only where it is read: without `schedstat`, or to learn the CPU.
    stat: Option<File>,
    before: Option<(u64, Option<u64>)>,
}

impl Thread {
    /// Opens its files; `None` where it has ended.
    pub(crate) fn open(root: &Path, tid: u32, schedstat: bool) -> Option<Self> {
        let folder = below(root, "/proc").join(tid.to_string());
        let schedstat = schedstat.then(|| File::open(folder.join("schedstat"))).flatten();
        let stat = File::open(folder.join("stat"))?;
        Some(Self { tid, cpu: None, schedstat, stat: Some(stat), before: None })
    }

    /// The same for one that never leaves its CPU.
    pub(crate) fn pinned(mut self, cpu: u32) -> Self {
        self.cpu = Some(cpu);
        if self.schedstat.is_some() {
            self.stat = None;
        }
        self
    }

    /// What it did since the last time.
    pub(crate) fn read(&mut self, tick: &mut Tick<'_>) -> Result<Spent, Nothing> {
        let now = match &self.schedstat {
            Some(file) => {
                let text = file.read(tick.buffer).ok_or(Nothing::Gone)?;
                let stat = proc::schedstat(text).ok_or(Nothing::Gone)?;
                (stat.run_ns, Some(stat.wait_ns))
            }
            None => {
                let placed = self.placed(tick.buffer).ok_or(Nothing::Gone)?;
                (placed.ticks.saturating_mul(tick.tick_ns), None)
            }
        };
        let before = self.before.replace(now).ok_or(Nothing::New);
        let moved = before.is_ok_and(|before| before.0 != now.0) || self.cpu.is_none();
        if tick.only_cpu.is_some() {
            self.cpu = tick.only_cpu;
        } else if moved && self.schedstat.is_some() {
            self.placed(tick.buffer);
        }
        let (ran, waited) = before?;
        let ran_ns = grown(now.0, ran).ok_or(Nothing::New)?;
        let waited_ns = match (now.1, waited) {
            (Some(now), Some(before)) => Some(grown(now, before).ok_or(Nothing::New)?),
            _ => None,
        };
        Ok(Spent { ran_ns, waited_ns })
    }

    /// Reads `stat`, and notes the CPU.
    fn placed(&mut self, buffer: &mut [u8]) -> Option<load::Placement> {
        let placed = load::placement(self.stat.as_ref()?.read(buffer)?)?;
        self.cpu = Some(placed.cpu);
        Some(placed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sense::{
        source::{buffer, tick},
        tree::{Tree, kernel_stat},
    };

    #[test]
    fn a_thread_reports_what_it_ran_and_waited_and_where() {
        let tree = Tree::new(&[
            ("proc/7/stat", &kernel_stat(7, "napi/phy0-3", 5, 1)),
            ("proc/7/schedstat", "1000 500 9\n"),
        ]);
        let mut thread = Thread::open(tree.root(), 7, true).unwrap();
        let mut buffer = buffer();
        assert_eq!(thread.read(&mut tick(0, 10, &mut buffer)), Err(Nothing::New));
        assert_eq!(thread.cpu, Some(1));
        tree.write("proc/7/schedstat", "1700 900 11\n");
        tree.write("proc/7/stat", &kernel_stat(7, "napi/phy0-3", 6, 0));
        let spent = Spent { ran_ns: 700, waited_ns: Some(400) };
        assert_eq!(thread.read(&mut tick(0, 10, &mut buffer)), Ok(spent));
        assert_eq!(thread.cpu, Some(0));
        tree.write("proc/7/schedstat", "3 2 1\n");
        assert_eq!(
            thread.read(&mut tick(0, 10, &mut buffer)),
            Err(Nothing::New),
            "counters went back"
        );
        tree.write("proc/7/schedstat", "");
        assert_eq!(thread.read(&mut tick(0, 10, &mut buffer)), Err(Nothing::Gone));
    }

    #[test]
    fn without_schedstat_time_is_in_ticks_and_waiting_is_unknown() {
        let tree = Tree::new(&[("proc/7/stat", &kernel_stat(7, "a", 5, 1))]);
        let mut thread = Thread::open(tree.root(), 7, true).unwrap();
        let mut buffer = buffer();
        assert_eq!(thread.read(&mut tick(0, 10, &mut buffer)), Err(Nothing::New));
        tree.write("proc/7/stat", &kernel_stat(7, "a", 8, 1));
        assert_eq!(
            thread.read(&mut tick(0, 10, &mut buffer)),
            Ok(Spent { ran_ns: 30, waited_ns: None })
        );
        assert!(Thread::open(tree.root(), 8, true).is_none());
    }

    #[test]
    fn a_schedstat_of_zeros_is_none() {
        let tree = Tree::new(&[("proc/1/schedstat", "0 0 0\n")]);
        assert!(!has_schedstat(tree.root()));
        tree.write("proc/1/schedstat", "0 10 2\n");
        assert!(has_schedstat(tree.root()));
        assert!(!has_schedstat(Path::new("/proc/none")));
    }
}
