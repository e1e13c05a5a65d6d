//! Ending another thread's blocking system call.
//!
//! The signal is `SIGURG`, which programs ignore unless they ask for it: a handler that does nothing, without
//! `SA_RESTART`, lets the call end with `EINTR`. A signal that comes just before the call meets nothing; whoever
//! interrupts repeats it.
//!
//! Format: `signal(7)`.

use std::io;

use rustix::thread::gettid;

use crate::error::checked;

/// A thread whose calls may be ended.
#[derive(Clone, Copy, Debug)]
pub struct Interruptible {
    tid: i32,
}

/// Lets the calling thread's blocking calls be ended.
pub fn this_thread() -> io::Result<Interruptible> {
    // SAFETY: an all-zero `sigaction` is a valid one: no handler, an empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
    // SAFETY: both structures outlive the call, which reads the first; the handler does nothing, which is safe in any
    // thread at any time.
    checked(unsafe { libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut()) })?;
    Ok(Interruptible { tid: gettid().as_raw_nonzero().get() })
}

extern "C" fn nothing(_signal: i32) {}

impl Interruptible {
    /// Ends the call in which the thread blocks, if it does.
    /// Fails with `ESRCH` where the thread has ended.
    pub fn interrupt(&self) -> io::Result<()> {
        let process = rustix::process::getpid().as_raw_nonzero().get();
        // SAFETY: the call takes three integers and touches no memory.
        checked(unsafe { libc::syscall(libc::SYS_tgkill, process, self.tid, libc::SIGURG) })
            .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use super::*;

    #[test]
    fn a_read_that_blocks_ends_and_a_thread_that_has_ended_is_reported() {
        let (read, _write) = rustix::pipe::pipe().unwrap();
        let (sender, receiver) = mpsc::channel();
        let reader = thread::spawn(move || {
            sender.send(this_thread().unwrap()).unwrap();
            rustix::io::read(&read, &mut [0; 1][..])
        });
        let thread = receiver.recv().unwrap();
        while !reader.is_finished() {
            let _ = thread.interrupt();
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(reader.join().unwrap(), Err(rustix::io::Errno::INTR));
        assert_eq!(thread.interrupt().unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
