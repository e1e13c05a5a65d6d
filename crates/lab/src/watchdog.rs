//! Releases a device when headroom is done with it, however it ends.
//!
//! A shell that leads a session of its own and takes none of the signals that end headroom. It waits for the end of its
//! standard input, of which headroom has the only other end: the kernel closes that with headroom's last breath. Then it
//! runs what releases the device, and tries again for some minutes where that fails, as while a coordinator starts anew.

use std::{
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{Error, host, last_words::LastWords};

/// `$@` releases. A line on its standard input says that there is nothing to release.
const WATCH: &str = include_str!("watchdog.sh");

/// How long headroom waits for it; it goes on without headroom.
const WAIT: Duration = Duration::from_secs(20);

/// The shell, waiting. Dropping it has it release.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
    said: LastWords,
}

impl Watchdog {
    pub(crate) fn start(release: Command) -> Result<Self, Error> {
        let failed = || Error::file("start", "setsid");
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", WATCH, "sh"]).arg(release.get_program()).args(release.get_args());
        for (name, value) in release.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(release.get_current_dir().unwrap_or(Path::new("/")));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed())?;
        let closed = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let said = child.stderr.take().ok_or_else(closed).map_err(failed())?;
        Ok(Self { child, said: LastWords::of(said) })
    }

    pub(crate) fn dismiss(mut self) {
        if let Some(line) = &mut self.child.stdin {
            let _ = line.write_all(b"\n");
        }
    }

    /// Has it release; the last line that is said where that is not done while headroom waits.
    pub(crate) fn release(mut self) -> Result<(), String> {
        if self.ends() {
            return Ok(());
        }
        let said = self.said.message();
        let last = said.rsplit("; ").next().filter(|last| !last.is_empty());
        Err(last.unwrap_or("nothing is said of it").to_owned())
    }

    /// Whether it comes to a good end while headroom waits.
    fn ends(&mut self) -> bool {
        drop(self.child.stdin.take());
        host::has_ended_within(&self.child, WAIT)
            && self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.ends();
    }
}
