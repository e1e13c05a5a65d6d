//! This headroom once more: the command lines of jobs and of short questions.
//!
//! Each is bound to the server: it ends when the server does, however that ends.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::{Command as Words, Stdio},
    time::Duration,
};

use lab::host;
use serde_json::Value;
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use crate::{failure::Failure, flags::Common, this_program};

/// A short question is answered within this, or not at all.
const SHORT: Duration = Duration::from_secs(40);

#[derive(Debug)]
pub(super) struct Again {
    program: PathBuf,
    /// The server's own words for the lab.
    common: Vec<OsString>,
}

impl Again {
    pub(super) fn new(common: &Common) -> Result<Self, Failure> {
        Ok(Self { program: this_program::path()?, common: common.words() })
    }

    /// Long work, which is asked to stop where the server is killed.
    pub(super) fn start(&self, words: &[OsString]) -> Result<Child, String> {
        let mut command = self.command("TERM", words);
        command.spawn().map_err(|error| format!("cannot start headroom for this: {error}"))
    }

    /// A short question, and the value that answers it.
    pub(super) async fn ask(&self, words: &[OsString]) -> Result<Value, String> {
        let mut command = self.command("KILL", words);
        let Ok(output) = timeout(SHORT, command.kill_on_drop(true).output()).await else {
            return Err(
                "headroom did not answer within 40 s; ask for less, or again later".to_owned()
            );
        };
        let output = output.map_err(|error| format!("cannot start headroom for this: {error}"))?;
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).map_err(|error| {
                format!("headroom answered with something else than JSON: {error}")
            });
        }
        Err(this_program::sentence(&String::from_utf8_lossy(&output.stderr)))
    }

    /// Alone in its process group, because Ctrl-C on a terminal is the server's to hand on.
    fn command(&self, signal: &str, words: &[OsString]) -> Command {
        let mut all: Words = host::bound(signal);
        all.arg(&self.program).arg("--json").args(&self.common).args(words);
        let mut command = Command::from(all);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command
    }
}
