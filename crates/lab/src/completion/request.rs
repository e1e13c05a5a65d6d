//! A trial as a request: what txd is to do at a place, and the counters that come back.

use model::{
    cache::Marks,
    completion::{Measured, Order},
    experiment::Completion,
    trial::Outcome,
    wire::{self, Frame},
};

use super::plan::mode_of;
use crate::{
    Error, places,
    procedure::{Finished, Site, TrialFiles},
    request::{At, Request},
};

impl Request for Order {
    type Answer = Measured;
    const ANSWER: &'static str = "the counters of the trial";
    const AT_HOST: &'static str = "txd makes namespaces and interfaces";

    fn order(&self, _: Option<Marks>) -> wire::Order {
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
pub(super) fn made(
    site: &Site<'_, Completion>,
    place: usize,
    order: &Order,
    files: &TrialFiles,
) -> Result<Finished<Measured>, Error> {
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
    let read = |measured| Outcome::Measured(Box::new(measured));
    places::requested(site.ground, &at, order, read)
}
