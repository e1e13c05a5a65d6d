//! A control group for each party, and everything as it was before when the value is dropped.
//!
//! Talks to control groups of either version. A subject that already has a group for itself stays
//! there; else its processes are moved to a group of ours and moved back. No controller is enabled and no
//! limit is set: the groups count CPU time and do nothing else. Where no group can be made, the
//! measurement goes on without that counter.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    cgroup::{self, Error, Meter, Mounts, Tree, Version},
    process,
};

use crate::subject;

/// So long a killed process may take to leave its group, and a group to be removable.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two looks at a group that is not yet empty.
const LOOK: Duration = Duration::from_millis(5);

/// The groups of a measurement.
#[derive(Debug, Default)]
pub struct Groups {
    version: Option<Version>,
    /// The folder that all of ours are in.
    folder: Option<PathBuf>,
    /// Groups that hold the subject and nothing else.
    subject: Vec<PathBuf>,
    /// Ours for the subject, if one was needed.
    moved_to: Option<PathBuf>,
    /// Where each process was that we moved.
    moved: Vec<(u32, PathBuf)>,
    /// Ours for the load.
    load: Option<PathBuf>,
    /// The agent's, where it is alone in one.
    agent: Option<PathBuf>,
}

impl Groups {
    /// Sees to it that the subject is alone in its groups, and makes one for the load if `loaded`.
    pub fn arrange(pids: &[u32], loaded: bool) -> Self {
        let Some(tree) = Mounts::find().ok().and_then(Mounts::counting) else {
            return Self::default();
        };
        Self::arrange_in(&tree, pids, loaded)
    }

    /// [`Groups::arrange`] in a tree.
    pub fn arrange_in(tree: &Tree, pids: &[u32], loaded: bool) -> Self {
        let mut groups = Self::default();
        groups.version = Some(tree.version);
        groups.agent = alone(tree, &[std::process::id()]).and_then(|mut homes| homes.pop());
        if let Some(homes) = alone(tree, pids) {
            groups.subject = homes;
        } else if groups.gather(tree, pids).is_err() {
            // Half a subject in a group would be a wrong figure; none is an absent one.
            groups.send_home();
            groups.subject.clear();
        }
        if loaded {
            groups.load = groups.make(tree, "load").ok();
        }
        groups
    }

    /// The group that the load's commands are to be started in.
    pub fn load(&self) -> Option<&Path> {
        self.load.as_deref()
    }

    /// The load's CPU time.
    pub fn load_meter(&self) -> Option<Meter> {
        self.meter(self.load.as_ref()?)
    }

    /// The subject's CPU time, in as many groups as it has.
    pub fn subject_meters(&self) -> Vec<Meter> {
        self.subject.iter().filter_map(|group| self.meter(group)).collect()
    }

    /// The agent's CPU time, where it has a group for itself.
    pub fn agent_meter(&self) -> Option<Meter> {
        self.meter(self.agent.as_ref()?)
    }

    fn meter(&self, group: &Path) -> Option<Meter> {
        Meter::open(self.version?, group).ok()
    }

    /// Moves the subject's processes into a group of ours.
    fn gather(&mut self, tree: &Tree, pids: &[u32]) -> Result<(), Error> {
        let group = self.make(tree, "subject")?;
        self.moved_to = Some(group.clone());
        self.subject = vec![group.clone()];
        for &pid in pids {
            let Some(home) = tree.group_of(pid)? else { continue };
            self.moved.push((pid, home));
            cgroup::enter(&group, pid)?;
        }
        Ok(())
    }

    /// Makes a group below our folder, which it makes first if need be.
    fn make(&mut self, tree: &Tree, name: &str) -> Result<PathBuf, Error> {
        if self.folder.is_none() {
            self.folder = Some(make_folder(tree)?);
        }
        let group = self.folder.as_deref().unwrap_or(&tree.mount).join(name);
        cgroup::create(&group)?;
        Ok(group)
    }

    /// Moves everything back and removes what was made; to do it twice does nothing.
    ///
    /// # Errors
    ///
    /// The first group that could not be removed.
    pub fn restore(&mut self) -> Result<(), Error> {
        self.send_home();
        let load = self.load.take().map_or(Ok(()), |load| {
            end_all(&load);
            remove(&load)
        });
        let subject = self.moved_to.take().map_or(Ok(()), |group| remove(&group));
        let folder = self.folder.take().map_or(Ok(()), |folder| remove(&folder));
        load.and(subject).and(folder)
    }

    /// Moves the subject's processes back, and with them those that were born in our group.
    fn send_home(&mut self) {
        let (Some(group), Some((_, first))) = (&self.moved_to, self.moved.first()) else { return };
        let until = Instant::now() + PATIENCE;
        // A process may be born while others are moved: look until there is none.
        while let Ok(members) = cgroup::members(group) {
            if members.is_empty() || Instant::now() > until {
                break;
            }
            for pid in members {
                let home = self.moved.iter().find(|(moved, _)| *moved == pid);
                // One that has just ended leaves by itself.
                let _ = cgroup::enter(home.map_or(first, |(_, home)| home), pid);
            }
        }
        self.moved.clear();
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        // Whoever wants to know whether it succeeded has called it before.
        let _ = self.restore();
    }
}

/// The groups that hold these processes, if all of them hold nothing else but their descendants.
fn alone(tree: &Tree, pids: &[u32]) -> Option<Vec<PathBuf>> {
    let homes: Option<BTreeSet<PathBuf>> =
        pids.iter().map(|&pid| tree.group_of(pid).ok().flatten()).collect();
    let homes = homes.filter(|homes| !homes.is_empty())?;
    let own = homes.iter().all(|home| *home != tree.mount && holds_only(home, pids));
    own.then(|| homes.into_iter().collect())
}

/// Whether a group and those below it hold these processes, their descendants, and nobody else.
fn holds_only(group: &Path, pids: &[u32]) -> bool {
    cgroup::members(group).is_ok_and(|members| members.iter().all(|&pid| is_of(pid, pids)))
        && cgroup::below(group).iter().all(|group| holds_only(group, pids))
}

/// Whether a process is one of these, or was started by one, directly or not.
fn is_of(pid: u32, pids: &[u32]) -> bool {
    std::iter::successors(Some(pid), |&pid| subject::parent(pid).filter(|&parent| parent > 1))
        .any(|pid| pids.contains(&pid))
}

/// Our folder, at the top of the tree or, where we may not, in our own group.
fn make_folder(tree: &Tree) -> Result<PathBuf, Error> {
    let own = std::process::id();
    let name = format!("headroom.{own}");
    let top = tree.mount.join(&name);
    cgroup::create(&top).map(|()| top).or_else(|error| {
        let Some(inner) = tree.group_of(own)?.map(|group| group.join(&name)) else {
            return Err(error);
        };
        cgroup::create(&inner).map(|()| inner)
    })
}

/// Ends what the load's commands have left running.
fn end_all(group: &Path) {
    let until = Instant::now() + PATIENCE;
    while let Ok(members) = cgroup::members(group) {
        if members.is_empty() || Instant::now() > until {
            break;
        }
        for pid in members {
            let _ = process::kill(pid);
        }
        sleep(LOOK);
    }
}

/// Removes a group as soon as those who are leaving it have left.
fn remove(group: &Path) -> Result<(), Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        match cgroup::remove(group) {
            Err(_) if group.exists() && Instant::now() < until => sleep(LOOK),
            Err(error) if group.exists() => return Err(error),
            _ => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Self {
            Self(Command::new("sleep").arg("60").spawn().unwrap())
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// The trees in which this machine lets us make a group; the tests take turns, because the folder
    /// has the process's number.
    fn writable_trees() -> (std::sync::MutexGuard<'static, ()>, Vec<Tree>) {
        static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mounts = Mounts::find().unwrap();
        let trees: Vec<Tree> = [mounts.cpuacct, mounts.unified].into_iter().flatten().collect();
        let usable =
            |tree: &Tree| make_folder(tree).and_then(|folder| cgroup::remove(&folder)).is_ok();
        let trees: Vec<Tree> = trees.into_iter().filter(usable).collect();
        if trees.is_empty() {
            eprintln!("skipped: no control group can be made here");
        }
        (turn, trees)
    }

    #[test]
    fn what_was_moved_is_moved_back_on_drop() {
        let (_turn, trees) = writable_trees();
        for tree in trees {
            let sleeper = Sleeper::start();
            let pid = sleeper.0.id();
            let home = tree.group_of(pid).unwrap();
            let groups = Groups::arrange_in(&tree, &[pid], true);
            let folder = groups.folder.clone().unwrap();
            assert_eq!(tree.group_of(pid).unwrap(), Some(folder.join("subject")), "{tree:?}");
            assert_eq!((groups.subject_meters().len(), groups.load_meter().is_some()), (1, true));
            drop(groups);
            assert_eq!(tree.group_of(pid).unwrap(), home, "{tree:?}");
            assert!(!folder.exists());
        }
    }

    #[test]
    fn what_was_moved_is_moved_back_on_a_panic() {
        let (_turn, trees) = writable_trees();
        for tree in trees {
            let sleeper = Sleeper::start();
            let pid = sleeper.0.id();
            let home = tree.group_of(pid).unwrap();
            let panicked = std::panic::catch_unwind(|| {
                let _groups = Groups::arrange_in(&tree, &[pid], false);
                assert_ne!(tree.group_of(pid).unwrap(), home);
                std::panic::resume_unwind(Box::new("as if it had panicked"));
            });
            assert!(panicked.is_err());
            assert_eq!(tree.group_of(pid).unwrap(), home, "{tree:?}");
        }
    }

    #[test]
    fn a_subject_that_is_alone_stays_where_it_is() {
        let (_turn, trees) = writable_trees();
        for tree in trees {
            let sleeper = Sleeper::start();
            let pid = sleeper.0.id();
            let start = tree.group_of(pid).unwrap().unwrap();
            let own = tree.mount.join(format!("headroom-test.{}", std::process::id()));
            cgroup::create(&own).unwrap();
            cgroup::enter(&own, pid).unwrap();
            let groups = Groups::arrange_in(&tree, &[pid], false);
            let (folder, subject) = (groups.folder.clone(), groups.subject.clone());
            drop(groups);
            let after = tree.group_of(pid).unwrap();
            cgroup::enter(&start, pid).unwrap();
            remove(&own).unwrap();
            assert_eq!((folder, subject, after), (None, vec![own.clone()], Some(own)));
        }
    }

    #[test]
    fn what_the_load_left_running_is_ended() {
        let (_turn, trees) = writable_trees();
        for tree in trees {
            let mut groups = Groups::arrange_in(&tree, &[], true);
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 60 & sleep 60"]);
            let mut child = process::spawn_in(groups.load(), command).unwrap();
            let reap = std::thread::spawn(move || child.wait());
            groups.restore().unwrap();
            assert!(!reap.join().unwrap().unwrap().success());
            assert!(groups.load().is_none());
        }
    }

    #[test]
    fn a_tree_that_is_not_there_gives_no_group_and_no_error() {
        let tree = Mounts::parse("2 1 0:2 / /no/such/tree rw - cgroup2 c rw\n").unified.unwrap();
        let mut groups = Groups::arrange_in(&tree, &[std::process::id()], true);
        assert!(groups.load().is_none() && groups.subject_meters().is_empty());
        groups.restore().unwrap();
    }
}
