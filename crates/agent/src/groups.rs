//! A control group for each process set, and everything as it was before when the value is dropped.
//!
//! Talks to control groups of either version. A process set that already has a group for itself stays
//! there; else its processes are moved to a group of ours and moved back. What we start ourselves is
//! started in a group of ours. No limit is set: the groups count CPU time, and memory where that is asked for and the
//! machine's groups count it, and do nothing else. Where no group can be made, the measurement goes on without that counter. What an
//! agent left that was killed is given back by the next one that makes groups, or is asked to ([`folder`]).

mod folder;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    cgroup::{self, Error, Meter, Mounts, Tree},
    process,
};

use self::folder::Folder;
use crate::subject;

/// So long a killed process may take to leave its group, and a group to be removable.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two looks at a group that is not yet empty.
const LOOK: Duration = Duration::from_millis(5);

/// What an agent is asked with to give back what one that was killed has left, and nothing else.
pub const GIVE_BACK: &str = "give-back";

pub fn give_back() {
    if let Some(tree) = Mounts::find().ok().and_then(Mounts::counting) {
        folder::give_back_in(&tree);
    }
}

/// The groups of a measurement.
#[derive(Debug, Default)]
pub struct Groups {
    tree: Option<Tree>,
    /// The folder that all of ours are in.
    folder: Option<Folder>,
    /// Whether ours count memory, too.
    of_memory: bool,
    /// Ours for programs that we start.
    started: Vec<PathBuf>,
    /// Ours for processes that were there before.
    gathered: Vec<Gathered>,
    /// The agent's, where it is alone in one.
    agent: Option<PathBuf>,
}

/// A group of ours that processes were moved to.
#[derive(Debug)]
struct Gathered {
    group: PathBuf,
    /// Where each process was.
    moved: Vec<(u32, PathBuf)>,
}

impl Groups {
    /// Looks where groups can be made. Nothing is made yet.
    pub fn find() -> Self {
        Mounts::find().ok().and_then(Mounts::counting).map_or_else(Self::default, Self::of)
    }

    /// [`Groups::find`] in a tree.
    pub fn of(tree: Tree) -> Self {
        let agent = alone(&tree, &[std::process::id()]).and_then(|mut homes| homes.pop());
        let mut groups = Self::default();
        (groups.tree, groups.agent) = (Some(tree), agent);
        groups
    }

    /// Has the groups that are made from here on count memory, too, where the machine's count it.
    pub fn count_memory(&mut self) {
        self.of_memory = true;
    }

    /// Makes a group for programs that are to be started in it; they are ended with it.
    pub fn make_room(&mut self, name: &str) -> Option<PathBuf> {
        let tree = self.tree.clone()?;
        let group = self.make(&tree, name).ok()?;
        folder::note_started(&group);
        self.started.push(group.clone());
        Some(group)
    }

    /// Sees to it that processes are alone in their groups, and says which those are; none where that
    /// cannot be. `name` is that of the group if one has to be made.
    pub fn gather(&mut self, name: &str, pids: &[u32]) -> Vec<PathBuf> {
        let Some(tree) = self.tree.clone() else { return Vec::new() };
        if let Some(homes) = alone(&tree, pids) {
            return homes;
        }
        let Ok(group) = self.make(&tree, name) else { return Vec::new() };
        self.gathered.push(Gathered { group: group.clone(), moved: Vec::new() });
        match self.gathered.last_mut().map(|gathered| gathered.take_in(&tree, pids)) {
            Some(true) => vec![group],
            _ => Vec::new(),
        }
    }

    pub fn meters(&self, groups: &[PathBuf]) -> Vec<Meter> {
        let version = self.tree.as_ref().map(|tree| tree.version);
        let meter = |group: &PathBuf| Meter::open(version?, group).ok();
        groups.iter().filter_map(meter).collect()
    }

    /// The agent's CPU time, where it has a group for itself.
    pub fn agent_meters(&self) -> Vec<Meter> {
        self.meters(self.agent.as_slice())
    }

    /// Makes a group below our folder, which it makes first if need be.
    fn make(&mut self, tree: &Tree, name: &str) -> Result<PathBuf, Error> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => Folder::make(tree)?,
        };
        if self.of_memory {
            // Without it the figure is absent.
            let _ = cgroup::count_memory_below(folder.path());
        }
        let group = self.folder.insert(folder).path().join(name);
        cgroup::create(&group)?;
        Ok(group)
    }

    /// Moves everything back, ends what we started, and removes what was made; to do it twice does
    /// nothing.
    pub fn restore(&mut self) -> Result<(), Error> {
        // All of it is done, whatever of it fails.
        let gathered: Vec<_> = self
            .gathered
            .drain(..)
            .map(|mut gathered| {
                gathered.send_home();
                remove(&gathered.group)
            })
            .collect();
        let started: Vec<_> = self
            .started
            .drain(..)
            .map(|group| {
                end_all(&group);
                remove(&group)
            })
            .collect();
        let folder = self.folder.take().map(|folder| remove(folder.path()));
        gathered.into_iter().chain(started).chain(folder).collect()
    }
}

impl Gathered {
    /// Moves processes here; false, and nothing is moved, where that fails for one of them: half a
    /// party in a group would be a wrong figure, none is an absent one.
    fn take_in(&mut self, tree: &Tree, pids: &[u32]) -> bool {
        let homes = pids.iter().map(|&pid| Ok(tree.group_of(pid)?.map(|home| (pid, home))));
        let Ok(homes) = homes.collect::<Result<Vec<_>, Error>>() else { return false };
        self.moved = homes.into_iter().flatten().collect();
        folder::note_homes(&self.group, &self.moved);
        let moved = self.moved.iter().try_for_each(|(pid, _)| cgroup::enter(&self.group, *pid));
        if moved.is_err() {
            self.send_home();
        }
        moved.is_ok()
    }

    /// Moves the processes back, and with them those that were born in our group.
    fn send_home(&mut self) {
        let Some((_, first)) = self.moved.first() else { return };
        let until = Instant::now() + PATIENCE;
        // A process may be born while others are moved: look until there is none.
        while let Ok(members) = cgroup::members(&self.group) {
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
    cgroup::members(group).is_ok_and(|members| members.iter().all(|&pid| subject::is_of(pid, pids)))
        && cgroup::below(group).iter().all(|group| holds_only(group, pids))
}

/// Ends what programs of ours have left running.
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
pub(crate) fn remove(group: &Path) -> Result<(), Error> {
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

    pub(super) struct Sleeper(pub(super) Child);

    impl Sleeper {
        pub(super) fn start() -> Self {
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
    pub(super) fn writable_trees() -> (std::sync::MutexGuard<'static, ()>, Vec<Tree>) {
        static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mounts = Mounts::find().unwrap();
        let trees: Vec<Tree> = [mounts.cpuacct, mounts.unified].into_iter().flatten().collect();
        let usable =
            |tree: &Tree| Folder::make(tree).and_then(|folder| remove(folder.path())).is_ok();
        let trees: Vec<Tree> = trees.into_iter().filter(usable).collect();
        if trees.is_empty() {
            skip::skip!("no control group can be made here");
        }
        (turn, trees)
    }

    #[test]
    fn what_was_moved_is_moved_back_also_on_a_panic() {
        let (_turn, trees) = writable_trees();
        for tree in trees {
            let sleeper = Sleeper::start();
            let pid = sleeper.0.id();
            let home = tree.group_of(pid).unwrap();
            let mut groups = Groups::of(tree.clone());
            let (subject, load) = (groups.gather("subject", &[pid]), groups.make_room("load"));
            let folder = groups.folder.as_ref().unwrap().path().to_owned();
            assert_eq!(tree.group_of(pid).unwrap(), Some(folder.join("subject")), "{tree:?}");
            assert_eq!(subject, [folder.join("subject")]);
            assert_eq!((groups.meters(&subject).len(), load), (1, Some(folder.join("load"))));
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _dropped_by_the_panic = groups;
                std::panic::resume_unwind(Box::new("as if it had panicked"));
            }));
            assert!(panicked.is_err());
            assert_eq!(tree.group_of(pid).unwrap(), home, "{tree:?}");
            assert!(!folder.exists());
        }
    }

    #[test]
    fn each_of_several_process_sets_goes_back_to_where_it_was() {
        let (_turn, trees) = writable_trees();
        for tree in trees {
            let sleepers = [Sleeper::start(), Sleeper::start()];
            let homes = || sleepers.iter().map(|one| tree.group_of(one.0.id()).unwrap());
            let before: Vec<_> = homes().collect();
            let mut groups = Groups::of(tree.clone());
            for (name, sleeper) in ["subject", "other0"].iter().zip(&sleepers) {
                groups.gather(name, &[sleeper.0.id()]);
            }
            let folder = groups.folder.as_ref().unwrap().path().to_owned();
            let during: Vec<_> = homes().collect();
            assert_eq!(during, [Some(folder.join("subject")), Some(folder.join("other0"))]);
            groups.restore().unwrap();
            assert_eq!(homes().collect::<Vec<_>>(), before);
            assert!(!folder.exists());
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
            let mut groups = Groups::of(tree.clone());
            let subject = groups.gather("subject", &[pid]);
            let folder = groups.folder.take().map(|folder| folder.path().to_owned());
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
            let mut groups = Groups::of(tree);
            let load = groups.make_room("load");
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 60 & sleep 60"]);
            let mut child = process::spawn_in(load.as_deref(), command).unwrap();
            let reap = std::thread::spawn(move || child.wait());
            groups.restore().unwrap();
            assert!(!reap.join().unwrap().unwrap().success());
            assert!(!load.unwrap().exists());
        }
    }

    #[test]
    fn a_tree_that_is_not_there_gives_no_group_and_no_error() {
        let tree = Mounts::parse("2 1 0:2 / /no/such/tree rw - cgroup2 c rw\n").unified.unwrap();
        let mut groups = Groups::of(tree);
        assert_eq!(groups.gather("subject", &[std::process::id()]), [""; 0].map(PathBuf::from));
        assert!(groups.make_room("load").is_none() && groups.agent_meters().is_empty());
        groups.restore().unwrap();
    }
}
