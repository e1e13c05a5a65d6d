//! How threads are scheduled: the real-time class, and on which CPUs.
//!
//! Talks to `sched_setscheduler` and `sched_setaffinity`. The system call is made directly, because musl's
//! function refuses always.
//!
//! Format: `sched(7)`. Minimum kernel: 2.6.32 (`SCHED_RESET_ON_FORK`).

use std::io;

use rustix::thread::{CpuSet, Pid, sched_setaffinity};

/// Whether children inherit the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// They have it too.
    Inherit,
    /// They begin as any process.
    Normal,
}

/// Gives a thread the round-robin class with this priority, 1 to 99; 0 is the calling thread.
///
/// # Errors
///
/// `EPERM` without the right, or in a group without real-time budget; `ESRCH` where it has ended.
pub fn round_robin(tid: u32, priority: u8, children: Children) -> io::Result<()> {
    let policy = match children {
        Children::Inherit => libc::SCHED_RR,
        Children::Normal => libc::SCHED_RR | libc::SCHED_RESET_ON_FORK,
    };
    set(tid, policy, priority.into())
}

/// Gives a thread the usual class; 0 is the calling thread.
///
/// # Errors
///
/// As [`round_robin`].
pub fn normal(tid: u32) -> io::Result<()> {
    set(tid, libc::SCHED_OTHER, 0)
}

fn set(tid: u32, policy: i32, priority: i32) -> io::Result<()> {
    // The system call takes a `struct sched_param`, whose only field is the priority.
    // SAFETY: the pointer leads to an initialised `int` that outlives the call, which only reads it.
    let answer = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, tid as i32, policy, &raw const priority)
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Keeps a thread on these CPUs; 0 is the calling thread.
///
/// # Errors
///
/// `EINVAL` where none of them is online or allowed, `ESRCH` where it has ended.
pub fn pin(tid: u32, cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU) {
        set.set(cpu as usize);
    }
    let pid = i32::try_from(tid).ok().and_then(Pid::from_raw);
    Ok(sched_setaffinity(pid, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> i64 {
        // SAFETY: the call takes a number and touches no memory.
        unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }
    }

    #[test]
    fn a_thread_gets_the_class_and_gives_it_back() {
        std::thread::spawn(|| {
            if let Err(error) = round_robin(0, 1, Children::Normal) {
                return eprintln!("skipped: no real-time class here: {error}");
            }
            assert_eq!(policy(), i64::from(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK));
            normal(0).unwrap();
            assert_eq!(policy() & 0xff, i64::from(libc::SCHED_OTHER));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_stays_on_its_cpu_and_no_cpu_is_refused() {
        std::thread::spawn(|| {
            let cpus = crate::system::cpus();
            pin(0, &cpus[..1]).unwrap();
            assert!(pin(0, &[]).is_err());
        })
        .join()
        .unwrap();
    }
}
