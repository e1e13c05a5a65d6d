//! Starts a program that runs until it is ended, a started subject or a load that stays, and keeps what it says.
//!
//! Whether an end is a failure is the caller's to say.

use std::{
    io,
    path::Path,
    process::{Child, ExitStatus},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::system::monotonic_ns;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use crate::{
    transcript::Transcript,
    words::{self, Words},
};

/// A program may take this long to end after SIGTERM before it is killed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

const LOOK: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Standard error; the output goes nowhere.
    Errors,
    /// Standard output and standard error: many daemons complain on the former.
    Everything,
}

/// The program, running or ended. Dropping it ends it, with all that it has started in its process
/// group.
#[derive(Debug)]
pub(crate) struct Resident {
    line: String,
    child: Child,
    said: Transcript,
    status: Option<ExitStatus>,
    /// When it was asked to end, on the monotonic clock.
    asked_ns: Option<u64>,
}

impl Resident {
    pub(crate) fn start(words: &[String], group: Option<&Path>, keep: Keep) -> io::Result<Self> {
        let said = Transcript::new()?;
        let words = Words::new(words);
        let child = words.start(group, |command| {
            command.stderr(said.writer()?);
            if keep == Keep::Everything {
                command.stdout(said.writer()?);
            }
            Ok(())
        })?;
        Ok(Self { line: words.line(), child, said, status: None, asked_ns: None })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// How it ended, if it has. What it left running in its process group is ended as well.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() && self.is_over() {
            // Before its number can be another's.
            words::signal(&self.child, Signal::KILL);
            self.status = self.child.wait().ok();
        }
        self.status
    }

    /// Its status and the last lines that it wrote, in one line.
    pub(crate) fn obituary(&self) -> String {
        let status = self.status.map_or_else(|| "it runs".to_owned(), |status| status.to_string());
        match self.last_words() {
            Some(words) => format!("{status}: {words}"),
            None => status,
        }
    }

    /// Asks it to end, once.
    pub(crate) fn ask_to_end(&mut self) {
        if self.asked_ns.is_none() && self.ended().is_none() {
            self.asked_ns = Some(monotonic_ns());
            words::signal(&self.child, Signal::TERM);
        }
    }

    /// Asks it to end, waits, and kills it where it does not.
    pub(crate) fn end(&mut self) {
        self.ask_to_end();
        let until = Instant::now() + PATIENCE;
        while self.ended().is_none() && Instant::now() < until {
            sleep(LOOK);
        }
        self.kill();
    }

    pub(crate) fn kill(&mut self) {
        if self.ended().is_none() {
            words::signal(&self.child, Signal::KILL);
            self.status = self.child.wait().ok();
        }
    }

    /// Whether it has ended; its number stays its own until [`Resident::ended`] has taken the status.
    fn is_over(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(Pid::from_child(&self.child)), look), Ok(None))
    }

    pub(crate) fn last_words(&self) -> Option<String> {
        self.said.last_words()
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, keep: Keep) -> Resident {
        let words = ["sh", "-c", script].map(str::to_owned);
        Resident::start(&words, None, keep).unwrap()
    }

    fn wait(resident: &mut Resident) -> ExitStatus {
        (0..1000)
            .find_map(|_| {
                sleep(LOOK);
                resident.ended()
            })
            .expect("it ends within five seconds")
    }

    #[test]
    fn an_end_is_reported_with_its_status_and_the_last_lines_of_what_is_kept() {
        let complains =
            "for a in 1 2 3; do echo $a >&2; done; printf 'cannot \\033bind\\n\\n' >&2; exit 3";
        let is_long = "yes | head -c 100000 >&2; echo >&2; echo the end >&2";
        for (script, keep, reported) in [
            (complains, Keep::Errors, "exit status: 3: 2; 3; cannot bind"),
            ("echo hello", Keep::Errors, "exit status: 0"),
            ("echo hello", Keep::Everything, "exit status: 0: hello"),
            (is_long, Keep::Errors, "exit status: 0: y; y; the end"),
        ] {
            let mut resident = shell(script, keep);
            wait(&mut resident);
            assert_eq!(resident.obituary(), reported);
        }
    }

    #[test]
    fn what_it_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let resident =
            shell(&format!("sleep 60 & echo $! > {}; wait", path.display()), Keep::Errors);
        let pid = (0..1000)
            .find_map(|_| {
                sleep(LOOK);
                std::fs::read_to_string(&path).ok()?.trim().parse::<u32>().ok()
            })
            .unwrap();
        drop(resident);
        let gone = (0..1000).any(|_| {
            sleep(LOOK);
            crate::subject::parent(pid).is_none_or(|_| {
                std::fs::read_to_string(format!("/proc/{pid}/stat"))
                    .is_ok_and(|stat| stat.contains(") Z "))
            })
        });
        assert!(gone);
    }
}
