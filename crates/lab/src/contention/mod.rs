//! Contention studies: Wi-Fi's traffic alongside applications, trial by trial, under one control after the other.
//!
//! A trial is one order to an agent and one record back; what the records mean is `analysis`' work. Counted trials
//! do not feel the host and share its cores; a trial in real time has the host for itself, after a gate.

pub mod plan;
mod rates;
mod request;
pub mod study;

use std::{collections::BTreeMap, time::Duration};

use model::{
    contention::{Machine, PlannedTrial, Rates, Reading, Run, Study},
    experiment::{Contention, Planned},
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

/// How long a trial waits for the machine to be idle; then it goes on, and says how idle it was.
const PATIENCE: Duration = Duration::from_secs(60);

/// How contention trials are made.
#[derive(Clone, Copy, Debug)]
pub struct ContentionTrials;

/// Whether a study's cells need virtual access points.
pub fn needs_vm(study: &Study) -> bool {
    places_of(study).iter().any(|(on, _)| *on == Machine::Vm)
}

/// Places that cells are at.
fn places_of(study: &Study) -> Vec<(Machine, Mode)> {
    let places = study.cells.iter().filter_map(|cell| plan::place_of(study, cell));
    places.map(|place| (place.on, plan::mode_of(place))).collect()
}

/// The second radio is the wide one of 5 GHz that traffic goes over, and on another channel than the first, which so
/// hears none of it; each has one client.
fn wanted(study: &Study) -> Wanted {
    let idle_gate = study.contention.idle_gate;
    Wanted { radios: 2, clients: 2, idle_gate, patience: PATIENCE }
}

/// The virtual access points that a study needs.
pub(crate) fn access_points(study: &Study) -> Vec<Shape> {
    wanted(study).shapes(&places_of(study))
}

impl Procedure for ContentionTrials {
    type Kind = Contention;
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

    fn calibrate(&self, site: &Site<'_, Self>, known: Rates) -> Result<Rates, Error> {
        rates::find(site, known)
    }

    fn plan(&self, study: &Study, rates: &Rates) -> Option<Vec<PlannedTrial>> {
        Some(plan::trials(study, rates))
    }

    fn same(&self, run: &Run) -> BTreeMap<String, String> {
        plan::repeats(&run.study, &run.plan)
            .into_iter()
            .map(|(one, first)| (one.id(), first.id()))
            .collect()
    }

    fn batches(&self, site: &Site<'_, Self>, part: Vec<PlannedTrial>) -> Vec<Batch<PlannedTrial>> {
        counted_first(part, |planned| plan::is_alone(&site.run.study, planned))
    }

    fn trial(
        &self,
        site: &Site<'_, Self>,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished<Reading>, Error> {
        let order = &planned.order;
        // Its traffic has a share of a rate that was not found.
        if order.traffic.as_ref().is_some_and(|traffic| traffic.paced.is_some()) {
            let why = "its rate is unknown: the traffic alone at full rate could not be measured";
            return Ok(Finished::invalid(why));
        }
        let cell = site.run.study.cells.get(planned.cell as usize);
        let Some(place) = cell.and_then(|cell| plan::place_of(&site.run.study, cell)) else {
            return Ok(Finished::invalid("the study has no such place"));
        };
        request::made(site, place, order, files)
    }
}
