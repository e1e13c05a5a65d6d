//! Whose CPU is in question: every process that has the subject's name when the measurement begins.
//!
//! The kernel cuts the name to 15 bytes. Children that are born later are counted by the control group.

use std::{collections::BTreeSet, os::fd::OwnedFd};

use linux::{error::chain, proc, process};
use model::wire::Refusal;

#[derive(Debug)]
pub struct Subject {
    pub name: String,
    /// Its processes, ascending.
    pub pids: Vec<u32>,
    /// Those whose end is the subject's end: not the workers that another process of it started.
    vital: Vec<u32>,
    /// Descriptors that tell of the end of a vital process, in its order; empty on an old kernel.
    watched: Vec<OwnedFd>,
}

impl Subject {
    pub fn find(name: &str) -> Result<Self, Refusal> {
        let pids = pids_of(name)?;
        if pids.is_empty() {
            let running = names(|_, stat| !stat.kernel_thread)?.join(", ");
            return Err(Refusal::plain(format!(
                "no process named `{name}` runs on the access point; running are: {running}"
            )));
        }
        Ok(Self::of(name, pids))
    }

    pub fn of(name: &str, pids: Vec<u32>) -> Self {
        let ours = |pid: &u32| parent(*pid).is_some_and(|parent| pids.contains(&parent));
        let vital: Vec<u32> = pids.iter().copied().filter(|pid| !ours(pid)).collect();
        let watched: Option<Vec<_>> = vital.iter().map(|&pid| process::watch(pid)).collect();
        Self { name: name.to_owned(), vital, watched: watched.unwrap_or_default(), pids }
    }

    pub fn watched(&self) -> &[OwnedFd] {
        &self.watched
    }

    /// The process behind a descriptor of [`Subject::watched`].
    pub fn watched_pid(&self, place: usize) -> Option<u32> {
        self.vital.get(place).copied()
    }

    /// The first of these ended processes without which the subject is not itself.
    pub fn first_vital(&self, mut ended: impl Iterator<Item = u32>) -> Option<u32> {
        ended.find(|pid| self.vital.contains(pid))
    }
}

pub fn pids_of(name: &str) -> Result<Vec<u32>, Refusal> {
    let mut found = Vec::new();
    visit(|pid, stat| {
        if !stat.ended() && proc::comm_is(stat.comm, name) {
            found.push(pid);
        }
    })?;
    Ok(found)
}

/// Another process set that is counted as well as the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub name: String,
    /// Its processes, ascending; never none.
    pub pids: Vec<u32>,
}

/// The processes of these names, without the subject's own; a name that nobody has is left out.
pub fn others(names: &[String], subject: &Subject) -> Result<Vec<Other>, Refusal> {
    let mut all: Vec<Other> = Vec::new();
    for name in names {
        let mut pids = pids_of(name)?;
        // A process counts once: names that the kernel cuts alike would count it twice.
        pids.retain(|pid| {
            !subject.pids.contains(pid) && !all.iter().any(|other| other.pids.contains(pid))
        });
        if !pids.is_empty() {
            all.push(Other { name: name.clone(), pids });
        }
    }
    Ok(all)
}

/// Whether a process is one of these, or was started by one, directly or not.
pub(crate) fn is_of(pid: u32, pids: &[u32]) -> bool {
    std::iter::successors(Some(pid), |&pid| parent(pid).filter(|&parent| parent > 1))
        .any(|pid| pids.contains(&pid))
}

/// These processes and all that they have started, as far as they live.
pub(crate) fn family(roots: &[u32]) -> Vec<u32> {
    let mut parents = Vec::new();
    // Where `/proc` cannot be read, nobody is listed, and whoever asked finds nobody.
    let _ = visit(|pid, stat| parents.push((pid, stat.parent, stat.ended())));
    let mut family = roots.to_vec();
    loop {
        let known = family.len();
        for &(pid, parent, _) in &parents {
            // Whoever is measured may have started us, as sshd has: we and our helpers are not it.
            if pid == std::process::id() {
                continue;
            }
            if family.contains(&parent) && !family.contains(&pid) {
                family.push(pid);
            }
        }
        if family.len() == known {
            break;
        }
    }
    family.retain(|pid| parents.iter().any(|(alive, _, ended)| alive == pid && !ended));
    family
}

/// The names of a process and of all that it has started, each once, in order.
pub(crate) fn names_of(root: u32) -> Result<Vec<String>, Refusal> {
    names(|pid, _| is_of(pid, &[root]))
}

/// The parent of a process, while it lives.
pub fn parent(pid: u32) -> Option<u32> {
    let text = proc::read(format!("/proc/{pid}/stat")).ok()?;
    proc::stat(&text).map(|stat| stat.parent)
}

/// The names of some live processes, each once, in order.
fn names(which: impl Fn(u32, &proc::Stat<'_>) -> bool) -> Result<Vec<String>, Refusal> {
    let mut names = BTreeSet::new();
    visit(|pid, stat| {
        if !stat.ended() && which(pid, &stat) {
            names.insert(String::from_utf8_lossy(stat.comm).into_owned());
        }
    })?;
    Ok(names.into_iter().collect())
}

/// Shows every process; one that ends meanwhile is left out.
pub(crate) fn visit(mut see: impl FnMut(u32, proc::Stat<'_>)) -> Result<(), Refusal> {
    let pids = proc::pids().map_err(|error| Refusal::plain(chain(&error)))?;
    for pid in pids {
        let Ok(text) = proc::read(format!("/proc/{pid}/stat")) else { continue };
        if let Some(stat) = proc::stat(&text) {
            see(pid, stat);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_found_by_its_cut_name() {
        let comm = std::fs::read_to_string("/proc/self/comm").unwrap();
        let name = format!("{}-and-more-than-the-kernel-keeps", comm.trim_end());
        let cut = comm.trim_end().len() == proc::LONGEST_COMM;
        assert_eq!(pids_of(&name).unwrap().contains(&std::process::id()), cut);
        assert!(pids_of(comm.trim_end()).unwrap().contains(&std::process::id()));
    }

    #[test]
    fn a_process_is_of_itself_and_of_its_parents() {
        let own = std::process::id();
        assert!(is_of(own, &[own]) && is_of(own, &[std::os::unix::process::parent_id()]));
        assert!(!is_of(own, &[]) && !is_of(own, &[u32::MAX]));
        assert!(!names_of(own).unwrap().is_empty());
    }
}
