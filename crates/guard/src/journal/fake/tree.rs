//! The fake's devices, and how groups are made, entered and removed in them.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::{super::Files, Fake};

const V1: &str = "\
28 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 28 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
33 28 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct
34 28 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
35 28 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
36 28 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
";
const V2: &str = "24 1 0:22 / /sys/fs/cgroup rw - cgroup2 none rw,nsdelegate\n";
const HYBRID: &str = "\
28 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 28 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 28 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
41 28 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

impl Fake {
    /// A device with control groups of version 1, a hierarchy for each controller.
    pub fn v1() -> Self {
        Self::mounted(V1, &["cpu", "cpuacct", "cpuset", "memory", "freezer"], None)
    }

    /// A device with control groups of version 2, no controller enabled for any child.
    pub fn v2() -> Self {
        Self::mounted(V2, &[], Some(("", "cpuset cpu io memory pids")))
    }

    /// A device with the CPU's controllers in version 1, and memory in the unified tree.
    pub fn hybrid() -> Self {
        Self::mounted(HYBRID, &["cpu,cpuacct", "cpuset"], Some(("unified", "memory pids")))
    }

    pub fn none() -> Self {
        Self::mounted("22 1 0:21 / /proc rw - proc proc rw\n", &[], None)
    }

    fn mounted(mountinfo: &str, v1: &[&str], v2: Option<(&str, &str)>) -> Self {
        let fake = Self::with(mountinfo);
        for controllers in v1 {
            fill(&fake.path(&format!("/sys/fs/cgroup/{controllers}")), controllers, true);
        }
        if let Some((name, controllers)) = v2 {
            let root = format!("/sys/fs/cgroup/{name}");
            fake.put(&format!("{root}/cgroup.controllers"), &format!("{controllers}\n"));
            fake.put(&format!("{root}/cgroup.subtree_control"), "\n");
            fake.put(&format!("{root}/cgroup.procs"), "");
            fake.put(&format!("{root}/cpu.stat"), "usage_usec 0\n");
        }
        fake
    }

    /// Gives it a CPU whose last-level cache can be shared out by resctrl: one cache of `bits` parts.
    pub fn with_resctrl(mut self, bits: u32) -> Self {
        let mounts = self.text("/proc/self/mountinfo");
        let resctrl = "60 23 0:40 / /sys/fs/resctrl rw - resctrl resctrl rw\n";
        self.put("/proc/self/mountinfo", &(mounts + resctrl));
        self.look_again();
        let mask = format!("{:x}", (1_u64 << bits) - 1);
        self.put("/sys/fs/resctrl/info/L3/cbm_mask", &format!("{mask}\n"));
        self.put("/sys/fs/resctrl/info/L3/min_cbm_bits", "2\n");
        self.put("/sys/fs/resctrl/schemata", &format!("    MB:0=100\n    L3:0={mask}\n"));
        self.put("/sys/fs/resctrl/tasks", "");
        self
    }
}

/// The files of a group of version 1. The root has what its children inherit.
fn fill(folder: &Path, controllers: &str, root: bool) {
    let _ = fs::create_dir_all(folder);
    let put = |name: &str, text: &str| drop(fs::write(folder.join(name), text));
    put("cgroup.procs", "");
    put("tasks", "");
    for controller in controllers.split(',') {
        match controller {
            "cpu" => {
                put("cpu.shares", "1024\n");
                put("cpu.idle", "0\n");
                put("cpu.cfs_quota_us", "-1\n");
                put("cpu.cfs_period_us", "100000\n");
            }
            "cpuacct" => put("cpuacct.usage", "0\n"),
            "cpuset" => {
                put("cpuset.cpus", if root { "0-3\n" } else { "\n" });
                put("cpuset.mems", if root { "0\n" } else { "\n" });
            }
            "memory" => put("memory.limit_in_bytes", "9223372036854771712\n"),
            _ => put("freezer.state", "THAWED\n"),
        }
    }
}

/// The files that a controller of version 2 adds to a group.
const BY_CONTROLLER: [(&str, &[(&str, &str)]); 3] = [
    ("cpu", &[("cpu.weight", "100\n"), ("cpu.idle", "0\n"), ("cpu.max", "max 100000\n")]),
    ("cpuset", &[("cpuset.cpus", "\n"), ("cpuset.mems", "\n"), ("cpuset.cpus.effective", "0-3\n")]),
    ("memory", &[("memory.high", "max\n"), ("memory.max", "max\n"), ("memory.current", "0\n")]),
];

/// Makes a group as `mkdir` does.
pub(super) fn make_group(folder: &Path, root: &Path) -> io::Result<()> {
    let above = folder.parent().ok_or(Errno::NOENT)?;
    fs::create_dir(folder)?;
    if above.join("schemata").exists() {
        fs::write(folder.join("schemata"), fs::read(above.join("schemata"))?)?;
        return fs::write(folder.join("tasks"), "");
    }
    if !above.join("cgroup.controllers").exists() {
        let names = hierarchy(folder, root);
        fill(folder, &names, false);
        return Ok(());
    }
    for (name, text) in
        [("cgroup.procs", ""), ("cgroup.subtree_control", "\n"), ("cpu.stat", "usage_usec 0\n")]
    {
        fs::write(folder.join(name), text)?;
    }
    let enabled = fs::read_to_string(above.join("cgroup.subtree_control"))?;
    fs::write(folder.join("cgroup.controllers"), &enabled)?;
    enabled.split_whitespace().for_each(|one| grant(folder, one));
    Ok(())
}

/// A child of version 2 gets the files of a controller.
pub(super) fn grant(folder: &Path, controller: &str) {
    for (name, text) in files_of(controller) {
        let _ = fs::write(folder.join(name), text);
    }
}

/// A child of version 2 loses the files of a controller.
pub(super) fn withdraw(folder: &Path, controller: &str) {
    for (name, _) in files_of(controller) {
        let _ = fs::remove_file(folder.join(name));
    }
}

fn files_of(controller: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let of = BY_CONTROLLER.into_iter().filter(move |(name, _)| *name == controller);
    of.flat_map(|(_, files)| files.iter().copied())
}

/// Removes a group as `rmdir` does: only without processes and without groups below it.
pub(super) fn remove_group(folder: &Path) -> io::Result<()> {
    let kernfs = folder.join("schemata").exists();
    let members = fs::read_to_string(folder.join("cgroup.procs"));
    let members = if kernfs { String::new() } else { members? };
    let below = fs::read_dir(folder)?.flatten().any(|entry| entry.path().is_dir());
    if !members.trim().is_empty() || below {
        return Err(Errno::BUSY.into());
    }
    if kernfs {
        // Its threads are in the root class again.
        let above = folder.with_file_name("tasks");
        let tasks = fs::read_to_string(&above)? + &fs::read_to_string(folder.join("tasks"))?;
        fs::write(above, in_order(&tasks))?;
    }
    fs::remove_dir_all(folder)
}

/// Ids, one a line, in order: the kernel's own order means nothing.
pub(super) fn in_order(ids: &str) -> String {
    let mut ids: Vec<u32> = ids.lines().filter_map(|line| line.parse().ok()).collect();
    ids.sort_unstable();
    ids.iter().map(|id| format!("{id}\n")).collect()
}

/// The name of the folder that the hierarchy of a group is mounted at.
fn hierarchy(folder: &Path, root: &Path) -> String {
    let below = folder.strip_prefix(root.join("sys/fs/cgroup")).unwrap_or(folder);
    let name =
        below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    name.unwrap_or_default()
}

/// The root groups of all hierarchies, and what `/proc/PID/cgroup` calls each.
fn roots(root: &Path) -> Vec<(PathBuf, String)> {
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mount = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let folder = root.join(fields.get(4)?.trim_start_matches('/'));
        let names = fields.last()?.trim_start_matches("rw,").to_owned();
        match *fields.get(7)? {
            "cgroup" => Some((folder, names)),
            "cgroup2" => Some((folder, String::new())),
            _ => None,
        }
    };
    mounts.lines().filter_map(mount).collect()
}

/// A process begins in every root group.
pub(super) fn enter_roots(root: &Path, pid: u32) {
    for (folder, _) in roots(root) {
        let _ = enter(&folder, pid, root);
    }
}

/// A process ends, and is in no group any more.
pub(super) fn leave_all(root: &Path, pid: u32) {
    for (folder, _) in roots(root) {
        leave(&folder, pid);
    }
}

/// Moves a process into a group of its hierarchy.
pub(super) fn enter(group: &Path, pid: u32, root: &Path) -> io::Result<()> {
    let roots = roots(root);
    let deepest = roots.iter().filter(|(folder, _)| group.starts_with(folder));
    let (top, names) =
        deepest.max_by_key(|(folder, _)| folder.components().count()).ok_or(Errno::INVAL)?;
    leave(top, pid);
    let file = group.join("cgroup.procs");
    let members = fs::read_to_string(&file)?;
    fs::write(&file, in_order(&format!("{members}{pid}\n")))?;
    let path = group.strip_prefix(top).map_err(|_| Errno::INVAL)?;
    remember(root, pid, names, &format!("/{}", path.display()))
}

/// Changes one line of `/proc/PID/cgroup`.
fn remember(root: &Path, pid: u32, names: &str, path: &str) -> io::Result<()> {
    let file = root.join(format!("proc/{pid}/cgroup"));
    let text = fs::read_to_string(&file).unwrap_or_default();
    let of = |line: &str| line.split(':').nth(1).map(str::to_owned);
    let mut lines: BTreeMap<String, String> =
        text.lines().filter_map(|line| Some((of(line)?, line.to_owned()))).collect();
    let number = usize::from(!names.is_empty());
    lines.insert(names.to_owned(), format!("{number}:{names}:{path}"));
    fs::write(file, lines.values().map(|line| format!("{line}\n")).collect::<String>())
}

fn leave(folder: &Path, pid: u32) {
    let file = folder.join("cgroup.procs");
    let members = fs::read_to_string(&file).unwrap_or_default();
    let left: Vec<&str> = members.lines().filter(|line| *line != pid.to_string()).collect();
    if left.len() != members.lines().count() {
        let _ = fs::write(&file, left.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
    let below = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    below.filter(|path| path.is_dir()).for_each(|path| leave(&path, pid));
}

/// The text of every file below some folders of the root.
pub(super) fn texts(root: &Path, folders: &[&str]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(path) = open.pop() {
        let name = || path.display().to_string();
        if path.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()));
            all.insert(name(), "a folder".to_owned());
        } else if let Ok(text) = fs::read_to_string(&path) {
            all.insert(name(), text);
        }
    }
    all
}
