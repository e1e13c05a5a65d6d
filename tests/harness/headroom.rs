//! headroom at work: how it is started, what it is asked meanwhile, and how it is waited for.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use model::architecture::Processor;
use rustix::process::Signal;
use serde_json::Value;

use super::{
    ended::Ended,
    processes::{eventually, send},
};

/// No execution takes longer, even if it makes the image first and the machine is busy. One that does has hung.
const LIMIT: Duration = Duration::from_secs(900);

/// No hostile input takes more CPU time (ticks of 10 ms), more time whatever else the machine does, or more memory.
const MOST_TICKS: u64 = 500;
const LONGEST: Duration = Duration::from_secs(30);
const LARGEST_KIB: u64 = 256 * 1024;

/// Where the tests were built: they are in `TARGET/PROFILE/deps`.
fn profile() -> PathBuf {
    let test = env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().to_owned()
}

pub(crate) fn target() -> PathBuf {
    profile().parent().unwrap().to_owned()
}

/// The folder of the programs that `scripts/setup PURPOSE` installs for tests from Python's registry. `None`, with the reason,
/// where they are not there: their list comes last, and an installation that failed has none.
pub(crate) fn python_programs(name: &str, purpose: &str) -> Option<PathBuf> {
    let folder = target().join(name);
    if folder.join("requirements.txt").is_file() {
        return Some(folder.join("bin"));
    }
    skip::excepted(format_args!("no {name} here: `scripts/setup {purpose}` installs it"));
    None
}

/// The binary to drive: built as the tests are, so that nothing is built twice.
pub(crate) fn binary() -> PathBuf {
    let sibling = || profile().join("headroom");
    let binary = env::var_os("HEADROOM_BIN").map_or_else(sibling, PathBuf::from);
    assert!(binary.is_file(), "{} is not there: run make tested", binary.display());
    binary
}

/// A program for the device, as headroom finds it beside itself.
pub(crate) fn device_program(name: &str) -> PathBuf {
    let program = programs_of(Processor::X86_64).join(name);
    assert!(program.is_file(), "{} is not there: run make tested", program.display());
    program
}

/// stationd as the build left it, with its symbols; the image has it without them, and everything else in the same place.
pub(crate) fn stationd() -> PathBuf {
    device_program("stationd")
}

/// Where the access point's programs for a processor are built.
pub(crate) fn programs_of(processor: Processor) -> PathBuf {
    target().join(processor.target()).join("device")
}

/// Whether programs for arm64 could be built; where not, a test says that it does not run.
pub(crate) fn has_arm64() -> bool {
    let has = programs_of(Processor::Arm64).join("headroom-agent").is_file();
    if !has {
        skip::excepted(format_args!("no programs for arm64 could be built; make tested says why"));
    }
    has
}

/// headroom, about to be started.
#[derive(Debug)]
pub(crate) struct Headroom {
    command: Command,
    stdin: String,
}

impl Headroom {
    pub(super) fn new(command: Command) -> Self {
        Self { command, stdin: String::new() }
    }

    /// More words, as a shell splits them.
    pub(crate) fn words(mut self, words: &str) -> Self {
        self.command.args(shlex::split(words).unwrap());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, text: &str) -> Self {
        text.clone_into(&mut self.stdin);
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Ended {
        self.start().end()
    }

    /// Runs it with a standard output that no one reads, as behind `| head -1` when `head` has ended.
    pub(crate) fn run_unread(self) -> Ended {
        let (_, writer) = std::io::pipe().unwrap();
        self.run_into(writer)
    }

    /// Runs it with a standard output that takes nothing, as on a full disk.
    pub(crate) fn run_on_a_full_disk(self) -> Ended {
        self.run_into(fs::File::options().read(true).write(true).open("/dev/full").unwrap())
    }

    fn run_into(mut self, stdout: impl Into<Stdio>) -> Ended {
        let output = self.command.stdin(Stdio::null()).stdout(stdout).output().unwrap();
        Ended::of(&self.command, output)
    }

    /// Runs it to its end, and asserts that it took no more time and memory than a hostile input may cost.
    pub(crate) fn run_bounded(self) -> Ended {
        let (ended, fault) = self.start().end_bounded();
        assert_eq!(fault, None, "{ended}");
        ended
    }

    pub(crate) fn start(mut self) -> Running {
        let mut child = self
            .command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // What it does not read it does not want.
        let _ = child.stdin.take().unwrap().write_all(self.stdin.as_bytes());
        let lines = lines(child.stdout.take().unwrap());
        let mut said = child.stderr.take().unwrap();
        let stderr = thread::spawn(move || {
            let mut text = Vec::new();
            said.read_to_end(&mut text).map(|_| text).unwrap()
        });
        Running { command: self.command, child, lines, stdout: Vec::new(), stderr: Some(stderr) }
    }
}

/// Lines as they come.
fn lines(stdout: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while let Ok(1..) = stdout.read_until(b'\n', &mut line) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    receiver
}

/// headroom, running. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Running {
    command: Command,
    child: Child,
    lines: Receiver<Vec<u8>>,
    stdout: Vec<u8>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Running {
    /// Waits for the next event of this name; headroom must have been started with `--json`.
    pub(crate) fn event(&mut self, name: &str) -> Value {
        let began = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(LIMIT.saturating_sub(began.elapsed())) {
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            self.stdout.extend(line);
            if event["event"] == name {
                return event;
            }
        }
        let said = String::from_utf8_lossy(&self.stdout).into_owned();
        panic!("no event `{name}` came; {:?} printed:\n{said}", self.command);
    }

    /// Looks again and again until headroom has brought about what is looked for.
    pub(crate) fn until<T>(mut self, what: &str, mut look: impl FnMut() -> Option<T>) -> (Self, T) {
        let ended = |child: &mut Child| child.try_wait().unwrap().is_some();
        let found = eventually(LIMIT, || match look() {
            Some(found) => Some(Some(found)),
            None => ended(&mut self.child).then_some(None),
        });
        match found.flatten() {
            Some(found) => (self, found),
            None => {
                let _ = self.child.kill();
                panic!("{what}: never seen; {}", self.end())
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.child.id().cast_signed(), signal);
    }

    /// Waits for its end, and answers what it took too much of. One that takes twice as much is ended, so that a failing
    /// test neither hangs nor fills the machine.
    pub(crate) fn end_bounded(mut self) -> (Ended, Option<String>) {
        let (began, mut ticks, mut peak_kib) = (Instant::now(), 0, 0);
        let proc = format!("/proc/{}", self.child.id());
        while self.child.try_wait().unwrap().is_none() {
            if began.elapsed() > 2 * LONGEST || peak_kib > 2 * LARGEST_KIB {
                let _ = self.child.kill();
            }
            let stat = fs::read(format!("{proc}/stat")).unwrap_or_default();
            ticks = linux::proc::stat(&stat).map_or(ticks, |stat| stat.utime + stat.stime);
            // The kernel keeps the peak; only what it grows at its very end is not seen.
            let status = fs::read_to_string(format!("{proc}/status")).unwrap_or_default();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let peak = peak.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
            peak_kib = peak_kib.max(peak.unwrap_or(0));
            thread::sleep(Duration::from_millis(1));
        }
        let took = began.elapsed();
        let is_fine = took <= LONGEST && ticks <= MOST_TICKS && peak_kib <= LARGEST_KIB;
        let fault = format!("it took {took:?}, {ticks} ticks of CPU and {peak_kib} KiB");
        (self.end(), (!is_fine).then_some(fault))
    }

    pub(crate) fn end(mut self) -> Ended {
        let status = eventually(LIMIT, || self.child.try_wait().unwrap());
        if status.is_none() {
            let _ = self.child.kill();
        }
        let status = self.child.wait().unwrap_or_default();
        self.stdout.extend(self.lines.iter().flatten());
        let stderr = self.stderr.take().unwrap().join().unwrap();
        let stdout = std::mem::take(&mut self.stdout);
        Ended::of(&self.command, std::process::Output { status, stdout, stderr })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
