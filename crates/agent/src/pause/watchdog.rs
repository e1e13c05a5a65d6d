//! The watchdog: a process of its own that continues whoever is stopped when the agent no longer can.
//!
//! It is a copy in memory of this very executable, with a word that no person needs, so that nothing else has to be on the
//! device; a fork would keep all of the agent's descriptors, and with them the stream. It is told over a
//! socket who is about to be stopped and who runs again, and answers each line with a sign. When the socket
//! ends, however the agent ended, or when somebody has been stopped for too long, it continues them. It
//! leads a session of its own and takes no signal but those that nobody can refuse. It stops nobody.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::{Path, PathBuf},
    process::Child,
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    cgroup,
    pause::{Group, Held, Process},
    standby::stand_by,
};
use model::span::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::standby::{self, NAME, PATIENCE};

/// The word that makes the agent a watchdog, followed by the longest time that somebody may be stopped, ns.
pub const WORD: &str = "--continue-paused";

/// Between two looks at what is to go.
const LOOK: Duration = Duration::from_millis(5);

const DONE: u8 = b'+';
/// It cannot be done.
const CANNOT: u8 = b'-';
/// Unasked: somebody has been stopped for too long, and is continued.
const LATE: u8 = b'!';

/// The agent's end. Dropping it ends the watchdog, which continues whoever is still stopped.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
    /// Closed by `Drop` before the end is waited for.
    line: Option<UnixStream>,
    held: usize,
    late: bool,
}

impl Watchdog {
    /// Starts it and waits until it is there.
    ///
    /// # Errors
    ///
    /// The system's, or that it says nothing.
    pub(crate) fn start(longest: Span) -> io::Result<Self> {
        let (child, line) = standby::start(&[WORD, &longest.as_nanos().to_string()])?;
        let mut watchdog = Self { child, line: Some(line), held: 0, late: false };
        watchdog.hear()?;
        Ok(watchdog)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has it take hold of somebody who may be stopped later: the place to name them by.
    pub(crate) fn hold(&mut self, held: &Held) -> io::Result<usize> {
        match held {
            Held::Process(process) => {
                self.send(&format!("process {} {}", process.pid(), process.born()))?;
            }
            Held::Group(group) => self.send(&format!("group {}", group.folder().display()))?,
        }
        self.held += 1;
        Ok(self.held - 1)
    }

    /// Has it remove a control group at its end, in case we cannot.
    pub(crate) fn sweep(&mut self, folder: &Path) -> io::Result<()> {
        self.send(&format!("sweep {}", folder.display()))
    }

    /// Tells it that somebody is about to be stopped.
    ///
    /// # Errors
    ///
    /// That it is gone: nobody may be stopped then.
    pub(crate) fn stops(&mut self, place: usize) -> io::Result<()> {
        self.send(&format!("stops {place}"))
    }

    /// Tells it that somebody runs again.
    pub(crate) fn runs(&mut self, place: usize) -> io::Result<()> {
        self.send(&format!("runs {place}"))
    }

    /// Becomes readable when it has something to say unasked, or has ended.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.line.as_ref().map(AsFd::as_fd)
    }

    /// Whether it has continued somebody because that took too long.
    pub(crate) fn was_late(&mut self) -> io::Result<bool> {
        while self.has_news()? {
            self.heard()?;
        }
        Ok(self.late)
    }

    fn has_news(&self) -> io::Result<bool> {
        let Some(line) = &self.line else { return Ok(false) };
        let mut fds = [PollFd::new(line, PollFlags::IN)];
        Ok(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
    }

    fn send(&mut self, line: &str) -> io::Result<()> {
        let mut to = self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        to.write_all(format!("{line}\n").as_bytes())?;
        self.hear()
    }

    /// Waits for an answer.
    fn hear(&mut self) -> io::Result<()> {
        loop {
            match self.heard()? {
                DONE => return Ok(()),
                LATE => {}
                _ => return Err(io::Error::other("it cannot take hold of that")),
            }
        }
    }

    fn heard(&mut self) -> io::Result<u8> {
        let sign = standby::hear(self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?)?;
        self.late |= sign == LATE;
        Ok(sign)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.line = None;
        let until = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.child.kill();
            }
            sleep(LOOK);
        }
    }
}

/// The watchdog's whole life.
///
/// # Errors
///
/// Where its standard input is no socket: a person has called it.
pub fn run(longest_ns: u64) -> io::Result<()> {
    let line = stand_by(NAME)?;
    let longest = Duration::from_nanos(longest_ns);
    let mut guard = Guard { held: Vec::new(), folders: Vec::new(), since: None, longest };
    guard.watch(&line);
    guard.continue_all();
    guard.sweep();
    Ok(())
}

#[derive(Debug)]
struct Guard {
    /// Whom, and whether they are stopped.
    held: Vec<(Held, bool)>,
    folders: Vec<PathBuf>,
    /// Since when somebody is stopped.
    since: Option<Instant>,
    longest: Duration,
}

impl Guard {
    /// Obeys until the line ends.
    fn watch(&mut self, line: &UnixStream) {
        let (mut from, mut to) = (BufReader::new(line), line);
        // What part of a line has come when time runs out stays here.
        let mut word = Vec::new();
        let mut say = |sign: u8| to.write_all(&[sign]);
        if say(DONE).is_err() {
            return;
        }
        loop {
            if self.is_late() {
                // The word first, so that whoever sees the deed finds the word.
                let _ = say(LATE);
                self.continue_all();
            }
            // A time of zero would be refused; it is never later than a moment.
            let left = self.left().map(|left| left.max(Duration::from_millis(1)));
            if line.set_read_timeout(left).is_err() {
                return;
            }
            match from.read_until(b'\n', &mut word) {
                Ok(_) if word.last() != Some(&b'\n') => return,
                Ok(_) => {
                    let done = std::str::from_utf8(&word).ok().and_then(|word| self.obey(word));
                    word.clear();
                    if say(if done.is_some() { DONE } else { CANNOT }).is_err() {
                        return;
                    }
                }
                Err(error) if is_timeout(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// How long somebody may still be stopped.
    fn left(&self) -> Option<Duration> {
        self.since.map(|since| self.longest.saturating_sub(since.elapsed()))
    }

    fn is_late(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    fn obey(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.strip_suffix('\n')?.split_once(' ')?;
        match word {
            "process" => {
                let (pid, born) = rest.split_once(' ')?;
                let process = Process::open(pid.parse().ok()?, Some(born.parse().ok()?)).ok()?;
                self.held.push((Held::Process(process), false));
            }
            "group" => self.held.push((Held::Group(Group::open(Path::new(rest))?), false)),
            "sweep" => self.folders.push(rest.into()),
            "stops" => {
                self.held.get_mut(rest.parse::<usize>().ok()?)?.1 = true;
                self.since = self.since.or_else(|| Some(Instant::now()));
            }
            "runs" => {
                self.held.get_mut(rest.parse::<usize>().ok()?)?.1 = false;
                if !self.held.iter().any(|(_, stopped)| *stopped) {
                    self.since = None;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Continues whoever is stopped. They stay marked, and the clock begins anew: an agent that was held up
    /// itself between its word and its deed might stop them yet.
    fn continue_all(&mut self) {
        for (held, _) in self.held.iter().filter(|(_, stopped)| *stopped) {
            // Whoever has ended needs nothing.
            let _ = held.resume();
        }
        self.since = self.since.map(|_| Instant::now());
    }

    /// Removes groups, once those in them have seen that the agent is gone.
    fn sweep(&self) {
        let until = Instant::now() + PATIENCE;
        for folder in &self.folders {
            while folder.exists() && cgroup::remove(folder).is_err() && Instant::now() < until {
                sleep(LOOK);
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

#[cfg(test)]
mod tests {
    use std::{io::Read, process::Command};

    use super::*;

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn sleeper() -> (Sleeper, Held) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::open(child.id(), None).unwrap();
        (Sleeper(child), Held::Process(process))
    }

    fn guard(longest: Duration) -> (std::thread::JoinHandle<()>, UnixStream) {
        let (ours, its) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || {
            let mut guard = Guard { held: Vec::new(), folders: Vec::new(), since: None, longest };
            guard.watch(&its);
            guard.continue_all();
        });
        (thread, ours)
    }

    fn sign(line: &mut UnixStream) -> u8 {
        let mut sign = [0];
        line.read_exact(&mut sign).unwrap();
        sign[0]
    }

    fn eventually(held: &Held, wanted: fn(linux::pause::Sight) -> bool) {
        let until = Instant::now() + Duration::from_secs(10);
        while !wanted(held.look()) {
            assert!(Instant::now() < until, "{:?}", held.look());
            sleep(LOOK);
        }
    }

    fn stopped(line: &mut UnixStream, held: &Held) {
        let Held::Process(process) = held else { panic!("a process") };
        assert_eq!(sign(line), DONE);
        writeln!(line, "process {} {}", process.pid(), process.born()).unwrap();
        assert_eq!(sign(line), DONE);
        line.write_all(b"stops 0\n").unwrap();
        assert_eq!(sign(line), DONE);
        held.stop().unwrap();
        eventually(held, linux::pause::Sight::is_stopped);
    }

    #[test]
    fn the_end_of_the_line_continues_what_is_stopped() {
        let (_child, held) = sleeper();
        let (thread, mut line) = guard(Duration::from_secs(3600));
        stopped(&mut line, &held);
        drop(line);
        thread.join().unwrap();
        eventually(&held, linux::pause::Sight::runs);
    }

    #[test]
    fn somebody_who_is_stopped_for_too_long_is_continued_and_that_is_reported() {
        let (_child, held) = sleeper();
        let (thread, mut line) = guard(Duration::from_millis(200));
        stopped(&mut line, &held);
        assert_eq!(sign(&mut line), LATE);
        eventually(&held, linux::pause::Sight::runs);
        drop(line);
        thread.join().unwrap();
    }

    #[test]
    fn what_runs_again_is_left_alone_and_nothing_is_late() {
        let (_child, held) = sleeper();
        let (thread, mut line) = guard(Duration::from_millis(200));
        stopped(&mut line, &held);
        line.write_all(b"runs 0\n").unwrap();
        // It may have been late meanwhile on a busy machine; what counts is the end.
        while sign(&mut line) != DONE {}
        eventually(&held, |sight| !sight.has_ended());
        held.stop().unwrap();
        drop(line);
        thread.join().unwrap();
        eventually(&held, linux::pause::Sight::is_stopped);
    }

    #[test]
    fn what_it_does_not_understand_it_cannot_do() {
        let (thread, mut line) = guard(Duration::from_secs(1));
        assert_eq!(sign(&mut line), DONE);
        for word in
            ["process 1 1", "process x", "stops 0", "stops -1", "group /no/such", "", "dance"]
        {
            writeln!(line, "{word}").unwrap();
            assert_eq!(sign(&mut line), CANNOT, "{word}");
        }
        drop(line);
        thread.join().unwrap();
    }
}
