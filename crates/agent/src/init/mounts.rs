//! Mounts the file systems of an access point, makes the folders and device nodes that are missing, and names the
//! machine.
//!
//! Where applications are to be bounded, it prepares the root group for that. The root stays the unpacked initramfs. A
//! user's own kernel may lack a file system that only instruments need: that is reported, and the instruments report
//! what they miss. A kernel with `CONFIG_DEVTMPFS` off, as in OpenWrt's usual build, makes no device nodes.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
};

use rustix::{
    fs::{CWD, Dev, FileType, Mode, makedev, mknodat},
    io::Errno,
    mount::{MountFlags, mount},
    system::sethostname,
};

use super::{
    console::say,
    error::{Doing, Error},
    topology::Topology,
};

/// Type, place and options, in the order in which they depend on each other.
const MOUNTS: [(&str, &str, Option<&std::ffi::CStr>); 10] = [
    ("proc", "/proc", None),
    ("sysfs", "/sys", None),
    ("devtmpfs", "/dev", None),
    ("devpts", "/dev/pts", None),
    ("tmpfs", "/dev/shm", None),
    ("tmpfs", "/tmp", Some(c"mode=1777")),
    ("tmpfs", "/run", Some(c"mode=755")),
    ("cgroup2", "/sys/fs/cgroup", None),
    ("tracefs", "/sys/kernel/tracing", None),
    ("debugfs", "/sys/kernel/debug", None),
];

/// Where the kernel makes the nodes of devices; without it they are made by [`make_nodes`].
const NODES: &str = "devtmpfs";

/// What only instruments need.
const INSTRUMENTS: [&str; 2] = ["tracefs", "debugfs"];

/// Where the services' configurations and logs are.
pub(super) const STATE: &str = "/run/headroom";
pub(super) const GROUPS: &str = "/sys/fs/cgroup";

const CONTROLLERS: &str = "+cpu +memory +cpuset";

/// Lets the groups below the root be bounded, where the machine has a WAN side to protect, or has them count memory.
/// Elsewhere they only count CPU time, and no group's weight means anything.
pub(super) fn let_groups_be_bounded(topology: &Topology) -> Result<(), Error> {
    let controllers = match topology {
        Topology { wan: true, .. } => CONTROLLERS,
        Topology { memory: true, .. } => "+memory",
        _ => return Ok(()),
    };
    let file = format!("{GROUPS}/cgroup.subtree_control");
    fs::write(&file, controllers).doing(|| format!("write {controllers} to {file}"))
}

pub(super) fn prepare() -> Result<(), Error> {
    for (kind, place, options) in MOUNTS {
        let doing = || format!("mount {kind} on {place}");
        // Inside sysfs the folders are the kernel's, and there already.
        if !place.starts_with("/sys/") {
            fs::create_dir_all(place).doing(doing)?;
        }
        match mount(kind, place, kind, MountFlags::empty(), options) {
            Err(Errno::NODEV | Errno::NOENT) if INSTRUMENTS.contains(&kind) => {
                say(format_args!("the kernel has no {kind}"));
            }
            Err(Errno::NODEV) if kind == NODES => {
                mount("tmpfs", place, "tmpfs", MountFlags::empty(), Some(c"mode=755"))
                    .doing(doing)?;
                make_nodes()?;
            }
            mounted => mounted.doing(doing)?,
        }
    }
    // Programs of a root of somebody's own look for each other's sockets there, and its link may lead into /tmp.
    if !Path::new("/var/run").exists() {
        let _ = symlink("/run", "/var/run");
    }
    fs::create_dir_all(STATE).doing(|| format!("make {STATE}"))?;
    sethostname(b"headroom").doing(|| "set the host name".into())
}

/// Lists of devices, one folder each, named by its numbers.
const LISTS: [(&str, FileType); 2] =
    [("/sys/dev/char", FileType::CharacterDevice), ("/sys/dev/block", FileType::BlockDevice)];
const MOUNTED: &str = "/proc/mounts";
const DEVICES: &str = "/dev";
const USUAL_MODE: u32 = 0o600;

/// Makes the nodes of devices that are not there, from what sysfs says of each, unless the kernel does.
pub(super) fn make_nodes() -> Result<(), Error> {
    let mounts = fs::read_to_string(MOUNTED).doing(|| format!("read {MOUNTED}"))?;
    if mounts.lines().any(is_the_kernels) {
        return Ok(());
    }
    for (list, kind) in LISTS {
        make_listed(Path::new(list), kind).doing(|| format!("make the nodes of {list}"))?;
    }
    Ok(())
}

/// Whether a line says that the kernel makes the nodes of `/dev`.
fn is_the_kernels(mount: &str) -> bool {
    let mut fields = mount.split(' ').skip(1);
    (fields.next(), fields.next()) == (Some(DEVICES), Some("devtmpfs"))
}

fn make_listed(list: &Path, kind: FileType) -> io::Result<()> {
    for entry in fs::read_dir(list)? {
        // A device that is gone meanwhile needs no node.
        let Ok(said) = fs::read_to_string(entry?.path().join("uevent")) else { continue };
        let Some(node) = Node::of(&said) else { continue };
        let path = Path::new(DEVICES).join(node.name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        match mknodat(CWD, &path, kind, Mode::from_raw_mode(node.mode), node.device) {
            // The process's mask took from the mode.
            Ok(()) => fs::set_permissions(&path, fs::Permissions::from_mode(node.mode))?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Node<'a> {
    name: &'a str,
    device: Dev,
    mode: u32,
}

impl<'a> Node<'a> {
    /// As the kernel says it; `None` of a device that has no node.
    fn of(said: &'a str) -> Option<Self> {
        let value = |key: &str| {
            let mut lines = said.lines();
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        };
        let number = |key: &str| value(key)?.parse().ok();
        let mode = value("DEVMODE").and_then(|mode| u32::from_str_radix(mode, 8).ok());
        let device = makedev(number("MAJOR")?, number("MINOR")?);
        Some(Self { name: value("DEVNAME")?, device, mode: mode.unwrap_or(USUAL_MODE) })
    }
}

/// The folders that the image's packages ask for, one a line: `make` or, for what is only changed where it is there,
/// `keep`; mode in octal, numbers of user and group, and path; `-` for what stays as it is.
const LIST: &str = "/etc/headroom/folders";

/// Makes the folders of the list, where there is one. A folder that cannot be made is reported on the console; a subject
/// that misses it says so itself.
pub(super) fn make_folders() -> Result<(), Error> {
    let list = match fs::read_to_string(LIST) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        list => list.doing(|| format!("read {LIST}"))?,
    };
    for line in list.lines() {
        if let Err(error) = make_folder(Path::new("/"), line) {
            say(format_args!("cannot make `{line}` of {LIST}: {error}"));
        }
    }
    Ok(())
}

/// A folder of the list, below a root.
fn make_folder(root: &Path, line: &str) -> io::Result<()> {
    let fields: Vec<&str> = line.splitn(5, ' ').collect();
    let [verb, mode, user, group, path] = fields[..] else {
        return Err(ErrorKind::InvalidData.into());
    };
    let path = root.join(path.trim_start_matches('/'));
    match (path.exists(), verb) {
        (true, _) => {}
        (false, "make") => fs::create_dir_all(&path)?,
        (false, _) => return Ok(()),
    }
    let (user, group) = (user.parse().ok(), group.parse().ok());
    if user.is_some() || group.is_some() {
        chown(&path, user, group)?;
    }
    // After the owner: a change of that takes away set-uid and set-gid.
    match u32::from_str_radix(mode, 8) {
        Ok(mode) => fs::set_permissions(&path, fs::Permissions::from_mode(mode)),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_node_is_what_the_kernel_says_of_its_device() {
        let said = "MAJOR=1\nMINOR=3\nDEVNAME=null\nDEVMODE=0666\n";
        let null = Node { name: "null", device: makedev(1, 3), mode: 0o666 };
        assert_eq!(Node::of(said), Some(null));
        let port = Node::of("MAJOR=248\nMINOR=1\nDEVNAME=vport1p1\n").unwrap();
        assert_eq!((port.name, port.mode), ("vport1p1", 0o600));
        assert_eq!(Node::of("DRIVER=virtio_console\n"), None);
    }

    #[test]
    fn a_kernel_that_makes_nodes_is_left_alone() {
        assert!(is_the_kernels("devtmpfs /dev devtmpfs rw,relatime 0 0"));
        assert!(!is_the_kernels("tmpfs /dev tmpfs rw 0 0"));
        assert!(!is_the_kernels("devtmpfs /mnt devtmpfs rw 0 0"));
    }

    #[test]
    fn a_folder_gets_what_its_line_says() {
        let root = tempfile::tempdir().unwrap();
        let (user, group) =
            (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        make_folder(root.path(), &format!("make 2750 {user} {group} /run/some/a b")).unwrap();
        make_folder(root.path(), "make - - - /run/some").unwrap();
        make_folder(root.path(), "keep 755 - - /run/other").unwrap();
        assert!(!root.path().join("run/other").exists());
        let made = fs::metadata(root.path().join("run/some/a b")).unwrap();
        assert_eq!((made.mode() & 0o7777, made.uid(), made.gid()), (0o2750, user, group));
        assert!(make_folder(root.path(), "make 755 0 0").is_err());
    }
}
