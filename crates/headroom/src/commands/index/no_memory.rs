//! In place of `memory.rs` where headroom is built without a database: nothing is remembered, and every run is read.

use std::{convert::Infallible, marker::PhantomData, path::Path};

use report::index::Entry;

#[derive(Debug)]
pub(super) struct Memory;

#[derive(Debug)]
pub(super) struct NewLine;

pub(super) struct Remembered<'a>(PhantomData<&'a ()>);

impl Memory {
    pub(super) fn of(_: &Path, _: &str) -> Self {
        Self
    }

    pub(super) fn database(&self) -> Option<Infallible> {
        None
    }

    pub(super) fn of_runs<'a>(&self, _: &'a Option<Infallible>) -> Remembered<'a> {
        Remembered(PhantomData)
    }

    pub(super) fn keep(&mut self, _: Option<NewLine>) {}

    pub(super) fn forget(&mut self) {}

    pub(super) fn write(self) {}
}

impl NewLine {
    pub(super) fn of(_: &Path, _: String, _: &Entry) -> Option<Self> {
        None
    }
}

impl Remembered<'_> {
    pub(super) fn line(&mut self, _: &Path) -> Option<Entry> {
        None
    }
}

pub(super) fn stamp_of(_: &Path) -> Option<String> {
    None
}
