//! Finds the programs that headroom brings beside the agent (guard and txd), and runs one while it keeps its output.

use std::{
    env,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use linux::place::Place;
use model::wire::PUT;
use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Pid, Signal, kill_process},
};

/// Of what a program has said so much is read, bytes.
const READ: usize = 4096;

/// A program at work. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Companion {
    pub(crate) child: Child,
    said: File,
}

impl Companion {
    /// Starts it in its place; what it says is kept.
    pub(crate) fn start(mut command: Command, place: Place) -> io::Result<Self> {
        let said = File::from(memfd_create("said", MemfdFlags::CLOEXEC)?);
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said.try_clone()?);
        Ok(Self { child: place.start(command)?, said })
    }

    /// What it said first.
    pub(crate) fn said(&self) -> String {
        self.text(0)
    }

    /// The last line that it said.
    pub(crate) fn last_line(&self) -> String {
        let end = self.said.metadata().map_or(0, |metadata| metadata.len());
        last_line(&self.text(end.saturating_sub(READ as u64)))
    }

    fn text(&self, from: u64) -> String {
        let mut bytes = vec![0; READ];
        let length = self.said.read_at(&mut bytes, from).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    /// Sends it a signal; one that has ended takes none.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, signal));
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // One that has ended takes neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of this name: beside the agent, in the path, or where headroom puts files.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let sibling = env::current_exe().ok().and_then(|own| Some(own.parent()?.join(name)));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>();
    let mut all = sibling.into_iter().chain(folders).chain([Path::new(PUT).join(name)]);
    all.find(|path| path.is_file()).and_then(|path| path.canonicalize().ok())
}

/// What is said where it is in none of these places.
pub(crate) fn nowhere(name: &str) -> String {
    format!("there is no program `{name}` beside the agent, in the path or in {PUT}")
}

/// The last line that is not empty.
pub(crate) fn last_line(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(|| "it said nothing".to_owned(), |line| line.trim().to_owned())
}
