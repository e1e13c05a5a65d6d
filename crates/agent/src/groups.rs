//! Makes a control group for each process set, and moves everything back when the value is dropped.
//!
//! A process set that has a group for itself stays there; others are moved to a group of ours and back. What we start
//! is started in a group of ours. No limit is set: groups count CPU time, and memory where that is asked for. Where no
//! group can be made, the measurement has no such counter. [`crate::undo`] gives back what a killed agent leaves.

use std::{
    collections::BTreeSet,
    io::ErrorKind,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::cgroup::{self, Error, Meter, Mounts, Tree};

use crate::{subject, trial, undo::Undo};

/// A killed process may take this long to leave its group, and a group to be removable.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two looks at a group that is not yet empty.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, Default)]
pub(crate) struct Groups {
    tree: Option<Tree>,
    folder: Option<PathBuf>,
    /// Whether ours count memory, too.
    of_memory: bool,
    /// Ours for programs that we start.
    started: Vec<PathBuf>,
    /// Ours for processes that were there before.
    gathered: Vec<Gathered>,
    /// The agent's, where it is alone in one.
    agent: Option<PathBuf>,
    /// Does the same where the agent is killed.
    undo: Option<Undo>,
}

/// A group of ours that processes were moved to.
#[derive(Debug)]
pub(crate) struct Gathered {
    group: PathBuf,
    moved: Vec<(u32, PathBuf)>,
}

impl Groups {
    /// Looks where groups can be made. Nothing is made yet.
    pub(crate) fn find() -> Self {
        let tree = Mounts::find().ok().and_then(Mounts::counting);
        let mut groups = Self::default();
        groups.agent = tree.as_ref().and_then(|tree| alone(tree, &[std::process::id()])?.pop());
        groups.tree = tree;
        groups
    }

    /// Has the groups that are made from here on count memory, too, where the machine's count it.
    pub(crate) fn count_memory(&mut self) {
        self.of_memory = true;
    }

    /// Makes a group for programs that are to be started in it; they are ended with it.
    pub(crate) fn make_room(&mut self, name: &str) -> Option<PathBuf> {
        let tree = self.tree.clone()?;
        let group = self.make(&tree, name)?;
        self.note(&format!("end {}", group.display()))?;
        cgroup::create(&group).ok()?;
        self.started.push(group.clone());
        Some(group)
    }

    /// Sees to it that processes are alone in their groups, and says which those are; none where that
    /// cannot be. `name` is that of the group if one has to be made.
    pub(crate) fn gather(&mut self, name: &str, pids: &[u32]) -> Vec<PathBuf> {
        let Some(tree) = self.tree.clone() else { return Vec::new() };
        if let Some(homes) = alone(&tree, pids) {
            return homes;
        }
        let gathered = self.make(&tree, name).zip(Gathered::plan(&tree, pids));
        let Some((group, moved)) = gathered else { return Vec::new() };
        let gathered = Gathered { group: group.clone(), moved };
        if self.note(&format!("gather {}", gathered.line())).is_none()
            || cgroup::create(&group).is_err()
        {
            return Vec::new();
        }
        let is_whole = gathered.take_in();
        self.gathered.push(gathered);
        if is_whole { vec![group] } else { Vec::new() }
    }

    pub(crate) fn meters(&self, groups: &[PathBuf]) -> Vec<Meter> {
        let version = self.tree.as_ref().map(|tree| tree.version);
        let meter = |group: &PathBuf| Meter::open(version?, group).ok();
        groups.iter().filter_map(meter).collect()
    }

    /// The agent's CPU time, where it has a group for itself.
    pub(crate) fn agent_meters(&self) -> Vec<Meter> {
        self.meters(self.agent.as_slice())
    }

    /// The place of a group below our folder, which is made first if need be.
    fn make(&mut self, tree: &Tree, name: &str) -> Option<PathBuf> {
        if self.folder.is_none() {
            self.undo = Undo::start(None).ok();
            let own = tree.group_of(std::process::id()).ok().flatten();
            let parents = [Some(tree.mount.clone()), own].into_iter().flatten();
            self.folder = parents.map(|parent| self.make_folder(&parent)).find_map(Result::ok);
        }
        if self.of_memory {
            // Without it the figure is absent.
            let _ = cgroup::count_memory_below(self.folder.as_deref()?);
        }
        Some(self.folder.as_deref()?.join(name))
    }

    fn make_folder(&mut self, parent: &Path) -> Result<PathBuf, Error> {
        let path = parent.join(format!("headroom-agent.{}", std::process::id()));
        if self.note(&format!("sweep {}", path.display())).is_none() {
            let source = ErrorKind::NotConnected.into();
            return Err(Error::Refused { action: "guard", path, source });
        }
        cgroup::create(&path).map(|()| path)
    }

    /// Has the second process undo it, too; `None` where it does not answer.
    fn note(&mut self, line: &str) -> Option<()> {
        self.undo.as_mut()?.note(line).ok()
    }

    /// Moves everything back, ends what we started, and removes what was made; to do it twice does
    /// nothing. Fails with the first group that could not be removed.
    pub(crate) fn restore(&mut self) -> Result<(), Error> {
        // All of it is done, whatever of it fails.
        let gathered: Vec<_> =
            self.gathered.drain(..).map(|gathered| gathered.give_back()).collect();
        trial::take_away(&self.started);
        let started: Vec<_> = self.started.drain(..).map(|group| remove(&group)).collect();
        let folder = self.folder.take().map(|folder| remove(&folder));
        self.undo = None;
        gathered.into_iter().chain(started).chain(folder).collect()
    }
}

impl Gathered {
    /// Where each process is now; `None` where one of them is gone.
    fn plan(tree: &Tree, pids: &[u32]) -> Option<Vec<(u32, PathBuf)>> {
        let homes = pids.iter().map(|&pid| Some((pid, tree.group_of(pid).ok()?)));
        let homes: Vec<_> = homes.collect::<Option<_>>()?;
        Some(homes.into_iter().filter_map(|(pid, home)| Some((pid, home?))).collect())
    }

    /// The group, and each process with its home, as a line of the journal.
    fn line(&self) -> String {
        let homes = self.moved.iter().map(|(pid, home)| format!("\t{pid} {}", home.display()));
        format!("{}{}", self.group.display(), homes.collect::<String>())
    }

    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let group = fields.next()?.into();
        let home = |field: &str| {
            let (pid, home) = field.split_once(' ')?;
            Some((pid.parse().ok()?, home.into()))
        };
        Some(Self { group, moved: fields.map(home).collect::<Option<_>>()? })
    }

    pub(crate) fn give_back(&self) -> Result<(), Error> {
        self.send_home();
        remove(&self.group)
    }

    /// Moves processes here; false, and nothing is moved, where that fails for one of them: half a
    /// party in a group would be a wrong figure, none is an absent one.
    fn take_in(&self) -> bool {
        let moved = self.moved.iter().try_for_each(|(pid, _)| cgroup::enter(&self.group, *pid));
        if moved.is_err() {
            self.send_home();
        }
        moved.is_ok()
    }

    /// Moves the processes back, and with them those that were born in our group.
    fn send_home(&self) {
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
    use super::*;

    #[test]
    fn a_line_of_the_journal_says_who_was_where_and_a_damaged_one_nothing() {
        let moved = vec![(7, "/a b".into()), (9, "/".into())];
        let gathered = Gathered { group: "/g/subject".into(), moved };
        assert_eq!(gathered.line(), "/g/subject\t7 /a b\t9 /");
        let read = Gathered::of_line(&gathered.line()).unwrap();
        assert_eq!((read.group, read.moved), (gathered.group, gathered.moved));
        for damaged in ["/g\t7", "/g\tx /a", "/g\t7 /a\t", "/g\t-1 /a"] {
            assert!(Gathered::of_line(damaged).is_none(), "{damaged}");
        }
    }
}
