//! A command whose output is kept as it is: the subject's own counters at an end of the window, or its values.
//!
//! Starts it through [`crate::words`] and waits in the session, so that orders and signals are heard.
//! What it says is bounded in length and it in time; what it means is the host's.

use std::{fs::File, io, os::unix::fs::FileExt, process::Child};

use linux::system::monotonic_ns;
use model::wire::Refusal;
use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create, tell},
    process::Signal,
};

use crate::{
    session::{End, Session, Woken},
    words::{self, Words},
};

/// So long it may take, ns.
const PATIENCE_NS: u64 = 5_000_000_000;

/// So much is kept of the subject's own counters, bytes: both outputs go into one frame with the calls.
pub(crate) const COUNTERS: u64 = 128 * 1024;

/// Runs a command: what it wrote on its standard output, at most so many bytes.
///
/// # Errors
///
/// [`Refusal::Instrument`] where it cannot be started, fails, says too much or takes too long.
pub(crate) fn output(session: &mut Session, words: &[String], longest: u64) -> Result<String, End> {
    let line = words.join(" ");
    let refused = |why: String| Refusal::Instrument {
        what: format!("cannot read what the subject says with `{line}`"),
        why,
    };
    let mut reading = Reading::start(words, longest).map_err(|error| refused(error.to_string()))?;
    let until = monotonic_ns() + PATIENCE_NS;
    loop {
        if let Some(status) =
            reading.child.try_wait().map_err(|error| refused(error.to_string()))?
        {
            if !status.success() {
                return Err(refused(status.to_string()).into());
            }
            return Ok(reading.text().map_err(|error| refused(error.to_string()))?);
        }
        match session.wait(Some(until), &[])? {
            Woken::Due => {
                let patience = PATIENCE_NS / 1_000_000_000;
                return Err(refused(format!("it has not ended after {patience} s")).into());
            }
            Woken::Child | Woken::Ended(_) | Woken::Ring => {}
        }
    }
}

/// The command under way. Dropping it ends it.
struct Reading {
    child: Child,
    said: File,
    longest: u64,
}

impl Reading {
    fn start(words: &[String], longest: u64) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let said = File::from(memfd_create("read", flags)?);
        // A file that cannot grow: whoever writes more is told so, and takes no memory.
        ftruncate(&said, longest)?;
        fcntl_add_seals(&said, SealFlags::GROW | SealFlags::SHRINK)?;
        let child = Words::new(words).start(None, |command| {
            command.stdout(said.try_clone()?);
            Ok(())
        })?;
        Ok(Self { child, said, longest })
    }

    /// What was written, up to the place that the command and we share.
    fn text(&self) -> io::Result<String> {
        let mut bytes = vec![0; usize::try_from(tell(&self.said)?.min(self.longest)).unwrap_or(0)];
        self.said.read_exact_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            words::signal(&self.child, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
