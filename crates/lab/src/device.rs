//! An access point as a session sees it: orders in, frames out.
//!
//! What carries them is [`crate::channel`]'s; what they mean is
//! [`crate::session`]'s.

use model::wire::{Frame, Order};

use crate::{Error, exchange::Preamble};

pub trait Device {
    /// Gives the agent an order; what comes from now on is measured by what that may take.
    fn order(&mut self, order: &Order) -> Result<(), Error>;

    /// The next frame from the agent; `awaited` says what should come, for a message when it does not.
    fn frame(&mut self, awaited: &'static str) -> Result<Frame, Error>;
}

/// Gives the agent an order that has one frame for an answer, and picks that frame out.
pub(crate) fn ask<T>(
    device: &mut dyn Device,
    order: &Order,
    awaited: &'static str,
    pick: impl Fn(Frame) -> Result<T, Frame>,
) -> Result<T, Error> {
    let mut preamble = Preamble::default();
    device.order(order)?;
    loop {
        match pick(device.frame(awaited)?) {
            Ok(answer) => return Ok(answer),
            Err(frame) => preamble.take(&frame, awaited)?,
        }
    }
}
