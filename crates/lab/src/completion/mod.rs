//! Completion studies: one trial of `txd measure` after the other, at every rate under every strategy.
//!
//! Counted trials share the cores; then come those in real time, one after the other, each after its gate.

pub mod plan;
mod rounds;
pub mod study;

use std::time::Duration;

use model::{
    completion::{PlannedTrial, Rounds, Study},
    contention::Machine,
    experiment::Completion,
    order::TrialOrder,
    study::Mode,
};

use crate::{
    Error,
    places::{At, Placed, Wanted},
    procedure::{Finished, Site, TrialFiles},
};

/// How long a trial in real time waits for the machine to be idle; it is short itself.
const PATIENCE: Duration = Duration::from_secs(5);

impl Placed for Completion {
    fn places(study: &Study) -> Vec<(Machine, Mode)> {
        study.places.iter().map(|place| (place.on, plan::mode_of(place))).collect()
    }

    /// The smallest access point that is one: no frame of a trial crosses the air.
    fn wanted(study: &Study) -> Wanted {
        let (arch, idle_gate) = (study.completion.arch, study.completion.idle_gate);
        Wanted { arch, radios: 1, clients: 1, idle_gate, patience: PATIENCE }
    }

    fn trials(study: &Study, rounds: &Rounds) -> Vec<PlannedTrial> {
        plan::trials(study, rounds)
    }

    fn estimate(study: &Study, plan: &[PlannedTrial], cores: usize) -> Duration {
        plan::estimate(study, plan, cores)
    }

    fn is_alone(study: &Study, trial: &PlannedTrial) -> bool {
        plan::is_alone(study, trial)
    }

    fn find(site: &Site<'_, Self>, known: Rounds) -> Result<Rounds, Error> {
        rounds::find(site, known)
    }

    fn made(
        site: &Site<'_, Self>,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished, Error> {
        if plan::lacks_rounds(&site.run.study, planned) {
            let why = "its task's work is unknown: the task alone could not be measured";
            return Ok(Finished::invalid(why));
        }
        made(site, planned.place, &planned.order, files)
    }
}

/// Makes a trial at a place of the study.
fn made(
    site: &Site<'_, Completion>,
    place: usize,
    order: &TrialOrder,
    files: &TrialFiles,
) -> Result<Finished, Error> {
    let Some(place) = site.run.study.places.get(place) else {
        return Ok(Finished::invalid("the study has no such place"));
    };
    let at = At { lab: site.lab, on: place.on, mode: plan::mode_of(place), files, model: None };
    site.ground.trial(&at, order)
}
