//! Processes that die in the middle of a pause: the monitor runs again within two seconds.
//!
//! | who | where | who resumes |
//! | --- | --- | --- |
//! | headroom, by `kill -9` or Ctrl-C | this machine | the agent |
//! | the agent, by `kill -9` | a guest | the watchdog |
//! | QEMU's socket to the agent, while the guest goes on | a guest | the agent |
//!
//! In a guest it is the guest's own clock that counts: a script there writes on the console how its monitor
//! is, and when.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    os::unix::{fs::symlink, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use lab::{
    Cancel, Lab, Settings,
    device::Device,
    image,
    vm::{self, Machine, Shape, Start, Surroundings, snapshot},
};
use model::{
    architecture::Architecture,
    instrument::Instrument,
    pause::{PauseOrder, PauseSpan, PauseState, Target},
    span::Span,
    study::Mode,
    wire::{Frame, Measure, Order, SubjectOrder},
};
use rustix::process::Signal;

use crate::harness::{Place, Running, cache, eventually, stationd};

/// The issue's own bound.
const AT_MOST: Duration = Duration::from_secs(2);

/// What comes at all comes within this.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process of the test's own, with a name of its own. Dropping it ends it.
struct Own {
    child: Child,
    name: String,
}

impl Own {
    /// Names are the whole machine's, and 15 bytes of them count: no one else has one with our number.
    fn start(place: &Place, role: &str) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{role}{number}-{}", std::process::id());
        symlink("/bin/sh", place.path(&name)).unwrap();
        let mut command = Command::new(place.path(&name));
        let work = "while :; do sleep 0.05; done";
        Self { child: command.args(["-c", work]).spawn().unwrap(), name }
    }

    /// The state that `/proc` tells of it.
    fn state(&self) -> char {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name may hold anything; the state is the first field behind it.
        text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// headroom on this machine, at the moment at which it has stopped a consumer.
struct Stopped {
    running: Running,
    consumer: Own,
    _subject: Own,
    /// The agent and whom it has started: they carry no mark.
    ours: Vec<u32>,
    agent: u32,
}

impl Stopped {
    fn wait_for(place: &Place) -> Self {
        let subject = Own::start(place, "heard");
        let consumer = Own::start(place, "hears");
        let words = ["pause", &consumer.name, &subject.name, "--on", "local", "--span", "10s"];
        let more = ["--settle", "1s", "--repetitions", "1", "--out", "run", "--json"];
        let mut running = place.headroom(words).words(more).start();
        running.event("trial-started");
        let stopped = || (consumer.state() == 'T').then_some(());
        if eventually(PATIENCE, stopped).is_none() {
            running.signal(Signal::INT);
            panic!("no one was stopped:\n{}", running.end());
        }
        let agent = place.processes().into_iter().find(|one| one.name == "headroom-agent");
        let agent = agent.expect("an agent at work").pid.cast_unsigned();
        let ours: Vec<u32> = children(agent).into_iter().chain([agent]).collect();
        assert!(ours.len() >= 2, "the agent {agent} has no watchdog");
        Self { running, consumer, _subject: subject, ours, agent }
    }

    /// The consumer runs again in time after headroom has got a signal.
    fn runs_again_after(&self, signal: Signal) {
        assert_eq!(self.consumer.state(), 'T');
        let deed = Instant::now();
        self.running.signal(signal);
        let runs = || matches!(self.consumer.state(), 'R' | 'S' | 'D').then_some(deed.elapsed());
        let after = eventually(PATIENCE, runs).expect("the consumer is stopped for good");
        assert!(after < AT_MOST, "it was stopped for another {after:?}");
        eprintln!("it ran {} ms after the signal", after.as_millis());
    }

    /// Nothing of headroom's is left: no process, no control group.
    fn nothing_is_left(&self, place: &Place) {
        assert_eq!(place.left(), []);
        let alive = |pid: &&u32| Path::new(&format!("/proc/{pid}")).exists();
        let gone = || self.ours.iter().find(alive).is_none().then_some(());
        eventually(PATIENCE, gone).expect("an end of the agent, its watchdog and its decoy");
        assert_eq!(groups_of(self.agent), [] as [PathBuf; 0]);
        assert!(matches!(self.consumer.state(), 'R' | 'S' | 'D'));
    }
}

/// Processes whose parent this is.
fn children(parent: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = text.rsplit_once(") ").map(|(_, rest)| rest.split(' ').nth(1));
        fields.flatten() == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

/// The control groups that an agent has made, in every tree.
fn groups_of(agent: u32) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let trees = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let place = fields.next()?;
        fields.next()?.starts_with("cgroup").then_some(place)
    });
    let ours = [format!("headroom.{agent}"), format!("headroom-decoy.{agent}")];
    let folders = trees.flat_map(|tree| ours.iter().map(|name| Path::new(tree).join(name)));
    folders.filter(|folder| folder.exists()).collect()
}

#[test]
fn after_kill_9_of_headroom_the_consumer_runs_within_two_seconds_and_nothing_is_left() {
    let place = Place::without_guests();
    let stopped = Stopped::wait_for(&place);
    stopped.runs_again_after(Signal::KILL);
    stopped.nothing_is_left(&place);
}

#[test]
fn after_ctrl_c_the_consumer_runs_within_two_seconds_and_nothing_is_left() {
    let place = Place::without_guests();
    let stopped = Stopped::wait_for(&place);
    stopped.runs_again_after(Signal::INT);
    stopped.nothing_is_left(&place);
    stopped.running.end().code(130);
}

/// What runs in the guest: a monitor, and a look at it until it was stopped and runs again. Then it waits
/// until no one is left whom the agent has started for the pause. The word before each line is not in the
/// script alongside the line, so that the terminal's echo of the script is none of them.
const WATCH: &str = r#"
say() { echo "weather $*"; }
look() {
    read -r stat </proc/$monitor/stat && state=${stat##*) } && state=${state%% *}
    read -r now rest </proc/uptime
}
helpers() { cat /proc/[0-9]*/comm 2>/dev/null | grep -c -e headroom-watch -e headroom-decoy; }
printf '#!/bin/sh\nwhile :; do sleep 0.1; done\n' >/tmp/monitor
chmod +x /tmp/monitor
/tmp/monitor </dev/null >/dev/null 2>&1 &
monitor=$!
say "agent $(pgrep -x headroom-agent)"
until look; [ $state = T ]; do sleep 0.05; done
say "helpers $(helpers)"
while look; [ $state = T ]; do say "stopped $now"; sleep 0.05; done
say "runs $now"
until [ "$(helpers)" = 0 ]; do sleep 0.05; done
look
say "alone $state"
"#;

/// A guest whose monitor is stopped for half a minute.
struct Guest {
    machine: Machine,
    console: Console,
    /// The agent's pid there.
    agent: String,
    _folder: tempfile::TempDir,
}

impl Guest {
    fn stopped() -> Self {
        let lab = lab();
        let image = image::obtain(&lab, &[]).unwrap();
        let shape = Shape {
            arch: Architecture::X86_64,
            mode: Mode::RealTime,
            accelerator: vm::accelerator(&lab, &image, Mode::RealTime),
            radios: 3,
            clients: 6,
            shell: true,
            wan: false,
            memory: false,
            forward: None,
            root_mib: 0,
            perturbed: None,
        };
        let snapshot = snapshot::obtain(&lab, &image, &shape).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let console_log = folder.path().join("console.log");
        let around = Surroundings::of(&lab, &console_log);
        let restored = Start::Restore(&snapshot.memory);
        let mut machine = Machine::start(&shape, restored, around).unwrap();
        let mut console = Console::of(&machine);
        machine.begin(&Order::Introduce { subject: None }).unwrap();
        until(&mut machine, |frame| matches!(frame, Frame::Census(_)));
        console.type_in(&format!(
            "stty -echo\ncat >/tmp/watch <<'end-of-watch'{WATCH}end-of-watch\nsh /tmp/watch &\n"
        ));
        let agent = console.hear("agent");
        machine.order(&Order::measure(pausing())).unwrap();
        // The first sample says that the span has begun.
        until(&mut machine, |frame| matches!(frame, Frame::Sample(_)));
        assert_eq!(console.hear("helpers"), "2", "a watchdog and a decoy");
        console.moment("stopped");
        Self { machine, console, agent, _folder: folder }
    }

    /// The monitor runs again in time, by the guest's clock, seen from before the deed.
    fn runs_again_after(mut self, deed: impl FnOnce(&mut Self)) -> Self {
        let before = self.console.latest("stopped");
        deed(&mut self);
        let after = Duration::from_secs_f64(self.console.moment("runs") - before);
        assert!(after < AT_MOST, "it was stopped for another {after:?} of the guest's time");
        eprintln!("it ran {} ms of the guest's time after the deed", after.as_millis());
        let state = self.console.hear("alone");
        assert!(matches!(&*state, "R" | "S" | "D"), "{state}");
        self
    }
}

fn lab() -> Lab {
    let settings = Settings {
        cache: cache(),
        arch: Architecture::X86_64,
        device: stationd().parent().map(Path::to_owned).into_iter().collect(),
        mirror: None,
        packages: Vec::new(),
        firmware: None,
        replaced: Vec::new(),
        looked_for: None,
        counts_memory: false,
        patience: Duration::from_secs(180),
        workers: 1,
    };
    Lab::new(settings, Cancel::default(), Box::new(drop)).unwrap()
}

fn pausing() -> Measure {
    let span = |state| PauseSpan { state, intervals: 30 };
    let order = PauseOrder {
        target: Target::Process("monitor".to_owned()),
        spans: vec![span(PauseState::Stopped), span(PauseState::Sham)],
        longest: Span::from_secs(120),
    };
    Measure {
        subject: SubjectOrder { process: "hostapd".to_owned(), start: None },
        others: Vec::new(),
        load: None,
        background: None,
        offset: Span::default(),
        warm_up: Span::default(),
        window: Span::from_secs(60),
        sample_every: Span::from_secs(1),
        instrument: Some(Instrument::Pause(order)),
        topology: None,
        identify: false,
        state: None,
        witness: None,
    }
}

fn until(machine: &mut Machine, wanted: impl Fn(&Frame) -> bool) {
    while !wanted(&machine.frame("the agent's next word").unwrap()) {}
}

/// A guest's console, of which the lines that [`WATCH`] writes are read.
struct Console {
    tap: UnixStream,
    shown: String,
}

impl Console {
    fn of(machine: &Machine) -> Self {
        let tap = machine.tap_console().unwrap();
        tap.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        Self { tap, shown: String::new() }
    }

    /// A serial line has a small buffer.
    fn type_in(&mut self, text: &str) {
        for piece in text.as_bytes().chunks(256) {
            self.tap.write_all(piece).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Takes what there is; false where there was nothing.
    fn take(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match self.tap.read(&mut buffer) {
            Ok(0) => panic!("the guest ended:\n{}", self.shown),
            Ok(length) => {
                self.shown.push_str(&String::from_utf8_lossy(&buffer[..length]));
                true
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                false
            }
            Err(error) => panic!("{error}:\n{}", self.shown),
        }
    }

    /// The last whole line of this word, without it. A prompt of the shell's may stand before it.
    fn heard(&self, word: &str) -> Option<String> {
        let whole = self.shown.rsplit_once('\n')?.0;
        let word = format!("weather {word} ");
        let rest = whole.lines().rev().find_map(|line| line.split_once(&word))?.1;
        Some(rest.trim_end().to_owned())
    }

    /// Waits for a line of this word.
    fn hear(&mut self, word: &str) -> String {
        let heard = eventually(PATIENCE, || {
            self.take();
            self.heard(word)
        });
        heard.unwrap_or_else(|| panic!("no line `{word}` came:\n{}", self.shown))
    }

    /// The same, and the moment of the guest's uptime that it tells, s.
    fn moment(&mut self, word: &str) -> f64 {
        let said = self.hear(word);
        said.parse().expect("a moment")
    }

    /// The moment of the latest line of this word, when nothing more comes for now.
    fn latest(&mut self, word: &str) -> f64 {
        while self.take() {}
        self.moment(word)
    }
}

#[test]
fn after_kill_9_of_the_agent_the_monitor_runs_within_two_seconds() {
    let _place = Place::with_guests();
    // By its number: busybox's `pidof` and `killall` go by the executable, which is the watchdog's too.
    let kill = |guest: &mut Guest| guest.console.type_in(&format!("kill -9 {}\n", guest.agent));
    let mut guest = Guest::stopped().runs_again_after(kill);
    // Pid 1 has started another one, which introduces itself: the one before is really gone.
    until(&mut guest.machine, |frame| matches!(frame, Frame::Hello { .. }));
}

#[test]
fn after_the_end_of_qemus_socket_the_monitor_runs_within_two_seconds() {
    let _place = Place::with_guests();
    let mut guest = Guest::stopped().runs_again_after(|guest| guest.machine.hang_up());
    assert!(!guest.machine.has_ended(), "the guest was to go on without us");
}
