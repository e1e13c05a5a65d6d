//! What the figures are of, by content: read from the running processes and the kernel.

use model::{identity::Identity, wire::LoadOrder};

/// Whose identity is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parties<'a> {
    /// The subject's processes.
    pub(crate) subject: &'a [u32],
    /// The processes that are counted beside it.
    pub(crate) others: &'a [u32],
    /// What makes it work.
    pub(crate) load: Option<&'a LoadOrder>,
}

/// Reads everything that the figures depend on.
pub(crate) fn of(_parties: Parties<'_>) -> Identity {
    Identity::default()
}
