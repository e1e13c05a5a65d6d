//! In place of `memory.rs` where headroom is built without a database: nothing is remembered, and every run is read.

use std::path::Path;

use report::index::Entry;

#[derive(Debug)]
pub(super) struct Memory;

impl Memory {
    pub(super) fn of(_: &Path, _: &Path, _: &str) -> Self {
        Self
    }

    pub(super) fn line(&self, _: &Path) -> Option<Entry> {
        None
    }

    pub(super) fn keep(&mut self, _: &Path, _: String, _: &Entry) {}

    pub(super) fn forget(&mut self) {}

    pub(super) fn write(self) {}
}

pub(super) fn stamp_of(_: &Path) -> Option<String> {
    None
}
