//! How threads are scheduled: the real-time class, on which CPUs, and for how long.
//!
//! `sched_setscheduler` is called directly, because musl's function always refuses.
//!
//! Format: `sched(7)`. Minimum kernel: 2.6.32 (`SCHED_RESET_ON_FORK`).

use std::io;

use rustix::thread::{CpuSet, Pid, sched_setaffinity};

use crate::error::checked;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    Inherit,
    Normal,
}

/// Gives a thread the round-robin class with this priority, 1 to 99; 0 is the calling thread.
/// Fails with `EPERM` without the right, or in a group without real-time budget; `ESRCH` where it has ended.
pub fn round_robin(tid: u32, priority: u8, children: Children) -> io::Result<()> {
    let policy = match children {
        Children::Inherit => libc::SCHED_RR,
        Children::Normal => libc::SCHED_RR | libc::SCHED_RESET_ON_FORK,
    };
    set(tid, policy, priority.into())
}

/// Gives a thread the usual class; 0 is the calling thread.
pub fn normal(tid: u32) -> io::Result<()> {
    set(tid, libc::SCHED_OTHER, 0)
}

fn set(tid: u32, policy: i32, priority: i32) -> io::Result<()> {
    // The system call takes a `struct sched_param`, whose only field is the priority.
    // SAFETY: the pointer leads to an initialised `int` that outlives the call, which only reads it.
    let answer = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, tid as i32, policy, &raw const priority)
    };
    checked(answer).map(drop)
}

/// CPU time of a thread of this process, ns.
///
/// The clock's number is the thread's, complemented, above the bits for a thread's clock of the scheduler
/// (`include/linux/posix-timers.h`: `CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED`).
/// Fails with `EINVAL` where it has ended.
pub fn cpu_time_ns(tid: u32) -> io::Result<u64> {
    let clock = (!(tid as libc::clockid_t) << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer leads to a `timespec` that outlives the call, which writes it.
    checked(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Keeps a thread on these CPUs; 0 is the calling thread.
/// Fails with `EINVAL` where none of them is online or allowed, `ESRCH` where it has ended.
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

    fn policy() -> libc::c_long {
        // SAFETY: the call takes a number and touches no memory.
        unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) }
    }

    #[test]
    fn a_thread_gets_the_class_and_gives_it_back() {
        std::thread::spawn(|| {
            if let Err(error) = round_robin(0, 1, Children::Normal) {
                return skip::skip!("no real-time class here: {error}");
            }
            assert_eq!(policy(), libc::c_long::from(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK));
            normal(0).unwrap();
            assert_eq!(policy() & 0xff, libc::c_long::from(libc::SCHED_OTHER));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn another_threads_time_is_what_it_says_itself() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            while begun.elapsed() < std::time::Duration::from_millis(2) {}
            sender.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ends.recv();
            rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime)
        });
        let tid = receiver.recv().unwrap();
        let seen = cpu_time_ns(tid).unwrap();
        drop(end);
        let own = worker.join().unwrap();
        let own = own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64;
        assert!(seen > 0 && seen <= own, "{seen} {own}");
        assert_eq!(cpu_time_ns(tid).unwrap_err().raw_os_error(), Some(libc::EINVAL));
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
