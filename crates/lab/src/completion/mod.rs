//! Completion studies: one trial of `txd measure` after the other, at every rate under every strategy.
//!
//! Counted trials share the cores; then come those in real time, one after the other, each after its gate.

pub mod plan;
mod request;
mod rounds;
pub mod study;

use std::time::Duration;

use model::{
    completion::{Measured, PlannedTrial, Rounds, Run, Study},
    contention::Machine,
    experiment::Completion,
    study::Mode,
};

use crate::{
    Error, Lab,
    batch::{Batch, counted_first},
    places::Wanted,
    procedure::{Finished, Prepared, Procedure, Site, TrialFiles},
    request::Places,
    run_folder::RunFolder,
    runner::same_lab,
    study_file::StudyFile,
    vm::Shape,
};

/// How long a trial in real time waits for the machine to be idle; it is short itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// How completion trials are made.
#[derive(Clone, Copy, Debug)]
pub struct CompletionTrials;

/// Whether a study needs virtual access points.
pub fn needs_vm(study: &Study) -> bool {
    study.places.iter().any(|place| place.on == Machine::Vm)
}

fn places_of(study: &Study) -> Vec<(Machine, Mode)> {
    study.places.iter().map(|place| (place.on, plan::mode_of(place))).collect()
}

/// The smallest access point that is one: no frame of a trial crosses the air.
fn wanted(study: &Study) -> Wanted {
    let idle_gate = study.completion.idle_gate;
    Wanted { radios: 1, clients: 1, idle_gate, patience: PATIENCE }
}

/// The virtual access points that a study needs.
pub(crate) fn access_points(study: &Study) -> Vec<Shape> {
    wanted(study).shapes(&places_of(study))
}

impl Procedure for CompletionTrials {
    type Kind = Completion;
    type Ground = Places;

    fn prepare(&self, lab: &Lab, file: &StudyFile<Study>) -> Result<Prepared<Self>, Error> {
        let study = file.study.clone();
        let (ground, lab) = wanted(&study).raise(lab, &places_of(&study))?;
        Ok(Prepared { ground, study, plan: Vec::new(), lab, versus: None })
    }

    fn prepare_again(&self, lab: &Lab, folder: &RunFolder, run: &Run) -> Result<Places, Error> {
        let (ground, now) = wanted(&run.study).raise(lab, &places_of(&run.study))?;
        same_lab(folder.path(), &run.lab, &now)?;
        Ok(ground)
    }

    fn calibrate(&self, site: &Site<'_, Self>, known: Rounds) -> Result<Rounds, Error> {
        rounds::find(site, known)
    }

    fn plan(&self, study: &Study, rounds: &Rounds) -> Option<Vec<PlannedTrial>> {
        Some(plan::trials(study, rounds))
    }

    fn batches(&self, site: &Site<'_, Self>, part: Vec<PlannedTrial>) -> Vec<Batch<PlannedTrial>> {
        counted_first(part, |planned| plan::is_alone(&site.run.study, planned))
    }

    fn trial(
        &self,
        site: &Site<'_, Self>,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished<Measured>, Error> {
        if plan::lacks_rounds(&site.run.study, planned) {
            let why = "its task's work is unknown: the task alone could not be measured";
            return Ok(Finished::invalid(why));
        }
        request::made(site, planned.place, &planned.order, files)
    }
}
