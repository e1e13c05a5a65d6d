//! Reads the counters of a process set: threads, control groups, IO and memory.
//!
//! Keeps the files open. Threads that come are taken in at the next reading, and those that end keep their last
//! counters, so that what a set has spent never falls.

use linux::{
    cgroup::{self, Meter},
    proc::{self, Reader, TaskList},
};
use model::sample::{Account, Group, Io, Memory, Task};

/// What is read besides CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Everything but what is expensive to ask.
    Usual,
    /// Also the exact and the proportional set size, for which the kernel walks every page.
    Whole,
}

/// Space that all readings share, so that none of them allocates.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    bytes: Vec<u8>,
    tids: Vec<u32>,
}

/// Processes and groups whose counters are one account.
#[derive(Debug, Default)]
pub(crate) struct ProcessSet {
    processes: Vec<Process>,
    meters: Vec<Meter>,
}

impl ProcessSet {
    /// Opens the counters of these processes and groups. A process that has just ended is left out.
    pub(crate) fn open(pids: &[u32], meters: Vec<Meter>) -> Self {
        let processes = pids.iter().filter_map(|&pid| Process::open(pid).ok()).collect();
        Self { processes, meters }
    }

    pub(crate) fn read(&mut self, depth: Depth, scratch: &mut Scratch) -> Account {
        let group = self.group(scratch);
        for process in &mut self.processes {
            process.read(scratch);
        }
        let tasks = self.processes.iter().flat_map(Process::tasks).cloned().collect();
        let io = sum(self.processes.iter().map(|process| process.io), add_io);
        let memory = self.processes.iter().filter(|process| !process.ended);
        let memory = sum(memory.map(|process| process.memory(depth, scratch)), add_memory);
        Account { tasks, group, io, memory }
    }

    /// The processes that had ended when they were last read.
    pub(crate) fn ended(&self) -> impl Iterator<Item = u32> {
        self.processes.iter().filter(|process| process.ended).map(|process| process.pid)
    }

    fn group(&self, scratch: &mut Scratch) -> Option<Group> {
        let usages = self.meters.iter().map(|meter| meter.read(&mut scratch.bytes).ok().map(group));
        sum(usages, add_group)
    }
}

#[derive(Debug)]
struct Process {
    pid: u32,
    list: TaskList,
    threads: Vec<Thread>,
    io_file: Option<Reader>,
    statm: Option<Reader>,
    io: Option<Io>,
    ended: bool,
}

impl Process {
    fn open(pid: u32) -> Result<Self, proc::Error> {
        Ok(Self {
            pid,
            list: TaskList::open(pid)?,
            threads: Vec::new(),
            io_file: Reader::open(format!("/proc/{pid}/io")).ok(),
            statm: Reader::open(format!("/proc/{pid}/statm")).ok(),
            io: None,
            ended: false,
        })
    }

    fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.threads.iter().map(|thread| &thread.last)
    }

    fn read(&mut self, scratch: &mut Scratch) {
        self.meet_threads(&mut scratch.tids);
        for thread in &mut self.threads {
            thread.read(&mut scratch.bytes);
        }
        self.ended = self.threads.iter().all(|thread| thread.files.is_none());
        // What a process has read and written is not forgotten when it ends.
        let io =
            self.io_file.as_ref().and_then(|file| file.parse(&mut scratch.bytes, proc::io).ok());
        self.io = io.map(io_of).or(self.io);
    }

    /// Takes in threads that are new. One that has the number of an ended one takes its place, because
    /// two counters of one name would be one too many.
    fn meet_threads(&mut self, tids: &mut Vec<u32>) {
        if self.list.list(tids).is_err() {
            return;
        }
        for &tid in tids.iter() {
            match self.threads.iter_mut().find(|thread| thread.last.tid == tid) {
                None => self.threads.push(Thread::open(self.pid, tid)),
                Some(thread) if thread.files.is_none() && !thread.waits_for_parent => {
                    *thread = Thread::open(self.pid, tid);
                }
                Some(_) => {}
            }
        }
    }

    /// Exact at [`Depth::Whole`] where the kernel allows it, else what `statm` says.
    fn memory(&self, depth: Depth, scratch: &mut Scratch) -> Option<Memory> {
        if let Some(whole) = (depth == Depth::Whole).then(|| self.rollup(scratch)).flatten() {
            return Some(Memory { rss_kib: whole.rss_kib, pss_kib: Some(whole.pss_kib) });
        }
        let pages = self.statm.as_ref()?.parse(&mut scratch.bytes, proc::resident_pages).ok()?;
        Some(Memory { rss_kib: pages * (linux::system::page_size() / 1024), pss_kib: None })
    }

    fn rollup(&self, scratch: &mut Scratch) -> Option<proc::Rollup> {
        let file = Reader::open(format!("/proc/{}/smaps_rollup", self.pid)).ok()?;
        file.parse(&mut scratch.bytes, proc::rollup).ok()
    }
}

/// One thread's files, and what they last said.
#[derive(Debug)]
struct Thread {
    /// `None` once it has ended.
    files: Option<Files>,
    /// It has ended, but `/proc` lists it until its parent has asked how.
    waits_for_parent: bool,
    last: Task,
}

#[derive(Debug)]
struct Files {
    stat: Reader,
    status: Reader,
    /// Absent where the kernel does not count run time.
    schedstat: Option<Reader>,
}

impl Thread {
    fn open(pid: u32, tid: u32) -> Self {
        let folder = format!("/proc/{pid}/task/{tid}");
        let files = || -> Result<Files, proc::Error> {
            Ok(Files {
                stat: Reader::open(format!("{folder}/stat"))?,
                status: Reader::open(format!("{folder}/status"))?,
                schedstat: Reader::open(format!("{folder}/schedstat")).ok(),
            })
        };
        let last = Task { pid, tid, ..Task::default() };
        Self { files: files().ok(), waits_for_parent: false, last }
    }

    /// Reads the counters; the last ones stay where the thread has ended.
    fn read(&mut self, bytes: &mut Vec<u8>) {
        let Some(files) = &self.files else { return };
        let runs = files.read(&mut self.last, bytes);
        if runs != Some(true) {
            (self.waits_for_parent, self.files) = (runs.is_some(), None);
        }
    }
}

impl Files {
    /// Reads them into what is recorded of the thread. Returns whether it runs; `None` where it is gone.
    fn read(&self, task: &mut Task, bytes: &mut Vec<u8>) -> Option<bool> {
        // The finest counter first: it is the one that verdicts rest on.
        if let Some(file) = &self.schedstat {
            let times = file.parse(bytes, proc::schedstat).ok()?;
            (task.run_ns, task.wait_ns) = (Some(times.run_ns), Some(times.wait_ns));
        }
        let stat = proc::stat(self.stat.read(bytes).ok()?)?;
        (task.utime, task.stime) = (stat.utime, stat.stime);
        if task.comm.as_bytes() != stat.comm {
            task.comm = String::from_utf8_lossy(stat.comm).into_owned();
        }
        let runs = !stat.ended();
        if let Ok(switches) = self.status.parse(bytes, proc::switches) {
            (task.voluntary, task.involuntary) = (switches.voluntary, switches.involuntary);
        }
        Some(runs)
    }
}

/// A sum of which every part is known; of nothing, or with an unknown part, `None`.
fn sum<T>(parts: impl Iterator<Item = Option<T>>, add: fn(T, T) -> T) -> Option<T> {
    let mut total = None;
    for part in parts {
        let part = part?;
        total = Some(match total {
            Some(total) => add(total, part),
            None => part,
        });
    }
    total
}

fn group(usage: cgroup::Usage) -> Group {
    Group {
        usage_ns: usage.total_ns,
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        held_kib: usage.held_bytes.map(|bytes| bytes / 1024),
    }
}

fn add_group(a: Group, b: Group) -> Group {
    Group {
        usage_ns: a.usage_ns + b.usage_ns,
        user_ns: a.user_ns.zip(b.user_ns).map(|(a, b)| a + b),
        system_ns: a.system_ns.zip(b.system_ns).map(|(a, b)| a + b),
        held_kib: a.held_kib.zip(b.held_kib).map(|(a, b)| a + b),
    }
}

fn io_of(io: proc::Io) -> Io {
    Io {
        read_bytes: io.read_bytes,
        write_bytes: io.write_bytes,
        read_calls: io.read_calls,
        write_calls: io.write_calls,
    }
}

fn add_io(a: Io, b: Io) -> Io {
    Io {
        read_bytes: a.read_bytes + b.read_bytes,
        write_bytes: a.write_bytes + b.write_bytes,
        read_calls: a.read_calls + b.read_calls,
        write_calls: a.write_calls + b.write_calls,
    }
}

fn add_memory(a: Memory, b: Memory) -> Memory {
    Memory { rss_kib: a.rss_kib + b.rss_kib, pss_kib: a.pss_kib.zip(b.pss_kib).map(|(a, b)| a + b) }
}

#[cfg(test)]
mod tests {
    use std::{process::Command, sync::mpsc, thread};

    use super::*;

    fn own() -> (ProcessSet, Scratch) {
        (ProcessSet::open(&[std::process::id()], Vec::new()), Scratch::default())
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        let add = |a: u32, b| a + b;
        assert_eq!(sum([Some(1), Some(2)].into_iter(), add), Some(3));
        assert_eq!(sum([Some(1), None].into_iter(), add), None);
        assert_eq!(sum([].into_iter(), add), None);
    }

    #[test]
    fn a_thread_that_comes_is_counted_and_one_that_goes_is_kept() {
        let (mut set, mut scratch) = own();
        set.read(Depth::Usual, &mut scratch);
        let (stop, stopped) = mpsc::channel::<()>();
        let (say, said) = mpsc::channel();
        let thread = thread::spawn(move || {
            say.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = stopped.recv();
        });
        let tid = said.recv().unwrap();
        let has = |account: &Account| account.tasks.iter().any(|task| task.tid == tid);
        assert!(has(&set.read(Depth::Usual, &mut scratch)));
        drop(stop);
        thread.join().unwrap();
        assert!(has(&set.read(Depth::Usual, &mut scratch)));
        assert!(set.ended().next().is_none());
    }

    #[test]
    fn a_process_has_ended_before_and_after_its_parent_asks() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut set = ProcessSet::open(&[child.id()], Vec::new());
        let mut scratch = Scratch::default();
        assert_eq!(set.read(Depth::Usual, &mut scratch).tasks.len(), 1);
        assert_eq!(set.ended().next(), None);
        child.kill().unwrap();
        // It stays a zombie until it is waited for; the kill may take a moment.
        let zombie = (0..100).any(|_| {
            thread::sleep(std::time::Duration::from_millis(10));
            set.read(Depth::Usual, &mut scratch);
            set.ended().next() == Some(child.id())
        });
        assert!(zombie);
        child.wait().unwrap();
        let after = set.read(Depth::Whole, &mut scratch);
        assert_eq!(set.ended().next(), Some(child.id()));
        assert_eq!((after.tasks.len(), after.memory), (1, None));
    }
}
