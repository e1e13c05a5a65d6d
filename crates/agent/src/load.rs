//! What makes the subject work: rounds of commands, or programs that stay.
//!
//! One face for both, so that [`crate::trial`] need not know which it has. Starts nothing itself.

use std::path::Path;

use model::{
    sample::{LoadFailure, Rounds},
    wire::{LoadOrder, Refusal, Work},
};

use crate::{
    long_running::LongRunning,
    rounds::{Replies, RoundLoad},
};

/// A load at work. Dropping it ends what runs.
#[derive(Debug)]
pub(crate) enum Load {
    /// Commands at fixed moments.
    Rounds(RoundLoad),
    /// Programs that run from the first moment until the window has closed.
    LongRunning(LongRunning),
}

impl Load {
    /// A load that begins at `from_ns`, in a control group.
    pub(crate) fn new(order: &LoadOrder, from_ns: u64, group: Option<&Path>) -> Self {
        match &order.work {
            Work::Rounds(commands) => {
                Self::Rounds(RoundLoad::new(commands, from_ns, order.every, group))
            }
            Work::LongRunning(commands) => {
                Self::LongRunning(LongRunning::new(commands, from_ns, group))
            }
        }
    }

    /// Listens to what the commands of rounds say. A program that stays has no rounds to listen to.
    pub(crate) fn listen(&mut self) {
        if let Self::Rounds(load) = self {
            load.listen();
        }
    }

    /// What was said in the last round that has ended, once.
    pub(crate) fn take_heard(&mut self) -> Option<Replies> {
        match self {
            Self::Rounds(load) => load.take_heard(),
            Self::LongRunning(_) => None,
        }
    }

    /// When there is something to start.
    pub(crate) fn due_ns(&self) -> u64 {
        match self {
            Self::Rounds(load) => load.due_ns(),
            Self::LongRunning(load) => load.due_ns(),
        }
    }

    /// The rounds so far; none where programs stay.
    pub(crate) fn rounds(&self) -> Rounds {
        match self {
            Self::Rounds(load) => load.rounds(),
            Self::LongRunning(_) => Rounds::default(),
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        match self {
            Self::Rounds(load) => load.is_running(),
            Self::LongRunning(load) => load.is_running(),
        }
    }

    /// Starts what is due at `now_ns`.
    pub(crate) fn advance(&mut self, now_ns: u64) -> Result<(), Refusal> {
        match self {
            Self::Rounds(load) => load.advance(now_ns),
            Self::LongRunning(load) => load.advance(now_ns),
        }
    }

    /// A child has ended: the round goes on, or a program that was to stay is missed.
    pub(crate) fn child_ended(&mut self) -> Result<(), Refusal> {
        match self {
            Self::Rounds(load) => load.child_ended(),
            Self::LongRunning(load) => load.child_ended(),
        }
    }

    /// The window has closed: programs that stay are asked to end, a round may end by itself.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where a program ended before that, or no command of a round ended well.
    pub(crate) fn wind_up(&mut self) -> Result<(), Refusal> {
        match self {
            Self::Rounds(load) => load.hopeless(),
            Self::LongRunning(load) => load.ask_to_end(),
        }
    }

    /// The first command of a round that failed, and how.
    pub(crate) fn failure(&self) -> Option<LoadFailure> {
        match self {
            Self::Rounds(load) => load.failure(),
            Self::LongRunning(_) => None,
        }
    }

    /// A child has ended after [`Load::wind_up`]: nothing is started in its place.
    pub(crate) fn reap(&mut self) -> Result<(), Refusal> {
        match self {
            Self::Rounds(load) => {
                load.reap();
                Ok(())
            }
            Self::LongRunning(load) => load.child_ended(),
        }
    }

    /// Patience is over. A round's command is ended by `Drop`.
    pub(crate) fn kill(&mut self) -> Result<(), Refusal> {
        match self {
            Self::Rounds(_) => Ok(()),
            Self::LongRunning(load) => load.kill(),
        }
    }
}
