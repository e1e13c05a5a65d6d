//! One bout of contention: traffic across a road of its own, an application in a group of its own, a control.
//!
//! What it makes it removes, also when the stream breaks. Judging what it counts is `analysis`' work.

use model::{contention::Bout, wire::Refusal};

use crate::{measure::End, session::Session};

/// Fights one bout and sends what it counted.
///
/// # Errors
///
/// [`End`] where the machine refuses, another order comes, or the stream is lost.
pub(crate) fn fight(session: &mut Session, bout: &Bout) -> Result<(), End> {
    let _ = (session, bout);
    let why = "this agent cannot yet".to_owned();
    Err(End::Refused(Refusal::Contention { what: "fight a bout".to_owned(), why }))
}
