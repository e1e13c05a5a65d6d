//! Does the subject still do its job: asked once the window has closed, while subject and load still run.

use model::{
    parity::{Parity, ParityOrder},
    wire::Refusal,
};

use crate::{measure::End, session::Session};

/// Asks.
///
/// # Errors
///
/// [`Refusal`], or what the session says.
pub(crate) fn ask(_session: &mut Session, _order: &ParityOrder) -> Result<Parity, End> {
    Err(Refusal::Machine("parity is not built yet".to_owned()).into())
}
