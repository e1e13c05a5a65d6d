//! Starts the decoy, a process that sleeps and is stopped where the consumer seems to be.
//!
//! It outlives the agent by no more than it takes to continue it.

use std::{
    io,
    path::{Path, PathBuf},
};

use linux::{
    cgroup,
    pause::{Group, Process, Stoppable},
};

use crate::{
    groups,
    twin::{self, Twin},
};

/// Makes the agent a decoy.
pub const WORD: &str = "--sleep-for-pauses";

/// A process of our own that sleeps. Dropping it ends it, and removes its group.
#[derive(Debug)]
pub(crate) struct Decoy {
    /// Gone before its group is removed.
    twin: Option<Twin>,
    pid: u32,
    folder: Option<PathBuf>,
}

impl Decoy {
    /// Starts one, in a control group of its own below `mount` where groups are frozen.
    pub(crate) fn start(mount: Option<&Path>) -> io::Result<Self> {
        let folder = mount.map(make_folder).transpose()?;
        let mut decoy = Self { twin: None, pid: 0, folder };
        let twin = Twin::start(&[WORD], decoy.folder())?;
        (decoy.pid, decoy.twin) = (twin.pid(), Some(twin));
        Ok(decoy)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What is stopped: the process, or its group where that can be frozen.
    pub(crate) fn held(&self) -> io::Result<Stoppable> {
        match &self.folder {
            None => Ok(Stoppable::Process(Process::open(self.pid, None)?)),
            Some(folder) => {
                let group = Group::open(folder);
                Ok(Stoppable::Group(group.ok_or_else(|| io::Error::other("it has no freezer"))?))
            }
        }
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        // A process in a frozen group of version 1 does not even end.
        let _ = self.held().and_then(|held| held.resume());
        self.twin = None;
        let _ = self.folder.as_deref().map(groups::remove);
    }
}

fn make_folder(mount: &Path) -> io::Result<PathBuf> {
    let folder = mount.join(format!("headroom-decoy.{}", std::process::id()));
    cgroup::create(&folder).map_err(|error| io::Error::other(linux::error::chain(&error)))?;
    Ok(folder)
}

pub fn run() -> io::Result<()> {
    let _ = rustix::thread::set_name(c"headroom-decoy");
    // Nobody lets it go on: its input ends.
    twin::stand_ready().or(Ok(()))
}
