//! Finds the programs that headroom brings beside the agent (guard and txd), and runs one while it keeps its output.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use linux::place::Place;
use model::wire::{PUT, Refusal};
use rustix::process::{Pid, Signal, kill_process};

use crate::transcript::Transcript;

/// A program at work. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Companion {
    pub(crate) child: Child,
    said: Transcript,
}

impl Companion {
    /// Starts it in its place; what it says is kept.
    pub(crate) fn start(mut command: Command, place: Place) -> io::Result<Self> {
        let said = Transcript::new()?;
        command.stdin(Stdio::null()).stdout(said.writer()?).stderr(said.writer()?);
        Ok(Self { child: place.start(command)?, said })
    }

    /// What it said first.
    pub(crate) fn said(&self) -> String {
        self.said.text()
    }

    pub(crate) fn last_words(&self) -> String {
        self.said.last_words().unwrap_or_else(|| "it said nothing".to_owned())
    }

    /// Refuses where it has ended by itself.
    pub(crate) fn look(&mut self, what: &str) -> Result<(), Refusal> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => Err(Refusal::new(format!("{what} ended by itself"), self.last_words())),
        }
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
pub(crate) fn program(name: &str) -> Result<PathBuf, Refusal> {
    let sibling = env::current_exe().ok().and_then(|own| Some(own.parent()?.join(name)));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>();
    let mut all = sibling.into_iter().chain(folders).chain([Path::new(PUT).join(name)]);
    let found = all.find(|path| path.is_file()).and_then(|path| path.canonicalize().ok());
    found.ok_or_else(|| {
        let why = format!("there is no program `{name}` beside the agent, in the path or in {PUT}");
        Refusal::new(format!("cannot run {name}"), why)
    })
}
