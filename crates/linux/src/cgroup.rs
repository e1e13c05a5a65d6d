//! Control groups, both versions: where they are, what is in one, what CPU time it used.
//!
//! No limit is set, and no controller enabled but memory's: in version 2 every group counts CPU time by itself, in
//! version 1 `cpuacct` does.
//!
//! Formats: <https://docs.kernel.org/admin-guide/cgroup-v2.html>,
//! <https://docs.kernel.org/admin-guide/cgroup-v1/cpuacct.html>. Minimum kernel: 4.15 for version 2's CPU time.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    mounts::{self, Mount},
    proc::{self, Reader},
};

/// A group or a tree of groups that could not be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {action} {}", path.display())]
    Refused {
        /// What was tried, as “create”.
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    File(#[from] proc::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A tree for each set of controllers.
    V1,
    V2,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    pub cpuacct: Option<Tree>,
    pub unified: Option<Tree>,
    /// The tree with `perf_event`, where that is of version 1.
    pub perf_event: Option<Tree>,
    /// The tree with `freezer`, which is always of version 1: in version 2 each group has one.
    pub freezer: Option<Tree>,
    /// Whether any controller of version 1 is mounted, `cpuacct` or another.
    pub any_v1: bool,
}

impl Mounts {
    pub fn find() -> Result<Self, Error> {
        Ok(Self::of(&mounts::all()?))
    }

    pub fn of(mounts: &[Mount]) -> Self {
        let trees = |version| {
            let all = mounts.iter().filter_map(|mount| Some((Tree::of(mount)?, mount)));
            all.filter(move |(tree, _)| tree.version == version)
        };
        let with =
            |controller| Some(trees(Version::V1).find(|(_, mount)| mount.has(controller))?.0);
        Self {
            cpuacct: with("cpuacct"),
            unified: trees(Version::V2).next().map(|(tree, _)| tree),
            perf_event: with("perf_event"),
            freezer: with("freezer"),
            // A tree with a name and no controller is some service manager's own.
            any_v1: trees(Version::V1).any(|(_, mount)| !mount.options.contains("name=")),
        }
    }

    /// The tree that counts CPU time: `cpuacct` where there is one, because its grain is finer and
    /// because service managers of hybrid machines watch the unified tree; else the unified one.
    pub fn counting(self) -> Option<Tree> {
        self.cpuacct.or(self.unified)
    }

    /// The tree whose groups performance events can be opened for. In version 2 that needs no controller
    /// to be enabled, but one that a tree of version 1 has is not there.
    pub fn of_events(self) -> Option<Tree> {
        self.perf_event.or(self.unified)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub version: Version,
    pub mount: PathBuf,
    /// The group that is mounted there; `/` but in containers.
    root: String,
}

impl Tree {
    /// `None` for a mount of something else.
    pub fn of(mount: &Mount) -> Option<Self> {
        let version = match mount.kind.as_str() {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let root = mount.root.to_string_lossy().into_owned();
        Some(Self { version, mount: mount.at.clone(), root })
    }

    /// Whether its root group is what is mounted, and no group below that.
    pub fn is_whole(&self) -> bool {
        self.root == "/"
    }

    /// The folder of the group that a process is in; `None` where the mount does not show it.
    /// Fails with [`Error::File`] where there is no such process.
    pub fn group_of(&self, pid: u32) -> Result<Option<PathBuf>, Error> {
        let text = proc::read(format!("/proc/{pid}/cgroup"))?;
        Ok(self.folder(&String::from_utf8_lossy(&text)))
    }

    /// The folder that the text of `/proc/PID/cgroup` leads to.
    pub fn folder(&self, memberships: &str) -> Option<PathBuf> {
        let path = memberships.lines().find_map(|line| self.membership(line))?;
        let below = match self.root.as_str() {
            "/" => path,
            root => {
                path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))?
            }
        };
        // A group outside of our namespace's root is shown with leading `..`.
        let below = below.trim_start_matches('/');
        (!below.starts_with("..")).then(|| self.mount.join(below))
    }

    /// The path in a line `id:controllers:path`, if the line speaks of this tree.
    fn membership<'a>(&self, line: &'a str) -> Option<&'a str> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let ours = match self.version {
            Version::V2 => controllers.is_empty(),
            Version::V1 => controllers.split(',').any(|name| name == "cpuacct"),
        };
        ours.then_some(path)
    }
}

/// Makes a group.
/// Fails with [`Error::Refused`], also where it exists already.
pub fn create(group: &Path) -> Result<(), Error> {
    fs::create_dir(group).map_err(refused("create", group))
}

/// Removes an empty group.
/// Fails with [`Error::Refused`] with `EBUSY` while a process is in it or a group is below it.
pub fn remove(group: &Path) -> Result<(), Error> {
    fs::remove_dir(group).map_err(refused("remove", group))
}

/// Has the groups below one count their memory, in version 2.
/// Fails with [`Error::Refused`] where the group itself is not given the controller, or holds processes.
pub fn count_memory_below(group: &Path) -> Result<(), Error> {
    let file = group.join("cgroup.subtree_control");
    fs::write(&file, "+memory").map_err(refused("write to", &file))
}

/// Moves a process, with all its threads, into a group.
/// Fails with [`Error::Refused`]: `ESRCH` where it has ended, `EACCES` where we may not.
pub fn enter(group: &Path, pid: u32) -> Result<(), Error> {
    let file = group.join("cgroup.procs");
    fs::write(&file, pid.to_string()).map_err(refused("write to", &file))
}

/// The processes in a group, without those of groups below it.
/// Fails with [`Error::File`] where there is no such group.
pub fn members(group: &Path) -> Result<Vec<u32>, Error> {
    let text = proc::read(group.join("cgroup.procs"))?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

pub fn members_below(group: &Path) -> Vec<u32> {
    let mut pids = members(group).unwrap_or_default();
    pids.extend(below(group).iter().flat_map(|group| members_below(group)));
    pids
}

pub fn below(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|e| e.path())
        .collect()
}

fn refused(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Refused { action, path: path.to_owned(), source }
}

/// What a group and everything below it used, processes that have ended included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub total_ns: u64,
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    /// The most memory that it has held, shared memory and files in memory included, bytes; where the kernel does not say
    /// (before 5.19) what it holds now; `None` where memory is not counted.
    pub held_bytes: Option<u64>,
}

#[derive(Debug)]
pub enum Meter {
    /// `cpuacct.usage`, and its two parts where the kernel has them (4.7).
    V1 {
        /// User and kernel.
        total: Reader,
        user: Option<Reader>,
        system: Option<Reader>,
    },
    /// `cpu.stat`, and `memory.peak` or `memory.current`.
    V2 {
        stat: Reader,
        /// Memory, where its controller is enabled.
        memory: Option<Reader>,
    },
}

impl Meter {
    /// Opens the group's files.
    /// Fails with [`Error::File`] where the group does not count CPU time.
    pub fn open(version: Version, group: &Path) -> Result<Self, Error> {
        Ok(match version {
            Version::V1 => Self::V1 {
                total: Reader::open(group.join("cpuacct.usage"))?,
                user: Reader::open(group.join("cpuacct.usage_user")).ok(),
                system: Reader::open(group.join("cpuacct.usage_sys")).ok(),
            },
            Version::V2 => Self::V2 {
                stat: Reader::open(group.join("cpu.stat"))?,
                memory: ["memory.peak", "memory.current"]
                    .iter()
                    .find_map(|name| Reader::open(group.join(name)).ok()),
            },
        })
    }

    pub fn read(&self, buffer: &mut Vec<u8>) -> Result<Usage, Error> {
        match self {
            Self::V1 { total, user, system } => {
                let mut part = |file: &Option<Reader>| file.as_ref()?.parse(buffer, number).ok();
                let (user_ns, system_ns) = (part(user), part(system));
                let total_ns = total.parse(buffer, number)?;
                Ok(Usage { total_ns, user_ns, system_ns, held_bytes: None })
            }
            Self::V2 { stat, memory } => {
                let usage = stat.parse(buffer, cpu_stat)?;
                let held_bytes = memory.as_ref().and_then(|file| file.parse(buffer, number).ok());
                Ok(Usage { held_bytes, ..usage })
            }
        }
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Parses version 2's `cpu.stat`, which is in microseconds.
pub fn cpu_stat(text: &[u8]) -> Option<Usage> {
    let text = std::str::from_utf8(text).ok()?;
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()?.checked_mul(1000)
    };
    Some(Usage {
        total_ns: field("usage_usec")?,
        user_ns: field("user_usec"),
        system_ns: field("system_usec"),
        held_bytes: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HYBRID: &str = "\
30 25 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    fn found(mountinfo: &str) -> Mounts {
        Mounts::of(&mounts::parse(mountinfo.as_bytes()))
    }

    fn tree(version: Version, root: &str) -> Tree {
        Tree { version, mount: "/cg".into(), root: root.to_owned() }
    }

    #[test]
    fn a_hybrid_machine_counts_in_cpuacct() {
        let mounts = found(HYBRID);
        assert!(mounts.any_v1 && mounts.unified.is_some());
        let counting = mounts.counting().expect("two of them");
        assert_eq!(counting.version, Version::V1);
        assert_eq!(counting.mount, Path::new("/sys/fs/cgroup/cpu,cpuacct"));
    }

    #[test]
    fn a_unified_machine_counts_in_its_only_tree() {
        let mounts = found("24 1 0:22 / /sys/fs/cgroup rw - cgroup2 none rw,nsdelegate\n");
        assert!(!mounts.any_v1);
        assert_eq!(mounts.counting().map(|tree| tree.version), Some(Version::V2));
    }

    #[test]
    fn a_machine_without_groups_has_none_nor_one_with_a_service_managers_own_tree() {
        for none in [
            "",
            "22 1 0:21 / /proc rw - proc proc rw\n",
            "31 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup c rw,name=systemd",
        ] {
            assert_eq!(found(none), Mounts::default(), "{none}");
        }
    }

    #[test]
    fn a_process_is_found_in_its_group() {
        let text = "4:cpu,cpuacct:/services/hostapd\n1:name=systemd:/\n0::/system.slice/a:b\n";
        let v1 = tree(Version::V1, "/").folder(text);
        assert_eq!(v1.as_deref(), Some(Path::new("/cg/services/hostapd")));
        let v2 = tree(Version::V2, "/").folder(text);
        assert_eq!(v2.as_deref(), Some(Path::new("/cg/system.slice/a:b")));
        let inner = tree(Version::V1, "/services").folder(text);
        assert_eq!(inner.as_deref(), Some(Path::new("/cg/hostapd")));
    }

    #[test]
    fn a_group_that_the_mount_does_not_show_is_none() {
        assert_eq!(tree(Version::V1, "/serv").folder("4:cpuacct:/services/hostapd\n"), None);
        assert_eq!(tree(Version::V2, "/").folder("0::/../outside\n"), None);
        assert_eq!(tree(Version::V2, "/").folder("4:cpuacct:/x\n"), None);
        assert_eq!(tree(Version::V2, "/").folder("garbage\n"), None);
    }

    #[test]
    fn cpu_stat_is_read_and_refused() {
        let good = b"usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 0\n";
        let usage = Usage {
            total_ns: 1_500_000,
            user_ns: Some(1_000_000),
            system_ns: Some(500_000),
            held_bytes: None,
        };
        assert_eq!(cpu_stat(good), Some(usage));
        assert_eq!(cpu_stat(b"usage_usec 2\n").map(|usage| usage.user_ns), Some(None));
        assert_eq!(cpu_stat(b"user_usec 2\n"), None);
        assert_eq!(cpu_stat(b"usage_usec many\n"), None);
        assert_eq!(cpu_stat(b"usage_usec 99999999999999999999\n"), None);
        assert_eq!(number(b"1234\n"), Some(1234));
        assert_eq!(number(b"\n"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text: String, bytes: Vec<u8>) {
            let _ = (tree(Version::V2, "/a").folder(&text), cpu_stat(&bytes), number(&bytes));
        }
    }
}
