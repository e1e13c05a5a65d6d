//! Mounts the file systems that an access point has, and names the machine.
//!
//! The root stays the unpacked initramfs. A kernel of somebody's own may lack a file system that only instruments need:
//! that is printed, and they report what they miss.

use std::{fs, os::unix::fs::symlink, path::Path};

use rustix::{
    io::Errno,
    mount::{MountFlags, mount},
    system::sethostname,
};

use super::{
    console::say,
    error::{Doing, Error},
    nodes,
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

/// Where the kernel makes the nodes of devices; without it they are made by [`nodes`].
const NODES: &str = "devtmpfs";

/// What only instruments need.
const INSTRUMENTS: [&str; 2] = ["tracefs", "debugfs"];

/// Where the services' configurations and logs are.
pub(super) const STATE: &str = "/run/headroom";
/// Where control groups are made.
pub(super) const GROUPS: &str = "/sys/fs/cgroup";

/// The controllers that can bound an application.
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

/// Mounts everything and names the machine.
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
                nodes::complete()?;
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
