//! Lists the processes whose work an instrument sees: the subject's, a control group's, or everybody's.

use std::path::{Path, PathBuf};

use linux::{
    cgroup::Mounts,
    perf::{
        attached::{self, Attached, EventOrder, Rings},
        error::Error,
    },
    proc,
};
use model::{instrument, wire::Refusal};

use crate::subject;

/// The processes of a scope, listed anew whenever that is asked.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// Processes and what they start; and whoever is in the groups that they were started in.
    Processes(Vec<u32>, Vec<PathBuf>),
    Group(PathBuf),
    Machine,
}

impl Scope {
    /// The scope that was ordered, for a subject of these processes and groups.
    pub(crate) fn of(
        order: &instrument::Scope,
        pids: &[u32],
        rooms: &[PathBuf],
    ) -> Result<Self, Refusal> {
        Ok(match order {
            instrument::Scope::Subject => Self::Processes(pids.to_vec(), rooms.to_vec()),
            instrument::Scope::Group(path) => Self::Group(folder_of(path)?),
            instrument::Scope::Machine => Self::Machine,
        })
    }

    pub(crate) fn processes(&self) -> Vec<u32> {
        match self {
            Self::Processes(roots, rooms) => {
                let mut roots = roots.clone();
                roots.extend(rooms.iter().flat_map(|room| linux::cgroup::members_below(room)));
                roots.sort_unstable();
                roots.dedup();
                subject::family(&roots)
            }
            Self::Group(folder) => linux::cgroup::members_below(folder),
            Self::Machine => proc::pids().unwrap_or_default(),
        }
    }

    pub(crate) fn open(&self, wanted: &[EventOrder], rings: &Rings) -> Result<Attached, Refusal> {
        let open = |scope: attached::Scope<'_>| Attached::open(&scope, wanted, rings);
        let attached = match self {
            Self::Processes(..) => open(attached::Scope::Processes(&|| self.processes())),
            Self::Group(folder) => open(attached::Scope::Group(folder.clone())),
            Self::Machine => open(attached::Scope::Machine),
        };
        attached.map_err(|error| refusal(&error))
    }
}

/// An event that cannot be had, as the order's end.
pub(crate) fn refusal(error: &Error) -> Refusal {
    Refusal::new(error.to_string(), error.why())
}

fn folder_of(path: &str) -> Result<PathBuf, Refusal> {
    let refused =
        |why: String| Refusal::new(format!("cannot find the control group `{path}`"), why);
    let tree = Mounts::find().unwrap_or_default().of_events();
    let tree = tree.ok_or_else(|| {
        refused("no hierarchy of control groups that has `perf_event` is mounted".to_owned())
    })?;
    let folder = tree.mount.join(path.trim_start_matches('/'));
    let inside = !Path::new(path).components().any(|part| part == std::path::Component::ParentDir);
    if inside && folder.join("cgroup.procs").exists() {
        return Ok(folder);
    }
    Err(refused(format!(
        "{} is not a group; `cat /proc/PID/cgroup` shows a process's",
        folder.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_not_there_is_refused_with_where_it_was_looked_for() {
        for path in ["no/such/group", "../../etc"] {
            let Err(Refusal { what, why }) = folder_of(path).map(drop) else {
                panic!("{path} was found");
            };
            assert!(what.contains(path) && !why.is_empty());
        }
    }

    #[test]
    fn the_subject_is_its_processes_and_what_they_started() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let scope = Scope::of(&instrument::Scope::Subject, &[own], &[]).unwrap();
        let processes = scope.processes();
        assert!(processes.contains(&own) && processes.contains(&child.id()));
        assert!(!processes.contains(&1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!scope.processes().contains(&child.id()));
    }
}
