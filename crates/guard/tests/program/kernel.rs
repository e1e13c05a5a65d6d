//! Levers on the kernel's own control groups: each is undone, and none makes an application fail.
//!
//! Groups are made below one of our own in version 1's hierarchies, which is removed at the end; where there are none,
//! or we are not root, a test is skipped with its reason.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use guard::{
    act::{Levers, Options, Targets},
    bounds::Bounds,
    decide::Decision,
    groups::{Applications, Hierarchies},
    policy::Policy,
};
use model::share::Share;

use crate::device::LONG;

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

/// Nothing beats here while a bounded shell answers in its own time, and a watchdog would take over.
fn open(root: &Path) -> Levers {
    let state = root.join("run/headroom/guard");
    let options = Options { state, watchdog: false, ..Options::default() };
    Levers::open(Hierarchies::at(root), options).unwrap().0
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

/// Groups of our own below the roots of version 1's hierarchies, and a root that leads to them.
struct Below {
    root: tempfile::TempDir,
    tops: Vec<PathBuf>,
    children: Vec<Child>,
}

const CONTROLLERS: [&str; 3] = ["cpu", "cpuacct", "cpuset"];

impl Below {
    /// Nothing of it where there is no version 1 that we may write to.
    fn make(test: &str) -> Option<Self> {
        let name = format!("headroom-test-{}-{test}", std::process::id());
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
            while fs::remove_dir(&group).is_err() && group.exists() && start.elapsed() < LONG {
                for pid in linux::cgroup::members(&group).unwrap_or_default() {
                    // One that has ended by itself is what is wanted.
                    let _ = linux::process::kill(pid);
                }
                sleep(Duration::from_millis(10));
            }
        }
    }
}

#[test]
fn every_lever_on_the_kernels_own_groups_is_undone() {
    let Some(below) = Below::make("levers") else { return };
    let root = below.root.path();
    let before = below.snapshot();
    let mut levers = open(root);
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
#[test]
fn a_bounded_program_forks_and_asks_in_vain_only_for_the_cpu_that_was_taken() {
    let Some(mut below) = Below::make("harm") else { return };
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
        let sent = Command::new("kill").args(["-USR1", &pid.to_string()]).status();
        assert!(sent.unwrap().success());
        said.next().unwrap()
    };
    assert_eq!(asks(), "given");
    let mut levers = open(root);
    for bounds in [bounds(), Bounds { idle: true, ..bounds() }] {
        assert_eq!(apply(&mut levers, root, POLICY, &bounds).refused, []);
        sleep(Duration::from_millis(500));
        assert_eq!(asks(), "refused");
    }
    levers.restore();
    assert_eq!(asks(), "given");
}
