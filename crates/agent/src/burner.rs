//! A program that burns a known CPU time: what is recorded of it proves the recorder.
//!
//! It is this very executable with a word that no person needs, so that nothing else has to be on the
//! device. It says that it is there, waits for a byte, burns, says how long it took, and ends. It ends as
//! well where its input does, so it never outlives the agent.

use std::{
    hint::black_box,
    io::{self, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    time::ClockId,
};

/// The word that makes the agent a burner, followed by the CPU time, ns.
pub const WORD: &str = "--burn";

/// So long it may take to start, or to burn, s of wall time.
const PATIENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// So many steps between two looks at the clock, which costs a system call.
const STEPS: u32 = 1 << 17;

/// A burner that waits.
#[derive(Debug)]
pub(crate) struct Burner {
    child: Child,
    go: ChildStdin,
    said: ChildStdout,
}

impl Burner {
    /// Starts one and waits until it is there.
    ///
    /// # Errors
    ///
    /// The system's, or that it said nothing.
    pub(crate) fn start(cpu_ns: u64) -> io::Result<Self> {
        let mut child = burner(cpu_ns)?;
        let (Some(go), Some(said)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut burner = Self { child, go, said };
        burner.hear::<1>()?;
        Ok(burner)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it burn: the CPU time that it took by its own clock, ns.
    ///
    /// # Errors
    ///
    /// The system's, or that it ended without a word.
    pub(crate) fn burn(&mut self) -> io::Result<u64> {
        self.go.write_all(&[1])?;
        let took_ns = u64::from_le_bytes(self.hear()?);
        self.child.wait()?;
        Ok(took_ns)
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

impl Drop for Burner {
    fn drop(&mut self) {
        // One that has ended takes neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn burner(cpu_ns: u64) -> io::Result<Child> {
    // The link leads to the executable even where its path has been replaced. Without environment the
    // stack is short, and so is what is sent of it.
    let mut command = Command::new("/proc/self/exe");
    command.arg(WORD).arg(cpu_ns.to_string()).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    linux::process::spawn_in(None, command)
}

/// The burner's whole life.
///
/// # Errors
///
/// Where nobody tells it to begin, or hears how long it took.
pub fn live(cpu_ns: u64) -> io::Result<()> {
    io::stdout().write_all(&[1])?;
    io::stdout().flush()?;
    io::stdin().read_exact(&mut [0])?;
    let took_ns = burn(cpu_ns);
    io::stdout().write_all(&took_ns.to_le_bytes())?;
    io::stdout().flush()
}

/// Burns; how long it took by the process's clock, ns.
#[inline(never)]
pub fn burn(cpu_ns: u64) -> u64 {
    let from = process_ns();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    loop {
        for _ in 0..STEPS {
            state = state.rotate_left(7) ^ state.wrapping_mul(0xff51_afd7_ed55_8ccd);
        }
        black_box(state);
        let took = process_ns() - from;
        if took >= cpu_ns {
            return took;
        }
    }
}

fn process_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    // Neither part is negative: the clock starts with the process.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_burns_what_it_is_told_and_little_more() {
        let took = burn(5_000_000);
        assert!((5_000_000..100_000_000).contains(&took), "{took} ns");
    }
}
