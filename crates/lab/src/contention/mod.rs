//! Contention studies: Wi-Fi's traffic alongside applications, trial by trial, under one control after the other.
//!
//! A trial is one order to an agent and one record back; what the records mean is `analysis`' work. Counted trials
//! do not feel the host and share its cores; a trial in real time has the host for itself, after a gate.

pub mod plan;
mod rates;
pub mod study;

use std::{collections::BTreeMap, time::Duration};

use model::{
    contention::{Machine, Place, PlannedTrial, Rates, Run, Study},
    experiment::{Contention, Planned},
    order::TrialOrder,
    study::Mode,
};

use crate::{
    Error,
    cache_model::Attached,
    places::{At, Placed, Wanted},
    procedure::{Finished, Site, TrialFiles},
    run_folder,
};

/// How long a trial waits for the machine to be idle; then it goes on, and says how idle it was.
const PATIENCE: Duration = Duration::from_secs(60);

impl Placed for Contention {
    /// Places that cells are at.
    fn places(study: &Study) -> Vec<(Machine, Mode)> {
        let places = study.cells.iter().filter_map(|cell| plan::place_of(study, cell));
        places.map(|place| (place.on, plan::mode_of(place))).collect()
    }

    /// The second radio is the wide one of 5 GHz that traffic goes over, and on another channel than the first, which
    /// so hears none of it; each has one client.
    fn wanted(study: &Study) -> Wanted {
        let (arch, idle_gate) = (study.contention.arch, study.contention.idle_gate);
        Wanted { arch, radios: 2, clients: 2, idle_gate, patience: PATIENCE }
    }

    fn trials(study: &Study, rates: &Rates) -> Vec<PlannedTrial> {
        plan::trials(study, rates)
    }

    fn estimate(study: &Study, plan: &[PlannedTrial], cores: usize) -> Duration {
        plan::estimate(study, plan, cores)
    }

    fn is_alone(study: &Study, trial: &PlannedTrial) -> bool {
        plan::is_alone(study, trial)
    }

    fn find(site: &Site<'_, Self>, known: Rates) -> Result<Rates, Error> {
        rates::find(site, known)
    }

    fn repeated(run: &Run) -> BTreeMap<String, String> {
        let repeats = plan::repeats(&run.study, &run.plan).into_iter();
        repeats.map(|(one, first)| (one.id(), first.id())).collect()
    }

    fn made(
        site: &Site<'_, Self>,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished, Error> {
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
        made(site, place, order, files)
    }
}

/// Makes a trial at a place. Where the place is a virtual access point and the order says so, the study's caches are
/// modelled there.
fn made(
    site: &Site<'_, Contention>,
    place: &Place,
    order: &TrialOrder,
    files: &TrialFiles,
) -> Result<Finished, Error> {
    let is_modelled = place.on == Machine::Vm && order.marks;
    let counts = files.console_log.with_extension("caches");
    let geometry = site.run.study.caches.filter(|_| is_modelled);
    let model = geometry.map(|all| Attached::new(site.lab, all, &counts)).transpose()?;
    if let Some(model) = &model {
        // The plugin opens its file by name: what is there must be its own.
        run_folder::new_file(model.counts())?;
    }
    let at = At {
        lab: site.lab,
        on: place.on,
        mode: plan::mode_of(place),
        files,
        model: model.as_ref(),
    };
    site.ground.trial(&at, order)
}
