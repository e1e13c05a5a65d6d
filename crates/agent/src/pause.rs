//! The attribution experiment on the access point: stops a consumer span by span, and resumes it whatever
//! happens.

use model::{
    pause::{PauseOrder, Pauses},
    wire::Refusal,
};

/// The experiment in place. Dropping it resumes whoever is stopped.
#[derive(Debug)]
pub(crate) struct Pause {}

impl Pause {
    /// Finds the consumer, and starts the watchdog and the process that is stopped in its place.
    ///
    /// # Errors
    ///
    /// [`Refusal::Pause`].
    pub(crate) fn prepare(_order: &PauseOrder) -> Result<Self, Refusal> {
        Err(Refusal::Machine("pause is not built yet".to_owned()))
    }

    /// A sample is about to be taken, the first is 0: ends one span and begins the next where it is due.
    ///
    /// # Errors
    ///
    /// [`Refusal::Pause`], [`Refusal::ConsumerEnded`].
    pub(crate) fn step(&mut self, _sample: u64) -> Result<(), Refusal> {
        Ok(())
    }

    /// What was done, once everybody runs again.
    ///
    /// # Errors
    ///
    /// [`Refusal::Pause`], [`Refusal::ConsumerEnded`].
    pub(crate) fn finish(self) -> Result<Pauses, Refusal> {
        Ok(Pauses::default())
    }
}
