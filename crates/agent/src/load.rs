//! What makes the subject work: rounds of commands, or programs that stay.

use std::{fmt::Debug, path::Path};

use model::{
    sample::{LoadFailure, Rounds},
    wire::{LoadOrder, Refusal, Work},
};

use crate::{
    long_running::LongRunning,
    rounds::{Replies, RoundLoad},
};

/// A load at work. Dropping it ends what runs.
pub(crate) trait Load: Debug {
    fn due_ns(&self) -> u64;

    fn is_running(&mut self) -> bool;

    fn advance(&mut self, now_ns: u64) -> Result<(), Refusal>;

    /// A child has ended: the round goes on, or a program that was to stay is missed.
    fn child_ended(&mut self) -> Result<(), Refusal>;

    /// The window has closed. Fails where a program ended before that, or no command of a round ended well.
    fn wind_up(&mut self) -> Result<(), Refusal>;

    /// A child has ended after [`Load::wind_up`]: nothing is started in its place.
    fn reap(&mut self) -> Result<(), Refusal>;

    /// Kills what still runs after patience. A round's command is ended by `Drop`.
    fn kill(&mut self) -> Result<(), Refusal> {
        Ok(())
    }

    /// The rounds so far; none where programs stay.
    fn rounds(&self) -> Rounds {
        Rounds::default()
    }

    /// The first command of a round that failed, and how.
    fn failure(&self) -> Option<LoadFailure> {
        None
    }

    /// Listens to what the commands of rounds say, from the next round on.
    fn listen(&mut self) {}

    /// What was said in the last round that has ended, once.
    fn take_heard(&mut self) -> Option<Replies> {
        None
    }
}

pub(crate) fn of(order: &LoadOrder, from_ns: u64, group: Option<&Path>) -> Box<dyn Load> {
    match &order.work {
        Work::Rounds(commands) => Box::new(RoundLoad::new(commands, from_ns, order.every, group)),
        Work::LongRunning(commands) => Box::new(LongRunning::new(commands, from_ns, group)),
    }
}
