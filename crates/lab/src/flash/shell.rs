//! One script on a device, by ssh, from its start to its end: with an input, a deadline, and a limit for what it says.

use std::{process::Stdio, time::Duration};

use crate::{
    Cancel, Error, host,
    host_command::{self, Exit},
    remote::{Destination, unreachable},
};

/// How ssh ends where it is ssh that failed: ssh(1), EXIT STATUS.
const SSH_FAILED: i32 = 255;

/// ssh gives up a device that does not let it in, and one that falls silent. What a device says has an end: ssh writes no
/// file longer than a MiB, in blocks of 512 bytes.
const SSH: &str = r#"ulimit -f 2048; exec ssh -T -o BatchMode=yes -o ConnectTimeout=10 \
-o ServerAliveInterval=5 -o ServerAliveCountMax=4 "$@""#;

#[derive(Clone, Copy, Debug)]
pub(super) struct Shell<'a> {
    pub(super) destination: &'a Destination,
    pub(super) cancel: &'a Cancel,
}

impl Shell<'_> {
    /// Runs a script that reads nothing; [`Error::Unreachable`] also where it is not done in time.
    pub(super) fn run(&self, script: &str, limit: Duration) -> Result<Exit, Error> {
        self.run_with(script, limit, Stdio::null())
    }

    pub(super) fn run_with(
        &self,
        script: &str,
        limit: Duration,
        input: Stdio,
    ) -> Result<Exit, Error> {
        host::require("ssh", "openssh-client")?;
        let mut command = host_command::in_group("sh");
        command.args(["-c", SSH, "ssh"]).args(self.destination.arguments()).arg(script);
        command.stdin(input);
        let ended = host_command::finish(command, limit, self.cancel)?;
        let said = match ended.code() {
            Some(code) if code != SSH_FAILED => return Ok(ended),
            Some(_) => ended.words(),
            None => format!("no answer for {} s", limit.as_secs()),
        };
        Err(unreachable(self.destination, &said))
    }
}
