//! Starting a program in a control group, and hearing of signals without a handler.
//!
//! Talks to the system calls of process creation and to `signalfd`. It waits for nothing, restarts
//! nothing and decides nothing: that is the caller's.

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd},
    path::Path,
    process::{Child, Command},
};

use rustix::process::{Pid, PidfdFlags, Signal};

use crate::{error::checked, place::Place};

/// Starts `command`; if `group` names a control group's folder, its first instruction is executed there.
///
/// An unusable group fails before anything is started. The child starts with no signal blocked, whatever the caller has
/// blocked for [`Signals`].
pub fn spawn_in(group: Option<&Path>, command: Command) -> io::Result<Child> {
    Place::default().groups(group)?.start(command)
}

/// Signals that arrive as something to read.
///
/// They stay blocked after the value is dropped, so that none that is still pending kills the
/// process while it restores what it changed.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
}

impl Signals {
    /// Blocks these signals for the calling thread and opens a descriptor that tells of them.
    /// Fails with `EINVAL` for a number that is no signal, `EMFILE` and the like.
    pub fn block(signals: &[Signal]) -> io::Result<Self> {
        let set = set_of(signals);
        // SAFETY: `set` is an initialised signal set that outlives the call, and the old set may be null.
        checked(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) })?;
        // SAFETY: `set` is an initialised signal set that outlives the call.
        let fd =
            checked(unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: `fd` has just been opened by `signalfd` and nobody else owns it.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    pub fn next(&self) -> Option<i32> {
        let mut record = [0_u8; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.fd, &mut record).ok()?;
        // `ssi_signo` is the first field.
        let number = record[..length].first_chunk::<4>()?;
        i32::try_from(u32::from_ne_bytes(*number)).ok()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A descriptor that becomes readable when the process ends; `None` before Linux 5.3, or without it.
pub fn watch(pid: u32) -> Option<OwnedFd> {
    rustix::process::pidfd_open(own_pid(pid)?, PidfdFlags::empty()).ok()
}

/// Ends a process at once.
/// Fails with `ESRCH` where there is none, `EPERM` where it is not ours.
pub fn kill(pid: u32) -> io::Result<()> {
    let pid = own_pid(pid).ok_or(rustix::io::Errno::SRCH)?;
    Ok(rustix::process::kill_process(pid, Signal::KILL)?)
}

/// No signal goes to pid 0 or 1: those would be our whole group, and the machine.
pub(crate) fn own_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|&pid| pid > 1).and_then(Pid::from_raw)
}

pub(crate) fn unblock_all() -> io::Result<()> {
    let set = set_of(&[]);
    // SAFETY: `set` is an initialised signal set that outlives the call, and the old set may be null.
    checked(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()) }).map(drop)
}

fn set_of(signals: &[Signal]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the whole set that the pointer leads to.
    let mut set: libc::sigset_t = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for signal in signals {
        // SAFETY: `set` is initialised and exclusively borrowed; a wrong number is only refused.
        unsafe { libc::sigaddset(&mut set, signal.as_raw()) };
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_a_group_runs_with_no_signal_blocked() {
        let blocked = std::thread::spawn(|| {
            let _signals = Signals::block(&[Signal::HUP]).expect("a signal");
            let mut command = Command::new("grep");
            command.args(["SigBlk", "/proc/self/status"]).stdout(std::process::Stdio::piped());
            let child = spawn_in(None, command).expect("grep is everywhere");
            child.wait_with_output().expect("it ends").stdout
        });
        let blocked = String::from_utf8(blocked.join().expect("no panic")).expect("ASCII");
        assert_eq!(blocked.split_whitespace().nth(1), Some("0000000000000000"));
    }

    #[test]
    fn a_blocked_signal_is_read() {
        let seen = std::thread::spawn(|| {
            let signals = Signals::block(&[Signal::USR1]).expect("a signal");
            assert_eq!(signals.next(), None);
            let own = rustix::thread::gettid();
            // SAFETY: the thread signals itself, with a signal that it has blocked.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_tgkill,
                    rustix::process::getpid().as_raw_nonzero().get(),
                    own.as_raw_nonzero().get(),
                    libc::SIGUSR1,
                )
            };
            assert_eq!(sent, 0);
            signals.next()
        });
        assert_eq!(seen.join().expect("no panic"), Some(libc::SIGUSR1));
    }

    #[test]
    fn nothing_is_sent_to_everybody() {
        assert!(kill(0).is_err());
        assert!(kill(1).is_err());
        assert!(kill(u32::MAX).is_err());
    }
}
