//! One open event: of a thread, a CPU, or a control group on a CPU.
//!
//! Talks to `perf_event_open` and to the event's own requests. The descriptor is the event: closed, by
//! whomever and however, the kernel takes back what it put in place, a probe's breakpoint too.

use std::{
    ffi::CString,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use rustix::{
    io::Errno,
    ioctl::{Opcode, opcode},
};

use super::attributes::{Attributes, FORMAT_LOST, LENGTH};

use crate::error::checked;

/// `PERF_FLAG_PID_CGROUP` and `PERF_FLAG_FD_CLOEXEC`.
const PID_CGROUP: u64 = 1 << 2;
const CLOEXEC: u64 = 1 << 3;

/// `PERF_EVENT_IOC_*`.
const ENABLE: Opcode = opcode::none(b'$', 0);
const DISABLE: Opcode = opcode::none(b'$', 1);
const SET_OUTPUT: Opcode = opcode::none(b'$', 5);
const SET_FILTER: Opcode = opcode::write::<*const u8>(b'$', 6);
const ID: Opcode = opcode::read::<*mut u64>(b'$', 7);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A thread's, wherever it runs.
    Thread(u32),
    /// A thread's on one CPU.
    ThreadOn(u32, u32),
    /// Everybody's on one CPU.
    Cpu(u32),
    /// A control group's on one CPU; the descriptor of its folder.
    Group(RawFd, u32),
}

impl Target {
    /// The second, the third and the last argument of `perf_event_open`.
    fn arguments(self) -> (i32, i32, u64) {
        match self {
            Self::Thread(tid) => (tid as i32, -1, CLOEXEC),
            Self::ThreadOn(tid, cpu) => (tid as i32, cpu as i32, CLOEXEC),
            Self::Cpu(cpu) => (-1, cpu as i32, CLOEXEC),
            Self::Group(fd, cpu) => (fd, cpu as i32, CLOEXEC | PID_CGROUP),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub count: u64,
    /// Records that found no room in the ring; `None` before Linux 6.0.
    pub lost: Option<u64>,
}

#[derive(Debug)]
pub struct Event {
    fd: OwnedFd,
    counts_lost: bool,
}

impl Event {
    /// Opens it; `Target::Thread(0)` is the calling thread.
    pub fn open(attributes: &Attributes, target: Target) -> io::Result<Self> {
        let whole = attributes.clone().read_format(FORMAT_LOST);
        match open(&whole, target) {
            Ok(fd) => Ok(Self { fd, counts_lost: true }),
            // An older kernel does not know the format; of another fault it complains again.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                Ok(Self { fd: open(attributes, target)?, counts_lost: false })
            }
            Err(error) => Err(error),
        }
    }

    pub fn taken(&self, attributes: &Attributes) -> Attributes {
        let format = if self.counts_lost { FORMAT_LOST } else { 0 };
        attributes.clone().read_format(format)
    }

    /// Starts it, and what its thread's children have inherited of it.
    pub fn enable(&self) -> io::Result<()> {
        self.ask(ENABLE, 0)
    }

    pub fn disable(&self) -> io::Result<()> {
        self.ask(DISABLE, 0)
    }

    /// Writes into another event's ring.
    /// Fails with `EINVAL` where the two are on different CPUs or clocks.
    pub fn redirect(&self, to: BorrowedFd<'_>) -> io::Result<()> {
        self.ask(SET_OUTPUT, to.as_raw_fd())
    }

    /// Counts only what an expression over the fields of its tracepoint says, as `ret == -14`.
    /// Fails with `EINVAL` for a text that is no such expression.
    pub fn filter(&self, expression: &str) -> io::Result<()> {
        let text = CString::new(expression)?;
        // SAFETY: the request reads the text up to its end, and the text outlives the call.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), SET_FILTER as _, text.as_ptr()) })
            .map(drop)
    }

    /// Its number in samples; what is inherited has the same.
    pub fn id(&self) -> io::Result<u64> {
        let mut id = 0_u64;
        // SAFETY: the request writes one `u64` to the address, which is that of `id`.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), ID as _, &raw mut id) })?;
        Ok(id)
    }

    /// What it has counted, with what was inherited.
    pub fn read(&self) -> io::Result<Reading> {
        let mut bytes = [0_u8; 16];
        let length = rustix::io::read(&self.fd, &mut bytes)?;
        let word = |place: usize| {
            let word = bytes[..length].get(place * 8..place * 8 + 8)?;
            word.try_into().ok().map(u64::from_ne_bytes)
        };
        let lost = self.counts_lost.then(|| word(1)).flatten();
        Ok(Reading { count: word(0).ok_or(Errno::IO)?, lost })
    }

    fn ask(&self, request: Opcode, argument: i32) -> io::Result<()> {
        // SAFETY: these requests take a number and touch no memory of ours.
        checked(unsafe { libc::ioctl(self.fd.as_raw_fd(), request as _, argument) }).map(drop)
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn open(attributes: &Attributes, target: Target) -> io::Result<OwnedFd> {
    let mut words = attributes.words();
    debug_assert_eq!(size_of_val(&words), LENGTH);
    let (pid, cpu, flags) = target.arguments();
    let no_group = -1;
    // SAFETY: the attributes are as long as their size field says, initialised, and outlive the call; the
    // kernel writes at most to the size field.
    let fd = checked(unsafe {
        libc::syscall(libc::SYS_perf_event_open, words.as_mut_ptr(), pid, cpu, no_group, flags)
    })?;
    // SAFETY: `fd` has just been opened by the kernel and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::attributes::{CPU_CLOCK, SOFTWARE, flag};

    #[test]
    fn an_event_counts_between_its_start_and_its_stop() {
        let attributes = Attributes::new(SOFTWARE, CPU_CLOCK).flags(flag::DISABLED);
        let event = match Event::open(&attributes, Target::Thread(0)) {
            Ok(event) => event,
            Err(error) => return skip::skip!("perf_event_open: {error}"),
        };
        assert_eq!(event.read().expect("it is open").count, 0);
        event.enable().expect("it is open");
        std::hint::black_box((0..100_000).fold(0_u64, |sum, n| sum ^ std::hint::black_box(n)));
        event.disable().expect("it is open");
        let count = event.read().expect("it is open").count;
        assert!(count > 0);
        assert_eq!(event.read().expect("it is open").count, count);
        assert_ne!(event.id().expect("it is open"), 0);
    }
}
