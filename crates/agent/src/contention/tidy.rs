//! Who takes away what only a kill of the agent could leave behind: its groups, with whoever is in them, its
//! folder, and other nice values of packet threads than they had.
//!
//! It is this very executable with a word that no person needs. It makes the folder itself, so that there is no
//! moment at which the folder is there and nobody removes it; says its path; waits until its input ends, however
//! the agent ended, tidies, and ends. A guard that was killed with the agent left its journal in that folder, which
//! stays until guard's watchdog has restored what it says. Namespaces go with their last descriptor and children
//! with the agent, so nothing else is left.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use linux::{
    folder::{Folder, Temporary},
    place::Place,
};
use model::wire::Refusal;

use super::{
    group::{self, Group},
    guarding, refused,
    renice::Nice,
};

/// The word that makes the agent a tidier, followed by groups and by threads with the nice values to restore.
pub const WORD: &str = "--tidy-trial";

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Of Linux, with its end.
const PATH_MAX: u64 = 4096;

/// One that waits. Dropping it lets it tidy.
#[derive(Debug)]
pub(super) struct Tidier {
    child: Child,
    folder: Folder,
}

impl Tidier {
    /// Starts it, and opens the folder that it made, which nobody else can enter.
    pub(super) fn start(group: Option<&Group>, threads: &[Nice]) -> Result<Self, Refusal> {
        let what = "cannot prepare a temporary folder";
        let mut command = Command::new("/proc/self/exe");
        command.arg(WORD).args(group.into_iter().flat_map(Group::folders));
        command.args(threads.iter().map(|thread| thread.word()));
        let kept = std::env::var_os("TMPDIR").map(|folder| ("TMPDIR", folder));
        command.env_clear().envs(kept);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Place::default().start(command).map_err(refused(what))?;
        let folder = opened(&mut child).map_err(refused(what));
        // Without its folder it is not needed; its input ends with this value.
        folder.map(|folder| Self { child, folder })
    }

    /// A folder for files of the trial.
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

/// The folder whose path the tidier says.
fn opened(child: &mut Child) -> io::Result<Folder> {
    let mut said = Vec::new();
    let output = child.stdout.take().map(BufReader::new).ok_or(io::ErrorKind::BrokenPipe)?;
    output.take(PATH_MAX).read_until(0, &mut said)?;
    // Anything else says that it could make none.
    let path = said.strip_suffix(&[0]).ok_or(io::ErrorKind::UnexpectedEof)?;
    Folder::open(OsStr::from_bytes(path)).map(Folder::private)
}

/// Its whole life.
///
/// # Errors
///
/// Where it cannot make the folder, or its input cannot be read; then it tidies as well.
pub fn run(words: &[&str]) -> io::Result<()> {
    let made = Temporary::new("headroom-").and_then(|made| say(made.path()).map(|()| made));
    let heard = io::stdin().read_to_end(&mut Vec::new());
    made.iter().for_each(|made| await_restored(made.folder()));
    // One that has ended needs none.
    words.iter().filter_map(|word| Nice::of_word(word)).for_each(|thread| drop(thread.set()));
    let groups: Vec<PathBuf> =
        words.iter().filter(|word| word.starts_with('/')).map(PathBuf::from).collect();
    group::take_away(&groups);
    // The folder goes where this value is dropped.
    made?;
    heard.map(drop)
}

/// Waits until the watchdog of a guard that was killed has put back what the journals in this folder say.
fn await_restored(folder: &Folder) {
    let until = Instant::now() + guarding::RESTORES;
    let holds = || folder.folder(guarding::STATE).is_ok_and(|state| guarding::is_held(&state));
    while holds() && Instant::now() < until {
        thread::sleep(LOOK);
    }
}

fn say(path: &Path) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(path.as_os_str().as_bytes())?;
    output.write_all(&[0])?;
    output.flush()
}
