//! A device in small: an application and a protected daemon that compete, and guard between them.
//!
//! The application is stress-ng in a group of our own in the hierarchies of version 1; the daemon sends packets
//! over the loopback interface of a network namespace of our own, as fast as it can. All of it goes with the
//! device.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    cgroup,
    link::{Links, enter_new_network_namespace},
};

/// Busy hosts are slow; what takes longer than this does not come.
pub(crate) const LONG: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Files that guard may write in a group of version 1.
const KNOBS: [&str; 7] = [
    "cpu.shares",
    "cpu.idle",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpuset.cpus",
    "memory.soft_limit_in_bytes",
    "cgroup.procs",
];

static DEVICES: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Device {
    folder: tempfile::TempDir,
    /// The path of our group below the roots of the hierarchies.
    pub(crate) group: String,
    groups: Vec<PathBuf>,
    actors: Vec<Child>,
    pub(crate) daemon: String,
}

impl Device {
    /// A group of our own in each hierarchy, and this thread in a network namespace of its own. `None` where
    /// this is not a machine for it.
    pub(crate) fn set() -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let trees: Vec<PathBuf> =
            ["cpu", "cpuacct"].into_iter().map(|name| root.join(name)).collect();
        if !trees
            .iter()
            .all(|tree| tree.join("cpu.shares").exists() || tree.join("cpuacct.usage").exists())
        {
            skip::skip!("no hierarchies of version 1 at /sys/fs/cgroup/cpu and cpuacct");
            return None;
        }
        if let Err(error) = enter_new_network_namespace() {
            skip::skip!("no network namespace of our own: {error}");
            return None;
        }
        Links::open().unwrap().set_up(1).unwrap();
        let nth = DEVICES.fetch_add(1, Ordering::Relaxed);
        let group = format!("/headroom-test-{}-{nth}", std::process::id());
        let mut groups = Vec::new();
        for tree in trees {
            let ours = tree.join(&group[1..]);
            let folder = fs::canonicalize(&tree).unwrap().join(&group[1..]);
            if groups.contains(&folder) {
                continue;
            }
            if cgroup::create(&ours).is_err() {
                skip::skip!("{} cannot be made", ours.display());
                return None;
            }
            groups.push(folder);
        }
        let daemon = format!("hrd{}-{nth}", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        Some(Self { folder, group, groups, actors: Vec::new(), daemon })
    }

    /// Starts the application: more workers than CPUs, in our group.
    pub(crate) fn application(&mut self) {
        let groups: Vec<_> = self.groups.iter().map(|group| group.display().to_string()).collect();
        let enter = "for g in $HR_IN; do echo $$ >$g/cgroup.procs || exit 1; done\n\
                     exec stress-ng --quiet --cpu 4 --cpu-method loop --timeout 300s";
        let mut command = Command::new("sh");
        command.args(["-c", enter]).env("HR_IN", groups.join(" "));
        self.actors.push(command.stdout(Stdio::null()).spawn().unwrap());
        self.until("the application runs", || {
            (cgroup::members(&self.groups[0]).ok()?.len() >= 5).then_some(())
        });
    }

    /// Ends the application, and removes its groups under guard's levers.
    pub(crate) fn end_application(&mut self) {
        self.until("the groups are empty", || {
            let groups = self.groups.iter();
            let members: Vec<u32> = groups.flat_map(|group| cgroup::members_below(group)).collect();
            members.iter().for_each(|pid| drop(linux::process::kill(*pid)));
            members.is_empty().then_some(())
        });
        self.actors.iter_mut().for_each(|actor| drop(actor.try_wait()));
        for group in &self.groups {
            self.until("a group goes", || cgroup::remove(group).is_ok().then_some(()));
        }
    }

    /// Starts the protected daemon, which sends packets and would take a whole CPU.
    pub(crate) fn traffic(&mut self) {
        let send = format!(
            "echo {} >/proc/self/comm; while :; do echo packet >/dev/udp/127.0.0.1/9; done",
            self.daemon
        );
        let mut command = Command::new("bash");
        command.args(["-c", &send]).stdout(Stdio::null()).stderr(Stdio::null());
        self.actors.push(command.spawn().unwrap());
    }

    /// A policy for this device; what is given comes before its tables.
    pub(crate) fn policy(&self, top: &str) -> PathBuf {
        self.file(
            "guard.toml",
            &format!(
                "{top}\n[protect]\ninterfaces = [\"lo\"]\ndaemons = [\"{}\"]\n\n\
                 [[application]]\nname = \"load\"\ngroup = \"{}\"\n",
                self.daemon, self.group
            ),
        )
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A path in the device's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// guard with these words, and the device's state folder where the verb has one.
    pub(crate) fn guard(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guard"));
        command.args(words);
        if words[0] != "check" {
            command.arg("--state").arg(self.path("state"));
        }
        command
    }

    /// What guard says to these words.
    pub(crate) fn ended(&self, words: &[&str]) -> Ended {
        Ended::of(&self.guard(words).output().unwrap())
    }

    /// Starts `guard run`, and waits until it answers.
    pub(crate) fn run(&self, words: &[&str]) -> Running {
        let mut command = self.guard(&[&["run"], words].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let running = Running { child };
        self.until("guard answers", || (self.ended(&["status"]).code == 0).then_some(()));
        running
    }

    /// Starts `guard run` with the policy of these lines.
    pub(crate) fn run_with(&self, top: &str) -> Running {
        self.run(&[self.policy(top).to_str().unwrap()])
    }

    pub(crate) fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.ended(&["status", "--json"]).out).unwrap()
    }

    /// Waits until guard bounds the application.
    pub(crate) fn until_bounded(&self) {
        self.until("the application is bounded", || {
            let status = self.status();
            status["applications"][0]["why"].is_string().then_some(())
        });
    }

    /// Waits until guard has written something: its first lever may be one of Wi-Fi's own threads.
    pub(crate) fn until_changed(&self, before: &[(PathBuf, String)]) {
        self.until("a group is bounded", || (self.knobs() != before).then_some(()));
    }

    /// The texts of everything in our groups that guard may write.
    pub(crate) fn knobs(&self) -> Vec<(PathBuf, String)> {
        let paths = self.groups.iter().flat_map(|group| KNOBS.map(|knob| group.join(knob)));
        paths.filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text))).collect()
    }

    /// Tries until it is so.
    pub(crate) fn until<T>(&self, what: &str, mut tries: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(value) = tries() {
                return value;
            }
            assert!(begin.elapsed() < LONG, "{what}: not within {LONG:?}");
            sleep(PAUSE);
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        for _ in 0..200 {
            let members: Vec<u32> =
                self.groups.iter().flat_map(|group| cgroup::members_below(group)).collect();
            for pid in &members {
                let _ = linux::process::kill(*pid);
            }
            for actor in &mut self.actors {
                let _ = actor.kill();
                let _ = actor.try_wait();
            }
            if members.is_empty() {
                break;
            }
            sleep(PAUSE);
        }
        for actor in &mut self.actors {
            let _ = actor.wait();
        }
        for group in &self.groups {
            for _ in 0..200 {
                if cgroup::remove(group).is_ok() || !group.exists() {
                    break;
                }
                sleep(PAUSE);
            }
        }
    }
}

pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn children(&self) -> Vec<u32> {
        let children = format!("/proc/{0}/task/{0}/children", self.pid());
        let children = fs::read_to_string(children).unwrap();
        children.split_whitespace().map(|child| child.parse().unwrap()).collect()
    }

    /// Sends it a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end; its code and what it said.
    pub(crate) fn end(mut self) -> Ended {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < LONG, "guard does not end");
            sleep(PAUSE);
        };
        let mut ended = Ended { code: code(status), out: String::new(), err: String::new() };
        self.child.stdout.take().unwrap().read_to_string(&mut ended.out).unwrap();
        // The watchdog may hold the error output open for a moment longer; what is there is enough.
        self.child.stderr.take().unwrap().read_to_string(&mut ended.err).unwrap();
        ended
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

/// An exit code and two texts.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: code(output.status), out: text(&output.stdout), err: text(&output.stderr) }
    }
}
