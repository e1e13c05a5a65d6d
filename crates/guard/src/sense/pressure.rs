//! Pressure (PSI): how long somebody waited, and a call once somebody begins to.
//!
//! Absent on kernels built without it, as OpenWrt's usual ones are; present and switched off on others.

use std::{
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use linux::load;
use rustix::{
    fd::OwnedFd,
    fs::{Mode, OFlags},
};

use super::source::{File, below, grown};

/// Called once in 500 ms in which tasks waited 50 ms: the shortest window that the kernel takes, and a tenth of
/// it. Without `CAP_SYS_RESOURCE` it takes windows of 2 s only, and none before 6.5.
const TRIGGERS: [&[u8]; 2] = [b"some 50000 500000\0", b"some 200000 2000000\0"];

/// One file of `/proc/pressure`.
#[derive(Debug)]
pub(crate) struct Pressure {
    file: Option<File>,
    /// Why there is none.
    absent: Option<&'static str>,
    before_us: Option<u64>,
}

impl Pressure {
    /// Opens `/proc/pressure/NAME`.
    pub(crate) fn open(root: &Path, name: &str, buffer: &mut [u8]) -> Self {
        let file = File::open(below(root, "/proc/pressure").join(name));
        let (file, absent) = match file {
            None => (None, Some("kernel built without it")),
            // A kernel with `psi=0` has the file and refuses to read it.
            Some(file) if file.read(buffer).and_then(load::pressure_us).is_none() => {
                (None, Some("switched off; boot with psi=1"))
            }
            Some(file) => (Some(file), None),
        };
        Self { file, absent, before_us: None }
    }

    /// Why it cannot be told; `None` where it can.
    pub(crate) fn absent(&self) -> Option<&'static str> {
        self.absent
    }

    /// Time since the last call in which somebody waited, ns.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Option<u64> {
        let now = self.file.as_ref()?.read(buffer).and_then(load::pressure_us);
        let before = std::mem::replace(&mut self.before_us, now)?;
        Some(grown(now?, before)?.saturating_mul(1000))
    }
}

/// A descriptor that is called (`POLLPRI`) when tasks wait for CPUs.
#[derive(Debug)]
pub(crate) struct Trigger(OwnedFd);

impl Trigger {
    /// Asks the running kernel for one; `None` where it has none to give.
    pub(crate) fn open() -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open("/proc/pressure/cpu", flags, Mode::empty()).ok()?;
        let taken = TRIGGERS.iter().any(|trigger| rustix::io::write(&fd, trigger).is_ok());
        taken.then_some(Self(fd))
    }

    /// What to poll.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sense::{source::buffer, tree::Tree};

    #[test]
    fn waiting_is_a_difference_in_ns() {
        let tree = Tree::new(&[("proc/pressure/cpu", "some avg10=0.00 total=1000\n")]);
        let mut buffer = buffer();
        let mut pressure = Pressure::open(tree.root(), "cpu", &mut buffer);
        assert_eq!(pressure.read(&mut buffer), None, "nothing to compare with");
        tree.write("proc/pressure/cpu", "some avg10=0.00 total=1500\n");
        assert_eq!(pressure.read(&mut buffer), Some(500_000));
        tree.write("proc/pressure/cpu", "some avg10=0.00 total=3\n");
        assert_eq!(pressure.read(&mut buffer), None, "it went back");
        tree.write("proc/pressure/cpu", "");
        assert_eq!(pressure.read(&mut buffer), None);
        tree.write("proc/pressure/cpu", "some avg10=0.00 total=7\n");
        assert_eq!(pressure.read(&mut buffer), None);
    }

    #[test]
    fn a_kernel_without_it_and_one_with_it_switched_off_differ() {
        let tree = Tree::new(&[("proc/pressure/memory", "")]);
        let why = |name| Pressure::open(tree.root(), name, &mut buffer()).absent();
        assert_eq!(why("cpu"), Some("kernel built without it"));
        assert_eq!(why("memory"), Some("switched off; boot with psi=1"));
    }
}
