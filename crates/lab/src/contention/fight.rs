//! A bout as an errand: what is to be fought at a place, the record that comes back, and what the caches of it were.

use std::{fs, path::Path};

use model::{
    cache::{Geometry, Window},
    contention::{Bout, Machine, Outcome, Place, Record},
    share::Share,
    wire::{Frame, Order},
};

use super::plan;
use crate::{
    Error,
    cache_model::{self, Attached},
    errand::{Errand, Ground, Ran},
    run_folder,
};

/// A bout's end, and what was seen before it.
#[derive(Clone, Debug)]
pub(super) struct Bouted {
    pub(super) outcome: Outcome,
    pub(super) caches: Option<Window>,
    pub(super) idle_before: Option<Share>,
}

impl Bouted {
    /// It was not fought.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::of(Ran::refused(why))
    }

    fn of(ran: Ran<Record>) -> Self {
        let outcome = match ran.answer {
            Ok(record) => Outcome::Fought(Box::new(record)),
            Err(why) => Outcome::Failed(why),
        };
        Self { outcome, caches: None, idle_before: ran.idle_before }
    }
}

impl Errand for Bout {
    type Answer = Record;
    const ANSWER: &'static str = "the record of the bout";
    const AT_HOST: &'static str = "a bout makes namespaces and control groups";

    fn order(&self) -> Order {
        Order::Contend(Box::new(self.clone()))
    }

    fn answer(frame: Frame) -> Result<Record, Frame> {
        match frame {
            Frame::Contended(record) => Ok(*record),
            frame => Err(frame),
        }
    }
}

/// Fights a bout at a place. Where the place is a virtual access point and the bout marks its window, `geometry`
/// models caches there. `at` is where its console and their counts go, without an ending.
///
/// # Errors
///
/// [`Error`] of the host.
pub(super) fn fight(
    ground: &Ground<'_>,
    (place, bout): (&Place, &Bout),
    geometry: Option<Geometry>,
    at: &Path,
) -> Result<Bouted, Error> {
    let is_modelled = place.on == Machine::Vm && bout.marks;
    let model = geometry
        .filter(|_| is_modelled)
        .map(|geometry| Attached::new(ground.lab, geometry, &at.with_extension("caches")));
    let model = model.transpose()?;
    if let Some(model) = &model {
        // The plugin opens its file by name: what is there must be its own.
        run_folder::new_file(model.counts())?;
    }
    let ran = ground.run((place.on, plan::mode_of(place)), bout, (at, model.as_ref()))?;
    let (Some(model), Ok(_)) = (model, &ran.answer) else { return Ok(Bouted::of(ran)) };
    let window = cache_model::window(model.counts());
    let _ = fs::remove_file(model.counts());
    Ok(match window {
        Ok(window) => Bouted { caches: Some(window), ..Bouted::of(ran) },
        Err(unread) => Bouted::of(Ran { answer: Err(unread.to_string()), ..ran }),
    })
}
