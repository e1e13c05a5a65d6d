//! The decoy: a process that sleeps, and is stopped where the consumer seems to be.
//!
//! It is this very executable with a word that no person needs. It ends where its input does, so it never
//! outlives the agent by more than it takes to continue it.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use linux::{
    cgroup,
    pause::{Group, Held, Process},
    process::spawn_in,
};

use crate::groups;

/// The word that makes the agent a decoy.
pub const WORD: &str = "--sleep-for-pauses";

/// A process of our own that sleeps. Dropping it ends it, and removes its group.
#[derive(Debug)]
pub(crate) struct Decoy {
    child: Child,
    folder: Option<PathBuf>,
}

impl Decoy {
    /// Starts one, in a control group of its own below `mount` where groups are frozen.
    pub(crate) fn start(mount: Option<&Path>) -> io::Result<Self> {
        let folder = mount.map(make_folder).transpose()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(WORD).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match spawn_in(folder.as_deref(), command) {
            Ok(child) => Ok(Self { child, folder }),
            Err(error) => {
                folder.into_iter().for_each(|folder| drop(cgroup::remove(&folder)));
                Err(error)
            }
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its control group, where it has one of its own.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What is stopped: the process, or its group.
    pub(crate) fn held(&self) -> io::Result<Held> {
        match &self.folder {
            None => Ok(Held::Process(Process::open(self.pid(), None)?)),
            Some(folder) => {
                let group = Group::open(folder);
                Ok(Held::Group(group.ok_or_else(|| io::Error::other("it has no freezer"))?))
            }
        }
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        // A process in a frozen group of version 1 does not even end.
        let _ = self.held().and_then(|held| held.resume());
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.folder.as_deref().map(groups::remove);
    }
}

fn make_folder(mount: &Path) -> io::Result<PathBuf> {
    let folder = mount.join(format!("headroom-decoy.{}", std::process::id()));
    cgroup::create(&folder).map_err(|error| io::Error::other(linux::error::chain(&error)))?;
    Ok(folder)
}

/// The decoy's whole life.
pub fn run() -> io::Result<()> {
    let _ = rustix::thread::set_name(c"headroom-decoy");
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}
