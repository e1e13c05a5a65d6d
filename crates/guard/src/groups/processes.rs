//! The processes of a device, looked at once and then only while they are new.
//!
//! Talks to `/proc/PID/{stat,status,exe}`. A process that has just started may become another program a moment
//! later, so each is looked at in two refreshes before it is taken as settled, unless it is old enough; then only
//! its being there is looked at, which costs one listing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use linux::{
    proc,
    system::{boottime_ns, ticks_per_second},
};

/// Looks after which a process is what it will be.
const SETTLED: u8 = 2;
/// A process that started so long ago is that too, ns.
const OLD_NS: u64 = 5_000_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) parent: u32,
    /// Its name, as the kernel cuts it.
    pub(crate) comm: Vec<u8>,
    /// The file that it runs, where we may know.
    pub(crate) exe: Option<PathBuf>,
    pub(crate) user: Option<u32>,
    /// Whether the kernel runs it.
    pub(crate) kernel: bool,
    /// Whether it is real-time or has deadlines.
    pub(crate) realtime: bool,
    /// When it started, ticks since boot.
    pub(crate) born: u64,
    checks: u8,
}

impl Process {
    pub(crate) fn name(&self) -> String {
        String::from_utf8_lossy(&self.comm).into_owned()
    }
}

/// All processes of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes {
    proc: PathBuf,
    all: BTreeMap<u32, Process>,
}

impl Processes {
    /// Of the device with this `/proc`; none until the first refresh.
    pub(crate) fn of(proc: PathBuf) -> Self {
        Self { proc, all: BTreeMap::new() }
    }

    /// Looks at what is new, and forgets what has ended.
    pub(crate) fn refresh(&mut self) {
        let mut next = BTreeMap::new();
        let ticks_ns = 1_000_000_000 / ticks_per_second().max(1);
        let old = boottime_ns().saturating_sub(OLD_NS) / ticks_ns.max(1);
        for entry in fs::read_dir(&self.proc).into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            match self.all.remove(&pid) {
                Some(known) if known.checks >= SETTLED => drop(next.insert(pid, known)),
                known => {
                    let checks = known.map_or(0, |known| known.checks) + 1;
                    let seen = look(&self.proc.join(pid.to_string()));
                    let settled = |seen: &Process| if seen.born <= old { SETTLED } else { checks };
                    next.extend(seen.map(|seen| (pid, Process { checks: settled(&seen), ..seen })));
                }
            }
        }
        self.all = next;
    }

    /// Looks at one process again: it may have become real-time, or another may have its number.
    pub(crate) fn look_again(&mut self, pid: u32) -> Option<&Process> {
        let seen = look(&self.proc.join(pid.to_string()));
        let checks = self.all.get(&pid).map_or(1, |known| known.checks);
        match seen {
            Some(process) => drop(self.all.insert(pid, Process { checks, ..process })),
            None => drop(self.all.remove(&pid)),
        }
        self.all.get(&pid)
    }

    pub(crate) fn get(&self, pid: u32) -> Option<&Process> {
        self.all.get(&pid)
    }

    /// The ids of those of whom `is` is true, ascending.
    pub(crate) fn matching(&self, is: impl Fn(&Process) -> bool) -> Vec<u32> {
        self.all.iter().filter(|(_, process)| is(process)).map(|(&pid, _)| pid).collect()
    }

    /// A process and all who started it, up to the first.
    pub(crate) fn line_of(&self, pid: u32) -> Vec<u32> {
        let mut line = vec![pid];
        while let Some(parent) = line.last().and_then(|pid| self.get(*pid)).map(|one| one.parent) {
            if parent == 0 || line.contains(&parent) {
                break;
            }
            line.push(parent);
        }
        line
    }
}

fn look(folder: &Path) -> Option<Process> {
    let text = proc::read(folder.join("stat")).ok()?;
    let stat = proc::stat(&text)?;
    if stat.ended() {
        return None;
    }
    // The kernel's own threads have no file, and their user is root.
    let (exe, user) = match stat.kernel_thread {
        true => (None, Some(0)),
        false => {
            let status = proc::whole(&folder.join("status")).unwrap_or_default();
            (fs::read_link(folder.join("exe")).ok(), user_of(&String::from_utf8_lossy(&status)))
        }
    };
    Some(Process {
        parent: stat.parent,
        comm: stat.comm.to_vec(),
        exe,
        user,
        kernel: stat.kernel_thread,
        realtime: is_realtime_stat(&text),
        born: born(&text)?,
        checks: 0,
    })
}

/// Fields of `/proc/PID/stat`, counted as proc(5) counts them.
const STARTED: usize = 22;
const POLICY: usize = 41;

/// When a process started, from the text of its `stat`: with its id, who it is.
pub(crate) fn born(stat: &[u8]) -> Option<u64> {
    linux::proc::stat_field(stat, STARTED)
}

/// Whether a process is real-time or has deadlines, from the text of its `stat`.
pub(crate) fn is_realtime_stat(stat: &[u8]) -> bool {
    linux::proc::stat_field(stat, POLICY).is_some_and(is_realtime)
}

/// `SCHED_FIFO`, `SCHED_RR` or `SCHED_DEADLINE` (sched(7)).
fn is_realtime(policy: u64) -> bool {
    matches!(policy, 1 | 2 | 6)
}

/// The real user of `/proc/PID/status`. The owner of the folder would be root for who may not be dumped.
fn user_of(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::fake::{Fake, Spawned};

    #[test]
    fn the_policy_and_the_start_are_read_of_a_name_with_brackets() {
        let stat = Spawned { comm: "a) R (b", policy: 2, born: 77, ..Spawned::default() }.stat(5);
        assert_eq!(born(stat.as_bytes()), Some(77));
        assert!(is_realtime_stat(stat.as_bytes()));
        assert_eq!(born(b"5 (cut"), None);
        assert_eq!(user_of("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(1000));
        assert_eq!(user_of("Uid:\n"), None);
    }

    #[test]
    fn a_child_that_becomes_another_program_is_seen_to() {
        let fake = Fake::v1();
        // It has just started.
        fake.spawn(40, Spawned { comm: "sh", born: u64::MAX, ..Spawned::default() });
        let mut processes = Processes::of(fake.path("/proc"));
        processes.refresh();
        fake.spawn(40, Spawned { comm: "backup", born: u64::MAX, ..Spawned::default() });
        processes.refresh();
        assert_eq!(processes.get(40).unwrap().name(), "backup");
        fake.ends(40);
        processes.refresh();
        assert_eq!(processes.get(40), None);
    }

    #[test]
    fn a_line_of_parents_that_bites_its_tail_ends() {
        let fake = Fake::v1();
        fake.spawn(40, Spawned { parent: 41, ..Spawned::default() });
        fake.spawn(41, Spawned { parent: 40, ..Spawned::default() });
        let mut processes = Processes::of(fake.path("/proc"));
        processes.refresh();
        assert_eq!(processes.line_of(40), [40, 41]);
    }
}
