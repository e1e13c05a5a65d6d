//! Undoes what a killed agent cannot: a second process of this executable, which gets each change as a line before the
//! agent makes it.
//!
//! It runs from a copy in memory under another name, so that `killall` of all agents does not end it; a fork would keep all
//! of the agent's descriptors, and with them the stream. It leads its own session and ignores every signal that can be
//! ignored. It acknowledges each line with a byte. When its socket closes, however the agent ended, it undoes the lines in
//! reverse order:
//!
//! ```text
//! process PID BORN, group FOLDER  names a process or group that may be stopped later
//! stops N, runs N                 the Nth of them is about to be stopped, or runs again; it is continued, also if it is
//!                                 stopped for too long
//! sweep FOLDER                    removes a control group once it is empty
//! end FOLDER                      removes a control group and ends the processes in it
//! gather GROUP⇥PID HOME⇥PID HOME… moves processes back to their control groups, and removes the group
//! probes GROUP                    removes probes from tracefs
//! setting VALUE⇥FILE              gives a setting of the kernel this value
//! nice TID=VALUE                  gives a thread this nice value
//! folder                          makes a folder, whose path follows the acknowledgement, and removes it
//! ```

use std::{
    env,
    ffi::OsStr,
    io::{self, BufRead, BufReader, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    folder::{Folder, Temporary},
    frequency::Setting,
    pause::{Group, Process, Stoppable},
    perf::tracing::{self, Tracing},
    process::spawn_in,
    standby::{copy_of_ourselves, stand_by},
};
use model::span::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    groups::{self, Gathered},
    settings, trial,
};

/// The argument that starts this process; the longest time that a process may be stopped may follow, ns.
pub const WORD: &str = "--undo";

const NAME: &str = "headroom-watch";

/// It may take this long to start or to answer, and the kernel to close a killed agent's events.
const PATIENCE: Duration = Duration::from_secs(5);

/// It may take this long to undo everything.
const LIMIT: Duration = Duration::from_secs(30);

const LOOK: Duration = Duration::from_millis(5);

const PATH_MAX: usize = 4096;

const DONE: u8 = b'+';
const CANNOT: u8 = b'-';
/// Sent unasked: a process was stopped for too long and has been continued.
const LATE: u8 = b'!';

/// The agent's end. Dropping it has everything undone that is still noted.
#[derive(Debug)]
pub(crate) struct Undo {
    child: Child,
    /// Closed before the end is waited for.
    line: Option<UnixStream>,
    late: bool,
}

impl Undo {
    /// Starts the process and waits until it is there.
    pub(crate) fn start(longest: Option<Span>) -> io::Result<Self> {
        let (ours, its) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let copy = copy_of_ourselves(NAME).ok();
        let program = copy.as_ref().map_or_else(
            || PathBuf::from("/proc/self/exe"),
            |copy| PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd())),
        );
        let mut command = Command::new(program);
        command.arg0(NAME).arg(WORD).args(longest.map(|longest| longest.as_nanos().to_string()));
        command.env_clear().envs(env::var_os("TMPDIR").map(|folder| ("TMPDIR", folder)));
        command.stdin(Stdio::from(OwnedFd::from(its)));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = spawn_in(None, command)?;
        let mut undo = Self { child, line: Some(ours), late: false };
        undo.hear()?;
        Ok(undo)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has it take a line. Where that fails, what the line says must not be done.
    pub(crate) fn note(&mut self, line: &str) -> io::Result<()> {
        if line.contains('\n') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut to = self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        to.write_all(format!("{line}\n").as_bytes())?;
        self.hear()
    }

    /// Names a process or group that may be stopped later; the first is number 0, and so on.
    pub(crate) fn hold(&mut self, held: &Stoppable) -> io::Result<()> {
        self.note(&match held {
            Stoppable::Process(process) => format!("process {} {}", process.pid(), process.born()),
            Stoppable::Group(group) => format!("group {}", group.folder().display()),
        })
    }

    /// Has it make a folder that nobody else can enter.
    pub(crate) fn folder(&mut self) -> io::Result<Folder> {
        self.note("folder")?;
        let mut path = Vec::new();
        loop {
            match self.byte()? {
                0 => return Folder::open(OsStr::from_bytes(&path)).map(Folder::private),
                _ if path.len() > PATH_MAX => return Err(io::ErrorKind::InvalidData.into()),
                byte => path.push(byte),
            }
        }
    }

    /// Becomes readable when it has something to say unasked, or has ended.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.line.as_ref().map(AsFd::as_fd)
    }

    /// Whether it has continued a process that was stopped for too long.
    pub(crate) fn was_late(&mut self) -> io::Result<bool> {
        while self.has_news()? {
            self.byte()?;
        }
        Ok(self.late)
    }

    fn has_news(&self) -> io::Result<bool> {
        let Some(line) = &self.line else { return Ok(false) };
        let mut fds = [PollFd::new(line, PollFlags::IN)];
        Ok(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
    }

    fn hear(&mut self) -> io::Result<()> {
        loop {
            match self.byte()? {
                DONE => return Ok(()),
                LATE => {}
                _ => return Err(io::Error::other("it cannot take hold of that")),
            }
        }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.line.as_ref().ok_or(io::ErrorKind::NotConnected)?.read_exact(&mut byte)?;
        self.late |= byte == [LATE];
        Ok(byte[0])
    }

    /// Has everything undone, and waits for that: whether it was.
    pub(crate) fn end(&mut self) -> io::Result<bool> {
        self.line = None;
        let until = Instant::now() + LIMIT;
        loop {
            match self.child.try_wait()? {
                Some(status) => return Ok(status.success()),
                None if Instant::now() > until => self.child.kill()?,
                None => sleep(LOOK),
            }
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The second process's whole life.
/// Fails where its standard input is no socket (a person has called it), or probes stay.
pub fn run(longest_ns: Option<&str>) -> io::Result<()> {
    let line = stand_by(NAME)?;
    let longest = longest_ns.map(str::parse).transpose().map_err(io::Error::other)?;
    let mut journal = Journal { longest: longest.map(Duration::from_nanos), ..Journal::default() };
    journal.watch(&line);
    journal.undo()
}

#[derive(Debug, Default)]
struct Journal {
    /// Processes and groups, and whether each is stopped.
    held: Vec<(Stoppable, bool)>,
    /// When the first of them was stopped.
    since: Option<Instant>,
    longest: Option<Duration>,
    changes: Vec<Change>,
}

#[derive(Debug)]
enum Change {
    Sweep(PathBuf),
    End(PathBuf),
    Gather(Gathered),
    Probes(Tracing, tracing::Group),
    Setting(Setting, String),
    Nice(trial::Nice),
    Folder(Temporary),
}

impl Journal {
    /// Obeys until the line ends.
    fn watch(&mut self, line: &UnixStream) {
        let (mut from, mut to) = (BufReader::new(line), line);
        // What part of a line has come when time runs out stays here.
        let mut word = Vec::new();
        if to.write_all(&[DONE]).is_err() {
            return;
        }
        loop {
            if self.is_late() {
                // Before it is continued, so that who sees the process run finds the byte.
                let _ = to.write_all(&[LATE]);
                self.continue_all();
            }
            // A time of zero would be refused; it is never later than a moment.
            let left = self.left().map(|left| left.max(Duration::from_millis(1)));
            if line.set_read_timeout(left).is_err() {
                return;
            }
            match from.read_until(b'\n', &mut word) {
                // Half a line is of an agent that was killed as it wrote; it changed nothing yet.
                Ok(_) if word.last() != Some(&b'\n') => return,
                Ok(_) => {
                    let done = std::str::from_utf8(&word).ok().and_then(|word| self.obey(word));
                    word.clear();
                    if to.write_all(&done.unwrap_or_else(|| vec![CANNOT])).is_err() {
                        return;
                    }
                }
                Err(error) if is_timeout(&error) => {}
                Err(_) => return,
            }
        }
    }

    /// How much longer a process may be stopped.
    fn left(&self) -> Option<Duration> {
        self.since.and_then(|since| Some(self.longest?.saturating_sub(since.elapsed())))
    }

    fn is_late(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Takes a line: what is answered.
    fn obey(&mut self, line: &str) -> Option<Vec<u8>> {
        let line = line.strip_suffix('\n')?;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut answer = vec![DONE];
        match word {
            "process" => {
                let (pid, born) = rest.split_once(' ')?;
                let process = Process::open(pid.parse().ok()?, Some(born.parse().ok()?)).ok()?;
                self.held.push((Stoppable::Process(process), false));
            }
            "group" => self.held.push((Stoppable::Group(Group::open(Path::new(rest))?), false)),
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
            "folder" => {
                let made = Temporary::new("headroom-").ok()?;
                answer.extend(made.path().as_os_str().as_bytes());
                answer.push(0);
                self.changes.push(Change::Folder(made));
            }
            _ => self.changes.push(change(word, rest)?),
        }
        Some(answer)
    }

    /// Continues what is stopped. It stays marked, and the clock restarts: an agent that was itself delayed between its
    /// line and the stop might stop it yet.
    fn continue_all(&mut self) {
        for (held, _) in self.held.iter().filter(|(_, stopped)| *stopped) {
            // A process that has ended needs nothing.
            let _ = held.resume();
        }
        self.since = self.since.map(|_| Instant::now());
    }

    fn undo(mut self) -> io::Result<()> {
        self.continue_all();
        let mut result = Ok(());
        // Folders go last: a process in a group may still write there.
        let mut folders = Vec::new();
        let until = Instant::now() + PATIENCE;
        for change in self.changes.into_iter().rev() {
            match change {
                // Once those in it have seen that the agent is gone.
                Change::Sweep(folder) => drop(groups::remove(&folder)),
                Change::End(folder) => trial::take_away(&[folder]),
                Change::Gather(gathered) => drop(gathered.give_back()),
                Change::Probes(tracing, group) => {
                    result = tracing.remove(group);
                    while result.is_err() && Instant::now() < until {
                        sleep(LOOK);
                        result = tracing.remove(group);
                    }
                }
                Change::Setting(setting, was) => drop(settings::turn(&setting, &was)),
                // A thread that has ended needs none.
                Change::Nice(nice) => drop(nice.set()),
                Change::Folder(made) => {
                    trial::await_restored(made.folder());
                    folders.push(made);
                }
            }
        }
        result
    }
}

fn change(word: &str, rest: &str) -> Option<Change> {
    Some(match word {
        "sweep" => Change::Sweep(rest.into()),
        "end" => Change::End(rest.into()),
        "gather" => Change::Gather(Gathered::of_line(rest)?),
        "probes" => Change::Probes(Tracing::open().ok()?, rest.parse().ok()?),
        "setting" => {
            let (was, path) = rest.split_once('\t')?;
            Change::Setting(Setting { what: String::new(), path: path.into() }, was.to_owned())
        }
        "nice" => Change::Nice(trial::Nice::of_word(rest)?),
        _ => return None,
    })
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn sleeper() -> (Sleeper, Stoppable) {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::open(child.id(), None).unwrap();
        (Sleeper(child), Stoppable::Process(process))
    }

    fn guard(longest: Duration) -> (std::thread::JoinHandle<()>, UnixStream) {
        let (ours, its) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || {
            let mut journal = Journal { longest: Some(longest), ..Journal::default() };
            journal.watch(&its);
            journal.undo().unwrap();
        });
        (thread, ours)
    }

    fn sign(line: &mut UnixStream) -> u8 {
        let mut sign = [0];
        line.read_exact(&mut sign).unwrap();
        sign[0]
    }

    fn eventually(held: &Stoppable, wanted: fn(linux::pause::Sight) -> bool) {
        let until = Instant::now() + Duration::from_secs(10);
        while !wanted(held.look()) {
            assert!(Instant::now() < until, "{:?}", held.look());
            sleep(LOOK);
        }
    }

    fn stopped(line: &mut UnixStream, held: &Stoppable) {
        let Stoppable::Process(process) = held else { panic!("a process") };
        assert_eq!(sign(line), DONE);
        writeln!(line, "process {} {}", process.pid(), process.born()).unwrap();
        assert_eq!(sign(line), DONE);
        line.write_all(b"stops 0\n").unwrap();
        assert_eq!(sign(line), DONE);
        held.stop().unwrap();
        eventually(held, linux::pause::Sight::is_stopped);
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

    #[test]
    fn settings_get_their_first_value_and_a_folder_goes() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("scaling_governor");
        let (thread, mut line) = guard(Duration::from_secs(1));
        assert_eq!(sign(&mut line), DONE);
        // A file of the kernel's forgets what was written before; these words are of one length.
        for was in ["powersave  ", "performance"] {
            writeln!(line, "setting {was}\t{}", path.display()).unwrap();
            assert_eq!(sign(&mut line), DONE);
        }
        std::fs::write(&path, "schedutil  ").unwrap();
        line.write_all(b"folder\n").unwrap();
        assert_eq!(sign(&mut line), DONE);
        let mut made = Vec::new();
        BufReader::new(&line).read_until(0, &mut made).unwrap();
        let made = PathBuf::from(OsStr::from_bytes(&made[..made.len() - 1]));
        assert!(made.is_dir());
        drop(line);
        thread.join().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "powersave  ");
        assert!(!made.exists());
    }
}
