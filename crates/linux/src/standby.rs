//! A second process of the same program, which undoes what the first did when that can no longer.
//!
//! Talks to `memfd_create`, `/proc/self/exe`, `setsid` and `signalfd`. What is watched and undone is the
//! caller's; it starts nothing and ends nothing. Minimum kernel: 3.17 (`memfd_create`).

use std::{
    ffi::CString,
    fs::File,
    io,
    os::{fd::AsFd, unix::net::UnixStream},
};

use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::{Signal, setsid},
};

use crate::process::Signals;

/// Signals that would end it before its time.
const REFUSED: [Signal; 8] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::TSTP,
];

/// Our own program as another file, in memory: busybox's `killall` finds whoever runs the same one, whatever its
/// name.
pub fn copy_of_ourselves(name: &str) -> io::Result<File> {
    let mut copy = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    io::copy(&mut File::open("/proc/self/exe")?, &mut copy)?;
    Ok(copy)
}

/// A life of its own for the calling process: a session, a name of which the kernel keeps fifteen bytes, and no
/// signal but those that nobody can refuse. Answers its line to the first process, which is its standard input.
///
/// The signals are refused for the process's whole life.
/// Fails where standard input is no socket: a person has called it.
pub fn stand_by(name: &str) -> io::Result<UnixStream> {
    // Nothing is read of them: blocked, they wait until we have ended.
    drop(Signals::block(&REFUSED)?);
    // Refused only where we lead a session already.
    let _ = setsid();
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    line.local_addr()?;
    if let Ok(name) = CString::new(name) {
        let _ = rustix::thread::set_name(&name);
    }
    Ok(line)
}
