//! What an explanation of stacks asks the outside for: contents of files.
//!
//! This crate opens nothing, so anyone who calls it brings the bytes.

use std::{fmt, sync::Arc};

use model::name::Sha256Hex;

use super::budget::Budget;

/// A file of code that a recording speaks of.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// Its path on the access point.
    pub path: String,
    /// Of its content, where the recorder hashed it.
    pub sha256: Option<Sha256Hex>,
    /// The build's id, hexadecimal.
    pub build_id: Option<String>,
}

/// What a file with symbols or debug information is looked up by, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugKey<'a> {
    /// The build's id, hexadecimal.
    BuildId(&'a str),
    /// The content that was left when headroom stripped the program: a run keeps what it took away.
    Stripped(&'a Sha256Hex),
    /// A name, as in `.gnu_debuglink`.
    Name(&'a str),
}

pub trait Files: fmt::Debug {
    /// What may be held of them and unpacked out of them.
    fn budget(&self) -> Budget {
        Budget::default()
    }

    /// The file as the access point had it.
    fn file(&self, id: &FileId) -> Option<Arc<[u8]>>;

    /// A file with symbols or debug information. The caller checks that it is of the same build.
    fn debug(&self, key: DebugKey<'_>) -> Option<Arc<[u8]>>;

    /// The text of `/proc/kallsyms`, or why there is none.
    fn kernel_symbols(&self) -> Result<Arc<[u8]>, String>;
}
