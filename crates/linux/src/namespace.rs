//! Network namespaces as descriptors, and a view of `/sys` that fits the one that a thread is in.
//!
//! A namespace that nothing is in lives as long as a descriptor of it, so one that is held here leaves nothing behind,
//! however the holder ends. Entering is for a thread's whole life.
//!
//! Minimum kernel: 3.0 (`setns`), 5.2 (`open_tree`, for [`see_own_devices`]).

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::CWD,
    mount::{
        MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
        move_mount, open_tree,
    },
    thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe},
};

#[derive(Debug)]
pub struct Network {
    fd: OwnedFd,
}

impl Network {
    pub fn of_this_thread() -> io::Result<Self> {
        Self::open(Path::new("/proc/thread-self/ns/net"))
    }

    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: File::open(path)?.into() })
    }

    pub fn again(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()? })
    }

    /// Moves the calling thread there, and what it starts from now on.
    /// Fails with `EPERM` without the right.
    pub fn enter(&self) -> io::Result<()> {
        enter(self.as_fd())
    }
}

impl AsFd for Network {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// [`Network::enter`] of a bare descriptor; it allocates nothing.
pub(crate) fn enter(fd: BorrowedFd<'_>) -> io::Result<()> {
    Ok(move_into_link_name_space(fd, Some(LinkNameSpaceType::Network))?)
}

/// Gives the calling thread mounts of its own, in which `/sys` shows the devices of its network namespace. What
/// is mounted below `/sys/fs/cgroup` stays; other mounts below `/sys` are hidden. Nobody else's mounts change.
///
/// It allocates nothing, so that it may stand between fork and exec.
/// Fails with `EPERM` without the right, `ENOSYS` before Linux 5.2.
pub fn see_own_devices() -> io::Result<()> {
    // SAFETY: only the mount namespace is left behind, and with it the working directory's sharing.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let groups = open_tree(CWD, c"/sys/fs/cgroup", flags);
    mount(c"headroom", c"/sys", c"sysfs", MountFlags::empty(), None)?;
    match groups {
        Ok(groups) => {
            let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
            Ok(move_mount(groups, c"", CWD, c"/sys/fs/cgroup", flags)?)
        }
        // A machine without control groups has none to keep.
        Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_in_the_namespace_that_it_enters() {
        let own = Network::of_this_thread().unwrap();
        if let Err(error) = own.enter() {
            return skip::skip!("setns: {error}");
        }
        assert!(Network::open(Path::new("/no/such/namespace")).is_err());
    }

    #[test]
    fn a_new_namespace_shows_no_device_but_loopback() {
        let seen = std::thread::spawn(|| {
            crate::link::enter_new_network_namespace()?;
            see_own_devices()?;
            let names =
                std::fs::read_dir("/sys/class/net")?.flatten().map(|entry| entry.file_name());
            io::Result::Ok((names.collect::<Vec<_>>(), Path::new("/sys/fs/cgroup").exists()))
        });
        match seen.join().unwrap() {
            Ok((names, groups)) => {
                assert!(names.iter().any(|name| name == "lo"));
                assert!(!names.iter().any(|name| name == "eth0"), "{names:?}");
                assert!(groups);
            }
            Err(error) => skip::skip!("no namespace can be made here: {error}"),
        }
    }
}
