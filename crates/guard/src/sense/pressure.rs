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

/// From one look to the next, ns, less what a timer may be early.
const LOOK_NS: u64 = 900_000_000;

/// One file of `/proc/pressure`.
#[derive(Debug)]
pub(crate) struct Pressure {
    file: Option<File>,
    absent: Option<&'static str>,
    /// What was told last, µs, and when, ns.
    before: Option<(u64, u64)>,
    /// The share of time in which somebody waited, between the last two looks.
    share: Option<f64>,
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
        Self { file, absent, before: None, share: None }
    }

    /// Why it cannot be told; `None` where it can.
    pub(crate) fn absent(&self) -> Option<&'static str> {
        self.absent
    }

    /// Time of the last `span_ns` in which somebody waited, ns. Looked at once a second, for the kernel adds it up
    /// over all tasks at each look; in between the last second's share holds.
    pub(crate) fn read(&mut self, at_ns: u64, span_ns: u64, buffer: &mut [u8]) -> Option<u64> {
        let file = self.file.as_ref()?;
        let is_due = self.before.is_none_or(|(_, then)| at_ns.saturating_sub(then) >= LOOK_NS);
        if is_due {
            let now = file.read(buffer).and_then(load::pressure_us);
            let before = std::mem::replace(&mut self.before, now.map(|now| (now, at_ns)));
            self.share = before.zip(now).and_then(|((before, then), now)| {
                let passed = at_ns.checked_sub(then).filter(|&passed| passed > 0)?;
                Some((grown(now, before)? as f64 * 1e3 / passed as f64).min(1.0))
            });
        }
        self.share.map(|share| (share * span_ns as f64) as u64)
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

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sense::{source::buffer, tree::Tree};

    #[test]
    fn waiting_is_a_share_of_the_last_second() {
        const MS: u64 = 1_000_000;
        let tree = Tree::new(&[("proc/pressure/cpu", "some avg10=0.00 total=1000\n")]);
        let mut buffer = buffer();
        let mut pressure = Pressure::open(tree.root(), "cpu", &mut buffer);
        let mut read = |at_ms: u64, text: &str| {
            tree.write("proc/pressure/cpu", text);
            pressure.read(at_ms * MS, 200 * MS, &mut buffer)
        };
        assert_eq!(read(1000, "some avg10=0.00 total=1000\n"), None, "nothing to compare with");
        assert_eq!(read(1200, "some avg10=0.00 total=1500\n"), None, "looked at once a second");
        assert_eq!(read(2000, "some avg10=0.00 total=251000\n"), Some(50 * MS), "a quarter");
        assert_eq!(read(2200, "some avg10=0.00 total=251000\n"), Some(50 * MS));
        assert_eq!(read(3000, "some avg10=0.00 total=3\n"), None, "it went back");
        assert_eq!(read(4000, ""), None);
        assert_eq!(read(5000, "some avg10=0.00 total=7\n"), None);
    }

    #[test]
    fn a_kernel_without_it_and_one_with_it_switched_off_differ() {
        let tree = Tree::new(&[("proc/pressure/memory", "")]);
        let why = |name| Pressure::open(tree.root(), name, &mut buffer()).absent();
        assert_eq!(why("cpu"), Some("kernel built without it"));
        assert_eq!(why("memory"), Some("switched off; boot with psi=1"));
    }
}
