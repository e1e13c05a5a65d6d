//! Stopping a process (by signals) or a control group (by its freezer), continuing it, and seeing that it is so.
//!
//! It waits for nothing, and continues nothing by itself.
//!
//! Formats: <https://docs.kernel.org/admin-guide/cgroup-v2.html> (`cgroup.freeze`, 5.2),
//! <https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html>. Descriptors of processes need
//! 5.3; before that a process is known by its number and the moment it was born.

use std::{
    fs, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::process::{Signal, kill_process, pidfd_send_signal};

use crate::{cgroup, proc, process};

/// What `/proc` or the group's files show of a process or a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Threads that live; a frozen group is one.
    pub alive: u32,
    /// Those that are stopped (`T`), or the group once it is frozen.
    pub stopped: u32,
    /// Those in uninterruptible sleep (`D`), which take no signal; a group that is still freezing.
    pub uninterruptible: u32,
    /// Those that a debugger holds (`t`).
    pub traced: u32,
}

impl Sight {
    pub fn has_ended(self) -> bool {
        self.alive == 0
    }

    /// Whether all that is left is stopped.
    pub fn is_stopped(self) -> bool {
        self.alive > 0 && self.stopped == self.alive
    }

    /// Whether a thread lives, and none is stopped.
    pub fn runs(self) -> bool {
        self.alive > 0 && self.stopped == 0
    }

    /// Adds a thread in this state of `/proc/PID/stat`.
    fn add(&mut self, stat: proc::Stat<'_>) {
        if stat.ended() {
            return;
        }
        self.alive += 1;
        match stat.state {
            b'T' => self.stopped += 1,
            b't' => self.traced += 1,
            b'D' => self.uninterruptible += 1,
            _ => {}
        }
    }
}

/// A process that can be stopped: this one, never another that has its number later.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    born: u64,
    fd: Option<OwnedFd>,
}

impl Process {
    /// Takes hold of a process. `born` is what somebody else saw of it, who means the same one.
    /// Fails with `ESRCH` where there is none, or another one by now; `EINVAL` for pid 0 and 1, which nobody stops.
    pub fn open(pid: u32, born: Option<u64>) -> io::Result<Self> {
        if pid < 2 {
            return Err(rustix::io::Errno::INVAL.into());
        }
        // The descriptor first: whoever has the number afterwards, and is as old, is the one it means.
        let fd = process::watch(pid);
        let seen = birth_of(pid).ok_or(rustix::io::Errno::SRCH)?;
        match born {
            Some(born) if born != seen => Err(rustix::io::Errno::SRCH.into()),
            _ => Ok(Self { pid, born: seen, fd }),
        }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// When it was born, ticks since boot.
    pub fn born(&self) -> u64 {
        self.born
    }

    /// A descriptor that becomes readable when it ends; `None` before Linux 5.3.
    pub fn end(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }

    pub fn look(&self) -> Sight {
        let mut sight = Sight::default();
        if birth_of(self.pid) != Some(self.born) {
            return sight;
        }
        for tid in proc::threads_of(self.pid) {
            let text = proc::read(format!("/proc/{}/task/{tid}/stat", self.pid));
            let text = text.unwrap_or_default();
            proc::stat(&text).into_iter().for_each(|stat| sight.add(stat));
        }
        sight
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        if let Some(fd) = &self.fd {
            match pidfd_send_signal(fd, signal) {
                Err(rustix::io::Errno::NOSYS) => {}
                sent => return Ok(sent?),
            }
        }
        // No descriptor, so the number could be another's by now.
        match process::own_pid(self.pid) {
            Some(pid) if birth_of(self.pid) == Some(self.born) => Ok(kill_process(pid, signal)?),
            _ => Err(rustix::io::Errno::SRCH.into()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    version: cgroup::Version,
    folder: PathBuf,
}

impl Group {
    /// The group of a folder; `None` where it has no freezer: it is the root, or the kernel is too old, or
    /// there is no such group.
    pub fn open(folder: &Path) -> Option<Self> {
        let version =
            [(cgroup::Version::V2, "cgroup.freeze"), (cgroup::Version::V1, "freezer.state")]
                .into_iter()
                .find(|(_, file)| folder.join(file).exists())?
                .0;
        Some(Self { version, folder: folder.to_owned() })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is seen of it, as of one thread.
    pub fn look(&self) -> Sight {
        let alive = u32::from(!cgroup::members_below(&self.folder).is_empty());
        let (stopped, freezing) = match self.version {
            cgroup::Version::V2 => {
                let frozen = self.read("cgroup.events").is_some_and(|text| is_frozen(&text));
                let asked = self.read("cgroup.freeze").is_some_and(|text| text.trim() == "1");
                (frozen, asked && !frozen)
            }
            cgroup::Version::V1 => match self.read("freezer.state").as_deref().map(str::trim) {
                Some("FROZEN") => (true, false),
                Some("FREEZING") => (false, true),
                _ => (false, false),
            },
        };
        Sight {
            alive,
            stopped: alive * u32::from(stopped),
            uninterruptible: alive * u32::from(freezing),
            traced: 0,
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(file)).ok()
    }

    fn freeze(&self, freeze: bool) -> io::Result<()> {
        let (file, word) = match (self.version, freeze) {
            (cgroup::Version::V2, true) => ("cgroup.freeze", "1"),
            (cgroup::Version::V2, false) => ("cgroup.freeze", "0"),
            (cgroup::Version::V1, true) => ("freezer.state", "FROZEN"),
            (cgroup::Version::V1, false) => ("freezer.state", "THAWED"),
        };
        fs::write(self.folder.join(file), word)
    }
}

#[derive(Debug)]
pub enum Stoppable {
    Process(Process),
    Group(Group),
}

impl Stoppable {
    /// Stops it; it may take a moment, which [`Stoppable::look`] tells.
    /// Fails with `ESRCH` where it has ended, `EPERM` where it is not ours, or what the group's file says.
    pub fn stop(&self) -> io::Result<()> {
        match self {
            Self::Process(process) => process.signal(Signal::STOP),
            Self::Group(group) => group.freeze(true),
        }
    }

    /// Freezes again a group that was seen still freezing. Version 1 passes over a process that enters vfork's
    /// wait as the word comes, and its group stays so until the word comes again. Nothing is said to a
    /// process, whose signal waits for it.
    pub fn insist(&self, seen: Sight) -> io::Result<()> {
        match self {
            Self::Group(group) if seen.uninterruptible > 0 => group.freeze(true),
            Self::Group(_) | Self::Process(_) => Ok(()),
        }
    }

    pub fn resume(&self) -> io::Result<()> {
        match self {
            Self::Process(process) => process.signal(Signal::CONT),
            Self::Group(group) => group.freeze(false),
        }
    }

    pub fn look(&self) -> Sight {
        match self {
            Self::Process(process) => process.look(),
            Self::Group(group) => group.look(),
        }
    }
}

/// Where trees are mounted that may have freezers, the unified one first.
pub fn freezers() -> Result<Vec<PathBuf>, cgroup::Error> {
    let mounts = cgroup::Mounts::find()?;
    Ok(mounts.unified.into_iter().chain(mounts.freezer).map(|tree| tree.mount).collect())
}

/// Whether version 2's `cgroup.events` says so.
fn is_frozen(events: &str) -> bool {
    events.lines().any(|line| line.trim_end() == "frozen 1")
}

/// When a process was born, ticks since boot.
pub(crate) fn birth_of(pid: u32) -> Option<u64> {
    proc::stat_field(&proc::read(format!("/proc/{pid}/stat")).ok()?, 22)
}

#[cfg(test)]
mod tests {
    use std::{
        process::{Child, Command},
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Self(Command::new("sleep").arg("60").spawn().expect("sleep is everywhere"))
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Somebody in a group; thawed before its end, which it could not have in a frozen one.
    struct Grouped {
        held: Stoppable,
        _member: Sleeper,
    }

    impl Grouped {
        fn start(group: &Group, command: &mut Command) -> Self {
            let member = Sleeper(command.spawn().expect("sh and sleep are everywhere"));
            cgroup::enter(group.folder(), member.0.id()).expect("it is ours");
            Self { held: Stoppable::Group(group.clone()), _member: member }
        }
    }

    impl Drop for Grouped {
        fn drop(&mut self) {
            let _ = self.held.resume();
        }
    }

    fn until(held: &Stoppable, wanted: impl Fn(Sight) -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !wanted(held.look()) {
            assert!(Instant::now() < end, "{held:?} is {:?}", held.look());
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn stops_and_continues(held: &Stoppable) {
        until(held, Sight::runs);
        held.stop().expect("it is ours");
        until(held, Sight::is_stopped);
        held.resume().expect("it is ours");
        until(held, Sight::runs);
    }

    #[test]
    fn a_process_is_stopped_and_continued_with_and_without_a_descriptor() {
        let sleeper = Sleeper::start();
        let process = Process::open(sleeper.0.id(), None).expect("it runs");
        let bare = Process { fd: None, pid: process.pid, born: process.born };
        stops_and_continues(&Stoppable::Process(process));
        stops_and_continues(&Stoppable::Process(bare));
    }

    #[test]
    fn a_process_that_has_ended_is_not_signalled() {
        let mut sleeper = Sleeper::start();
        let pid = sleeper.0.id();
        let process = Process::open(pid, None).expect("it runs");
        let bare = Process { fd: None, pid, born: process.born };
        sleeper.0.kill().expect("it is ours");
        sleeper.0.wait().expect("it is ours");
        for held in [Stoppable::Process(process), Stoppable::Process(bare)] {
            assert!(held.look().has_ended() && held.stop().is_err());
        }
        assert!(Process::open(pid, Some(0)).is_err());
    }

    #[test]
    fn no_hold_is_taken_of_the_machine_or_of_another_ones_number() {
        assert!(Process::open(0, None).is_err() && Process::open(1, None).is_err());
        let own = std::process::id();
        let born = Process::open(own, None).expect("we run").born();
        assert!(Process::open(own, Some(born)).is_ok());
        assert!(Process::open(own, Some(born + 1)).is_err());
    }

    /// Does this with a group of its own, in each tree that has a freezer.
    fn in_groups(name: &str, does: impl Fn(&Group)) {
        let mut tried = 0;
        for mount in freezers().expect("/proc is mounted") {
            let folder = mount.join(format!("{name}.{}", std::process::id()));
            if cgroup::create(&folder).is_err() {
                continue;
            }
            if let Some(group) = Group::open(&folder) {
                tried += 1;
                assert!(group.look().has_ended(), "nobody is in it");
                does(&group);
            }
            // Whoever was killed leaves it a moment later.
            let end = Instant::now() + Duration::from_secs(10);
            while cgroup::remove(&folder).is_err() {
                assert!(Instant::now() < end, "{folder:?} is not empty");
                thread::sleep(Duration::from_millis(5));
            }
        }
        if tried == 0 {
            skip::skip!("no group with a freezer can be made here");
        }
    }

    #[test]
    fn a_group_is_frozen_also_while_somebody_in_it_starts_others() {
        /// Of 600 freezes without insistence 18 came to no end (version 1, Linux 6.18, dash, which uses vfork).
        const FREEZES: u32 = 300;
        in_groups("headroom-vfork", |group| {
            let starts = ["-c", "while :; do /bin/true; done"];
            let shell = Grouped::start(group, Command::new("sh").args(starts));
            let held = &shell.held;
            for freeze in 0..FREEZES {
                thread::sleep(Duration::from_micros(u64::from(freeze % 30) * 100));
                held.stop().expect("it is ours");
                until(held, |sight| {
                    held.insist(sight).expect("it is ours");
                    sight.is_stopped()
                });
                held.resume().expect("it is ours");
            }
            until(held, Sight::runs);
        });
    }

    #[test]
    fn the_root_has_no_freezer() {
        let mounts = freezers().expect("/proc is mounted");
        assert!(mounts.iter().all(|mount| Group::open(mount).is_none()));
    }

    #[test]
    fn threads_are_distinguished_by_their_states() {
        let mut sight = Sight::default();
        for state in ["T", "T", "D", "t", "S", "Z"] {
            let text = format!("9 (sh) {state} 1 9 9 0 -1 4228100 0 0 0 0 0 0 0");
            sight.add(proc::stat(text.as_bytes()).expect("a good line"));
        }
        assert_eq!(sight, Sight { alive: 5, stopped: 2, uninterruptible: 1, traced: 1 });
        assert!(!sight.runs() && !sight.is_stopped() && !sight.has_ended());
    }

    #[test]
    fn a_group_is_frozen_when_its_events_say_so() {
        assert!(is_frozen("populated 1\nfrozen 1\n"));
        assert!(!is_frozen("populated 1\nfrozen 0\n") && !is_frozen(""));
    }
}
