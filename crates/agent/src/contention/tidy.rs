//! Who takes away what only a kill of the agent could leave behind: its groups, with whoever is in them, and
//! its folder.
//!
//! It is this very executable with a word that no person needs. It waits until its input ends, however the
//! agent ended, tidies, and ends. Namespaces go with their last descriptor and children with the agent, so
//! nothing else is left.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use linux::{
    folder::{Folder, Temporary},
    place::Place,
};
use model::wire::Refusal;

use super::{
    group::{self, Group},
    refused,
};

/// The word that makes the agent a tidier, followed by a folder and by groups.
pub const WORD: &str = "--tidy-bout";

/// One that waits. Dropping it lets it tidy.
#[derive(Debug)]
pub(super) struct Tidier {
    child: Child,
    folder: Folder,
}

impl Tidier {
    /// Makes a folder that nobody else can enter, and starts it.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`].
    pub(super) fn start(group: Option<&Group>) -> Result<Self, Refusal> {
        let what = "cannot prepare a temporary folder";
        let made = Temporary::new("headroom-").map_err(refused(what))?;
        let folder = Folder::open(made.path()).map_err(refused(what))?.private();
        let mut command = Command::new("/proc/self/exe");
        command.arg(WORD).arg(made.path()).args(group.into_iter().flat_map(Group::folders));
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Place::default().start(command).map_err(refused(what))?;
        made.keep();
        Ok(Self { child, folder })
    }

    /// A folder for files of the bout.
    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }
}

impl Drop for Tidier {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself.
        let _ = self.child.wait();
    }
}

/// Its whole life.
///
/// # Errors
///
/// Where its input cannot be read; then it tidies as well.
pub fn live(folder: &str, groups: &[&str]) -> io::Result<()> {
    // Held by descriptor from now on: what has its name later may be somebody else's.
    let folder = Temporary::adopt(Path::new(folder));
    let heard = io::stdin().read_to_end(&mut Vec::new());
    let groups: Vec<PathBuf> = groups.iter().map(PathBuf::from).collect();
    group::take_away(&groups);
    // Nothing there is worth a complaint that nobody hears.
    drop(folder);
    heard.map(drop)
}
