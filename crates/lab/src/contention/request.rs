//! A trial as a request: what is tried at a place, the record that comes back, and what the caches of it were.

use std::fs;

use model::{
    cache::Marks,
    contention::{Machine, Order, Place, Reading, Record},
    experiment::Contention,
    trial::Outcome,
    wire::{self, Frame},
};

use super::plan::mode_of;
use crate::{
    Error,
    cache_model::{self, Attached},
    places,
    procedure::{Finished, Site, TrialFiles},
    request::{At, Request},
    run_folder,
};

impl Request for Order {
    type Answer = Record;
    const ANSWER: &'static str = "the record of the trial";
    const AT_HOST: &'static str = "a contention trial makes namespaces and control groups";

    fn order(&self, marks: Option<Marks>) -> wire::Order {
        wire::Order::Contention(Box::new(self.clone()), marks)
    }

    fn answer(frame: Frame) -> Result<Record, Frame> {
        match frame {
            Frame::Contended(record) => Ok(*record),
            frame => Err(frame),
        }
    }
}

/// Makes a trial at a place. Where the place is a virtual access point and the order says so, the study's caches are
/// modelled there.
pub(super) fn made(
    site: &Site<'_, Contention>,
    place: &Place,
    order: &Order,
    files: &TrialFiles,
) -> Result<Finished<Reading>, Error> {
    let is_modelled = place.on == Machine::Vm && order.marks;
    let counts = files.console_log.with_extension("caches");
    let geometry = site.run.study.caches.filter(|_| is_modelled);
    let model = geometry.map(|all| Attached::new(site.lab, all, &counts));
    let model = model.transpose()?;
    if let Some(model) = &model {
        // The plugin opens its file by name: what is there must be its own.
        run_folder::new_file(model.counts())?;
    }
    let at = At {
        lab: site.lab,
        on: place.on,
        mode: mode_of(place),
        console_log: &files.console_log,
        model: model.as_ref(),
    };
    places::requested(site.ground, &at, order, |record| read(record, model.as_ref()))
}

/// The record, with what the caches of its window were.
fn read(record: Record, model: Option<&Attached>) -> Outcome<Reading> {
    let Some(model) = model else {
        return Outcome::Measured(Box::new(Reading { record, caches: None }));
    };
    let window = cache_model::window(model.counts());
    let _ = fs::remove_file(model.counts());
    match window {
        Ok(window) => Outcome::Measured(Box::new(Reading { record, caches: Some(window) })),
        Err(unread) => Outcome::invalid(unread.to_string()),
    }
}
