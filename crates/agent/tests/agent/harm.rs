//! Whoever is measured fails in nothing that it does: forks, threads and programs under every instrument.

use std::{
    fs,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
};

use model::{
    instrument::{CountsOrder, Detail, Instrument, Place, Probe, Scope, StacksOrder},
    pause::{PauseOrder, PauseSpan, PauseState, Target},
    span::Span,
    wire::{Order, TrialOrder},
};

use crate::{
    counts::{Counting, counted, offset_in, ordered, skipped},
    dialogue::{Agent, Answer, Copied, Subject, eventually, loaded, measure, sha256_of, trusted},
};

const BREEDER: &str = include_str!("../../../../tests/programs/breeder.c");

/// One batch of [`BREEDER`]: 40 threads, 10 children, 5 lines of 3 generations, 10 programs, and 5 children
/// of threads.
const CALLS: u64 = 40 + 10 + 5 * 3 + 10 + 5;

const BATCHES: u64 = 4;

/// What it says of itself.
#[derive(Debug)]
struct Said {
    calls: u64,
    failed: String,
}

impl Said {
    fn by(program: &Counting) -> Self {
        let words = program.read();
        let said = Command::new(&words[0]).args(&words[1..]).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        let (calls, failed) = said.trim_end().split_once(' ').unwrap();
        Self { calls: calls.parse().unwrap(), failed: failed.trim().to_owned() }
    }
}

/// What came of a window in which the program had its children.
struct Outcome {
    answer: Answer,
    calls: u64,
}

/// Lets the program have its children under an instrument; `None`, with the reason, where there is none.
fn under(program: &Counting, order: &Order) -> Option<Outcome> {
    let before = Said::by(program);
    assert_eq!(before.failed, "0", "without an instrument");
    let mut agent = match Agent::opened(order) {
        Ok(agent) => agent,
        Err(refusal) => return skipped(&refusal),
    };
    let mut said = Said::by(program);
    for _ in 1..BATCHES {
        said = Said::by(program);
    }
    let answer = agent.answer().unwrap();
    assert_eq!(said.failed, "0", "calls of the program failed");
    let calls = said.calls - before.calls;
    assert_eq!(calls, BATCHES * CALLS);
    Some(Outcome { answer, calls })
}

fn counting(program: &Counting, detail: Detail, scope: Scope) -> Order {
    let probes = vec![program.probe("calls", detail), program.probe("again", Detail::Hits)];
    ordered(CountsOrder { scope, probes }, measure(&program.name, 30))
}

fn instrumented(program: &Counting, instrument: Option<Instrument>) -> Order {
    let measure = TrialOrder { instrument, identify: true, ..measure(&program.name, 30) };
    Order::trial(measure)
}

#[test]
fn children_threads_and_programs_live_and_their_calls_are_counted_and_timed() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let detail = Detail::Spans(Some(0));
    let Some(seen) = under(&program, &counting(&program, detail, Scope::Subject)) else { return };
    let probes = seen.answer.counts().probes;
    let counted = &probes[0];
    assert_eq!((counted.hits, counted.lost, probes[1].hits), (seen.calls, 0, seen.calls));
    // A return is missed now and then, and told: see `EventOrder::everywhere`.
    let paired = counted.spans.len() as u64;
    assert!(paired + counted.unpaired == seen.calls && counted.unpaired <= 10, "{paired} paired");
}

#[test]
fn no_program_fails_where_the_whole_machine_is_counted() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let Some(seen) = under(&program, &counting(&program, Detail::Hits, Scope::Machine)) else {
        return;
    };
    assert_eq!(seen.answer.counts().probes[0].hits, seen.calls);
}

#[test]
fn no_program_fails_under_counters_stacks_and_peers() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let stacks = StacksOrder { scope: Scope::Subject, frequency: 499, stack_bytes: 32_768 };
    for instrument in [None, Some(Instrument::Stacks(stacks)), Some(Instrument::Peers)] {
        under(&program, &instrumented(&program, instrument));
    }
}

#[test]
fn a_subject_that_started_the_agent_is_counted_and_the_load_starts() {
    let shell = Copied::of("sh");
    // As over ssh to the sshd that is measured: the agent is a child of its subject, and so is its load.
    let mut command = Command::new(shell.path());
    command.args(["-c", &format!("{}; exit 0", env!("CARGO_BIN_EXE_headroom-agent"))]);
    let Some(program) = Counting::of(BREEDER) else { return };
    let probes = vec![program.probe("calls", Detail::Hits)];
    let order = CountsOrder { scope: Scope::Subject, probes };
    let mut agent = Agent::start_as(command).0;
    agent.order(&ordered(order, loaded(&shell.name, 5, &["true"])));
    let rounds = match agent.answer() {
        Ok(answer) => answer.samples.last().unwrap().rounds,
        Err(refusal) => return assert!(skipped::<()>(&refusal).is_none()),
    };
    assert!(rounds.started > 2 && rounds.failed == 0, "{rounds:?}");
}

/// Debian's sshd with a configuration, a host key and a port of its own.
struct Sshd {
    copy: Copied,
    child: Child,
    port: u16,
}

impl Sshd {
    /// `None`, with the reason, where there is no sshd.
    fn start() -> Option<Self> {
        if !Path::new("/usr/sbin/sshd").exists() {
            skip::skip!("no sshd here");
            return None;
        }
        let copy = Copied::of("/usr/sbin/sshd");
        let key = copy.file("key");
        let words = ["-q", "-t", "ed25519", "-N", "", "-f", key.to_str().unwrap()];
        assert!(Command::new("ssh-keygen").args(words).status().unwrap().success());
        fs::copy(copy.file("key.pub"), copy.file("allowed")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPermitRootLogin yes\nMaxStartups 100\n\
             SetEnv HOME={}\n",
            key.display(),
            copy.file("allowed").display(),
            // What a shell reads there would fork as well.
            copy.file("").display(),
        );
        fs::write(copy.file("config"), settings).unwrap();
        // Where Debian's service makes it.
        fs::create_dir_all("/run/sshd").unwrap();
        let mut command = Command::new(copy.path());
        command.arg("-D").arg("-f").arg(copy.file("config")).stderr(Stdio::null());
        let sshd = Self { child: command.spawn().unwrap(), copy, port };
        eventually(|| sshd.log_in().then_some(()));
        Some(sshd)
    }

    /// A command over a session of its own.
    fn log_in(&self) -> bool {
        let mut command = Command::new("ssh");
        command.args(["-F", "none", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes"]);
        command.args(["-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=5", "-q"]);
        command.arg("-i").arg(self.copy.file("key")).arg("-p").arg(self.port.to_string());
        command.args(["root@127.0.0.1", "true"]).status().unwrap().success()
    }

    /// A probe where the C library forks.
    fn forks(&self, detail: Detail) -> Probe {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.child.id())).unwrap();
        let library = maps
            .lines()
            .find_map(|line| line.split(' ').next_back()?.contains("/libc.so").then_some(line));
        let path = library.unwrap().split(' ').next_back().unwrap().to_owned();
        let (offset, sha256) =
            (offset_in(Path::new(&path), "-D", "fork@@GLIBC_2.2.5"), sha256_of(Path::new(&path)));
        Probe { name: "forks".to_owned(), place: Place::User { path, sha256, offset }, detail }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_login_succeeds_under_every_instrument() {
    const LOGINS: usize = 5;
    let Some(sshd) = Sshd::start() else { return };
    let counts = |detail| {
        let probes = vec![sshd.forks(detail)];
        Some(Instrument::Counts(CountsOrder { scope: Scope::Subject, probes }))
    };
    let stacks = StacksOrder { scope: Scope::Subject, frequency: 499, stack_bytes: 32_768 };
    let instruments = [
        None,
        Some(Instrument::Peers),
        Some(Instrument::Stacks(stacks)),
        counts(Detail::Hits),
        counts(Detail::Spans(None)),
    ];
    for instrument in instruments {
        let reported = format!("{instrument:?}");
        let measured = trusted(|| {
            let measure =
                TrialOrder { instrument: instrument.clone(), ..measure(&sshd.copy.name, 40) };
            let mut agent = Agent::opened(&Order::trial(measure))?;
            let succeeded = (0..LOGINS).filter(|_| sshd.log_in()).count();
            assert_eq!(succeeded, LOGINS, "{reported}");
            let answer = agent.answer()?;
            let counts = matches!(instrument, Some(Instrument::Counts(_))).then(|| answer.counts());
            Ok(counts.map(|counts| counts.probes[0].hits))
        });
        let counted = match measured {
            Ok(counted) => counted,
            Err(refusal) => return assert!(skipped::<()>(&refusal).is_none()),
        };
        eprintln!("{counted:?} forks of {LOGINS} logins");
        // For each login the same: the connection, its process without rights, the session's command.
        assert!(counted.is_none_or(|forks| forks == 3 * LOGINS as u64), "{counted:?}");
    }
}

#[test]
fn returns_of_a_program_of_go_are_not_watched_and_its_calls_are_counted() {
    let copy = Copied::of("sleep");
    let mut bytes = fs::read(copy.path()).unwrap();
    bytes.extend(b"\xff Go buildinf:");
    let path = copy.file("marked");
    fs::write(&path, bytes).unwrap();
    let subject = Subject::idle();
    let place = Place::User {
        path: path.to_str().unwrap().to_owned(),
        sha256: sha256_of(&path),
        offset: 0x40,
    };
    let order = |detail| {
        let probe = Probe { name: "head".to_owned(), place: place.clone(), detail };
        let counts = CountsOrder { scope: Scope::Subject, probes: vec![probe] };
        ordered(counts, measure(&subject.name, 2))
    };
    let refusal = Agent::ordered(&order(Detail::Spans(None))).refused();
    let reported = refusal.to_string();
    assert!(
        reported.contains("a program of Go") || skipped::<()>(&refusal).is_none(),
        "{reported}"
    );
    counted(&order(Detail::Hits));
}

#[test]
fn a_consumer_that_is_stopped_and_resumed_loses_none_of_its_children() {
    let Some(program) = Counting::of(BREEDER) else { return };
    let subject = Subject::idle();
    let states = [PauseState::Runs, PauseState::Stopped, PauseState::Runs, PauseState::Sham];
    let order = PauseOrder {
        target: Target::Process(program.name.clone()),
        spans: states.map(|state| PauseSpan { state, intervals: 5 }).to_vec(),
        longest: Span::from_secs(60),
    };
    let instrument = Some(Instrument::Pause(order));
    under(&program, &Order::trial(TrialOrder { instrument, ..measure(&subject.name, 20) }));
}
