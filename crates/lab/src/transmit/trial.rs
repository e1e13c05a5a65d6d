//! A trial as an errand: what txd is to do at a place, and the counters that come back.

use model::{
    transmit::{Measured, Order, Outcome},
    wire::{self, Frame},
};

use crate::errand::Errand;

impl Errand for Order {
    type Answer = Measured;
    const ANSWER: &'static str = "the counters of the trial";
    const AT_HOST: &'static str = "txd makes namespaces and interfaces";

    fn order(&self) -> wire::Order {
        wire::Order::Transmit(Box::new(self.clone()))
    }

    fn answer(frame: Frame) -> Result<Measured, Frame> {
        match frame {
            Frame::Transmitted(measured) => Ok(*measured),
            frame => Err(frame),
        }
    }
}

/// What became of a trial.
pub(super) fn outcome(answer: Result<Measured, String>) -> Outcome {
    answer.map_or_else(Outcome::Failed, |measured| Outcome::Measured(Box::new(measured)))
}
