//! Who releases a place when headroom is done with it, however it ends.
//!
//! A shell that leads a session of its own and takes none of the signals that end headroom. It waits for the end of its
//! standard input, of which headroom has the only other end: the kernel closes that with headroom's last breath. Then it
//! has labgrid-client release the place, and tries again for some minutes where that fails, as while a coordinator starts
//! anew.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{Error, host, last_words::LastWords};

/// `$@` releases. A line on its standard input says that there is nothing to release.
const WATCH: &str = r#"
trap '' HUP INT QUIT TERM PIPE
read -r _ && exit
tries=60
until said=$(timeout -k 5 30 "$@" 2>&1 </dev/null); do
  case $said in *'is not acquired'*) exit ;; esac
  echo "$said" >&2
  tries=$((tries - 1))
  [ $tries -gt 0 ] || exit 1
  sleep 5
done
"#;

/// So long headroom waits for it; it goes on without headroom.
const WAIT: Duration = Duration::from_secs(20);

/// The shell, waiting. Dropping it has it release.
#[derive(Debug)]
pub(super) struct Watchdog {
    child: Child,
    said: LastWords,
}

impl Watchdog {
    /// Starts it with the command that releases.
    ///
    /// # Errors
    ///
    /// [`Error::File`] where it cannot be started.
    pub(super) fn start(release: Command) -> Result<Self, Error> {
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", WATCH, "sh"]).arg(release.get_program()).args(release.get_args());
        for (name, value) in release.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = || Error::file("start", "setsid");
        let mut child = command.spawn().map_err(failed())?;
        let closed = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let said = child.stderr.take().ok_or_else(closed).map_err(failed())?;
        Ok(Self { child, said: LastWords::of(said) })
    }

    /// Nothing is to be released.
    pub(super) fn dismiss(mut self) {
        if let Some(line) = &mut self.child.stdin {
            let _ = line.write_all(b"\n");
        }
    }

    /// Has it release; what it says where that is not done while headroom waits.
    pub(super) fn release(mut self) -> Result<(), String> {
        if self.ends() {
            return Ok(());
        }
        let said = self.said.message();
        let why = super::client::reason(&said).to_owned();
        Err(format!("it is not released yet, and that is tried for five minutes more: {why}"))
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
