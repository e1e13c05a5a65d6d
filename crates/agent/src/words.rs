//! Starts a command in a control group, as the leader of a process group, so that what it starts can be ended with it.

use std::{
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use linux::process;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{programs, state};

/// A command's words, and the file that the first one means.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<String>,
    program: PathBuf,
}

impl Words {
    /// Looks the program up, so that the search through `PATH` is not part of every start.
    pub(crate) fn new(words: &[String]) -> Self {
        let name = words.first().map_or("", String::as_str);
        let program = programs::resolve(name).unwrap_or_else(|| name.into());
        Self { words: words.to_vec(), program }
    }

    pub(crate) fn line(&self) -> String {
        self.words.join(" ")
    }

    /// Starts the command in a group, reading and writing nothing but what `direct` gives it.
    pub(crate) fn start(
        &self,
        group: Option<&Path>,
        direct: impl FnOnce(&mut Command) -> io::Result<()>,
    ) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        if let [name, arguments @ ..] = self.words.as_slice() {
            command.arg0(name).args(arguments);
        }
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(padding) = state::padding() {
            command.env(state::LAYOUT, padding);
        }
        direct(&mut command)?;
        process::spawn_in(group, command)
    }
}

/// Sends a signal to a command and to what it has started, as far as that has stayed with it. To be
/// called before its end has been taken: until then the number is nobody else's.
pub(crate) fn signal(leader: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(leader.id()).ok().and_then(Pid::from_raw) {
        // Whoever has just ended needs no signal.
        let _ = kill_process_group(group, signal);
    }
}
