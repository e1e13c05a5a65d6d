//! Devices with applications on them, and levers in them, for the tests of this module.

use std::{collections::BTreeMap, path::Path};

use model::share::Share;

use super::{Levers, Options, Targets};
use crate::{
    bounds::{Bounds, Placement},
    decide::{Decision, Lever, Outcome},
    groups::Applications,
    journal::{
        Error, Report,
        fake::{Fake, Spawned},
    },
    policy::{Policy, Rule},
    reading::{Interface, Worker, WorkerKind},
};

/// A fake device, its applications, and levers in it.
pub(super) struct Device {
    pub(super) fake: Fake,
    pub(super) levers: Levers,
    pub(super) applications: Applications,
    pub(super) workers: Vec<Worker>,
    pub(super) interfaces: Vec<Interface>,
    /// As it was before levers were there.
    pub(super) before: BTreeMap<String, String>,
}

/// A rule for processes of a name.
pub(super) fn process(name: &str) -> Rule {
    Rule { name: name.to_owned(), process: Some(name.to_owned()), ..Rule::default() }
}

/// A rule for a group.
pub(super) fn group(name: &str, path: &str) -> Rule {
    Rule { name: name.to_owned(), group: Some(path.to_owned()), ..Rule::default() }
}

pub(super) fn policy(rules: Vec<Rule>) -> Policy {
    let mut policy: Policy = toml::from_str("").unwrap();
    policy.applications = rules;
    policy
}

/// Levers on a fake.
///
/// A lock that a guard has just let go may be held a moment longer: by a child of another test of this process,
/// between its fork and its exec.
pub(super) fn levers(fake: &Fake) -> (Levers, Report) {
    for _ in 0..500 {
        let options = Options { state: fake.state(), writes_per_second: 1000, watchdog: false };
        match Levers::with(Box::new(fake.clone()), fake.hierarchies(), options) {
            Err(Error::Busy { .. }) => std::thread::sleep(std::time::Duration::from_millis(10)),
            made => return made.unwrap(),
        }
    }
    panic!("the state folder stays locked");
}

/// Everything that guard meets: an application in a group, one without, Wi-Fi's threads, an interface.
pub(super) fn populate(fake: &Fake) {
    for (pid, comm) in [(50, "backup"), (51, "backup"), (60, "miner"), (70, "other")] {
        fake.spawn(pid, Spawned { comm, ..Spawned::default() });
        fake.put(&format!("/proc/{pid}/task/{pid}/comm"), comm);
    }
    for (pid, comm) in [(12, "ksoftirqd/0"), (80, "napi/wlan0-1"), (81, "kworker/0:1-phy0")] {
        fake.spawn(pid, Spawned { comm, kernel: true, parent: 2, user: 0, ..Spawned::default() });
    }
    for tree in fake.hierarchies().trees() {
        let mount = tree.mount.strip_prefix(fake.root()).unwrap().to_str().unwrap().to_owned();
        fake.group(&format!("/{mount}/apps/miner"));
        fake.group(&format!("/{mount}/others"));
        for name in ["cpuset.cpus", "cpuset.mems"] {
            let all = if name == "cpuset.cpus" { "0-3" } else { "0" };
            for folder in ["apps", "apps/miner", "others"] {
                let _ = fake.echo(all, &format!("/{mount}/{folder}/{name}"));
            }
        }
        fake.echo("60", &format!("/{mount}/apps/miner/cgroup.procs")).unwrap();
        fake.echo("70", &format!("/{mount}/others/cgroup.procs")).unwrap();
    }
    fake.put("/sys/class/net/wlan0/threaded", "0\n");
    if fake.path("/sys/fs/resctrl").exists() {
        fake.put("/sys/fs/resctrl/tasks", "12\n50\n51\n60\n70\n80\n81\n");
    }
}

impl Device {
    /// A populated device whose policy bounds `backup` (processes) and `miner` (a group).
    pub(super) fn on(fake: Fake) -> Self {
        populate(&fake);
        Self::with(fake, vec![process("backup"), group("miner", "/apps/miner")])
    }

    pub(super) fn with(fake: Fake, rules: Vec<Rule>) -> Self {
        let before = fake.snapshot();
        let applications = Applications::find(&policy(rules), &fake.hierarchies()).unwrap();
        let (levers, _) = levers(&fake);
        let worker = |tid, name: &str, kind| Worker {
            tid,
            name: name.to_owned(),
            kind,
            ..Worker::default()
        };
        let workers = vec![
            worker(12, "ksoftirqd/0", WorkerKind::Ksoftirqd),
            worker(80, "napi/wlan0-1", WorkerKind::Napi),
            worker(81, "kworker/0:1-phy0", WorkerKind::Driver),
        ];
        let interfaces = vec![Interface { name: "wlan0".to_owned(), ..Interface::default() }];
        Self { fake, levers, applications, workers, interfaces, before }
    }

    /// Bounds for the first application, and none for the others.
    pub(super) fn bound(&mut self, bounds: Bounds) -> Outcome {
        let mut all = vec![Bounds::default(); self.applications.list().len()];
        all[0] = bounds;
        self.decide(all, Placement::default())
    }

    /// One tick, after a look at who is there.
    pub(super) fn decide(&mut self, bounds: Vec<Bounds>, placement: Placement) -> Outcome {
        self.applications.refresh();
        let decision = Decision { bounds, placement, ..Decision::default() };
        let targets = Targets {
            applications: &self.applications,
            workers: &self.workers,
            interfaces: &self.interfaces,
        };
        self.levers.apply(&decision, &targets)
    }

    /// The same, until a change by a person is seen.
    pub(super) fn again(&mut self, bounds: &Bounds) -> Outcome {
        (0..super::CHECKS_EVERY).map(|_| self.bound(bounds.clone())).last().unwrap()
    }

    /// Puts everything back, and finds that it is as it was.
    pub(super) fn is_as_before(&mut self) -> Report {
        let report = self.levers.restore();
        assert_same(&self.before, &self.fake.snapshot());
        assert!(!self.fake.state().join("journal").exists());
        report
    }
}

/// Every bound at once.
pub(super) fn all() -> Bounds {
    Bounds {
        weight: 512,
        idle: false,
        cpus: Some(vec![2, 3]),
        quota: Some(Share::of(0.5)),
        memory_high_kib: None,
        cache: None,
    }
}

/// The lever and the words of the only refusal.
pub(super) fn refusal(outcome: &Outcome) -> (Lever, &str) {
    match outcome.refused.as_slice() {
        [(_, lever, why)] => (*lever, why),
        other => panic!("one refusal: {other:?}"),
    }
}

/// Compares two states of a device file by file, so that a failure names the file.
pub(super) fn assert_same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    for (path, text) in before {
        assert_eq!(after.get(path), Some(text), "{path}");
    }
    for path in after.keys() {
        assert!(before.contains_key(path), "{path} is new");
    }
}

/// Whether `path` is there.
pub(super) fn exists(fake: &Fake, path: &str) -> bool {
    Path::new(&fake.path(path)).exists()
}
