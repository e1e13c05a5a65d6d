//! The mounted hierarchies, and which of them has a controller.
//!
//! Talks to `/proc/self/mountinfo` and to `cgroup.controllers`; enables nothing. Formats: proc(5),
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html>.

use std::{
    fs,
    path::{Path, PathBuf},
};

use linux::{cgroup::Version, proc};

/// A controller that guard uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Weights, quotas, the idle class.
    Cpu,
    /// CPU time by group. In version 2 every group has it.
    Cpuacct,
    /// Which CPUs a group may use.
    Cpuset,
    Memory,
    /// Stopping a group. In version 2 every group has it.
    Freezer,
}

impl Controller {
    /// All that guard uses.
    pub const ALL: [Self; 5] =
        [Self::Cpu, Self::Cpuacct, Self::Cpuset, Self::Memory, Self::Freezer];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cpuacct => "cpuacct",
            Self::Cpuset => "cpuset",
            Self::Memory => "memory",
            Self::Freezer => "freezer",
        }
    }

    /// Whether version 2 has it in every group without being asked.
    const fn is_everywhere(self) -> bool {
        matches!(self, Self::Cpuacct | Self::Freezer)
    }
}

/// Which interfaces this device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    None,
    V1,
    V2,
    /// Controllers in version 1, and a unified tree beside them.
    Hybrid,
}

impl Shape {
    /// As a person says it.
    pub const fn described(self) -> &'static str {
        match self {
            Self::None => "no control groups",
            Self::V1 => "control groups of version 1",
            Self::V2 => "control groups of version 2",
            Self::Hybrid => "control groups of version 1 with a unified tree next to them",
        }
    }
}

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub version: Version,
    /// Where it is mounted, below the root that was looked at.
    pub mount: PathBuf,
    /// The group that is mounted there; `/` but in containers.
    within: String,
    /// Version 1: its controllers, or the `name=…` of a tree without any. Version 2: those of its root.
    names: Vec<String>,
    /// Whether it is mounted for reading only.
    pub read_only: bool,
}

impl Tree {
    pub fn has(&self, controller: Controller) -> bool {
        (self.version == Version::V2 && controller.is_everywhere())
            || self.names.iter().any(|name| name == controller.name())
    }

    /// The folder that the text of `/proc/PID/cgroup` leads to; `None` where the mount does not show it.
    pub fn folder_of(&self, memberships: &str) -> Option<PathBuf> {
        let path = memberships.lines().find_map(|line| self.membership(line))?;
        let below = match self.within.as_str() {
            "/" => path,
            root => {
                path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))?
            }
        };
        let below = below.trim_start_matches('/');
        // A group outside of our namespace's root is shown with leading `..`.
        (!below.starts_with("..")).then(|| self.folder(below))
    }

    /// The folder of a group by its path below the root.
    pub fn folder(&self, path: &str) -> PathBuf {
        match path.trim_matches('/') {
            "" => self.mount.clone(),
            path => self.mount.join(path),
        }
    }

    /// The path in a line `id:controllers:path`, if the line speaks of this tree.
    fn membership<'a>(&self, line: &'a str) -> Option<&'a str> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let ours = match self.version {
            Version::V2 => controllers.is_empty(),
            Version::V1 => controllers.split(',').any(|one| self.names.iter().any(|n| n == one)),
        };
        ours.then_some(path)
    }
}

/// All mounted hierarchies of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchies {
    root: PathBuf,
    trees: Vec<Tree>,
}

impl Hierarchies {
    /// Those of this device.
    pub fn find() -> Self {
        Self::at(Path::new("/"))
    }

    /// Those of a device whose `/` is `root`. A device whose mounts cannot be read has none.
    pub fn at(root: &Path) -> Self {
        let text = proc::read(root.join("proc/self/mountinfo")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut trees: Vec<Tree> = Vec::new();
        for mut tree in text.lines().filter_map(|line| mount(root, line)) {
            if tree.version == Version::V2 {
                tree.names = controllers(&tree.mount);
            }
            // What is mounted twice is one hierarchy; the first mount is the one that people look at.
            let twin = |other: &Tree| {
                other.version == tree.version
                    && (tree.version == Version::V2 || other.names == tree.names)
            };
            if !trees.iter().any(twin) {
                trees.push(tree);
            }
        }
        Self { root: root.to_owned(), trees }
    }

    /// The device's `/`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file of `/proc`.
    pub fn proc(&self, below: &str) -> PathBuf {
        self.root.join("proc").join(below)
    }

    /// All trees, also those without a controller that guard uses: a service manager may name groups there.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The tree with a controller. Version 1's, where it has it: a controller is only ever in one of the two.
    pub fn tree(&self, controller: Controller) -> Option<&Tree> {
        let of = |version| {
            self.trees.iter().find(move |tree| tree.version == version && tree.has(controller))
        };
        of(Version::V1).or_else(|| of(Version::V2))
    }

    pub fn unified(&self) -> Option<&Tree> {
        self.trees.iter().find(|tree| tree.version == Version::V2)
    }

    /// Which interfaces there are. A unified tree without a controller beside version 1 is hybrid, too.
    pub fn shape(&self) -> Shape {
        let v1 = self.trees.iter().any(|tree| {
            tree.version == Version::V1 && Controller::ALL.iter().any(|&one| tree.has(one))
        });
        match (v1, self.unified().is_some()) {
            (false, false) => Shape::None,
            (true, false) => Shape::V1,
            (false, true) => Shape::V2,
            (true, true) => Shape::Hybrid,
        }
    }
}

/// The controllers that a group's children may have (`cgroup.controllers`).
pub(crate) fn controllers(group: &Path) -> Vec<String> {
    words(&group.join("cgroup.controllers"))
}

/// The controllers that a group's children have (`cgroup.subtree_control`).
pub(crate) fn enabled(group: &Path) -> Vec<String> {
    words(&group.join("cgroup.subtree_control"))
}

fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// A line of `mountinfo` (proc(5)): id, parent, device, root, mount point, options, optional fields,
/// `-`, type, source, options of the file system.
fn mount(root: &Path, line: &str) -> Option<Tree> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (within, point, options) = (before.next()?, before.next()?, before.next()?);
    let mut after = after.split(' ');
    let version = match after.next()? {
        "cgroup" => Version::V1,
        "cgroup2" => Version::V2,
        _ => return None,
    };
    let of_system = after.nth(1).unwrap_or_default();
    let point = proc::path_of(point.as_bytes());
    let names =
        of_system.split(',').filter(|name| !matches!(*name, "rw" | "ro")).map(str::to_owned);
    Some(Tree {
        version,
        mount: root.join(point.strip_prefix("/").unwrap_or(&point)),
        within: proc::path_of(within.as_bytes()).to_string_lossy().into_owned(),
        names: if version == Version::V1 { names.collect() } else { Vec::new() },
        read_only: [options, of_system].iter().any(|all| all.split(',').any(|one| one == "ro")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::fake::Fake;

    #[test]
    fn each_controller_is_found_where_it_is() {
        let v1 = Fake::v1();
        let found = v1.hierarchies();
        assert_eq!(found.shape(), Shape::V1);
        let mount = |controller| found.tree(controller).unwrap().mount.clone();
        assert_eq!(mount(Controller::Cpu), v1.path("/sys/fs/cgroup/cpu"));
        assert_eq!(mount(Controller::Cpuset), v1.path("/sys/fs/cgroup/cpuset"));

        let v2 = Fake::v2();
        let found = v2.hierarchies();
        assert_eq!(found.shape(), Shape::V2);
        assert_eq!(found.tree(Controller::Cpu), found.tree(Controller::Freezer));
    }

    #[test]
    fn a_hybrid_device_has_its_controllers_in_version_1() {
        let found = Fake::hybrid();
        let found = found.hierarchies();
        assert_eq!(found.shape(), Shape::Hybrid);
        assert_eq!(found.tree(Controller::Cpu).unwrap().version, Version::V1);
        assert_eq!(found.tree(Controller::Memory).unwrap().version, Version::V2);
    }

    #[test]
    fn a_device_without_groups_is_no_error() {
        let none = Fake::none();
        let found = none.hierarchies();
        assert_eq!(found.shape(), Shape::None);
        assert_eq!(found.tree(Controller::Cpu), None);
        assert_eq!(Hierarchies::at(Path::new("/no/such/root")).shape(), Shape::None);
    }

    #[test]
    fn a_group_is_found_by_what_the_kernel_says_of_a_process() {
        let line = "32 31 0:29 /inner /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct";
        let tree = mount(Path::new("/"), line).unwrap();
        let folder = |text| tree.folder_of(text);
        assert_eq!(folder("3:cpu,cpuacct:/inner/a:b\n"), Some("/sys/fs/cgroup/cpu/a:b".into()));
        assert_eq!(folder("3:cpu,cpuacct:/inner\n"), Some("/sys/fs/cgroup/cpu".into()));
        assert_eq!(folder("3:cpu,cpuacct:/innermost\n"), None);
        assert_eq!(folder("0::/inner/a\n"), None);
        assert!(!tree.read_only);
        let line = "24 1 0:22 / /sys/fs/cgroup ro,nosuid - cgroup2 none rw";
        assert!(mount(Path::new("/"), line).unwrap().read_only);
        assert_eq!(mount(Path::new("/"), "22 1 0:21 / /proc rw - proc proc rw"), None);
    }
}
