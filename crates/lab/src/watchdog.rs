//! Who releases a device when headroom is done with it, however it ends.
//!
//! A shell that leads a session of its own and takes none of the signals that end headroom. It waits for the end of its
//! standard input, of which headroom has the only other end: the kernel closes that with headroom's last breath. Then it
//! runs what releases the device, and tries again for some minutes where that fails, as while a coordinator starts anew.

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{Error, host, last_words::LastWords};

/// `$@` releases; labgrid-client fails where the place is released already. A line on its standard input says that there is nothing to release.
const WATCH: &str = r#"
trap '' HUP INT QUIT TERM PIPE
read -r _ && exit
tries=60
until said=$(timeout -k 5 60 "$@" 2>&1 </dev/null); do
  case $said in *'is not acquired'*) exit 0 ;; esac
  printf '%s\n' "$said" | tail -n 1 >&2
  tries=$((tries - 1))
  [ $tries -gt 0 ] || exit 1
  sleep 5
done
"#;

/// So long headroom waits for it; it goes on without headroom.
const WAIT: Duration = Duration::from_secs(20);

/// The shell, waiting. Dropping it has it release.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
    said: LastWords,
}

impl Watchdog {
    /// Starts it with the command that releases, and with a lock that it holds as long as it lives.
    ///
    /// # Errors
    ///
    /// [`Error::File`] where it cannot be started.
    pub(crate) fn start(release: Command, lock: Option<&File>) -> Result<Self, Error> {
        let failed = || Error::file("start", "setsid");
        // A lock is the open file's, and ends with the last who has it.
        let lock = lock.map(File::try_clone).transpose().map_err(failed())?;
        let mut command = Command::new("setsid");
        command.args(["sh", "-c", WATCH, "sh"]).arg(release.get_program()).args(release.get_args());
        for (name, value) in release.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(release.get_current_dir().unwrap_or(Path::new("/")));
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        command.stdout(lock.map_or_else(Stdio::null, Stdio::from));
        let mut child = command.spawn().map_err(failed())?;
        let closed = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let said = child.stderr.take().ok_or_else(closed).map_err(failed())?;
        Ok(Self { child, said: LastWords::of(said) })
    }

    /// Nothing is to be released.
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A watchdog whose release is this script, and a lock that it holds.
    fn watching(script: &str, folder: &Path) -> (Watchdog, PathBuf) {
        let lock = folder.join("lock");
        let file = File::create(&lock).unwrap();
        file.try_lock().unwrap();
        let mut release = Command::new("sh");
        release.args(["-c", script]).env("MADE", folder.join("made"));
        (Watchdog::start(release, Some(&file)).unwrap(), lock)
    }

    #[test]
    fn it_releases_when_its_input_ends_and_holds_the_lock_until_then() {
        let folder = tempfile::tempdir().unwrap();
        let (watchdog, lock) = watching("touch \"$MADE\"", folder.path());
        let lock = File::open(lock).unwrap();
        assert!(lock.try_lock().is_err());
        watchdog.release().unwrap();
        assert!(folder.path().join("made").exists() && lock.try_lock().is_ok());
    }

    #[test]
    fn one_that_is_dismissed_releases_nothing() {
        let folder = tempfile::tempdir().unwrap();
        watching("touch \"$MADE\"", folder.path()).0.dismiss();
        assert!(!folder.path().join("made").exists());
    }

    #[test]
    fn what_is_released_already_is_well() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo 'labgrid-client: Error: place ap-1 is not acquired' >&2; exit 1";
        watching(script, folder.path()).0.release().unwrap();
    }
}
