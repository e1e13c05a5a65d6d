//! The application's group, directly below the root in every hierarchy that can bound it.
//!
//! A weight counts among siblings only: there the group competes as one entity of 1024 (version 1: spread over the CPUs
//! where it is busy; version 2: a weight of 100) with each process and kernel thread of the root group, 1024 each:
//! ksoftirqd, NAPI's threads and the endpoints are there.

use std::{
    fs,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use linux::{
    cgroup::{self, Meter, Tree, Version},
    mounts::{self, Mount},
    pause::{self, Stoppable},
    process, system,
};
use model::{share::Share, wire::Refusal};

use super::refused;

/// The hierarchies of version 1 that can bound or count an application.
const CONTROLLERS: [&str; 5] = ["cpu", "cpuacct", "cpuset", "memory", "freezer"];

/// A quota's period, µs: short, so that a held-back application is not held for long.
const PERIOD_US: u64 = 10_000;

/// The least quota that the kernel takes, µs.
const LEAST_US: u64 = 1000;

const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(5);

/// The files by which an application is bounded: whoever bounds it must leave them as they were.
const BOUNDS: [&str; 14] = [
    "cpu.shares",
    "cpu.idle",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.weight",
    "cpu.weight.nice",
    "cpu.max",
    "cpuset.cpus",
    "cpuset.mems",
    "memory.limit_in_bytes",
    "memory.soft_limit_in_bytes",
    "memory.high",
    "cgroup.freeze",
    "freezer.state",
];

#[derive(Debug)]
pub(super) struct Group {
    version: Version,
    /// Its path below each hierarchy's root.
    path: String,
    folders: Vec<PathBuf>,
    /// The folder with `cpu`, where that can be bounded.
    cpu: Option<PathBuf>,
    meter: Meter,
}

impl Group {
    pub(super) fn make() -> Result<Self, Refusal> {
        let mounts = mounts::all().map_err(refused("cannot find control groups"))?;
        let path = format!("/headroom-trial-{}", std::process::id());
        let roots = Roots::of(&mounts);
        let folders: Vec<PathBuf> =
            roots.all.iter().map(|root| root.join(path.trim_start_matches('/'))).collect();
        let made = roots.make(&folders);
        let meter = made.inspect_err(|_| take_away(&folders))?;
        let cpu = roots.cpu.and_then(|place| folders.get(place)).cloned();
        let cpu = cpu.filter(|folder| {
            ["cpu.shares", "cpu.weight"].iter().any(|name| folder.join(name).exists())
        });
        Ok(Self { version: roots.version, path, folders, cpu, meter })
    }

    /// Its path below a hierarchy's root.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The root group of each hierarchy, where the endpoints belong.
    pub(super) fn roots(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().filter_map(|folder| folder.parent())
    }

    pub(super) fn used_ns(&self) -> Option<u64> {
        self.meter.read(&mut Vec::new()).ok().map(|usage| usage.total_ns)
    }

    /// Time that a quota held it back, ns.
    pub(super) fn throttled_ns(&self) -> Option<u64> {
        let text = fs::read_to_string(self.cpu.as_ref()?.join("cpu.stat")).ok()?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        field("throttled_time ").or_else(|| field("throttled_usec ").map(|us| us * 1000))
    }

    pub(super) fn members(&self) -> Vec<u32> {
        self.folders.first().map(|folder| cgroup::members_below(folder)).unwrap_or_default()
    }

    /// A weight against 1024.
    pub(super) fn set_weight(&self, shares: u32) -> Result<(), Refusal> {
        match self.version {
            Version::V1 => self.write("cpu.shares", &shares.to_string()),
            Version::V2 => self.write("cpu.weight", &weight(shares).to_string()),
        }
    }

    pub(super) fn set_idle(&self) -> Result<(), Refusal> {
        self.write("cpu.idle", "1")
    }

    /// The most CPU time, as a share of that of all CPUs; `None` takes the limit away.
    pub(super) fn set_quota(&self, share: Option<Share>) -> Result<(), Refusal> {
        let quota_us = share.map(|share| quota_us(share, system::cpus_online()));
        match (self.version, quota_us) {
            (Version::V1, Some(quota_us)) => {
                self.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
                self.write("cpu.cfs_quota_us", &quota_us.to_string())
            }
            (Version::V1, None) => self.write("cpu.cfs_quota_us", "-1"),
            (Version::V2, Some(quota_us)) => {
                self.write("cpu.max", &format!("{quota_us} {PERIOD_US}"))
            }
            (Version::V2, None) => self.write("cpu.max", "max"),
        }
    }

    pub(super) fn set_frozen(&self, frozen: bool) -> Result<(), Refusal> {
        let Some(group) = self.folders.iter().find_map(|folder| pause::Group::open(folder)) else {
            return Err(Refusal::new(
                "cannot freeze the application",
                "its group has no freezer: mount cgroup2, or cgroup with freezer",
            ));
        };
        let held = Stoppable::Group(group);
        let (set, what) = if frozen { (held.stop(), "freeze") } else { (held.resume(), "thaw") };
        set.map_err(refused(format!("cannot {what} the application")))
    }

    fn write(&self, name: &str, value: &str) -> Result<(), Refusal> {
        let Some(cpu) = &self.cpu else {
            return Err(Refusal::new(
                "cannot bound the application",
                "its group has no cpu controller: write +cpu to cgroup.subtree_control of the root \
                      (the guest does with headroom.wan=yes)",
            ));
        };
        let file = cpu.join(name);
        fs::write(&file, value)
            .map_err(refused(format!("cannot write {value} to {}", file.display())))
    }

    /// What stands in every file by which it can be bounded.
    pub(super) fn bounds(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let files = self.folders.iter().flat_map(|folder| BOUNDS.map(|name| folder.join(name)));
        files.filter_map(|file| fs::read(&file).ok().map(|text| (file, text))).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        take_away(&self.folders);
    }
}

/// Ends whoever is in groups, and removes them.
pub(crate) fn take_away(folders: &[PathBuf]) {
    let until = Instant::now() + PATIENCE;
    for folder in folders {
        // One that is frozen could not end.
        let _ = fs::write(folder.join("cgroup.freeze"), "0");
        let _ = fs::write(folder.join("freezer.state"), "THAWED");
        while folder.exists() && Instant::now() < until {
            for pid in cgroup::members_below(folder) {
                let _ = process::kill(pid);
            }
            if cgroup::remove(folder).is_err() {
                sleep(LOOK);
            }
        }
    }
}

/// A new group of `cpuset` may run nowhere until it is told where.
fn inherit(root: &Path, folder: &Path) -> Result<(), Refusal> {
    for name in ["cpuset.cpus", "cpuset.mems"] {
        // In version 2 the root has no such file, and a group that is empty has its parent's.
        let Ok(value) = fs::read(root.join(name)) else { continue };
        fs::write(folder.join(name), value).map_err(refused(format!("cannot write {name}")))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Roots {
    version: Version,
    all: Vec<PathBuf>,
    counting: Option<usize>,
    cpu: Option<usize>,
}

impl Roots {
    /// Makes the folders, one in each hierarchy, and counts in the right one.
    fn make(&self, folders: &[PathBuf]) -> Result<Meter, Refusal> {
        for (root, folder) in self.all.iter().zip(folders) {
            cgroup::create(folder).map_err(refused("cannot make the application's group"))?;
            inherit(root, folder)?;
        }
        let counting = self.counting.and_then(|place| folders.get(place)).ok_or_else(|| {
            let why =
                "no control group counts CPU time here: mount cgroup2, or cgroup with cpuacct";
            Refusal::new("cannot make the application's group", why)
        })?;
        let meter = Meter::open(self.version, counting);
        meter.map_err(refused("cannot count the application's CPU time"))
    }

    /// Where any hierarchy of version 1 has `cpu`, that version is used. A controller is in one hierarchy: mounted once
    /// more, as for a changed root, it has the same options and is no other.
    fn of(mounts: &[Mount]) -> Self {
        let mut v1 = Self { version: Version::V1, all: Vec::new(), counting: None, cpu: None };
        let (mut unified, mut seen) = (None, Vec::new());
        for mount in mounts {
            let Some(tree) = Tree::of(mount).filter(Tree::is_whole) else { continue };
            if tree.version == Version::V2 {
                unified = unified.or(Some(tree.mount));
            } else if CONTROLLERS.iter().any(|name| mount.has(name))
                && !seen.contains(&&mount.options)
            {
                seen.push(&mount.options);
                let place = Some(v1.all.len());
                v1.counting = v1.counting.or(place.filter(|_| mount.has("cpuacct")));
                v1.cpu = v1.cpu.or(place.filter(|_| mount.has("cpu")));
                v1.all.push(tree.mount);
            }
        }
        match unified {
            Some(point) if v1.cpu.is_none() => {
                Self { version: Version::V2, all: vec![point], counting: Some(0), cpu: Some(0) }
            }
            _ => v1,
        }
    }
}

/// Version 2's weight for shares of version 1: 100 is what 1024 was.
fn weight(shares: u32) -> u32 {
    (shares * 100).div_ceil(1024).clamp(1, 10_000)
}

fn quota_us(share: Share, cpus: u64) -> u64 {
    let all = (PERIOD_US * cpus) as f64;
    ((all * share.get()) as u64).max(LEAST_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "\
31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct
33 30 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    fn roots(mountinfo: &str) -> Roots {
        Roots::of(&mounts::parse(mountinfo.as_bytes()))
    }

    #[test]
    fn a_hybrid_machine_is_bounded_by_version_1() {
        let roots = roots(V1);
        assert_eq!((roots.version, roots.cpu, roots.counting), (Version::V1, Some(0), Some(1)));
        assert_eq!(roots.all.len(), 2);
    }

    #[test]
    fn a_hierarchy_that_is_mounted_once_more_is_the_same() {
        let again = V1.replace("/sys/fs", "/tmp/root/sys/fs");
        assert_eq!(roots(&(V1.to_owned() + &again)), roots(V1));
    }

    #[test]
    fn a_unified_machine_is_bounded_by_version_2() {
        let unified = roots("24 1 0:22 / /sys/fs/cgroup rw - cgroup2 none rw,nsdelegate\n");
        assert_eq!(
            (unified.version, unified.cpu, unified.counting),
            (Version::V2, Some(0), Some(0))
        );
        assert_eq!(roots("").all, [""; 0].map(PathBuf::from));
    }

    #[test]
    fn weights_and_quotas_are_those_of_the_kernel() {
        assert_eq!([1024, 512, 2, 102_400].map(weight), [100, 50, 1, 10_000]);
        assert_eq!(quota_us(Share::of(0.2), 2), 4000);
        assert_eq!(quota_us(Share::of(0.01), 1), LEAST_US);
    }

    #[test]
    fn a_group_is_made_bounded_and_leaves_nothing() {
        let group = match Group::make() {
            Ok(group) => group,
            Err(why) => return skip::skip!("{why}"),
        };
        let folders = group.folders().to_vec();
        assert!(folders.iter().all(|folder| folder.exists()) && group.used_ns() == Some(0));
        if let Err(why) = group.set_weight(512).and_then(|()| group.set_quota(Some(Share::of(0.5))))
        {
            skip::skip!("{why}");
        }
        drop(group);
        assert!(!folders.iter().any(|folder| folder.exists()));
    }
}
