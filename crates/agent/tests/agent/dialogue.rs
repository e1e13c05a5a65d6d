//! A conversation with the real agent over pipes, and subjects for it to measure.

#![expect(clippy::unwrap_used, reason = "what a test cannot do ends the test")]

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use model::{
    facts::Facts,
    instrument::{Counts, Recorder},
    name::Sha256Hex,
    sample::Sample,
    span::Span,
    wire::{
        Census, Decoder, Frame, LoadOrder, Order, PROTOCOL, Part, Refusal, StartOrder,
        SubjectOrder, TrialOrder, Work, encode,
    },
};

pub(crate) struct Agent {
    pub(crate) child: Child,
    pub(crate) orders: Option<ChildStdin>,
    frames: ChildStdout,
    decoder: Decoder,
}

impl Agent {
    /// Starts it and takes its greeting.
    pub(crate) fn start() -> (Self, Facts, Census) {
        Self::start_at(Path::new(env!("CARGO_BIN_EXE_headroom-agent")))
    }

    /// Starts another copy of it.
    pub(crate) fn start_at(program: &Path) -> (Self, Facts, Census) {
        Self::start_as(Command::new(program))
    }

    /// Starts it by a command of the test's own.
    pub(crate) fn start_as(mut command: Command) -> (Self, Facts, Census) {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, frames) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut agent = Self { child, orders, frames, decoder: Decoder::default() };
        let (facts, census) = (agent.hello(), agent.census());
        (agent, facts, census)
    }

    /// Starts it, gives it one order, and waits for nothing.
    pub(crate) fn ordered(order: &Order) -> Self {
        let mut agent = Self::start().0;
        agent.order(order);
        agent
    }

    /// Starts it and orders a measurement.
    pub(crate) fn measuring(measure: TrialOrder) -> Self {
        Self::ordered(&Order::trial(measure))
    }

    /// Starts it, gives it one order, and waits until the window is open.
    pub(crate) fn opened(order: &Order) -> Result<Self, Refusal> {
        let mut agent = Self::ordered(order);
        loop {
            match agent.frame() {
                Frame::Sample(_) => return Ok(agent),
                Frame::Refused(refusal) => return Err(refusal),
                _ => {}
            }
        }
    }

    pub(crate) fn order(&mut self, order: &Order) {
        self.orders.as_mut().unwrap().write_all(&encode(order).unwrap()).unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn frame(&mut self) -> Frame {
        self.frame_or_end().expect("the agent ended the stream")
    }

    pub(crate) fn frame_or_end(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.take().unwrap() {
                return Some(frame);
            }
            let mut bytes = [0; 4096];
            match self.frames.read(&mut bytes).unwrap() {
                0 => return None,
                length => self.decoder.push(&bytes[..length]),
            }
        }
    }

    pub(crate) fn hello(&mut self) -> Facts {
        match self.frame() {
            Frame::Hello { protocol: PROTOCOL, facts } => *facts,
            other => panic!("expected a hello, got {other:?}"),
        }
    }

    pub(crate) fn census(&mut self) -> Census {
        match self.frame() {
            Frame::Census(census) => census,
            other => panic!("expected a census, got {other:?}"),
        }
    }

    pub(crate) fn sample(&mut self) -> Sample {
        match self.frame() {
            Frame::Sample(sample) => *sample,
            other => panic!("expected a sample, got {other:?}"),
        }
    }

    /// Takes what is said until the window is open: hello, census, and its first sample, which it answers.
    pub(crate) fn begun(&mut self) -> Sample {
        self.hello();
        self.census();
        self.sample()
    }

    /// Takes these many samples, and answers the last.
    pub(crate) fn samples(&mut self, count: usize) -> Sample {
        (0..count).map(|_| self.sample()).last().unwrap()
    }

    /// Takes what is said until the order is refused, and answers why.
    pub(crate) fn refused(&mut self) -> Refusal {
        self.answer().expect_err("it was not refused")
    }

    /// Takes all that an order is answered, whatever its order.
    pub(crate) fn answer(&mut self) -> Result<Answer, Refusal> {
        let mut answer = Answer::default();
        loop {
            match self.frame() {
                Frame::Hello { .. } | Frame::Census(_) | Frame::Corrections(_) => {}
                Frame::Recorder(recorder) => answer.recorder = Some(*recorder),
                Frame::Records(piece) => {
                    assert!(piece.bytes.len() <= 256 * 1024, "{} bytes", piece.bytes.len());
                    answer.records.extend(piece.bytes);
                }
                Frame::Sample(sample) => answer.samples.push(*sample),
                Frame::Part(part) => answer.parts.push(part),
                Frame::Refused(refusal) => return Err(refusal),
                Frame::Done => return Ok(answer),
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    /// Takes a whole answer: hello, census, these many samples, census, done.
    pub(crate) fn window(&mut self, samples: usize) -> (Facts, Vec<Sample>) {
        let facts = self.hello();
        self.census();
        let samples = (0..samples).map(|_| self.sample()).collect();
        self.census();
        assert_eq!(self.frame(), Frame::Done);
        (facts, samples)
    }

    /// Waits for its end, as long as is honest.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        eventually(|| self.child.try_wait().unwrap())
    }
}

/// All that an order was answered.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) recorder: Option<Recorder>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) records: Vec<u8>,
    pub(crate) parts: Vec<Part>,
}

impl Answer {
    /// The part that `pick` takes, which must be there.
    pub(crate) fn part<T>(self, pick: impl Fn(Part) -> Option<T>) -> T {
        self.parts.into_iter().find_map(pick).expect("the part was answered")
    }

    /// How often each probe was hit.
    pub(crate) fn counts(self) -> Counts {
        self.part(|part| if let Part::Counts(counts) = part { Some(*counts) } else { None })
    }
}

/// Measures again, as headroom does, where a process failed in the window. The watch is over the whole machine, on which
/// other tests have processes fail.
pub(crate) fn trusted<T>(mut attempt: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let untrusted = |refusal: &Refusal| refusal.to_string().contains("cannot trust this window");
    let mut left = 3;
    loop {
        match attempt() {
            Err(refusal) if left > 0 && untrusted(&refusal) => left -= 1,
            ended => return ended,
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // Killed, it could not restore what it has changed on this machine.
        self.orders = None;
        let waited = (0..1000).any(|_| {
            sleep(Duration::from_millis(5));
            !matches!(self.child.try_wait(), Ok(None))
        });
        if !waited {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A program under a name that nobody else has, and which ends with the value.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) child: Child,
    _copy: Copied,
}

impl Subject {
    /// One that always computes: a shell that counts.
    pub(crate) fn busy() -> Self {
        Self::start("sh", &["-c", "while :; do :; done"])
    }

    /// One that always sleeps.
    pub(crate) fn idle() -> Self {
        Self::start("sleep", &["600"])
    }

    /// One that does something else.
    pub(crate) fn start(program: &str, arguments: &[&str]) -> Self {
        let copy = Copied::of(program);
        let child = Command::new(copy.path()).args(arguments).spawn().unwrap();
        let subject = Self { name: copy.name.clone(), child, _copy: copy };
        // Between fork and exec the child still has our name.
        let comm = format!("/proc/{}/comm", subject.child.id());
        eventually(|| {
            (fs::read_to_string(&comm).unwrap().trim_end() == subject.name).then_some(())
        });
        subject
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it is in every tree of control groups.
    pub(crate) fn groups(&self) -> String {
        fs::read_to_string(format!("/proc/{}/cgroup", self.pid())).unwrap_or_default()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program's copy under a name that nobody else has, in a folder that goes with the value.
pub(crate) struct Copied {
    pub(crate) name: String,
    folder: tempfile::TempDir,
}

impl Copied {
    pub(crate) fn of(program: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hr{number}-{}", std::process::id());
        let copied = Self { name, folder: tempfile::tempdir().unwrap() };
        // By a process of its own: a child that another test forks would inherit our open copy, and
        // until it has become its program the copy is busy (ETXTBSY).
        let original = agent::programs::resolve(program).unwrap();
        assert!(Command::new("cp").arg(original).arg(copied.path()).status().unwrap().success());
        copied
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.file(&self.name)
    }

    /// Another file in its folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How many processes run it.
    pub(crate) fn running(&self) -> usize {
        agent::subject::pids_of(&self.name).unwrap().len()
    }
}

/// A file's SHA-256, by another program.
pub(crate) fn sha256_of(path: impl AsRef<Path>) -> Sha256Hex {
    let sum = Command::new("sha256sum").arg(path.as_ref()).output().unwrap().stdout;
    String::from_utf8(sum).unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// 100 ms samples, `windows` of them, without load.
pub(crate) fn measure(subject: &str, intervals: u64) -> TrialOrder {
    TrialOrder {
        subject: Some(SubjectOrder { process: subject.to_owned(), start: None }),
        warm_up: Span::from_nanos(50_000_000),
        window: Span::from_nanos(intervals * 100_000_000),
        sample_every: Span::from_nanos(100_000_000),
        ..TrialOrder::default()
    }
}

/// The same with a load of one command, every 100 ms.
pub(crate) fn loaded(subject: &str, intervals: u64, command: &[&str]) -> TrialOrder {
    let work = Work::Rounds(vec![words(command)]);
    TrialOrder { load: Some(load(work)), ..measure(subject, intervals) }
}

/// The same with shells that stay, each with a script.
pub(crate) fn staying(subject: &str, intervals: u64, scripts: &[&str]) -> TrialOrder {
    let work =
        Work::LongRunning(scripts.iter().map(|script| words(&["sh", "-c", script])).collect());
    TrialOrder { load: Some(load(work)), ..measure(subject, intervals) }
}

fn load(work: Work) -> LoadOrder {
    LoadOrder { work, every: Span::from_nanos(100_000_000) }
}

/// The same with a subject that a command starts.
pub(crate) fn starting(subject: &str, intervals: u64, command: &[&str]) -> TrialOrder {
    let start = Some(StartOrder { command: words(command), ready: None });
    let subject = SubjectOrder { process: subject.to_owned(), start };
    TrialOrder { subject: Some(subject), ..measure("", intervals) }
}

/// The same, ready once a path exists.
pub(crate) fn ready_at(path: &Path, mut order: TrialOrder) -> TrialOrder {
    let start = order.subject.as_mut().and_then(|subject| subject.start.as_mut());
    start.unwrap().ready = Some(path.to_str().unwrap().to_owned());
    order
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The agent's folders of control groups that are there now.
pub(crate) fn folders_of(agent: u32) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let trees = mounts.lines().filter(|line| {
        line.split(' ').nth(2).is_some_and(|kind| kind == "cgroup" || kind == "cgroup2")
    });
    let folders = trees.filter_map(|line| line.split(' ').nth(1));
    folders
        .map(|tree| PathBuf::from(tree).join(format!("headroom-agent.{agent}")))
        .filter(|folder| folder.exists())
        .collect()
}

/// The state that `/proc` tells of a process; `Z` where it is gone.
pub(crate) fn state(pid: u32) -> char {
    let text = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    linux::proc::stat(&text).map_or('Z', |stat| char::from(stat.state))
}

/// Waits for what must come to be, at most ten seconds.
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < until, "it did not come to be in ten seconds");
        sleep(Duration::from_millis(2));
    }
}
