//! A device for tests: a folder that behaves as the kernel's files do, as far as guard writes them.
//!
//! It fails the writes that a test names, and dies at the change that a test names. Rules of each file:
//! `fake/kernel.rs`.

mod kernel;
mod tree;

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use linux::folder::Temporary;
use rustix::io::Errno;

use super::{Files, Origin, Places, State};
use crate::groups::{Hierarchies, born};

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug)]
pub struct Spawned {
    pub comm: &'static str,
    pub parent: u32,
    pub user: u32,
    /// Whether the kernel runs it.
    pub kernel: bool,
    /// Its scheduling policy, as sched(7) numbers them.
    pub policy: u32,
    /// When it started, ticks since boot.
    pub born: u64,
}

impl Default for Spawned {
    fn default() -> Self {
        Self { comm: "sleep", parent: 1, user: 1000, kernel: false, policy: 0, born: 100 }
    }
}

impl Spawned {
    /// Its line of `/proc/PID/stat`.
    pub fn stat(&self, pid: u32) -> String {
        let Self { comm, parent, kernel, policy, born, .. } = self;
        let flags = if *kernel { 0x0020_0000 } else { 0x0040_0000 };
        let (zeros, more) = ("0 ".repeat(12), "0 ".repeat(18));
        format!("{pid} ({comm}) S {parent} 1 1 0 -1 {flags} {zeros}{born} {more}{policy} 0 0 0 0\n")
    }
}

/// When and how it fails.
#[derive(Debug, Default)]
struct Failing {
    /// Changes that are still made before it dies; `None`: it lives.
    left: Option<u64>,
    /// Of the line that it dies at, this many bytes are still written.
    torn: usize,
    /// Ends of paths, and what a write to them gives.
    refused: Vec<(String, Errno)>,
    /// The end of a path: right before the next write to it the watchdog takes over.
    overtaken: Option<String>,
    changes: u64,
    boot: String,
    nice: BTreeMap<u32, i32>,
}

/// A device in a folder, removed with the last of its clones.
#[derive(Clone, Debug)]
pub struct Fake {
    folder: Arc<Temporary>,
    failing: Arc<Mutex<Failing>>,
    places: Places,
}

impl Fake {
    /// A device with this `mountinfo`, and nothing else yet.
    fn with(mountinfo: &str) -> Self {
        // In memory where there is such a place: thousands of devices are made of many small files.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let changes = Temporary::below(place, "headroom-fake.");
        let folder = changes.unwrap_or_else(|error| panic!("no folder for a fake device: {error}"));
        let places = Places::of(folder.path(), mountinfo);
        let fake = Self { folder: Arc::new(folder), failing: Arc::default(), places };
        fake.failing().boot = "boot-1".to_owned();
        fake.put("/proc/self/mountinfo", mountinfo);
        fake.put("/proc/sys/kernel/random/boot_id", "boot-1\n");
        fake.put("/sys/devices/system/cpu/online", "0-3\n");
        fake
    }

    /// Its `/`.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    /// Where a guard of it keeps its journal.
    pub fn state(&self) -> PathBuf {
        self.path("/run/headroom/guard")
    }

    pub fn hierarchies(&self) -> Hierarchies {
        Hierarchies::at(self.root())
    }

    /// The text of a file; nothing where there is none.
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    /// Puts a file there, as the device's maker or a person would: no rule of the kernel applies.
    pub fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        let _ = path.parent().map(fs::create_dir_all);
        let _ = fs::write(path, text);
    }

    /// A person writes to a file of the kernel's.
    pub fn echo(&self, text: &str, path: &str) -> io::Result<()> {
        kernel::write(&self.path(path), &format!("{text}\n"), self.root())
    }

    /// A process is there.
    pub fn spawn(&self, pid: u32, living: Spawned) {
        self.put(&format!("/proc/{pid}/stat"), &living.stat(pid));
        let user = living.user;
        self.put(
            &format!("/proc/{pid}/status"),
            &format!("Name:\t{}\nUid:\t{user}\t{user}\t0\t0\n", living.comm),
        );
        let memberships = self.path(&format!("/proc/{pid}/cgroup"));
        if !memberships.exists() {
            tree::enter_roots(self.root(), pid);
        }
    }

    pub fn ends(&self, pid: u32) {
        tree::leave_all(self.root(), pid);
        let _ = fs::remove_dir_all(self.path(&format!("/proc/{pid}")));
    }

    /// A group is made by somebody else.
    pub fn group(&self, path: &str) {
        let path = self.path(path);
        let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.into_iter().rev() {
            let _ = tree::make_group(folder, self.root());
        }
    }

    /// A group vanishes with all in it.
    pub fn vanishes(&self, path: &str) {
        let _ = fs::remove_dir_all(self.path(path));
    }

    /// Writes to files whose path ends so are refused from now on.
    pub fn refuse(&self, end: &str, errno: Errno) {
        self.failing().refused.push((end.to_owned(), errno));
    }

    pub fn allow_all(&self) {
        self.failing().refused.clear();
    }

    /// It dies after this many more changes; of a line of the journal that it dies at, `torn` bytes are written.
    pub fn die_after(&self, changes: u64, torn: usize) {
        let mut failing = self.failing();
        (failing.left, failing.torn) = (Some(changes), torn);
    }

    pub fn revive(&self) {
        self.failing().left = None;
    }

    pub fn is_dead(&self) -> bool {
        self.failing().left == Some(0)
    }

    /// Changes so far, the journal's own among them.
    pub fn changes(&self) -> u64 {
        self.failing().changes
    }

    /// It starts anew: another boot.
    pub fn reboot(&self) {
        self.failing().boot.push('+');
    }

    /// The nice value of a thread.
    pub fn nice_value(&self, tid: u32) -> i32 {
        self.failing().nice.get(&tid).copied().unwrap_or(0)
    }

    /// A person changes the nice value of a thread.
    pub fn renice(&self, tid: u32, nice: i32) {
        self.failing().nice.insert(tid, nice);
    }

    /// All files of the kernel's and all memberships, to be compared byte by byte. The order of processes in
    /// a group means nothing, and a nice value of 0 is the default.
    pub fn snapshot(&self) -> BTreeMap<String, String> {
        let mut files = tree::texts(self.root(), &["sys", "proc"]);
        let nice = self.failing().nice.clone();
        let changed = nice.into_iter().filter(|(_, nice)| *nice != 0);
        files.extend(changed.map(|(tid, nice)| (format!("nice {tid}"), nice.to_string())));
        files
    }

    /// Right before the next write to a path that ends so, the watchdog restores everything.
    pub fn overtake_at(&self, end: &str) {
        self.failing().overtaken = Some(end.to_owned());
    }

    /// The watchdog takes over, where it is told to do so at this path.
    fn overtake(&self, path: &Path) {
        let due = |end: &mut String| path.to_string_lossy().ends_with(end.as_str());
        let is_due = self.failing().overtaken.take_if(due).is_some();
        if is_due && let Err(error) = super::take_over(Box::new(self.clone()), &self.state()) {
            panic!("the watchdog cannot take over: {error}");
        }
    }

    fn failing(&self) -> MutexGuard<'_, Failing> {
        // A test that failed elsewhere has nothing to do with what is here.
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a change, unless it is dead or this one is refused.
    fn may(&self, path: &Path) -> io::Result<()> {
        let mut failing = self.failing();
        match &mut failing.left {
            Some(0) => return Err(Errno::IO.into()),
            Some(left) => *left -= 1,
            None => {}
        }
        failing.changes += 1;
        let path = path.to_string_lossy();
        match failing.refused.iter().find(|(end, _)| path.ends_with(end)) {
            Some((_, errno)) => Err((*errno).into()),
            None => Ok(()),
        }
    }
}

impl Files for Fake {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        self.overtake(path);
        self.may(path)?;
        kernel::write(path, text, self.root())
    }

    fn append(&mut self, state: &State, name: &str, text: &str) -> io::Result<()> {
        let dying = self.is_dead();
        let torn = self.failing().torn;
        let may = self.may(&state.path_of(name));
        let whole = if may.is_ok() { text.len() } else { torn.min(text.len() - 1) };
        if may.is_ok() || dying {
            state.append(name, &text[..whole])?;
            // Anyone who is dead writes no second half.
            self.failing().torn = 0;
        }
        may
    }

    fn replace(&mut self, state: &State, name: &str, text: &str) -> io::Result<()> {
        self.may(&state.path_of(name))?;
        state.replace(name, text)
    }

    fn rename(&mut self, state: &State, from: &str, to: &str) -> io::Result<()> {
        self.may(&state.path_of(from))?;
        state.rename(from, to)
    }

    fn remove(&mut self, state: &State, name: &str) -> io::Result<()> {
        self.may(&state.path_of(name))?;
        state.remove(name)
    }

    fn places(&self) -> &Places {
        &self.places
    }

    fn look_again(&mut self) {
        self.places = Places::at(self.root());
    }

    fn make_group(&mut self, path: &Path) -> io::Result<()> {
        self.may(path)?;
        tree::make_group(path, self.root())
    }

    fn remove_group(&mut self, path: &Path) -> io::Result<()> {
        self.may(path)?;
        tree::remove_group(path)
    }

    fn inode(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.ino())
    }

    fn origin(&self, tid: u32) -> Option<Origin> {
        let text = fs::read(self.path(&format!("/proc/{tid}/stat"))).ok()?;
        Some(Origin { born: born(&text)?, parent: linux::proc::stat(&text)?.parent })
    }

    fn nice(&self, tid: u32) -> io::Result<i32> {
        self.origin(tid).ok_or(Errno::SRCH)?;
        Ok(self.nice_value(tid))
    }

    fn set_nice(&mut self, tid: u32, nice: i32) -> io::Result<()> {
        self.may(Path::new("nice"))?;
        self.origin(tid).ok_or(Errno::SRCH)?;
        self.renice(tid, nice);
        Ok(())
    }

    fn boot(&self) -> String {
        self.failing().boot.clone()
    }

    /// Its clock goes a tenth of a second with each change, and otherwise stands.
    fn now_ns(&self) -> u64 {
        self.changes() * 100_000_000
    }
}
