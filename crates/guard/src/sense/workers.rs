//! The threads that carry Wi-Fi's work, and protected daemons: who they are, and what they did.
//!
//! They are found by name: `ksoftirqd/N`, `napi/…`, drivers' threads, workqueues of a radio. The list is made
//! anew every few seconds and once one has vanished. A kworker serves many queues in turn; it counts while it
//! bears a radio's name, which is the queue that it served last.

use std::path::{Path, PathBuf};

use linux::proc;

use super::{
    source::{Tick, below},
    thread::{Nothing, Thread},
};
use crate::reading::{Worker, WorkerKind};

/// How often the list is made anew, ns.
const RESCAN_NS: u64 = 5_000_000_000;
/// The same once a worker has vanished: a driver that starts again takes a moment.
const RESCAN_SOON_NS: u64 = 1_000_000_000;
/// How often everything that was once found dull is looked at again, in scans: process ids come again.
const FORGET: u32 = 12;
/// More threads than this are not followed, so that a daemon with hundreds does not cost more than it tells.
const MOST: usize = 64;

#[derive(Debug)]
struct Followed {
    thread: Thread,
    name: String,
    kind: WorkerKind,
}

/// The workers, read again and again.
#[derive(Debug)]
pub(crate) struct Workers {
    root: PathBuf,
    daemons: Vec<String>,
    schedstat: bool,
    followed: Vec<Followed>,
    /// Processes that are no workers and will not become any, ascending.
    dull: Vec<u32>,
    scans: u32,
    scan_at_ns: u64,
}

impl Workers {
    /// Looks for workers below the root.
    pub(crate) fn open(root: &Path, daemons: &[String], schedstat: bool) -> Self {
        Self {
            root: root.to_owned(),
            daemons: daemons.to_vec(),
            schedstat,
            followed: Vec::new(),
            dull: Vec::new(),
            scans: 0,
            scan_at_ns: 0,
        }
    }

    /// What each worker did since the last time. One that was just found is left out.
    pub(crate) fn read(&mut self, tick: &mut Tick<'_>) -> Vec<Worker> {
        let at_ns = tick.at_ns;
        if at_ns >= self.scan_at_ns {
            self.scan();
            self.scan_at_ns = at_ns + RESCAN_NS;
        }
        let mut workers = Vec::with_capacity(self.followed.len());
        self.followed.retain_mut(|followed| match followed.thread.read(tick) {
            Ok(spent) => {
                workers.push(Worker {
                    tid: followed.thread.tid,
                    name: followed.name.clone(),
                    kind: followed.kind,
                    cpu: followed.thread.cpu.unwrap_or_default(),
                    ran_ns: spent.ran_ns,
                    waited_ns: spent.waited_ns,
                });
                true
            }
            Err(Nothing::New) => true,
            Err(Nothing::Gone) => {
                self.scan_at_ns = self.scan_at_ns.min(at_ns + RESCAN_SOON_NS);
                false
            }
        });
        workers
    }

    /// Finds new workers, and drops kworkers that serve something else now.
    fn scan(&mut self) {
        self.scans += 1;
        if self.scans.is_multiple_of(FORGET) {
            self.dull.clear();
        }
        let mut dull = Vec::with_capacity(self.dull.len());
        for pid in numbers(&below(&self.root, "/proc")) {
            if self.dull.binary_search(&pid).is_ok() {
                dull.push(pid);
                continue;
            }
            match self.look(pid) {
                Look::Dull => dull.push(pid),
                Look::Later => self.followed.retain(|followed| followed.thread.tid != pid),
                Look::Worker(name, kind) => self.follow(pid, &name, kind),
                Look::Daemon(name) => self.follow_all(pid, &name),
            }
        }
        dull.sort_unstable();
        self.dull = dull;
    }

    fn look(&self, pid: u32) -> Look {
        let folder = below(&self.root, "/proc").join(pid.to_string());
        let Ok(bytes) = proc::whole(&folder.join("stat")) else { return Look::Later };
        let Some(stat) = proc::stat(&bytes) else { return Look::Later };
        let name = String::from_utf8_lossy(stat.comm).into_owned();
        if !stat.kernel_thread {
            let protected = self.daemons.iter().any(|daemon| proc::comm_is(stat.comm, daemon));
            return if protected { Look::Daemon(name) } else { dull_program(&name, &self.daemons) };
        }
        // A kworker's name ends with its queue (since 4.18).
        match kind(&name) {
            Some(kind) => Look::Worker(name, kind),
            None if name.starts_with("kworker/") => Look::Later,
            None => Look::Dull,
        }
    }

    fn follow_all(&mut self, pid: u32, name: &str) {
        let tasks = below(&self.root, "/proc").join(pid.to_string()).join("task");
        let tids = numbers(&tasks);
        let tids = if tids.is_empty() { vec![pid] } else { tids };
        tids.into_iter().for_each(|tid| self.follow(tid, name, WorkerKind::Daemon));
    }

    fn follow(&mut self, tid: u32, name: &str, kind: WorkerKind) {
        let known = self.followed.iter().any(|followed| followed.thread.tid == tid);
        if known || self.followed.len() >= MOST {
            return;
        }
        let Some(thread) = Thread::open(&self.root, tid, self.schedstat) else { return };
        let thread = match name.strip_prefix("ksoftirqd/").and_then(|cpu| cpu.parse().ok()) {
            Some(cpu) if kind == WorkerKind::Ksoftirqd => thread.pinned(cpu),
            _ => thread,
        };
        self.followed.push(Followed { thread, name: name.to_owned(), kind });
    }
}

/// What a process is at a glance.
enum Look {
    /// Never a worker.
    Dull,
    /// No worker now; to be looked at again.
    Later,
    /// A kernel thread that carries Wi-Fi's work.
    Worker(String, WorkerKind),
    /// A daemon that the policy protects.
    Daemon(String),
}

/// A process between `fork` and `exec` still has its parent's name, so a new one is looked at again; only where
/// no daemon is protected nothing can come of it.
fn dull_program(name: &str, daemons: &[String]) -> Look {
    // A shell or a service manager starts daemons; others have their name for good.
    let starts = matches!(name, "sh" | "ash" | "bash" | "procd" | "init" | "systemd" | "(systemd)");
    if starts && !daemons.is_empty() { Look::Later } else { Look::Dull }
}

/// What a kernel thread of this name is to Wi-Fi.
pub fn kind(name: &str) -> Option<WorkerKind> {
    if name.starts_with("ksoftirqd/") {
        return Some(WorkerKind::Ksoftirqd);
    }
    if name.starts_with("napi/") || name.starts_with("backlog_napi/") {
        return Some(WorkerKind::Napi);
    }
    // `kworker/u8:2-phy0`, `kworker/u8:2+phy0`: the queue stands behind the pool.
    if let Some(pool) = name.strip_prefix("kworker/") {
        let queue = pool.find(['-', '+']).and_then(|place| pool.get(place + 1..))?;
        return is_radio(queue).then_some(WorkerKind::Driver);
    }
    // `irq/34-mt7915e`: a threaded interrupt of the radio.
    let name = match name.strip_prefix("irq/") {
        Some(numbered) => numbered.split_once('-')?.1,
        None => name,
    };
    is_radio(name).then_some(WorkerKind::Driver)
}

/// Whether a name is that of a radio or its driver.
fn is_radio(name: &str) -> bool {
    const RADIOS: [&str; 8] = ["mt76", "mt79", "ath", "phy", "rtw", "brcmf", "iwl", "mac80211"];
    RADIOS.iter().any(|radio| name.starts_with(radio))
}

/// The entries of a folder that are numbers.
pub(crate) fn numbers(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sense::{
        source::{buffer, tick},
        tree::{Tree, kernel_stat, user_stat},
    };

    #[test]
    fn names_report_who_carries_wifis_work() {
        let kinds = [
            ("ksoftirqd/1", Some(WorkerKind::Ksoftirqd)),
            ("napi/phy0-8193", Some(WorkerKind::Napi)),
            ("mt76-tx phy0", Some(WorkerKind::Driver)),
            ("irq/34-mt7915e", Some(WorkerKind::Driver)),
            ("kworker/u8:2-phy0", Some(WorkerKind::Driver)),
            ("kworker/u8:2+ath11k_wq", Some(WorkerKind::Driver)),
            ("kworker/0:1-events", None),
            ("kworker/0:1", None),
            ("irq/12-mmc0", None),
            ("kswapd0", None),
        ];
        for (name, wanted) in kinds {
            assert_eq!(kind(name), wanted, "{name}");
        }
    }

    fn tree() -> Tree {
        Tree::new(&[
            ("proc/1/stat", &user_stat(1, "procd", 1, 0)),
            ("proc/12/stat", &kernel_stat(12, "ksoftirqd/1", 0, 1)),
            ("proc/12/schedstat", "10 20 1\n"),
            ("proc/30/stat", &kernel_stat(30, "kworker/u4:1-phy0", 0, 1)),
            ("proc/40/stat", &user_stat(40, "hostapd", 0, 0)),
            ("proc/40/schedstat", "5 5 1\n"),
            ("proc/40/task/40/stat", ""),
            ("proc/40/task/41/stat", ""),
            ("proc/41/stat", &user_stat(41, "hostapd", 0, 1)),
            ("proc/50/stat", &user_stat(50, "ksoftirqd/0", 0, 0)),
        ])
    }

    fn names(workers: &[Worker]) -> Vec<(u32, &str)> {
        let mut names: Vec<_> = workers.iter().map(|worker| (worker.tid, &*worker.name)).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn workers_and_daemons_are_found_with_their_threads_and_no_one_else() {
        let tree = tree();
        let mut workers = Workers::open(tree.root(), &["hostapd".to_owned()], true);
        let mut buffer = buffer();
        assert_eq!(workers.read(&mut tick(1, 10_000_000, &mut buffer)), []);
        tree.write("proc/12/schedstat", "110 220 1\n");
        let found = workers.read(&mut tick(2, 10_000_000, &mut buffer));
        let wanted =
            [(12, "ksoftirqd/1"), (30, "kworker/u4:1-phy0"), (40, "hostapd"), (41, "hostapd")];
        assert_eq!(names(&found), wanted);
        let softirqs = found.iter().find(|worker| worker.tid == 12).unwrap();
        assert_eq!((softirqs.ran_ns, softirqs.waited_ns, softirqs.cpu), (100, Some(200), 1));
    }

    #[test]
    fn one_that_vanishes_is_left_out_and_one_that_comes_is_found() {
        let tree = tree();
        let mut workers = Workers::open(tree.root(), &[], true);
        let mut buffer = buffer();
        workers.read(&mut tick(1, 10, &mut buffer));
        tree.write("proc/12/schedstat", "");
        assert_eq!(
            names(&workers.read(&mut tick(2, 10, &mut buffer))),
            [(30, "kworker/u4:1-phy0")]
        );
        tree.remove("proc/12");
        tree.write("proc/60/stat", &kernel_stat(60, "napi/phy0-3", 0, 1));
        tree.write("proc/30/stat", &kernel_stat(30, "kworker/u4:1-events", 0, 1));
        workers.read(&mut tick(2 + RESCAN_SOON_NS, 10, &mut buffer));
        let found = workers.read(&mut tick(3 + RESCAN_SOON_NS, 10, &mut buffer));
        assert_eq!(names(&found), [(60, "napi/phy0-3")]);
    }
}
