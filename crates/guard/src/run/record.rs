//! A file that a study reads afterwards: a line of JSON for each tick, with what was kept, wanted, written and why.
//!
//! It is written where a flag asks for it, and grows as long as guard runs. A line is written whole, in one call.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use linux::folder::Folder;
use serde_json::json;

use crate::decide::Decision;

#[derive(Debug)]
pub(super) struct Record(File);

impl Record {
    /// Appends to a regular file with one name: guard writes through no link.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let folder = Folder::open(path.parent().unwrap_or(Path::new("")))?;
        Ok(Self(folder.append(name)?))
    }

    /// The tick that ended at `at_ns` of the boot's clock; `writes` are those of the decision before.
    pub(super) fn tick(&mut self, at_ns: u64, decision: &Decision, writes: u32) -> io::Result<()> {
        let Decision { kept, target, changed, reason, .. } = decision;
        let line = json!({
            "at_ns": at_ns, "kept": kept, "target": target, "changed": changed,
            "reason": reason, "writes": writes,
        });
        self.0.write_all(format!("{line}\n").as_bytes())
    }
}
