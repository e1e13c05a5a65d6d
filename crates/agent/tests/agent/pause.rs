//! The attribution experiment, and who talks to the subject: what is stopped runs again, whoever dies.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::{
        fd::OwnedFd,
        unix::net::{UnixDatagram, UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use linux::{cgroup, pause::Group};
use model::{
    instrument::Instrument,
    pause::{PauseOrder, PauseSpan, PauseState, Pauses, Peer, Target},
    sample::Sample,
    span::Span,
    wire::{Order, Part, TrialOrder},
};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    dialogue::{Agent, Copied, Subject, eventually, measure, state, staying},
    run_ns,
};

use PauseState::{Runs, Sham, Stopped};

/// A subject that works for each line that a consumer writes.
struct Pair {
    subject: Subject,
    consumer: Subject,
    _folder: tempfile::TempDir,
}

impl Pair {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // Little for each line, so that a busy machine does not let lines pile up.
        let work = "while read -r line; do i=0; while [ $i -lt 300 ]; do i=$((i+1)); done; done";
        // The subject keeps the pipe open for writing, so that it outlives the consumer.
        let subject =
            Subject::start("sh", &["-c", &format!("exec 3<>{0}; {work} <{0}", pipe.display())]);
        let poll = format!("while :; do echo; sleep 0.01; done >{}", pipe.display());
        let consumer = Subject::start("sh", &["-c", &poll]);
        Self { subject, consumer, _folder: folder }
    }

    /// An order whose spans take `intervals` of 100 ms each.
    fn order(&self, states: &[PauseState], intervals: u32) -> Order {
        let target = Target::Process(self.consumer.name.clone());
        Order::trial(pausing(&self.subject.name, target, states, intervals))
    }

    /// Has the consumer stopped for half a minute; the agent that did it.
    fn stopped(&self) -> Agent {
        let mut agent = Agent::ordered(&self.order(&[Stopped, Runs], 300));
        // The first sample says that the span has begun.
        agent.begun();
        assert_eq!(state(self.consumer.pid()), 'T');
        agent
    }

    /// The moment from which the consumer runs again is near.
    fn runs_within_2_s(&self) {
        let from = Instant::now();
        eventually(|| (state(self.consumer.pid()) != 'T').then_some(()));
        assert!(from.elapsed() < Duration::from_secs(2), "{:?}", from.elapsed());
    }
}

fn has_run(subject: &Subject) -> bool {
    !matches!(state(subject.pid()), 'T' | 'Z')
}

pub(crate) fn pausing(
    subject: &str,
    target: Target,
    states: &[PauseState],
    each: u32,
) -> TrialOrder {
    let spans: Vec<PauseSpan> =
        states.iter().map(|&state| PauseSpan { state, intervals: each }).collect();
    let intervals = u64::from(each) * spans.len() as u64;
    let order = PauseOrder { target, spans, longest: Span::from_secs(60) };
    TrialOrder { instrument: Some(Instrument::Pause(order)), ..measure(subject, intervals) }
}

/// A load whose program is the consumer: a shell that sleeps again and again.
struct StayingConsumer {
    subject: Subject,
    shell: Copied,
}

impl StayingConsumer {
    fn new() -> Self {
        Self { subject: Subject::idle(), shell: Copied::of("sh") }
    }

    fn order(&self, states: &[PauseState], each: u32) -> TrialOrder {
        let target = Target::Process(self.shell.name.clone());
        let paused = pausing(&self.subject.name, target, states, each);
        let path = self.shell.path();
        let script = format!("exec {} -c 'while :; do sleep 0.01; done'", path.display());
        let intervals = u64::from(each) * states.len() as u64;
        let staying = staying(&self.subject.name, intervals, &[&script]);
        TrialOrder { load: staying.load, ..paused }
    }

    /// Waits until it is stopped.
    fn stopped(&self) -> u32 {
        eventually(|| {
            let pid = *agent::subject::pids_of(&self.shell.name).unwrap().first()?;
            (state(pid) == 'T').then_some(pid)
        })
    }
}

/// The same with another limit.
fn no_longer_than(longest_ms: u64, order: Order) -> Order {
    let Order::Trial(mut order, None) = order else { panic!("{order:?}") };
    let Some(Instrument::Pause(pause)) = &mut order.instrument else { panic!("{order:?}") };
    pause.longest = Span::from_nanos(longest_ms * 1_000_000);
    Order::Trial(order, None)
}

/// The samples and the pauses of a whole answer.
fn answer(agent: &mut Agent) -> (Vec<Sample>, Pauses) {
    let answer = agent.answer().unwrap();
    let pauses = |part| if let Part::Pauses(pauses) = part { Some(*pauses) } else { None };
    (answer.samples.clone(), answer.part(pauses))
}

/// Why the experiment was refused, in one line.
fn why(agent: &mut Agent) -> String {
    let line = agent.refused().to_string();
    assert!(line.starts_with("cannot pause `") && !line.contains('\n'), "{line}");
    line
}

/// Nobody of the agent's own is left.
pub(crate) fn no_helpers_of(agent: u32) {
    eventually(|| {
        let ours = |name| agent::subject::pids_of(name).unwrap().into_iter();
        let mut left = ours("headroom-watch").chain(ours("headroom-decoy"));
        left.all(|pid| agent::subject::parent(pid) != Some(agent)).then_some(())
    });
}

/// The subject's CPU in a span of six intervals, ns, without the settling: what the pipe still held.
fn settled(samples: &[Sample], span: usize) -> u64 {
    run_ns(&samples[span * 6 + 6]) - run_ns(&samples[span * 6 + 2])
}

#[test]
fn the_subject_rests_while_its_consumer_is_stopped_and_works_through_the_sham() {
    let pair = Pair::start();
    let mut agent = Agent::ordered(&pair.order(&[Runs, Stopped, Runs, Sham, Sham], 6));
    let (samples, pauses) = answer(&mut agent);
    assert_eq!((samples.len(), pauses.pids.clone()), (31, vec![pair.consumer.pid()]));
    let states: Vec<PauseState> = pauses.spans.iter().map(|span| span.state).collect();
    assert_eq!(states, [Runs, Stopped, Runs, Sham, Sham]);
    let cpu = |span| settled(&samples, span);
    let (runs, sham) = (cpu(0).max(cpu(2)), cpu(3).max(cpu(4)));
    assert!(cpu(1) < runs / 2 && cpu(1) < sham / 2, "{runs} {} {sham}", cpu(1));
    for (place, span) in pauses.spans.iter().enumerate() {
        let (first, last) = (&samples[place * 6], &samples[place * 6 + 6]);
        assert!(span.from_ns <= first.at_ns && span.from_ns < span.to_ns, "{place}: {span:?}");
        assert!(span.to_ns <= last.at_ns && span.to_ns > samples[place * 6 + 5].at_ns);
    }
    assert_eq!(pauses.spans[3].to_ns, pauses.spans[4].from_ns, "a state that stays is not touched");
    assert!(has_run(&pair.consumer));
    no_helpers_of(agent.pid());
}

#[test]
fn an_agent_that_does_not_answer_in_time_or_is_stopped_itself_is_overruled() {
    let pair = Pair::start();
    for is_stopped in [false, true] {
        let mut agent = Agent::ordered(&no_longer_than(1000, pair.order(&[Stopped, Runs], 300)));
        let own = Pid::from_child(&agent.child);
        eventually(|| (state(pair.consumer.pid()) == 'T').then_some(()));
        if is_stopped {
            kill_process(own, Signal::STOP).unwrap();
        }
        eventually(|| (state(pair.consumer.pid()) != 'T').then_some(()));
        kill_process(own, Signal::CONT).unwrap();
        let why = why(&mut agent);
        assert!(why.contains("the watchdog continued it"), "{why}");
    }
}

#[test]
fn a_consumer_that_ends_while_it_is_stopped_ends_the_experiment_at_once() {
    let mut pair = Pair::start();
    let mut agent = pair.stopped();
    pair.consumer.child.kill().unwrap();
    let refusal = agent.refused().to_string();
    let ended = format!("`{}` (pid {}) ended ", pair.consumer.name, pair.consumer.pid());
    assert!(refusal.starts_with(&ended), "{refusal}");
}

#[test]
fn a_consumer_whom_another_program_continues_is_reported() {
    let pair = Pair::start();
    let mut agent = pair.stopped();
    kill_process(Pid::from_child(&pair.consumer.child), Signal::CONT).unwrap();
    let why = why(&mut agent);
    assert!(why.contains("somebody else continued"), "{why}");
}

#[test]
fn a_watchdog_that_is_killed_ends_the_experiment() {
    let pair = Pair::start();
    let mut agent = pair.stopped();
    let watchdogs = agent::subject::pids_of("headroom-watch").unwrap();
    for pid in watchdogs.into_iter().filter(|pid| agent::subject::parent(*pid) == Some(agent.pid()))
    {
        linux::process::kill(pid).unwrap();
    }
    let why = why(&mut agent);
    assert!(why.contains("watchdog does not answer"), "{why}");
    pair.runs_within_2_s();
}

#[test]
fn workers_are_stopped_with_those_who_started_them_and_may_end() {
    let subject = Subject::idle();
    let shell = Copied::of("sh");
    let path = shell.path();
    // A worker of the same name stays, another ends in the window; the first process is the consumer.
    let script = format!(
        "{0} -c 'while :; do sleep 1; done' & {0} -c 'sleep 1.5; :' & while :; do sleep 0.01; done",
        path.display()
    );
    let mut consumer = Command::new(&path).args(["-c", &script]).spawn().unwrap();
    eventually(|| (shell.running() >= 3).then_some(()));
    let target = Target::Process(shell.name.clone());
    let mut agent = Agent::measuring(pausing(&subject.name, target, &[Runs, Stopped, Runs], 5));
    agent.begun();
    agent.samples(5);
    let workers = agent::subject::pids_of(&shell.name).unwrap();
    let stopped = workers.iter().filter(|pid| state(**pid) == 'T').count();
    let (_, pauses) = answer(&mut agent);
    linux::process::kill(consumer.id()).unwrap();
    consumer.wait().unwrap();
    for pid in agent::subject::pids_of(&shell.name).unwrap() {
        linux::process::kill(pid).unwrap();
    }
    assert!(stopped >= 2, "{stopped} of {workers:?}");
    assert!(pauses.pids.contains(&consumer.id()) && pauses.pids.len() >= 2, "{pauses:?}");
}

#[test]
fn the_load_itself_is_stopped_and_ends_after_the_window() {
    let load = StayingConsumer::new();
    let mut agent = Agent::measuring(load.order(&[Runs, Stopped, Runs, Stopped], 2));
    let (_, pauses) = answer(&mut agent);
    assert_eq!((pauses.spans.len(), pauses.pids.len(), load.shell.running()), (4, 1, 0));

    // It is the consumer's end that is told, not that of a load.
    agent.order(&Order::trial(load.order(&[Stopped], 300)));
    let consumer = load.stopped();
    linux::process::kill(consumer).unwrap();
    let refusal = agent.refused();
    let reported = refusal.what.contains(&format!("(pid {consumer}) ended "));
    assert!(reported, "{refusal}, where pid {consumer} was killed");
}

#[test]
fn a_stopped_load_does_not_hold_up_the_end_of_a_broken_stream() {
    let load = StayingConsumer::new();
    let mut agent = Agent::measuring(load.order(&[Stopped], 300));
    load.stopped();
    agent.orders = None;
    assert!(agent.ended().success());
    assert_eq!(load.shell.running(), 0);
}

#[test]
fn what_must_not_be_stopped_is_refused() {
    let (subject, stopped) = (Subject::idle(), Subject::idle());
    kill_process(Pid::from_child(&stopped.child), Signal::STOP).unwrap();
    eventually(|| (state(stopped.pid()) == 'T').then_some(()));
    let (mut agent, ..) = Agent::start();
    let first = fs::read_to_string("/proc/1/comm").unwrap().trim_end().to_owned();
    let mut cases = vec![
        (first, "alive"),
        ("headroom-agent".to_owned(), "the agent itself"),
        (subject.name.clone(), "the subject itself"),
        (stopped.name.clone(), "is stopped already"),
        ("no-such-monitor".to_owned(), "no process has that name"),
    ];
    if state(2) != 'Z' && fs::read_to_string("/proc/2/comm").unwrap() == "kthreadd\n" {
        cases.push(("kthreadd".to_owned(), "thread of the kernel"));
    }
    for (name, reason) in cases {
        let target = Target::Process(name.clone());
        agent.order(&Order::trial(pausing(&subject.name, target, &[Runs, Stopped], 1)));
        let why = why(&mut agent);
        assert!(why.contains(reason), "{name}: {why}");
    }
    no_helpers_of(agent.pid());
    assert_eq!(state(stopped.pid()), 'T', "it stays as it was");
}

/// Control groups of this test's own, in each tree that has a freezer; with a reason where there is none.
fn groups(name: &str) -> Vec<PathBuf> {
    let mounts = linux::pause::freezers().unwrap();
    let folders = mounts.iter().map(|mount| mount.join(format!("{name}.{}", std::process::id())));
    let usable = |folder: &PathBuf| {
        cgroup::create(folder).is_ok()
            && (Group::open(folder).is_some() || cgroup::remove(folder).is_err())
    };
    let folders: Vec<PathBuf> = folders.filter(usable).collect();
    if folders.is_empty() {
        skip::skip!("no control group with a freezer can be made here");
    }
    folders
}

/// A group of a pair's consumer, by its path below the root; it goes with the value.
struct Frozen {
    folder: PathBuf,
    pair: Pair,
}

impl Frozen {
    fn start(folder: PathBuf) -> Self {
        let pair = Pair::start();
        cgroup::enter(&folder, pair.consumer.pid()).unwrap();
        Self { folder, pair }
    }

    fn path(&self) -> String {
        format!("/{}", self.folder.file_name().unwrap().to_str().unwrap())
    }

    fn is_frozen(&self) -> bool {
        Group::open(&self.folder).unwrap().look().is_stopped()
    }

    fn order(&self, states: &[PauseState], intervals: u32) -> Order {
        let target = Target::Group(self.path());
        Order::trial(pausing(&self.pair.subject.name, target, states, intervals))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = self.pair.consumer.child.kill();
        let _ = self.pair.consumer.child.wait();
        eventually(|| cgroup::remove(&self.folder).ok());
    }
}

fn decoys_of(agent: u32, group: &Path) -> bool {
    group.with_file_name(format!("headroom-decoy.{agent}")).exists()
}

#[test]
fn a_group_is_frozen_as_a_whole_and_thawed_also_when_the_agent_is_killed() {
    for folder in groups("headroom-pause") {
        let frozen = Frozen::start(folder.clone());
        let mut agent = Agent::ordered(&frozen.order(&[Runs, Stopped, Sham, Runs], 6));
        let (samples, pauses) = answer(&mut agent);
        let (stopped, sham) = (settled(&samples, 1), settled(&samples, 2));
        assert!(stopped < sham / 2, "{folder:?}: {stopped} {sham}");
        assert!(pauses.pids.contains(&frozen.pair.consumer.pid()) && !frozen.is_frozen());
        assert!(!decoys_of(agent.pid(), &folder));

        agent.order(&frozen.order(&[Stopped, Sham], 300));
        agent.begun();
        assert!(frozen.is_frozen());
        agent.child.kill().unwrap();
        let from = Instant::now();
        eventually(|| (!frozen.is_frozen()).then_some(()));
        assert!(from.elapsed() < Duration::from_secs(2), "{folder:?}: {:?}", from.elapsed());
        eventually(|| (!decoys_of(agent.pid(), &folder)).then_some(()));
    }
}

#[test]
fn a_process_that_takes_no_signal_is_refused_and_left_running() {
    for folder in groups("headroom-asleep") {
        // A process in a frozen group of version 1 is in uninterruptible sleep, as one that waits for a disk.
        let state_file = folder.join("freezer.state");
        let frozen = Frozen::start(folder);
        if !state_file.exists() {
            continue;
        }
        eventually(|| {
            fs::write(&state_file, "FROZEN").unwrap();
            frozen.is_frozen().then_some(())
        });
        let mut agent = Agent::ordered(&frozen.pair.order(&[Stopped, Runs], 4));
        let why = why(&mut agent);
        fs::write(&state_file, "THAWED").unwrap();
        assert!(why.contains("in uninterruptible sleep"), "{why}");
        eventually(|| has_run(&frozen.pair.consumer).then_some(()));
    }
}

#[test]
fn an_empty_group_and_one_that_is_not_there_are_refused() {
    let subject = Subject::idle();
    let (mut agent, ..) = Agent::start();
    let mut cases = [
        ("/", "whole machine"),
        ("no-such-group", "no such group"),
        ("../x", "without `..`"),
        ("a/../b", "without `..`"),
    ]
    .map(|(path, why)| (path.to_owned(), why))
    .to_vec();
    let folders = groups("headroom-nobody");
    if let Some(folder) = folders.first() {
        cases.push((
            folder.file_name().unwrap().to_str().unwrap().to_owned(),
            "no process is in it",
        ));
    }
    for (path, reason) in cases {
        let target = Target::Group(path.clone());
        agent.order(&Order::trial(pausing(&subject.name, target, &[Runs, Stopped], 1)));
        let why = why(&mut agent);
        assert!(why.contains(reason), "{path}: {why}");
    }
    folders.iter().for_each(|folder| cgroup::remove(folder).unwrap());
}

/// A subject that does nothing, with these as its open sockets.
fn with_sockets(copy: &Copied, ends: [OwnedFd; 3]) -> std::process::Child {
    let [input, output, errors] = ends.map(Stdio::from);
    let mut command = Command::new(copy.path());
    command.arg("600").stdin(input).stdout(output).stderr(errors);
    let child = command.spawn().unwrap();
    eventually(|| (copy.running() == 1).then_some(()));
    child
}

#[test]
fn what_talks_to_the_subject_is_named_with_the_way() {
    let (copy, folder) = (Copied::of("sleep"), tempfile::tempdir().unwrap());
    let [stream, control] = ["stationd.sock", "hostapd"].map(|name| folder.path().join(name));
    let unix = UnixListener::bind(&stream).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let _clients = (UnixStream::connect(&stream).unwrap(), TcpStream::connect(address).unwrap());
    let server = UnixDatagram::bind(&control).unwrap();
    let asking = UnixDatagram::unbound().unwrap();
    asking.connect(&control).unwrap();
    let ends = [unix.accept().unwrap().0.into(), tcp.accept().unwrap().0.into(), server.into()];
    let mut child = with_sockets(&copy, ends);

    let mut agent = Agent::measuring(TrialOrder {
        instrument: Some(Instrument::Peers),
        ..measure(&copy.name, 2)
    });
    let peers = |part| if let Part::Peers(peers) = part { Some(peers) } else { None };
    let peers = agent.answer().unwrap().part(peers);
    child.kill().unwrap();
    child.wait().unwrap();
    let own = std::process::id();
    let through = |way: String| {
        let found = |peer: &&Peer| peer.pid == own && peer.through == way;
        assert!(peers.iter().find(found).is_some(), "{way}: {peers:?}");
    };
    through(format!("tcp {address}"));
    let module = linux::sockets::unix_of(own);
    if module.is_err_and(|error| error.is_refusal(rustix::io::Errno::NOENT)) {
        skip::skip!("this kernel has no unix_diag");
        return;
    }
    through(format!("unix {}", stream.display()));
    through(format!("unix {}", control.display()));
}

#[test]
fn a_person_who_tries_the_helpers_words_stops_and_continues_no_process() {
    let run = |words: &[&str]| {
        let agent = env!("CARGO_BIN_EXE_headroom-agent");
        Command::new(agent).args(words).stdin(Stdio::null()).output().unwrap()
    };
    // Without a socket on its input the watchdog does not even begin; the decoy ends with its input.
    assert_eq!(run(&[agent::undo::WORD, "1000"]).status.code(), Some(1));
    assert_eq!(run(&[agent::undo::WORD]).status.code(), Some(1));
    assert_eq!(run(&[agent::pause::DECOY]).status.code(), Some(0));
}
