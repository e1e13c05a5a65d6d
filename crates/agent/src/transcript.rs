//! Keeps a program's output in memory, so that the report of its end can quote it.

use std::{fs::File, io, os::unix::fs::FileExt};

use model::inert;
use rustix::fs::{MemfdFlags, memfd_create};

/// The most of it that is read, bytes: txd's line of figures is the longest.
const MOST: u64 = 1 << 18;

/// The end in which last lines are looked for, bytes.
const TAIL: u64 = 4096;

/// What is reported of a line, characters.
const LONGEST_LINE: usize = 300;

/// Last lines that are reported: a daemon that gives up often ends with a line that says no more than that.
const LAST_LINES: usize = 3;

/// What was printed. It is gone with the last descriptor of it.
#[derive(Debug)]
pub(crate) struct Transcript(File);

impl Transcript {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(File::from(memfd_create("said", MemfdFlags::CLOEXEC)?)))
    }

    pub(crate) fn writer(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    pub(crate) fn clear(&self) -> io::Result<()> {
        self.0.set_len(0)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.read(0).unwrap_or_default()).into_owned()
    }

    /// The last lines, in one, without what acts on a terminal.
    pub(crate) fn last_words(&self) -> Option<String> {
        let end = self.read(self.0.metadata().ok()?.len().saturating_sub(TAIL)).ok()?;
        let text = String::from_utf8_lossy(&end);
        let lines = text.lines().rev().map(shown).filter(|line| !line.is_empty());
        let mut lines: Vec<String> = lines.take(LAST_LINES).collect();
        lines.reverse();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    fn read(&self, from: u64) -> io::Result<Vec<u8>> {
        let length = self.0.metadata()?.len().saturating_sub(from).min(MOST);
        let mut bytes = vec![0; length as usize];
        self.0.read_exact_at(&mut bytes, from)?;
        Ok(bytes)
    }
}

fn shown(line: &str) -> String {
    line.trim().chars().filter(|sign| !inert::acts(*sign)).take(LONGEST_LINE).collect()
}
