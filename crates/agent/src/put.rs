//! Files that headroom puts on the access point, as another build of the subject; gone with the session.

use model::wire::{Put, Refusal};

/// The files that are there. Dropping it removes them.
#[derive(Debug, Default)]
pub(crate) struct Files {}

impl Files {
    /// Takes a piece.
    ///
    /// # Errors
    ///
    /// [`Refusal::File`].
    pub(crate) fn take(&mut self, _piece: &Put) -> Result<(), Refusal> {
        Err(Refusal::Machine("put is not built yet".to_owned()))
    }
}
