//! Who takes away what only a kill of the agent could leave behind: its groups, with whoever is in them, and
//! its folder.
//!
//! It is this very executable with a word that no person needs. It waits until its input ends, however the
//! agent ended, tidies, and ends. Namespaces go with their last descriptor and children with the agent, so
//! nothing else is left.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use linux::place::Place;
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
    folder: PathBuf,
}

impl Tidier {
    /// Makes the bout's folder and starts it.
    ///
    /// # Errors
    ///
    /// [`Refusal::Contention`].
    pub(super) fn start(group: Option<&Group>) -> Result<Self, Refusal> {
        let what = "cannot prepare the bout's folder";
        let folder = std::env::temp_dir().join(format!("headroom-bout-{}", std::process::id()));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(refused(what))?,
        }
        let mut command = Command::new("/proc/self/exe");
        command.arg(WORD).arg(&folder).args(group.into_iter().flat_map(Group::folders));
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = Place::default().start(command).map_err(refused(what))?;
        Ok(Self { child, folder })
    }

    /// A folder for files of the bout.
    pub(super) fn folder(&self) -> &Path {
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
    let heard = io::stdin().read_to_end(&mut Vec::new());
    let groups: Vec<PathBuf> = groups.iter().map(PathBuf::from).collect();
    group::take_away(&groups);
    // Nothing there is worth a complaint that nobody hears.
    let _ = fs::remove_dir_all(folder);
    heard.map(drop)
}
