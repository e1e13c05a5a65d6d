//! Restores what a killed agent would leave behind: removes the trial's groups with the processes in them, removes its
//! folder, and gives packet threads their nice values back.
//!
//! [`crate::undo`]'s process makes the folder itself, so that there is no moment at which the folder is there and nobody
//! removes it. A guard that was killed with the agent left its journal in that folder, which stays until guard's
//! watchdog has restored what it says. Namespaces go with their last descriptor and children with the agent, so nothing
//! else is left.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use linux::folder::Folder;
use model::wire::Refusal;

use super::{group::Group, guarding, refused};
pub(crate) use super::{group::take_away, renice::Nice};
use crate::undo::Undo;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// One that waits. Dropping it lets it tidy.
#[derive(Debug)]
pub(super) struct Tidier {
    _undo: Undo,
    folder: Folder,
}

impl Tidier {
    /// Starts it, and opens the folder that it made, which nobody else can enter.
    pub(super) fn start(group: Option<&Group>, threads: &[Nice]) -> Result<Self, Refusal> {
        let start = || -> io::Result<Self> {
            let mut undo = Undo::start(None)?;
            for folder in group.into_iter().flat_map(Group::folders) {
                undo.note(&format!("end {}", folder.display()))?;
            }
            threads.iter().try_for_each(|thread| undo.note(&format!("nice {}", thread.word())))?;
            let folder = undo.folder()?;
            Ok(Self { _undo: undo, folder })
        };
        start().map_err(refused("cannot prepare a temporary folder"))
    }

    /// A folder for files of the trial.
    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }
}

/// Waits until the watchdog of a guard that was killed has put back what the journals in this folder say.
pub(crate) fn await_restored(folder: &Folder) {
    let until = Instant::now() + guarding::RESTORES;
    let holds = || folder.folder(guarding::STATE).is_ok_and(|state| guarding::is_held(&state));
    while holds() && Instant::now() < until {
        thread::sleep(LOOK);
    }
}
