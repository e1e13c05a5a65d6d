//! An access point as a session sees it: orders in, frames out.
//!
//! What carries them is [`crate::vm`]'s, or that of [`crate::remote`]; what they mean is
//! [`crate::session`]'s.

use model::wire::{Frame, Order};

use crate::{Error, vm::Failure};

/// Something that an agent can be asked through.
pub trait Device {
    /// Gives the agent an order.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the stream is gone.
    fn order(&mut self, order: &Order) -> Result<(), Failure>;

    /// The next frame from the agent; `awaited` says what should come, for a message when it does not.
    ///
    /// # Errors
    ///
    /// [`Failure`] for everything that makes waiting longer pointless; [`Error::Interrupted`].
    fn frame(&mut self, awaited: &'static str) -> Result<Frame, Error>;
}
