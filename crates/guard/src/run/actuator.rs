//! The actuator that the loop acts with: levers, journal and watchdog together, or none of them in a dry run.

use std::path::{Path, PathBuf};

use crate::{
    act::{Beat, Levers, Options, Targets},
    decide::{Decision, Outcome},
    failure::Failure,
    groups::{Applications, Hierarchies},
    journal::{Disk, Journal, Report},
    reading::Reading,
};

#[derive(Debug)]
pub struct Actuator {
    hierarchies: Hierarchies,
    folder: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It acts. Boxed: a dry run has no need of the room.
    Acts(Box<Levers>),
    /// It holds the folder and does nothing.
    Dry { _lock: Journal },
    /// The watchdog took everything over, and the folder could not be had again: nothing is bounded.
    Lost,
}

impl Actuator {
    /// Takes the state folder, puts back what an earlier guard left, and starts the watchdog. A dry run takes the
    /// folder only.
    /// Fails where another guard has the folder, or it cannot be used.
    pub fn take(
        folder: &Path,
        hierarchies: &Hierarchies,
        dry_run: bool,
    ) -> Result<(Self, Report), Failure> {
        let (state, report) = if dry_run {
            let (journal, report) = Journal::open(Box::new(Disk::default()), folder)
                .map_err(|error| Failure::environment(&error))?;
            (State::Dry { _lock: journal }, report)
        } else {
            let (levers, report) = open(folder, hierarchies)?;
            (State::Acts(Box::new(levers)), report)
        };
        let (hierarchies, folder) = (hierarchies.clone(), folder.to_owned());
        Ok((Self { hierarchies, folder, state }, report))
    }

    pub fn watchdog(&self) -> Option<u32> {
        match &self.state {
            State::Acts(levers) => levers.watchdog_pid(),
            State::Dry { .. } | State::Lost => None,
        }
    }

    /// Makes the kernel so; what became of it.
    pub fn apply(
        &mut self,
        applications: &Applications,
        decision: &Decision,
        reading: &Reading,
    ) -> Outcome {
        let targets =
            Targets { applications, workers: &reading.workers, interfaces: &reading.interfaces };
        match &mut self.state {
            State::Acts(levers) => levers.apply(decision, &targets),
            State::Dry { .. } | State::Lost => Outcome::default(),
        }
    }

    /// Tells the watchdog that guard lives. Something that a person should know, if there is.
    pub fn beat(&mut self) -> Option<&'static str> {
        let levers = match &mut self.state {
            State::Acts(levers) => levers,
            State::Dry { .. } => return None,
            // It is tried again at every beat.
            State::Lost => return self.take_again().then_some("guard acts again"),
        };
        match levers.beat() {
            Beat::Fine => None,
            Beat::Renewed => Some("the watchdog was gone; another one watches now"),
            Beat::TakenOver => {
                // The old levers hold the folder until they are gone.
                self.state = State::Lost;
                self.take_again();
                Some("guard was stuck, and its watchdog restored everything; guard begins anew")
            }
        }
    }

    fn take_again(&mut self) -> bool {
        let opened = open(&self.folder, &self.hierarchies);
        let is_open = opened.is_ok();
        if let Ok((levers, _)) = opened {
            self.state = State::Acts(Box::new(levers));
        }
        is_open
    }

    /// Puts everything back.
    pub fn restore(&mut self) -> Report {
        match &mut self.state {
            State::Acts(levers) => levers.restore(),
            State::Dry { .. } | State::Lost => Report::default(),
        }
    }
}

fn open(folder: &Path, hierarchies: &Hierarchies) -> Result<(Levers, Report), Failure> {
    let options = Options { state: folder.to_owned(), ..Options::default() };
    Levers::open(hierarchies.clone(), options).map_err(|error| Failure::environment(&error))
}
