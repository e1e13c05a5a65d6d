//! The hand that the loop acts with: levers, journal and watchdog together, or none of them in a dry run.

use std::path::{Path, PathBuf};

use crate::{
    act::{Beat, Hands, Options, Scene},
    command::failure::Failure,
    decide::{Decision, Outcome},
    groups::{Applications, Hierarchies},
    journal::{Disk, Journal, Report},
    reading::Reading,
};

/// The hand.
#[derive(Debug)]
pub struct Hand {
    hierarchies: Hierarchies,
    folder: PathBuf,
    grip: Grip,
}

#[derive(Debug)]
enum Grip {
    /// It acts. Boxed: a dry run has no need of the room.
    Acts(Box<Hands>),
    /// It holds the folder and does nothing.
    Dry { _lock: Journal },
    /// The watchdog took everything over, and the folder could not be had again: nothing is bounded.
    Lost,
}

impl Hand {
    /// Takes the state folder, puts back what an earlier guard left, and starts the watchdog. A dry run takes the
    /// folder only.
    ///
    /// # Errors
    ///
    /// Where another guard has the folder, or it cannot be used.
    pub fn take(
        folder: &Path,
        hierarchies: &Hierarchies,
        dry_run: bool,
    ) -> Result<(Self, Report), Failure> {
        let (grip, report) = if dry_run {
            let (journal, report) = Journal::open(Box::new(Disk::default()), folder)
                .map_err(|error| Failure::environment(&error))?;
            (Grip::Dry { _lock: journal }, report)
        } else {
            let (hands, report) = open(folder, hierarchies)?;
            (Grip::Acts(Box::new(hands)), report)
        };
        let (hierarchies, folder) = (hierarchies.clone(), folder.to_owned());
        Ok((Self { hierarchies, folder, grip }, report))
    }

    /// The watchdog's process.
    pub fn watchdog(&self) -> Option<u32> {
        match &self.grip {
            Grip::Acts(hands) => hands.watchdog_pid(),
            Grip::Dry { .. } | Grip::Lost => None,
        }
    }

    /// Makes the kernel so; what became of it.
    pub fn apply(
        &mut self,
        applications: &Applications,
        decision: &Decision,
        reading: &Reading,
    ) -> Outcome {
        let scene =
            Scene { applications, workers: &reading.workers, interfaces: &reading.interfaces };
        match &mut self.grip {
            Grip::Acts(hands) => hands.apply(decision, &scene),
            Grip::Dry { .. } | Grip::Lost => Outcome::default(),
        }
    }

    /// Tells the watchdog that guard lives. Something that a person should know, if there is.
    pub fn beat(&mut self) -> Option<&'static str> {
        let hands = match &mut self.grip {
            Grip::Acts(hands) => hands,
            Grip::Dry { .. } => return None,
            // It is tried again at every beat.
            Grip::Lost => return self.take_again().then_some("guard acts again"),
        };
        match hands.beat() {
            Beat::Fine => None,
            Beat::Renewed => Some("the watchdog was gone; another one watches now"),
            Beat::TakenOver => {
                // The old hands hold the folder until they are gone.
                self.grip = Grip::Lost;
                self.take_again();
                Some("guard was stuck, and its watchdog restored everything; guard begins anew")
            }
        }
    }

    fn take_again(&mut self) -> bool {
        let opened = open(&self.folder, &self.hierarchies);
        let is_open = opened.is_ok();
        if let Ok((hands, _)) = opened {
            self.grip = Grip::Acts(Box::new(hands));
        }
        is_open
    }

    /// Puts everything back.
    pub fn restore(&mut self) -> Report {
        match &mut self.grip {
            Grip::Acts(hands) => hands.restore(),
            Grip::Dry { .. } | Grip::Lost => Report::default(),
        }
    }
}

fn open(folder: &Path, hierarchies: &Hierarchies) -> Result<(Hands, Report), Failure> {
    let options = Options { state: folder.to_owned(), ..Options::default() };
    Hands::open(hierarchies.clone(), options).map_err(|error| Failure::environment(&error))
}
