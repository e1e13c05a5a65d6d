//! Reads and appends the ledger of a task, `ledger.jsonl`: each line has the hash of the one before it.
//!
//! A line that was cut off in the middle of writing never counted and is removed; whatever else breaks the chain is
//! refused and never repaired.

use std::{fs::File, io::Write, path::PathBuf};

use linux::folder::Folder;
use model::name::Sha256Hex;
use serde::{Deserialize, Serialize};

use crate::{content, folder::Error, outcome::Finding};

const NAME: &str = "ledger.jsonl";

/// No ledger is longer, bytes: some hundred thousand tries.
const LONGEST: u64 = 256 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place, from 0.
    pub n: u64,
    /// SHA-256 of the line before it, without its end; `None` at the first.
    pub before: Option<Sha256Hex>,
    /// When it was written, seconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// A task was begun: all that is fixed from here on.
    Opened(Box<Opened>),
    /// What the floor costs in the cell of tries.
    #[serde(rename = "floor")]
    Least {
        /// µs of CPU a second.
        us: f64,
    },
    /// Something is going to be measured.
    Began {
        /// Its number, from 1, over all kinds.
        id: u32,
        kind: Kind,
        diff: Sha256Hex,
    },
    /// It came to its end.
    Ended { id: u32, finding: Finding, cost: Cost },
    /// Nothing more is tried; the seed may be known now.
    Closed {
        /// The seed, hexadecimal.
        seed: String,
    },
}

/// What is fixed before the first try, by content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    pub question: String,
    pub task: Sha256Hex,
    pub study: Sha256Hex,
    /// SHA-256 over the tree's manifest.
    pub source: Sha256Hex,
    /// SHA-256 of the program that the base builds.
    pub program: Sha256Hex,
    /// The same for arm64, where the task has a build for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm64: Option<Sha256Hex>,
    /// SHA-256 of what tries are built from: the base with its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built: Option<Sha256Hex>,
    /// The same for arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built_arm64: Option<Sha256Hex>,
    /// SHA-256 of the seed's hexadecimal digits.
    pub seed: Sha256Hex,
    pub headroom: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A diff, in the cell that is known.
    Try,
    /// A diff, in cells that are not.
    Acceptance,
}

impl Kind {
    /// The word that output uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Try => "try",
            Self::Acceptance => "acceptance",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub wall_s: f64,
    /// Time that passed on access points, s.
    pub device_s: f64,
    /// Turns of the agent since its last try, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Tokens since its last try, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// What is done with the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// They are looked at, also while somebody writes.
    Read,
    /// They are written, by whoever holds the task's lock.
    Write,
}

#[derive(Debug)]
pub struct Ledger {
    file: File,
    path: PathBuf,
    entries: Vec<Entry>,
    /// Of the last line.
    head: Option<Sha256Hex>,
}

impl Ledger {
    /// Reads the books; whoever writes them cuts off what was not written to its end.
    pub fn open(folder: &Folder, access: Access) -> Result<Self, Error> {
        let path = folder.path_of(NAME);
        let at = |doing| Error::file(doing, path.clone());
        let file = folder.append(NAME).map_err(at("open"))?;
        let bytes = folder.read(NAME, LONGEST).map_err(at("read"))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() && access == Access::Write {
            file.set_len(whole as u64).map_err(at("cut the last line of"))?;
        }
        let (entries, head) = chain(&bytes[..whole]).map_err(|(line, why)| {
            let path = path.clone();
            Error::Chain { path, line, why }
        })?;
        Ok(Self { file, path, entries, head })
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What the first line fixed; `None` where no task was begun to its end.
    pub fn opened(&self) -> Option<&Opened> {
        match &self.entries.first()?.what {
            What::Opened(opened) => Some(opened),
            _ => None,
        }
    }

    /// The hash of the last line: who has it can say later whether anything before it was changed.
    pub fn head(&self) -> Option<&Sha256Hex> {
        self.head.as_ref()
    }

    /// Writes a line down, to the disk.
    pub fn append(&mut self, at: u64, what: What) -> Result<(), Error> {
        let n = self.entries.len() as u64;
        let entry = Entry { n, before: self.head.clone(), at, what };
        let line = serde_json::to_string(&entry).unwrap_or_default();
        let written = writeln!(self.file, "{line}").and_then(|()| self.file.sync_data());
        written.map_err(Error::file("write", &self.path))?;
        self.head = Some(content::sum(line.as_bytes()));
        self.entries.push(entry);
        Ok(())
    }
}

/// The number of a line, from 1, and what is wrong with it.
type Fault = (usize, &'static str);

/// Reads the lines of a ledger and the hash of the last one. Fails at the line that breaks the chain.
fn chain(bytes: &[u8]) -> Result<(Vec<Entry>, Option<Sha256Hex>), Fault> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut head = None;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let at = entries.len() + 1;
        let entry: Entry =
            serde_json::from_slice(line).map_err(|_| (at, "cannot be read by this headroom"))?;
        if entry.n + 1 != at as u64 {
            return Err((at, "has another number"));
        }
        if entry.before != head {
            return Err((at, "does not follow the line before it"));
        }
        head = Some(content::sum(line));
        entries.push(entry);
    }
    Ok((entries, head))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::outcome::{Outcome, Reason};

    fn ended(id: u32) -> What {
        let finding = Finding::of(Outcome::Reverted, Reason::Dearer, "It costs 3 % more.");
        What::Ended { id, finding, cost: Cost::default() }
    }

    fn three_lines() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let mut ledger = Ledger::open(&folder, Access::Write).unwrap();
        (1..=3).for_each(|id| ledger.append(1_800_000_000, ended(id)).unwrap());
        (place, folder)
    }

    #[test]
    fn a_ledger_cut_at_any_byte_keeps_every_whole_line_and_goes_on() {
        let (place, folder) = three_lines();
        let path = place.path().join(NAME);
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut ledger = Ledger::open(&folder, Access::Write).unwrap();
            let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(ledger.entries().len(), lines, "cut at {cut}");
            ledger.append(1, ended(9)).unwrap();
            let again = Ledger::open(&folder, Access::Write).unwrap();
            assert_eq!((again.entries().len(), again.head()), (lines + 1, ledger.head()));
        }
    }

    #[test]
    fn a_line_that_was_changed_removed_or_moved_is_found() {
        let (place, folder) = three_lines();
        let path = place.path().join(NAME);
        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let refused = |lines: &[&str]| {
            fs::write(&path, lines.join("\n") + "\n").unwrap();
            Ledger::open(&folder, Access::Write).unwrap_err().to_string()
        };
        let kept = lines[0].replace("reverted", "kept");
        assert!(refused(&[&kept, lines[1], lines[2]]).contains("line 2 of"));
        assert!(refused(&[lines[0], lines[2]]).contains("line 2 of"));
        assert!(refused(&[lines[1], lines[0], lines[2]]).contains("line 1 of"));
        assert!(refused(&["{}", lines[1], lines[2]]).contains("cannot be read by this headroom"));
    }
}
