//! A second process of this executable that waits on a socket, to undo what a killed agent cannot.
//!
//! A copy in memory under another name, so that who ends all agents does not end it. It says one byte when it
//! is there. What it hears and undoes is the caller's: [`crate::pause`], [`crate::definitions`].

use std::{
    io::{self, Read},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use linux::{process::spawn_in, standby::copy_of_ourselves};

pub(crate) const NAME: &str = "headroom-watch";

/// So long it may take to start, or to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Starts one with these words: the process, and our end of its socket.
pub(crate) fn start(words: &[&str]) -> io::Result<(Child, UnixStream)> {
    let (ours, its) = UnixStream::pair()?;
    ours.set_read_timeout(Some(PATIENCE))?;
    let copy = copy_of_ourselves(NAME).ok();
    let program = copy.as_ref().map_or_else(
        || PathBuf::from("/proc/self/exe"),
        |copy| PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd())),
    );
    let mut command = Command::new(program);
    command.arg0(NAME).args(words).env_clear();
    command.stdin(Stdio::from(OwnedFd::from(its)));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok((spawn_in(None, command)?, ours))
}

/// Waits for one byte of it.
///
/// # Errors
///
/// That it ended, or said nothing in time.
pub(crate) fn hear(mut line: &UnixStream) -> io::Result<u8> {
    let mut sign = [0];
    line.read_exact(&mut sign)?;
    Ok(sign[0])
}
