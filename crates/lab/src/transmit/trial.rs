//! A trial as an errand: what txd is to do at a place, and the counters that come back.

use std::time::Duration;

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

    /// A task beside frames ends later than alone.
    fn span(&self) -> Duration {
        const LONGEST_TASK: Duration = Duration::from_secs(60);
        let spans = [self.offset_ns, self.warm_up_ns, self.window_ns].map(Duration::from_nanos);
        let task = self.task_rounds.map_or(Duration::ZERO, |_| LONGEST_TASK);
        spans.into_iter().sum::<Duration>() + task
    }

    fn answer(frame: Frame) -> Option<Measured> {
        match frame {
            Frame::Transmitted(measured) => Some(*measured),
            _ => None,
        }
    }
}

/// What became of a trial.
pub(super) fn outcome(answer: Result<Measured, String>) -> Outcome {
    answer.map_or_else(Outcome::Failed, |measured| Outcome::Measured(Box::new(measured)))
}
