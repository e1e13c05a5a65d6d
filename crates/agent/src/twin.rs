//! Starts a process of this executable that waits for a byte, does one thing, and says what came of it.
//!
//! Instruments are proved on it, because it is known what it does and nothing else has to be on the device; and it is
//! stopped in the place of a consumer. It ends where its input does, so it never outlives the agent.

use std::{
    io::{self, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// It may take this long to start, or to answer, of wall time.
const PATIENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// One that waits. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Twin {
    child: Child,
    go: ChildStdin,
    said: ChildStdout,
}

impl Twin {
    /// Starts one with these words in a control group, and waits until it is there.
    pub(crate) fn start(words: &[&str], group: Option<&Path>) -> io::Result<Self> {
        // The link leads to the executable even where its path has been replaced. Without environment the
        // stack is short, and so is what is sent of it.
        let mut command = Command::new("/proc/self/exe");
        command.args(words).env_clear();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = linux::process::spawn_in(group, command)?;
        let (Some(go), Some(said)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut twin = Self { child, go, said };
        twin.hear::<1>()?;
        Ok(twin)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it do what it is there for, and takes its answer.
    pub(crate) fn go<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.go.write_all(&[1])?;
        self.hear()
    }

    /// What else it says, up to so many bytes, and whether it ended well.
    pub(crate) fn end(&mut self, most: u64) -> io::Result<(String, bool)> {
        let mut rest = Vec::new();
        (&mut self.said).take(most).read_to_end(&mut rest)?;
        Ok((String::from_utf8_lossy(&rest).into_owned(), self.child.wait()?.success()))
    }

    fn hear<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut fds = [PollFd::new(&self.said, PollFlags::IN)];
        if poll(&mut fds, Some(&PATIENCE))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut bytes = [0; N];
        self.said.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // One that has ended takes neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The twin's side: says that it is there, and waits until it may go on.
pub(crate) fn stand_ready() -> io::Result<()> {
    say(&[1])?;
    io::stdin().read_exact(&mut [0])
}

pub(crate) fn say(bytes: &[u8]) -> io::Result<()> {
    io::stdout().write_all(bytes)?;
    io::stdout().flush()
}
