//! The file systems that an access point has, and its name.
//!
//! Talks to `mount` and `sethostname`. It makes the mount points that are missing; the root stays
//! the unpacked initramfs.

use std::fs;

use rustix::{
    mount::{MountFlags, mount},
    system::sethostname,
};

use super::error::{Doing, Error};

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

/// Where the services' configurations and logs are.
pub(super) const STATE: &str = "/run/headroom";
/// Where control groups are made.
pub(super) const GROUPS: &str = "/sys/fs/cgroup";

/// Mounts everything and names the machine.
pub(super) fn prepare() -> Result<(), Error> {
    for (kind, place, options) in MOUNTS {
        let doing = || format!("mount {kind} on {place}");
        // Inside sysfs the folders are the kernel's, and there already.
        if !place.starts_with("/sys/") {
            fs::create_dir_all(place).doing(doing)?;
        }
        mount(kind, place, kind, MountFlags::empty(), options).doing(doing)?;
    }
    fs::create_dir_all(STATE).doing(|| format!("make {STATE}"))?;
    sethostname(b"headroom").doing(|| "set the host name".into())
}
