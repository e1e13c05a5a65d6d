//! A trial as a request: what txd is to do at a place, and the counters that come back.

use std::time::Instant;

use model::{
    completion::{Measured, Order},
    trial::{HostCost, Outcome},
    wire::{self, Frame},
};

use super::{CompletionTrials, plan::mode_of};
use crate::{
    Error,
    procedure::{Finished, Site, TrialFiles},
    request::{At, Ran, Request},
};

impl Request for Order {
    type Answer = Measured;
    const ANSWER: &'static str = "the counters of the trial";
    const AT_HOST: &'static str = "txd makes namespaces and interfaces";

    fn order(&self) -> wire::Order {
        wire::Order::Completion(Box::new(self.clone()))
    }

    fn answer(frame: Frame) -> Result<Measured, Frame> {
        match frame {
            Frame::Completed(measured) => Ok(*measured),
            frame => Err(frame),
        }
    }
}

/// Makes a trial at a place of the study.
///
/// # Errors
///
/// [`Error`] of the host.
pub(super) fn made(
    site: &Site<'_, CompletionTrials>,
    place: usize,
    order: &Order,
    files: &TrialFiles,
) -> Result<Finished<Measured>, Error> {
    let began = Instant::now();
    let Some(place) = site.run.study.places.get(place) else {
        return Ok(Finished::invalid("the study has no such place"));
    };
    let at = At {
        lab: site.lab,
        on: place.on,
        mode: mode_of(place),
        console_log: &files.console_log,
        model: None,
    };
    let Ran { answer, idle_before } = site.ground.run(&at, order)?;
    let outcome = match answer {
        Ok(measured) => Outcome::Measured(Box::new(measured)),
        Err(why) => Outcome::invalid(why),
    };
    let cost = HostCost { measure_ms: began.elapsed().as_millis() as u64, ..HostCost::default() };
    Ok(Finished { outcome, cost, idle_before })
}
