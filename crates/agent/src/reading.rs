//! A command whose output is kept as it is: the subject's own counters at an end of the window, or its values.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    process::{Child, Command},
};

use linux::system::monotonic_ns;
use model::wire::{LONGEST_FRAME, Refusal};
use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create, tell},
    process::Signal,
};

use crate::{
    session::{End, Session, Woken},
    words::{self, Words},
};

const PATIENCE_NS: u64 = 5_000_000_000;

/// So much is kept of the subject's own counters, bytes: both outputs go into one frame with the calls.
pub(crate) const COUNTERS: u64 = 128 * 1024;

/// The words of one reading of clients are not longer, bytes: it goes into one frame.
pub(crate) const LONGEST: u64 = LONGEST_FRAME as u64 - 4096;

/// Runs a command: what it wrote on its standard output, at most so many bytes.
pub(crate) fn output(session: &mut Session, words: &[String], longest: u64) -> Result<String, End> {
    let line = words.join(" ");
    let refused =
        |why: String| Refusal::new(format!("cannot read what the subject says with `{line}`"), why);
    let failed = |error: io::Error| refused(error.to_string());
    let said = Output::new(longest).map_err(failed)?;
    let child = Words::new(words).start(None, |command| said.direct(command));
    let mut reading = Reading(child.map_err(failed)?);
    let until = monotonic_ns() + PATIENCE_NS;
    loop {
        if let Some(status) = reading.0.try_wait().map_err(failed)? {
            if !status.success() {
                return Err(refused(status.to_string()).into());
            }
            return Ok(said.text().map_err(failed)?);
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

/// A file in memory for what one command says.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    longest: u64,
}

impl Output {
    /// An empty one for at most so many bytes.
    pub(crate) fn new(longest: u64) -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("read", flags)?);
        // A file that cannot grow: whoever writes more is told so, and takes no memory.
        ftruncate(&file, longest)?;
        fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
        Ok(Self { file, longest })
    }

    pub(crate) fn direct(&self, command: &mut Command) -> io::Result<()> {
        command.stdout(self.file.try_clone()?);
        Ok(())
    }

    /// What was written, up to the place that the command and we share.
    pub(crate) fn text(&self) -> io::Result<String> {
        let mut bytes = vec![0; usize::try_from(tell(&self.file)?.min(self.longest)).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The command under way. Dropping it ends it.
struct Reading(Child);

impl Drop for Reading {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            words::signal(&self.0, Signal::KILL);
            let _ = self.0.wait();
        }
    }
}
