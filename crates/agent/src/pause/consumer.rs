//! Finds the processes that the experiment stops, all of a name or a control group, and refuses those that must not be
//! stopped. It stops none itself.

use std::{
    path::{Component, Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use linux::{
    cgroup,
    error::chain,
    pause::{self, Group, Process, Stoppable},
    proc,
};
use model::pause::Target;

use crate::subject;

/// A child that is to become another program has done so after this.
const SETTLING: Duration = Duration::from_millis(20);

/// Processes that the measurement itself needs, which are not stopped for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spared {
    pub(crate) subject: Vec<u32>,
    pub(crate) helpers: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Consumer,
    Decoy,
}

/// A process or a group that may be stopped.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) side: Side,
    pub(crate) held: Stoppable,
    /// Its processes, ascending; never none.
    pub(crate) pids: Vec<u32>,
    /// Whether its end is that of the whole side: not that of a worker which another process of the consumer started.
    pub(crate) vital: bool,
    pub(crate) stopped: bool,
    /// What started the first of its processes, as it was found.
    pub(crate) parent: Option<Parent>,
}

/// The process that started another.
#[derive(Debug)]
pub(crate) struct Parent {
    pub(crate) pid: u32,
    pub(crate) name: String,
}

impl Parent {
    /// `None` where it is the agent, or gone.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let pid = subject::parent(pid).filter(|pid| *pid != std::process::id())?;
        let name = proc::read(format!("/proc/{pid}/comm")).ok()?;
        Some(Self { pid, name: String::from_utf8_lossy(&name).trim_end().to_owned() })
    }
}

impl Guarded {
    /// One that runs, and whose end is its side's.
    pub(crate) fn new(side: Side, held: Stoppable, pids: Vec<u32>) -> Self {
        Self { side, held, pids, vital: true, stopped: false, parent: None }
    }

    fn consumer(process: Process) -> Self {
        let pids = vec![process.pid()];
        Self::new(Side::Consumer, Stoppable::Process(process), pids)
    }
}

pub(crate) fn find(target: &Target, spared: &Spared) -> Result<Vec<Guarded>, String> {
    let found = match target {
        Target::Process(name) => processes(name, spared)?,
        Target::Group(path) => vec![group(path, spared)?],
    };
    match found.iter().find(|found| found.held.look().stopped > 0) {
        Some(found) => Err(format!(
            "{} is stopped already, and continuing it would change what we found; continue it first",
            list_of(&found.pids)
        )),
        None => Ok(found),
    }
}

/// The place of a group in the file system: the tree that it is in, and its folder there.
pub(crate) fn place_of(path: &str) -> Result<(PathBuf, Group), String> {
    let path = Path::new(path.trim_start_matches('/'));
    if !path.components().all(|part| matches!(part, Component::Normal(_)))
        || path.as_os_str().as_encoded_bytes().contains(&b'\n')
    {
        return Err("a path below the root of the groups is needed, without `..`".to_owned());
    }
    if path.as_os_str().is_empty() {
        return Err("the root holds the whole machine".to_owned());
    }
    let mounts = pause::freezers().map_err(|error| chain(&error))?;
    let at = |mount: PathBuf| Some((Group::open(&mount.join(path))?, mount));
    let (group, mount) = mounts.into_iter().find_map(at).ok_or(
        "no such group has a freezer here (cgroup.freeze of Linux 5.2, or version 1's freezer); name its \
         path below /sys/fs/cgroup, or a process",
    )?;
    Ok((mount, group))
}

fn processes(name: &str, spared: &Spared) -> Result<Vec<Guarded>, String> {
    let pids = subject::pids_of(name).map_err(|refusal| refusal.to_string())?;
    if pids.is_empty() {
        return Err("no process has that name as the window opens".to_owned());
    }
    check(&pids, spared)?;
    let ours = |pid: u32| subject::parent(pid).is_some_and(|parent| pids.contains(&parent));
    let (workers, vital): (Vec<u32>, Vec<u32>) = pids.iter().partition(|&&pid| ours(pid));
    let mut found = Vec::new();
    for pid in vital {
        let process = Process::open(pid, None).map_err(|error| format!("pid {pid}: {error}"))?;
        found.push(Guarded::consumer(process));
    }
    found.extend(settled(name, workers)?);
    Ok(found)
}

/// The workers that stay. A child that is about to become another program has its parent's name for a
/// moment; to stop it then would hold a parent that waits for it (vfork) in uninterruptible sleep.
fn settled(name: &str, workers: Vec<u32>) -> Result<Vec<Guarded>, String> {
    if workers.is_empty() {
        return Ok(Vec::new());
    }
    let open = |pid: &u32| Process::open(*pid, None).ok();
    let seen: Vec<Process> = workers.iter().filter_map(open).collect();
    sleep(SETTLING);
    let named = subject::pids_of(name).map_err(|refusal| refusal.to_string())?;
    let stays = |one: &Process| named.contains(&one.pid()) && !one.look().has_ended();
    let worker = |one| Guarded { vital: false, ..Guarded::consumer(one) };
    Ok(seen.into_iter().filter(stays).map(worker).collect())
}

fn group(path: &str, spared: &Spared) -> Result<Guarded, String> {
    let (_, group) = place_of(path)?;
    let mut pids = cgroup::members_below(group.folder());
    pids.sort_unstable();
    if pids.is_empty() {
        return Err("no process is in it as the window opens".to_owned());
    }
    check(&pids, spared)?;
    Ok(Guarded::new(Side::Consumer, Stoppable::Group(group), pids))
}

/// Refuses where one of them must not be stopped.
fn check(pids: &[u32], spared: &Spared) -> Result<(), String> {
    pids.iter().find_map(|&pid| why_not(pid, spared)).map_or(Ok(()), Err)
}

fn why_not(pid: u32, spared: &Spared) -> Option<String> {
    let own = std::process::id();
    if pid == own || spared.helpers.contains(&pid) {
        return Some(format!("pid {pid} is the agent itself, which has to continue it"));
    }
    if pid == 1 {
        return Some("pid 1 keeps the machine alive".to_owned());
    }
    if spared.subject.contains(&pid) {
        return Some(format!("pid {pid} is the subject itself; name a process that makes it work"));
    }
    if subject::is_of(own, &[pid]) {
        return Some(format!("pid {pid} started the agent, which would be cut off with it"));
    }
    let stat = proc::read(format!("/proc/{pid}/stat")).ok()?;
    let kernel = proc::stat(&stat)?.kernel_thread;
    kernel.then(|| format!("pid {pid} is a thread of the kernel, which takes no signal"))
}

/// `pid 7`, `pids 7, 8 and 3 more`.
pub(crate) fn list_of(pids: &[u32]) -> String {
    match pids {
        [pid] => format!("pid {pid}"),
        [one, other] => format!("pids {one} and {other}"),
        [one, other, rest @ ..] => format!("pids {one}, {other} and {} more", rest.len()),
        [] => "no process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_started_the_agent_and_our_helpers_are_not_stopped() {
        let why = |pid, spared: &Spared| why_not(pid, spared).unwrap();
        let parent = std::os::unix::process::parent_id();
        assert!(parent == 1 || why(parent, &Spared::default()).contains("cut off"));
        let spared = Spared { subject: Vec::new(), helpers: vec![u32::MAX] };
        assert!(why(u32::MAX, &spared).contains("the agent"));
    }

    #[test]
    fn a_group_whose_name_would_be_two_lines_is_refused() {
        assert!(place_of("a\nb").unwrap_err().contains("below the root"));
    }

    #[test]
    fn many_pids_are_named_in_a_few_words() {
        assert_eq!(list_of(&[7]), "pid 7");
        assert_eq!(list_of(&[7, 8]), "pids 7 and 8");
        assert_eq!(list_of(&[7, 8, 9, 10]), "pids 7, 8 and 2 more");
    }
}
