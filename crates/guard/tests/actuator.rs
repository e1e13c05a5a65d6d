//! Levers and their watchdog as processes: killed, stuck, and on the kernel's own control groups.
//!
//! Without the usual harness, because the watchdog is this very program with another word. Groups are made below one
//! of our own in version 1's hierarchies, which is removed at the end; where there are none, or we are not root,
//! that part is skipped with its reason.

#![expect(
    clippy::print_stdout,
    reason = "this is its own harness, and a guard tells its test what it does"
)]
#![expect(
    clippy::unwrap_used,
    reason = "a panic is the failure report; clippy knows only the usual harness"
)]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitCode, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use guard::{
    act::{Beat, Levers, Options, Targets},
    bounds::Bounds,
    decide::Decision,
    groups::{Applications, Hierarchies},
    journal::fake::Fake,
    policy::Policy,
    watchdog,
};
use model::share::Share;

/// The word that makes this program a guard that bounds and then waits.
const HOLD: &str = "hold";

/// Whatever a busy machine does, restoring has happened after this.
const PATIENCE: Duration = Duration::from_secs(60);

const POLICY: &str = "
[[application]]
name = 'grouped'
group = '/apps/miner'
";

const STRAYS: &str = "
[[application]]
name = 'grouped'
group = '/apps/miner'

[[application]]
name = 'stray'
process = 'sleep'
";

fn main() -> ExitCode {
    if let Some(ended) = watchdog::called() {
        return ended;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(HOLD) => hold(Path::new(&words[1]), &words[2]),
        // Who lists tests finds none by name here: they run together.
        Some("--list") => {}
        _ => all(),
    }
    ExitCode::SUCCESS
}

fn all() {
    let tests: [(&str, fn()); 7] = [
        ("a_guard_that_is_killed_is_followed_by_its_watchdog", killed),
        ("a_guard_that_is_stuck_is_undone_and_notices", stuck),
        ("a_watchdog_that_is_killed_is_followed_by_another", renewed),
        ("a_guard_that_ends_by_itself_restores_by_itself", ended),
        ("every_lever_on_the_kernels_own_groups_is_undone", real),
        ("a_bounded_program_forks_and_asks_in_vain_only_for_the_cpu_that_was_taken", real_harm),
        ("a_guard_that_is_killed_on_the_kernels_own_groups_is_undone", real_killed),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

/// A device: a fake's plain files, or a folder that leads to groups of our own.
fn options(root: &Path) -> Options {
    Options { state: root.join("run/headroom/guard"), ..Options::default() }
}

fn bounds() -> Bounds {
    let cpus = linux::system::cpus();
    Bounds {
        weight: 512,
        quota: Some(Share::of(0.5)),
        cpus: cpus.last().map(|&cpu| vec![cpu]),
        ..Bounds::default()
    }
}

fn apply(
    levers: &mut Levers,
    root: &Path,
    policy: &str,
    bounds: &Bounds,
) -> guard::decide::Outcome {
    let policy: Policy = toml::from_str(policy).unwrap();
    let applications = Applications::find(&policy, &Hierarchies::at(root)).unwrap();
    let bounds = vec![bounds.clone(); applications.list().len()];
    let decision = Decision { bounds, ..Decision::default() };
    let targets = Targets { applications: &applications, workers: &[], interfaces: &[] };
    levers.apply(&decision, &targets)
}

/// A guard: bounds, says so, and beats until it is told to end or has been taken over.
fn hold(root: &Path, policy: &str) {
    let (mut levers, _) = Levers::open(Hierarchies::at(root), options(root)).unwrap();
    apply(&mut levers, root, policy, &bounds());
    println!("held {}", levers.watchdog_pid().unwrap());
    while root.join("go-on").exists() {
        match levers.beat() {
            Beat::Fine => {}
            Beat::Renewed => println!("renewed {}", levers.watchdog_pid().unwrap()),
            Beat::TakenOver => {
                println!("taken");
                return;
            }
        }
        sleep(Duration::from_millis(50));
    }
}

/// A guard in a process of its own.
struct Guard {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Guard {
    fn on(root: &Path, policy: &str) -> Self {
        fs::write(root.join("go-on"), "").unwrap();
        let program = std::env::current_exe().unwrap();
        let mut command = Command::new(program);
        command.arg(HOLD).arg(root).arg(policy).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    fn says(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// The watchdog that it tells of.
    fn watchdog(&mut self, word: &str) -> u32 {
        let line = self.says();
        line.strip_prefix(word)
            .and_then(|rest| rest.trim().parse().ok())
            .unwrap_or_else(|| panic!("{line}"))
    }

    fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u32, name: &str) {
    assert!(
        Command::new("kill")
            .args([&format!("-{name}"), &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

fn eventually(what: &str, is: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(10));
    }
    start.elapsed()
}

/// A fake's files, written to as they are: the kernel's rules are not needed to be killed.
fn plain() -> (Fake, BTreeMap<String, String>) {
    let fake = Fake::v1();
    for tree in ["cpu", "cpuset"] {
        fake.group(&format!("/sys/fs/cgroup/{tree}/apps/miner"));
    }
    let cpus = linux::system::cpus();
    let all = format!("{}-{}", cpus[0], cpus[cpus.len() - 1]);
    fake.put("/sys/fs/cgroup/cpuset/apps/miner/cpuset.cpus", &format!("{all}\n"));
    let before = fake.snapshot();
    (fake, before)
}

fn killed() {
    let (fake, before) = plain();
    let mut guard = Guard::on(fake.root(), POLICY);
    guard.watchdog("held");
    assert_ne!(fake.snapshot(), before, "it bounds");
    guard.signal("KILL");
    let after = eventually("the watchdog restores", || fake.snapshot() == before);
    println!("restored {after:?} after the kill");
    eventually("the journal goes", || !fake.state().join("journal").exists());
}

fn stuck() {
    let (fake, before) = plain();
    let mut guard = Guard::on(fake.root(), POLICY);
    guard.watchdog("held");
    guard.signal("STOP");
    let after = eventually("the watchdog restores", || fake.snapshot() == before);
    println!("restored {after:?} after the stop");
    guard.signal("CONT");
    assert_eq!(guard.says(), "taken");
    guard.child.wait().unwrap();
    assert_eq!(fake.snapshot(), before);
}

fn renewed() {
    let (fake, before) = plain();
    let mut guard = Guard::on(fake.root(), POLICY);
    let first = guard.watchdog("held");
    signal(first, "KILL");
    let second = guard.watchdog("renewed");
    assert_ne!(first, second);
    guard.signal("KILL");
    eventually("the other watchdog restores", || fake.snapshot() == before);
}

fn ended() {
    let (fake, before) = plain();
    let mut guard = Guard::on(fake.root(), POLICY);
    let dog = guard.watchdog("held");
    fs::remove_file(fake.root().join("go-on")).unwrap();
    assert!(guard.child.wait().unwrap().success());
    assert_eq!(fake.snapshot(), before);
    assert!(!fake.state().join("journal").exists());
    assert!(!Path::new(&format!("/proc/{dog}")).exists(), "the watchdog is let go");
}

/// Groups of our own below the roots of version 1's hierarchies, and a root that leads to them.
struct Below {
    root: tempfile::TempDir,
    tops: Vec<PathBuf>,
    children: Vec<Child>,
}

const CONTROLLERS: [&str; 3] = ["cpu", "cpuacct", "cpuset"];

impl Below {
    /// Nothing of it where there is no version 1 that we may write to.
    fn make() -> Option<Self> {
        let name = format!("headroom-test-{}", std::process::id());
        let root = tempfile::tempdir().unwrap();
        let mut below = Self { root, tops: Vec::new(), children: Vec::new() };
        let at = below.root.path().to_owned();
        fs::create_dir_all(at.join("sys/fs/cgroup")).unwrap();
        fs::create_dir_all(at.join("proc/self")).unwrap();
        fs::create_dir_all(at.join("proc/sys/kernel/random")).unwrap();
        fs::copy("/proc/sys/kernel/random/boot_id", at.join("proc/sys/kernel/random/boot_id"))
            .unwrap();
        let mut mountinfo = String::new();
        for controller in CONTROLLERS {
            let mount = Path::new("/sys/fs/cgroup").join(controller);
            let top = mount.join(&name);
            if let Err(error) = fs::create_dir(&top) {
                skip::skip!("no version 1 hierarchy to write to at {}: {error}", mount.display());
                return None;
            }
            below.tops.push(top.clone());
            symlink(&top, at.join("sys/fs/cgroup").join(controller)).unwrap();
            mountinfo += &format!(
                "1 1 0:1 /{name} /sys/fs/cgroup/{controller} rw - cgroup cgroup rw,{controller}\n"
            );
            fs::create_dir_all(top.join("apps/miner")).unwrap();
        }
        fs::write(at.join("proc/self/mountinfo"), mountinfo).unwrap();
        let cpuset = &below.tops[2];
        for folder in [cpuset.clone(), cpuset.join("apps"), cpuset.join("apps/miner")] {
            for file in ["cpuset.cpus", "cpuset.mems"] {
                let above = fs::read(folder.with_file_name(file)).unwrap();
                fs::write(folder.join(file), above).unwrap();
            }
        }
        fs::write(below.tops[0].join("apps/miner/cpu.shares"), "3000").unwrap();
        for group in ["apps/miner", ""] {
            below.take_in(Command::new("sleep").arg("600").spawn().unwrap(), group);
        }
        Some(below)
    }

    /// Puts a process into a group; it ends with the groups.
    fn take_in(&mut self, child: Child, group: &str) {
        let pid = child.id().to_string();
        for top in &self.tops {
            fs::write(top.join(group).join("cgroup.procs"), &pid).unwrap();
        }
        symlink(format!("/proc/{pid}"), self.root.path().join("proc").join(&pid)).unwrap();
        self.children.push(child);
    }

    /// Every value and every membership below our groups.
    fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        let mut open = self.tops.clone();
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
                all.insert(path, "a folder".to_owned());
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap();
            // What counts is not set.
            let counts =
                name.contains("stat") || name.contains("usage") || name.contains("pressure");
            if !counts && let Ok(text) = fs::read_to_string(&path) {
                all.insert(path, text);
            }
        }
        all
    }
}

impl Drop for Below {
    /// Ends whoever is in the groups, a forker's children too: a group with one of them in it stays.
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let groups = self.tops.iter().flat_map(|top| {
            ["headroom-guard.stray", "apps/miner", "apps", ""].map(|group| top.join(group))
        });
        for group in groups {
            let start = Instant::now();
            while fs::remove_dir(&group).is_err() && group.exists() && start.elapsed() < PATIENCE {
                for pid in linux::cgroup::members(&group).unwrap_or_default() {
                    // One that has ended by itself is what is wanted.
                    let _ = linux::process::kill(pid);
                }
                sleep(Duration::from_millis(10));
            }
        }
    }
}

fn real() {
    let Some(below) = Below::make() else { return };
    let root = below.root.path();
    let before = below.snapshot();
    let (mut levers, _) = Levers::open(Hierarchies::at(root), options(root)).unwrap();
    let outcome = apply(&mut levers, root, STRAYS, &bounds());
    assert_eq!(outcome.refused, []);
    let read = |file: &str| fs::read_to_string(root.join("sys/fs/cgroup").join(file)).unwrap();
    assert_eq!(read("cpu/apps/miner/cpu.shares"), "512\n");
    assert_eq!(read("cpu/headroom-guard.stray/cpu.cfs_quota_us"), "5000\n");
    let last = linux::system::cpus().last().unwrap().to_string();
    assert_eq!(read("cpuset/headroom-guard.stray/cpuset.cpus").trim(), last);
    assert_eq!(read("cpuset/headroom-guard.stray/cgroup.procs").lines().count(), 1);
    let idle = Bounds { idle: true, ..bounds() };
    assert_eq!(apply(&mut levers, root, STRAYS, &idle).refused, []);
    assert_eq!(read("cpu/apps/miner/cpu.idle"), "1\n");
    assert_eq!(apply(&mut levers, root, STRAYS, &bounds()).refused, []);
    assert_eq!(read("cpu/apps/miner/cpu.shares"), "512\n");
    apply(&mut levers, root, STRAYS, &idle);
    let report = levers.restore();
    assert!(report.left.is_empty() && report.failed.is_empty(), "{report}");
    assert_eq!(below.snapshot(), before);
}

/// Forks without end and says what fails; at USR1 it asks for the first CPU, and says whether it got it.
const FORKER: &str = "
trap 'taskset -c \"$0\" true 2>/dev/null && echo given || echo refused' USR1
echo ready
while :; do /bin/true || echo failed; (:) || echo failed; done";

/// What the levers can break for an application: none of its forks and programs, but a CPU that it asks for by number
/// is refused while it is taken away, and only then.
fn real_harm() {
    let Some(mut below) = Below::make() else { return };
    let cpus = linux::system::cpus();
    let [first, .., _] = cpus[..] else {
        skip::skip!("one CPU alone cannot be taken away");
        return;
    };
    let script = Command::new("sh")
        .args(["-c", FORKER, &first.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    let mut forker = script.unwrap();
    let pid = forker.id();
    let mut said = BufReader::new(forker.stdout.take().unwrap()).lines().map(Result::unwrap);
    below.take_in(forker, "apps/miner");
    assert_eq!(said.next().unwrap(), "ready");
    let root = below.root.path();
    let mut asks = || {
        signal(pid, "USR1");
        said.next().unwrap()
    };
    assert_eq!(asks(), "given");
    // Nothing beats here while a bounded shell answers in its own time, and a watchdog would take over.
    let unwatched = Options { watchdog: false, ..options(root) };
    let (mut levers, _) = Levers::open(Hierarchies::at(root), unwatched).unwrap();
    for bounds in [bounds(), Bounds { idle: true, ..bounds() }] {
        assert_eq!(apply(&mut levers, root, POLICY, &bounds).refused, []);
        sleep(Duration::from_millis(500));
        assert_eq!(asks(), "refused");
    }
    levers.restore();
    assert_eq!(asks(), "given");
}

fn real_killed() {
    let Some(below) = Below::make() else { return };
    let before = below.snapshot();
    let mut guard = Guard::on(below.root.path(), STRAYS);
    guard.watchdog("held");
    assert_ne!(below.snapshot(), before, "it bounds");
    guard.signal("KILL");
    let after = eventually("the watchdog restores", || below.snapshot() == before);
    println!("restored {after:?} after the kill");
}
