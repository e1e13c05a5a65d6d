//! The folder of a measurement's groups: ours while we live, and then whoever finds it may give it back.
//!
//! An agent that is killed leaves its folder, and in it those whom it moved there. Its lock ends with it; notes
//! at its groups say who is whose. The next agent that makes a folder, or is asked to by whoever saw this one die, moves
//! everybody home, ends what had been started for a measurement, and removes the groups. Without a note a group is
//! removed only where it is empty: nobody is ended or moved on a guess. What is used by an agent that lives is left alone.

use std::{
    io,
    path::{Path, PathBuf},
    thread::sleep,
    time::Instant,
};

use linux::cgroup::{self, Claim, Error, Tree};

use super::{Gathered, LOOK, PATIENCE, end_all, remove};

/// What its name begins with; the agent's number follows.
const PREFIX: &str = "headroom.";

/// The note at a group of programs that an agent started.
const STARTED: &str = "started";

/// A folder that nobody else takes away.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _claim: Option<Claim>,
}

impl Folder {
    /// Makes ours, at the top of the tree or, where we may not, in our own group; gives back first what
    /// others have left there.
    pub(super) fn make(tree: &Tree) -> Result<Self, Error> {
        Self::below(&tree.mount).or_else(|error| match tree.group_of(std::process::id())? {
            Some(own) => Self::below(&own),
            None => Err(error),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn below(parent: &Path) -> Result<Self, Error> {
        give_back(parent);
        let path = parent.join(format!("{PREFIX}{}", std::process::id()));
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            cgroup::create(&path)?;
            let claim = cgroup::claim(&path);
            // Where there are no locks nobody else takes it either.
            if !matches!(claim, Ok(None)) && path.exists() {
                return Ok(Self { path, _claim: claim.ok().flatten() });
            }
            // Another agent came between the two, and takes it for left.
            while path.exists() && Instant::now() < until {
                sleep(LOOK);
            }
        }
        Err(Error::Refused { action: "claim", path, source: io::ErrorKind::WouldBlock.into() })
    }
}

/// Gives back what others have left, wherever a folder is made. A child that a killed agent had not yet become another
/// program of holds its lock for a moment longer; it is waited for.
pub(super) fn give_back_in(tree: &Tree) {
    let own = tree.group_of(std::process::id()).ok().flatten();
    let parents: Vec<PathBuf> = [Some(tree.mount.clone()), own].into_iter().flatten().collect();
    let until = Instant::now() + PATIENCE;
    loop {
        parents.iter().for_each(|parent| give_back(parent));
        if !parents.iter().any(|parent| has_orphan(parent)) || Instant::now() > until {
            return;
        }
        sleep(LOOK);
    }
}

/// Whether a folder is there whose agent is not.
fn has_orphan(parent: &Path) -> bool {
    cgroup::below(parent)
        .iter()
        .filter_map(|folder| agent_of(folder))
        .any(|pid| !Path::new("/proc").join(pid.to_string()).exists())
}

/// Notes that a group is of programs that we start.
pub(super) fn note_started(group: &Path) {
    // Without a note the group is left where it is not empty.
    let _ = cgroup::note(group, STARTED);
}

/// Notes where those whom we move to a group were.
pub(super) fn note_homes(group: &Path, moved: &[(u32, PathBuf)]) {
    let lines: Option<String> =
        moved.iter().map(|(pid, home)| Some(format!("{pid} {}\n", home.to_str()?))).collect();
    // As above.
    let _ = lines.map(|lines| cgroup::note(group, &lines));
}

/// Where somebody was, from the note.
fn homes(note: &str) -> Option<Vec<(u32, PathBuf)>> {
    note.lines()
        .map(|line| {
            let (pid, home) = line.split_once(' ')?;
            Some((pid.parse().ok()?, PathBuf::from(home)))
        })
        .collect()
}

/// Gives back what agents that no longer live have left below a group.
fn give_back(parent: &Path) {
    let left = cgroup::below(parent).into_iter().filter(|folder| is_agents(folder));
    for folder in left {
        let Ok(Some(_claim)) = cgroup::claim(&folder) else { continue };
        for group in cgroup::below(&folder) {
            if empty(&group) {
                let _ = remove(&group);
            }
        }
        // One that is not empty stays for whoever knows more.
        let _ = cgroup::remove(&folder);
    }
}

fn is_agents(folder: &Path) -> bool {
    agent_of(folder).is_some()
}

/// The agent whose folder this is, by its number.
fn agent_of(folder: &Path) -> Option<u32> {
    folder.file_name()?.to_str()?.strip_prefix(PREFIX)?.parse().ok()
}

/// Empties a group as its note says; whether it is empty then.
fn empty(group: &Path) -> bool {
    let note = cgroup::noted(group);
    match note.as_deref() {
        Some(STARTED) => end_all(group),
        Some(note) => {
            if let Some(moved) = homes(note) {
                Gathered { group: group.to_owned(), moved }.send_home();
            }
        }
        None => {}
    }
    cgroup::members_below(group).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::tests::{Sleeper, writable_trees};

    /// What an agent that was killed left in each tree, in a group of this test's own.
    fn left(name: &str, does: impl Fn(&Tree, &Path, &Path)) {
        let (_turn, trees) = writable_trees();
        for tree in trees {
            let parent = tree.mount.join(format!("{name}.{}", std::process::id()));
            cgroup::create(&parent).unwrap();
            let group = parent.join(format!("{PREFIX}4000000000")).join("subject");
            cgroup::create(group.parent().unwrap()).unwrap();
            cgroup::create(&group).unwrap();
            does(&tree, &parent, &group);
            cgroup::below(&parent).iter().for_each(|folder| {
                cgroup::below(folder).iter().for_each(|group| remove(group).unwrap());
                remove(folder).unwrap();
            });
            remove(&parent).unwrap();
        }
    }

    #[test]
    fn what_was_moved_goes_home_and_what_was_started_is_ended() {
        left("headroom-left", |tree, parent, group| {
            let (moved, mut started) = (Sleeper::start(), Sleeper::start());
            let home = tree.group_of(moved.0.id()).unwrap().unwrap();
            note_homes(group, &[(moved.0.id(), home.clone())]);
            cgroup::enter(group, moved.0.id()).unwrap();
            let load = group.with_file_name("load");
            cgroup::create(&load).unwrap();
            note_started(&load);
            cgroup::enter(&load, started.0.id()).unwrap();
            if cgroup::noted(group).is_none() {
                return skip::skip!("no note can be left at a group of {tree:?}");
            }
            let reap = std::thread::spawn(move || started.0.wait());
            give_back(parent);
            assert_eq!(tree.group_of(moved.0.id()).unwrap(), Some(home), "{tree:?}");
            assert!(!reap.join().unwrap().unwrap().success());
            assert_eq!(cgroup::below(parent), [""; 0].map(PathBuf::from), "{tree:?}");
        });
    }

    #[test]
    fn who_is_there_without_a_note_and_what_somebody_holds_stays() {
        left("headroom-kept", |tree, parent, group| {
            let mut stranger = Sleeper::start();
            cgroup::enter(group, stranger.0.id()).unwrap();
            give_back(parent);
            assert_eq!(tree.group_of(stranger.0.id()).unwrap().as_deref(), Some(group));
            assert!(stranger.0.try_wait().unwrap().is_none());
            let claim = cgroup::claim(group.parent().unwrap()).unwrap().unwrap();
            drop(stranger);
            give_back(parent);
            assert!(group.exists(), "{tree:?}");
            drop(claim);
            // Another test's child has all our descriptors until it becomes another program.
            let until = Instant::now() + PATIENCE;
            while group.parent().unwrap().exists() {
                assert!(Instant::now() < until, "{tree:?}");
                give_back(parent);
                sleep(LOOK);
            }
        });
    }

    #[test]
    fn only_a_number_behind_the_point_is_an_agents() {
        let named = |name: &str| is_agents(&Path::new("/sys/fs/cgroup").join(name));
        assert!(named("headroom.1") && named("headroom.4194303"));
        for other in ["headroom", "headroom.", "headroom.x", "headroom.-1", "headroom-decoy.7"] {
            assert!(!named(other), "{other}");
        }
    }

    #[test]
    fn a_note_that_is_damaged_moves_no_process() {
        assert_eq!(homes("7 /a b\n9 /\n"), Some(vec![(7, "/a b".into()), (9, "/".into())]));
        for damaged in ["7", "x /a", "7 /a\n\n", "started already"] {
            assert_eq!(homes(damaged), None, "{damaged}");
        }
    }
}
