//! What guard may change at all, and so what a journal may have it put back.
//!
//! A record is [`Permitted`] only if it names a file of a known name below a mounted hierarchy of control groups or
//! below resctrl, an interface's `threaded`, a thread's nice value, or a group of guard's own; and a value that such
//! a file can read. Nothing else gets into a ledger, whether it comes from a file or from guard itself, and nothing
//! but these places can be written to by [`super::Disk`]. Pure but for [`Places::at`]: text in, judgement out.

use std::{
    fmt,
    path::{Component, Path, PathBuf},
};

use super::{knob::Knob, record::Record};

/// What guard's own groups are called, in control groups and in resctrl.
const OWN: &str = "headroom-guard";

/// Bytes of a path, as the kernel's `PATH_MAX`.
const LONGEST_PATH: usize = 4096;

/// Bytes of an interface's name (`IFNAMSIZ`).
const LONGEST_INTERFACE: usize = 15;

/// The files of a control group that guard changes, each with its kind.
const CONTROLS: [(&str, Knob); 9] = [
    ("cpu.shares", Knob::Plain),
    ("cpu.cfs_quota_us", Knob::Plain),
    ("cpu.cfs_period_us", Knob::Plain),
    ("cpu.max", Knob::Plain),
    ("cpu.weight", Knob::Weight),
    ("cpu.idle", Knob::Idle),
    ("cpuset.cpus", Knob::List),
    ("memory.high", Knob::Bytes),
    ("cgroup.subtree_control", Knob::Controllers),
];

/// Files that it writes without a line in the journal: what they say goes with a group of its own, or is a process.
const UNTOLD: [&str; 3] = ["cgroup.procs", "tasks", "cpuset.mems"];

/// A file system that guard changes things in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A hierarchy of control groups, of either version.
    Groups,
    /// Classes of the CPU's caches.
    Resctrl,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    kind: Kind,
    point: PathBuf,
}

/// The places of one device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    mounts: Vec<Mount>,
    /// `/sys/class/net` below the device's `/`.
    interfaces: PathBuf,
}

/// A place below one of the mounts, or of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place<'a> {
    /// The mount's folder, or the interface's.
    pub(super) folder: &'a Path,
    /// The rest of the path: plain names, or nothing.
    pub(super) below: &'a Path,
    kind: Option<Kind>,
}

/// A record that names nothing but what guard may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permitted(Record);

/// Why a record is not believed: one line, with nothing in it that a terminal obeys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Permitted {
    pub fn record(&self) -> &Record {
        &self.0
    }

    pub(super) fn into_record(self) -> Record {
        self.0
    }
}

impl Places {
    /// Those of a device whose `/` is `root`; none where its mounts cannot be read.
    pub fn at(root: &Path) -> Self {
        let mounts = linux::proc::read(root.join("proc/self/mountinfo")).unwrap_or_default();
        Self::of(root, &String::from_utf8_lossy(&mounts))
    }

    /// Those that a text as `/proc/self/mountinfo` (proc(5)) tells of.
    pub fn of(root: &Path, mountinfo: &str) -> Self {
        let mounts = mountinfo.lines().filter_map(|line| mount(root, line)).collect();
        Self { mounts, interfaces: root.join("sys/class/net") }
    }

    /// Judges a record.
    /// Fails with [`Refused`] with the record's path and what is wrong.
    pub fn permit(&self, record: Record) -> Result<Permitted, Refused> {
        let judged = match &record {
            Record::Begin { .. } => Ok(()),
            Record::Change { path, knob, old, new, .. } => {
                self.knob(path).and_then(|its| match its {
                    its if its != *knob => Err("it is of another kind"),
                    _ if !knob.takes(old) || !knob.takes(new) => Err("it never reads such a value"),
                    _ => Ok(()),
                })
            }
            Record::Became { path, text } => self.knob(path).and_then(|knob| match knob {
                knob if knob.takes(text) => Ok(()),
                _ => Err("it never reads such a value"),
            }),
            Record::Gone { path } => self.knob(path).map(drop),
            Record::Made { folder } => self.own_group(folder).map(drop),
            Record::Moved { from, to, .. } => {
                self.own_group(to).and_then(|to| match self.place(from) {
                    Some(from) if from.folder == to => Ok(()),
                    _ => Err("a process would leave its hierarchy"),
                })
            }
        };
        match judged {
            Ok(()) => Ok(Permitted(record)),
            Err(why) => Err(Refused(format!("{}: {why}", named(&record)))),
        }
    }

    /// The kind of a value that guard may change.
    fn knob(&self, path: &Path) -> Result<Knob, &'static str> {
        if is_nice(path) {
            return Ok(Knob::Nice);
        }
        let nothing = "guard changes nothing there";
        let place = self.place(path).ok_or(nothing)?;
        let name = place.below.file_name().and_then(|name| name.to_str()).ok_or(nothing)?;
        let knob = match place.kind {
            None => Some(Knob::Plain),
            Some(Kind::Resctrl) => {
                let own = place.below.starts_with(OWN) && name == "schemata";
                own.then_some(Knob::Schemata)
            }
            Some(Kind::Groups) => {
                CONTROLS.iter().find(|(known, _)| *known == name).map(|(_, knob)| *knob)
            }
        };
        knob.ok_or("guard changes no such file")
    }

    /// The mount of a group of guard's own, which stands right below it.
    fn own_group<'a>(&'a self, folder: &'a Path) -> Result<&'a Path, &'static str> {
        let place = self.place(folder).ok_or("no hierarchy is mounted there")?;
        let is_own = place.below.to_str().is_some_and(|name| {
            name.starts_with(OWN) && !name.contains('/') && place.kind.is_some()
        });
        if is_own { Ok(place.folder) } else { Err("it is not a group of guard's") }
    }

    /// Where a path leads to, if guard may change anything there. The innermost mount counts.
    pub(super) fn place<'a>(&'a self, path: &'a Path) -> Option<Place<'a>> {
        let plain = path.as_os_str().len() <= LONGEST_PATH
            && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
            // `components` leaves out what means nothing; an honest journal has none of it.
            && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
        if !plain {
            return None;
        }
        if let Ok(below) = path.strip_prefix(&self.interfaces) {
            let folder = path.parent()?;
            let interface = below.parent()?.to_str()?;
            let known = is_interface(interface) && below.file_name()? == "threaded";
            return known.then_some(Place { folder, below: Path::new("threaded"), kind: None });
        }
        let above = self.mounts.iter().filter(|mount| path.starts_with(&mount.point));
        let mount = above.max_by_key(|mount| mount.point.as_os_str().len())?;
        let below = path.strip_prefix(&mount.point).ok()?;
        Some(Place { folder: &mount.point, below, kind: Some(mount.kind) })
    }

    /// Where a path leads to, if guard may write there.
    pub(super) fn writable<'a>(&'a self, path: &'a Path) -> Option<Place<'a>> {
        let place = self.place(path)?;
        let untold =
            || place.below.file_name().is_some_and(|name| UNTOLD.iter().any(|one| name == *one));
        (self.knob(path).is_ok() || untold()).then_some(place)
    }

    /// Where a group of guard's own is, or is to be.
    pub(super) fn own<'a>(&'a self, folder: &'a Path) -> Option<Place<'a>> {
        self.own_group(folder).ok().and_then(|_| self.place(folder))
    }
}

/// A line of `mountinfo`: what guard may change things in.
fn mount(root: &Path, line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let kind = match after.split(' ').next()? {
        "cgroup" | "cgroup2" => Kind::Groups,
        "resctrl" => Kind::Resctrl,
        _ => return None,
    };
    let point = linux::proc::path_of(before.split(' ').nth(4)?.as_bytes());
    Some(Mount { kind, point: root.join(point.strip_prefix("/").unwrap_or(&point)) })
}

/// `/proc/TID/nice`, by which the journal knows the nice value of a thread.
fn is_nice(path: &Path) -> bool {
    let tid = path.to_str().and_then(|path| path.strip_prefix("/proc/")?.strip_suffix("/nice"));
    tid.and_then(|tid| tid.parse::<u32>().ok().filter(|number| number.to_string() == tid)).is_some()
}

fn is_interface(name: &str) -> bool {
    let odd = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    !name.is_empty() && name.len() <= LONGEST_INTERFACE && !name.contains(odd)
}

/// What a record is about, short, and without anything that a terminal obeys.
fn named(record: &Record) -> String {
    const LONGEST: usize = 120;
    let path = match record {
        Record::Begin { .. } => Path::new("begin"),
        Record::Change { path, .. } | Record::Became { path, .. } | Record::Gone { path } => path,
        Record::Made { folder } => folder,
        Record::Moved { to, .. } => to,
    };
    let text: String = path.to_string_lossy().chars().take(LONGEST).collect();
    let more = if path.as_os_str().len() > text.len() { "…" } else { "" };
    format!("“{}{more}”", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        let mountinfo = "\
            32 28 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
            41 28 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
            50 28 0:40 / /sys/fs/resctrl rw - resctrl resctrl rw\n\
            51 28 8:1 / /home rw - ext4 /dev/sda1 rw\n";
        Places::of(Path::new("/"), mountinfo)
    }

    fn change(path: &str, knob: Knob, old: &str) -> Record {
        let (old, new) = (old.to_owned(), "1".to_owned());
        Record::Change { path: path.into(), inode: 1, knob, old, new }
    }

    fn refusal(record: Record) -> String {
        places().permit(record).map(|_| "permitted".into()).unwrap_or_else(|why| why.to_string())
    }

    #[test]
    fn what_guard_changes_is_permitted() {
        for (path, knob, old) in [
            ("/sys/fs/cgroup/cpu/a b/cpu.shares", Knob::Plain, "1024\n"),
            ("/sys/fs/cgroup/unified/cpuset.cpus", Knob::List, "\n"),
            ("/sys/fs/cgroup/unified/x.slice/memory.high", Knob::Bytes, "max\n"),
            (
                "/sys/fs/resctrl/headroom-guard/schemata",
                Knob::Schemata,
                "    MB:0=100\n    L3:0=f\n",
            ),
            ("/sys/class/net/wlan0/threaded", Knob::Plain, "0\n"),
            ("/proc/80/nice", Knob::Nice, "-20"),
        ] {
            let change = Record::Change {
                path: path.into(),
                inode: 1,
                knob,
                old: old.into(),
                new: old.into(),
            };
            assert_eq!(refusal(change), "permitted", "{path}");
        }
        let to = PathBuf::from("/sys/fs/cgroup/cpu/headroom-guard.a");
        assert_eq!(refusal(Record::Made { folder: to.clone() }), "permitted");
        let from = PathBuf::from("/sys/fs/cgroup/cpu");
        assert_eq!(refusal(Record::Moved { pid: 1, born: 1, from, to }), "permitted");
    }

    #[test]
    fn every_other_path_is_refused() {
        for path in [
            "/etc/shadow",
            "etc/shadow",
            "",
            "/home/a/cpu.shares",
            "/sys/fs/cgroup/cpu/../../../../etc/cpu.shares",
            "/sys/fs/cgroup/cpu/./a/cpu.shares",
            "/sys/fs/cgroup/cpu//cpu.shares",
            "/sys/fs/cgroup/cpux/cpu.shares",
            "/sys/fs/cgroup/cpu/release_agent",
            "/sys/fs/cgroup/cpu",
            "/sys/class/net/wlan0/operstate",
            "/sys/class/net/../../kernel/threaded",
            "/sys/class/net/threaded",
            "/sys/class/net/a/b/threaded",
            "/sys/fs/resctrl/schemata",
            "/sys/fs/resctrl/others/schemata",
            "/proc/self/nice",
            "/proc/08/nice",
            "/proc/1/task/1/nice",
            "/proc/1/oom_score_adj",
        ] {
            assert_ne!(refusal(change(path, Knob::Plain, "1")), "permitted", "{path}");
        }
    }

    #[test]
    fn every_other_value_or_kind_is_refused() {
        let shares = "/sys/fs/cgroup/cpu/a/cpu.shares";
        for old in ["", "a", "1\n2", "99999999999999999999999", "\u{1b}[2J"] {
            assert!(refusal(change(shares, Knob::Plain, old)).contains("value"), "{old:?}");
        }
        assert!(refusal(change(shares, Knob::Schemata, "L3:0=f")).contains("another kind"));
        assert!(refusal(change("/proc/80/nice", Knob::Nice, "-21")).contains("value"));
        let long = "0,".repeat(1 << 20);
        assert!(
            refusal(change("/sys/fs/cgroup/unified/cpuset.cpus", Knob::List, &long))
                .contains("value")
        );
    }

    #[test]
    fn only_groups_of_guards_own_are_removed_and_left() {
        let (cpu, unified) = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified");
        for folder in [
            cpu,
            "/home/headroom-guard",
            "/sys/fs/cgroup/cpu/apps",
            "/sys/fs/cgroup/cpu/a/headroom-guard",
        ] {
            assert_ne!(refusal(Record::Made { folder: folder.into() }), "permitted", "{folder}");
        }
        for (from, to) in [
            (cpu, "/sys/fs/cgroup/unified/headroom-guard.a"),
            (unified, cpu),
            ("/etc", "/sys/fs/cgroup/cpu/headroom-guard.a"),
        ] {
            let moved = Record::Moved { pid: 1, born: 1, from: from.into(), to: to.into() };
            assert_ne!(refusal(moved), "permitted", "{from} {to}");
        }
    }

    #[test]
    fn a_refusal_is_one_short_line_that_no_terminal_obeys() {
        let path = format!("/etc/\u{1b}[2J\n{}", "x".repeat(5000));
        let text = refusal(change(&path, Knob::Plain, "1"));
        assert!(text.len() < 250 && !text.contains(['\n', '\u{1b}']), "{text}");
    }
}
