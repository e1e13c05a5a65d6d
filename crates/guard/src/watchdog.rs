//! The process that restores when guard dies without a word, or is stuck.
//!
//! A copy in memory of this very executable, with a word that no person needs, so that nothing else has to be on
//! the device and `killall guard` does not find it. Guard sends it a sign at least once a second over a socket.
//! When the socket ends, however guard ended, or no sign came for [`PATIENCE`], it restores from the journal
//! and ends. It leads a session of its own and takes no signal but those that no one can refuse. It changes
//! nothing else.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    process::spawn_in,
    standby::{copy_of_ourselves, stand_by},
};

use crate::journal::{self, Disk, Error};

/// The word that makes the program a watchdog, followed by the state folder and the device's `/`.
pub const WORD: &str = "--restore-for-guard";

/// What it is called; the kernel keeps fifteen bytes of it.
pub const NAME: &str = "headroom-guardw";

/// A guard that gives no sign for so long is stuck.
pub const PATIENCE: Duration = Duration::from_millis(2500);

/// So long it may take to start, and to end once it is told to.
const START: Duration = Duration::from_secs(5);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A guard that has ended lets its lock go after no longer than this.
const UNLOCKING: Duration = Duration::from_secs(1);

const READY: u8 = b'+';
/// Guard is not stuck.
const BEAT: u8 = b'.';
/// Guard has restored everything itself.
const DONE: u8 = b'!';
/// It has restored everything, because guard gave no sign.
const TOOK_OVER: u8 = b'T';

/// How it is with the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Fine,
    TookOver,
    Gone,
}

/// Guard's end. Dropping it without [`Watchdog::dismiss`] has it restore.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
    /// Closed by `Drop` before the end is waited for.
    line: Option<UnixStream>,
}

impl Watchdog {
    /// Starts it, and waits until it watches.
    pub(crate) fn start(state: &Path, root: &Path) -> io::Result<Self> {
        let (mut ours, its) = UnixStream::pair()?;
        let copy = copy_of_ourselves(NAME).ok();
        let program = copy.as_ref().map_or_else(
            || PathBuf::from("/proc/self/exe"),
            |copy| PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd())),
        );
        let mut command = Command::new(program);
        command.arg0(NAME).arg(WORD).arg(state).arg(root).env_clear();
        command.stdin(Stdio::from(OwnedFd::from(its)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = spawn_in(None, command)?;
        // From here on dropping it ends it.
        ours.set_read_timeout(Some(START))?;
        let mut sign = [0];
        let heard = ours.read_exact(&mut sign);
        ours.set_nonblocking(true)?;
        let watchdog = Self { child, line: Some(ours) };
        heard?;
        if sign[0] == READY { Ok(watchdog) } else { Err(io::Error::other("it does not watch")) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it that guard is not stuck, and hears how it is.
    pub(crate) fn beat(&mut self) -> Health {
        let Some(line) = &mut self.line else { return Health::Gone };
        // A line that is full is one that no one reads, which the next lines find out.
        let sent = line.write(&[BEAT]);
        let mut sign = [0];
        match line.read(&mut sign) {
            Ok(1..) if sign[0] == TOOK_OVER => {
                self.wait();
                Health::TookOver
            }
            Ok(_) => Health::Gone,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => match sent {
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => Health::Gone,
                _ if matches!(self.child.try_wait(), Ok(None)) => Health::Fine,
                _ => Health::Gone,
            },
            Err(_) => Health::Gone,
        }
    }

    /// Lets it go: nothing is left to restore.
    pub(crate) fn dismiss(mut self) {
        if let Some(line) = &mut self.line {
            let _ = line.write(&[DONE]);
        }
    }

    /// Waits until it has ended; one that hangs is ended.
    fn wait(&mut self) {
        let until = Instant::now() + START;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
            }
            sleep(LOOK);
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.line = None;
        self.wait();
    }
}

/// If the program was started as the watchdog: its whole life, and how it ended. The first thing that `main` asks.
pub fn called() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let (state, root): (OsString, OsString) = (words.next()?, words.next()?);
    Some(match live(Path::new(&state), Path::new(&root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// The watchdog's whole life.
/// Fails where its standard input is no socket: a person has called it.
fn live(state: &Path, root: &Path) -> io::Result<()> {
    let line = stand_by(NAME)?;
    match watch(line, PATIENCE)? {
        Ended::Done => {}
        Ended::Died => follow(state, root),
        Ended::Stuck(mut line) => {
            // The deed first: anyone who hears the word finds it done.
            drop(journal::take_over(Box::new(Disk::at(root)), state));
            let _ = line.write(&[TOOK_OVER]);
        }
    }
    Ok(())
}

/// How guard ended, as seen from here.
enum Ended {
    /// By itself, everything restored.
    Done,
    /// Without a word.
    Died,
    /// Not at all; it gives no sign.
    Stuck(UnixStream),
}

/// Listens until guard ends or is stuck.
fn watch(mut line: UnixStream, patience: Duration) -> io::Result<Ended> {
    line.write_all(&[READY])?;
    line.set_read_timeout(Some(patience))?;
    let mut signs = [0; 64];
    loop {
        match line.read(&mut signs) {
            Ok(0) => return Ok(Ended::Died),
            Ok(count) if signs[..count].contains(&DONE) => return Ok(Ended::Done),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Ended::Stuck(line));
            }
            Err(_) => return Ok(Ended::Died),
        }
    }
}

/// Restores after a guard that died. Its lock is free in a moment; if another guard has it, that one has restored.
fn follow(state: &Path, root: &Path) {
    let until = Instant::now() + UNLOCKING;
    while let Err(Error::Busy { .. }) = journal::restore_at(root, state) {
        if Instant::now() > until {
            return;
        }
        sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a watchdog with this patience sees what `guard` does with its line.
    fn seen(patience: Duration, guard: impl FnOnce(UnixStream)) -> Ended {
        let (mut ours, its) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || watch(its, patience).unwrap());
        let mut sign = [0];
        ours.read_exact(&mut sign).unwrap();
        assert_eq!(sign[0], READY);
        guard(ours);
        thread.join().unwrap()
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_guard_that_says_done_needs_nothing() {
        let ended = seen(LONG, |mut line| line.write_all(&[BEAT, BEAT, DONE]).unwrap());
        assert!(matches!(ended, Ended::Done));
    }

    #[test]
    fn a_guard_that_dies_between_two_signs_is_seen_at_once() {
        let ended = seen(LONG, |mut line| line.write_all(&[BEAT]).unwrap());
        assert!(matches!(ended, Ended::Died));
    }

    #[test]
    fn a_guard_without_a_sign_is_stuck() {
        let mut kept = None;
        let ended = seen(Duration::from_millis(50), |line| kept = Some(line));
        assert!(matches!(ended, Ended::Stuck(_)));
    }

    #[test]
    fn a_program_that_was_started_by_a_person_is_no_watchdog() {
        assert!(called().is_none());
    }
}
