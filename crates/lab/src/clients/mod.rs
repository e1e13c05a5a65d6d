//! Trials of clients and subjects: each on a virtual access point of its own, restored from a snapshot, or one after
//! the other on a device that is there already.
//!
//! The same orders, the same folder, the same page wherever they are made. On a device no access point is raised or
//! put back to a snapshot, and its clients are those that it has.

mod connection;
mod dealt;
mod device;
mod ground;
mod images;
mod population;
mod set;

use std::sync::{Mutex, PoisonError};

use model::{
    experiment::Clients,
    name::VariantName,
    pause::Peer,
    run::Run,
    study::{Target as Recorded, Variant},
    trial::{Outcome, PlannedTrial, Trial},
};

pub use self::device::{Look, look};
pub(crate) use self::ground::identity;
use self::{device::OnDevice, ground::Virtual};
use crate::{
    Error, Lab,
    brought::Brought,
    comparison::{Comparing, Decided},
    device_file::DeviceFile,
    failures,
    functions::{Found, Symbols},
    plan,
    procedure::{Batch, Finished, Prepared, Procedure, Site, TrialFiles},
    run_folder::RunFolder,
    session,
    study_file::StudyFile,
    vm::Failure,
};

/// Where an access point is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    #[default]
    Vm,
    /// One that is there already: this machine, or a device over ssh.
    Device(Box<DeviceFile>),
}

/// How trials of clients and subjects are made.
#[derive(Clone, Copy)]
pub struct ClientTrials<'a> {
    pub target: &'a Target,
    /// Knows where functions begin.
    pub symbols: &'a dyn Symbols,
    /// What is compared, where the run is a comparison.
    pub comparing: Option<&'a Comparing<'a>>,
    /// Whether a comparison is decided.
    pub decided: &'a Decided,
    /// What a device's noise lets a run see, told before it starts.
    pub foretell: &'a Foretell,
}

/// What is to be said of a short trial before the first one counts, where anything is.
pub type Foretell = dyn Fn(&Trial) -> Option<String> + Sync;

#[derive(Debug)]
pub enum Ground {
    /// Image and snapshots.
    Virtual(Box<Virtual>),
    /// A device that has been greeted.
    Device(Box<Mutex<OnDevice>>),
}

impl ClientTrials<'_> {
    /// The trials of a study, or of the comparison.
    fn plan_of(&self, file: &StudyFile, found: &Found) -> Vec<PlannedTrial> {
        match self.comparing {
            Some(comparing) => plan::comparison(&file.study, &comparing.versus, found),
            None => {
                let mut trials = plan::trials(&file.study, found);
                trials.retain(|trial| file.takes(trial.id.purpose));
                trials
            }
        }
    }
}

impl Procedure for ClientTrials<'_> {
    type Kind = Clients;
    type Ground = Ground;

    fn prepare(&self, lab: &Lab, file: &StudyFile) -> Result<Prepared<Self>, Error> {
        match self.target {
            Target::Vm if file.study.names_images() => {
                let why = "images of variants are for devices: name one that takes them with --on";
                Err(Error::Usage(why.to_owned()))
            }
            Target::Vm => ground::prepare(self, lab, file),
            Target::Device(named) => device::prepare(self, lab, named, file),
        }
    }

    fn prepare_again(&self, lab: &Lab, folder: &RunFolder, run: &Run) -> Result<Ground, Error> {
        let changed = |then: &str, now: String| Error::Changed {
            path: folder.path().to_owned(),
            what: "access point",
            then: then.to_owned(),
            now,
        };
        match (&run.study.access_point.kind, self.target) {
            (Recorded::Vm, Target::Vm) => {
                ground::again(lab, folder, run).map(|ground| Ground::Virtual(Box::new(ground)))
            }
            (Recorded::Device(_), Target::Device(named)) => device::again(lab, named, folder, run),
            (Recorded::Vm, Target::Device(named)) => {
                Err(changed("the virtual one", named.to_string()))
            }
            // A folder may come from anywhere: no address in it is called.
            (Recorded::Device(then), Target::Vm) => {
                Err(changed(then, "none: name the device again with --on".to_owned()))
            }
        }
    }

    fn keep(&self, ground: &Ground, folder: &RunFolder) -> Result<(), Error> {
        let keep = |brought: &Brought| match brought.is_empty() {
            true => Ok(()),
            false => brought.keep(&folder.objects()?),
        };
        match ground {
            Ground::Virtual(ground) => keep(&ground.brought),
            Ground::Device(device) => {
                keep(&device.lock().unwrap_or_else(PoisonError::into_inner).brought)
            }
        }
    }

    fn first(&self, rest: &[PlannedTrial]) -> Vec<Vec<PlannedTrial>> {
        match (self.target, self.comparing) {
            (Target::Vm, None) => plan::first(rest, failures::GIVE_UP_AFTER),
            // A comparison has one access point, and so has a device.
            _ => Vec::new(),
        }
    }

    fn raise(&self, lab: &Lab, ground: &mut Ground, rest: &[PlannedTrial]) -> Result<(), Error> {
        match ground {
            Ground::Virtual(ground) => ground.raise(lab, rest),
            Ground::Device(device) => {
                let device = device.get_mut().unwrap_or_else(PoisonError::into_inner);
                if rest.is_empty() {
                    return Ok(());
                }
                device.set(lab)?;
                device.foretell(lab, rest, self.foretell)
            }
        }
    }

    fn give_back(&self, lab: &Lab, ground: &mut Ground) -> Vec<String> {
        match ground {
            Ground::Virtual(_) => Vec::new(),
            Ground::Device(device) => {
                device.get_mut().unwrap_or_else(PoisonError::into_inner).give_back(lab)
            }
        }
    }

    /// A comparison is looked at after each of its looks.
    fn parts(&self, run: &Run, rest: Vec<PlannedTrial>) -> Vec<Vec<PlannedTrial>> {
        let looks = run.versus.as_ref().map(|versus| versus.pairs.looks()).unwrap_or_default();
        let part_of = |trial: &PlannedTrial| {
            looks.iter().position(|look| trial.id.repetition <= *look).unwrap_or(looks.len())
        };
        let mut parts: Vec<Vec<PlannedTrial>> = vec![Vec::new(); looks.len() + 1];
        rest.into_iter().for_each(|trial| parts[part_of(&trial)].push(trial));
        parts.retain(|part| !part.is_empty());
        parts
    }

    fn is_decided(&self, run: &Run, trials: &[Trial]) -> bool {
        run.versus.is_some() && (self.decided)(run, trials)
    }

    fn batches(&self, site: &Site<'_, Self>, part: Vec<PlannedTrial>) -> Vec<Batch<PlannedTrial>> {
        match site.ground {
            Ground::Virtual(_) => plan::batches(part),
            // There is one device.
            Ground::Device(_) => {
                let turns = site.run.study.names_images();
                let trials = if turns { images::in_turns(part) } else { part };
                vec![Batch { trials, at_once: Some(1), stress: false }]
            }
        }
    }

    /// That all trials fail in one perturbed state says nothing of a variant in the others.
    fn variant<'a>(&self, planned: &'a PlannedTrial) -> Option<&'a VariantName> {
        planned.id.perturbed.is_none().then_some(&planned.id.variant)
    }

    fn trial(
        &self,
        site: &Site<'_, Self>,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished, Error> {
        match site.ground {
            Ground::Virtual(ground) => match ground.snapshot_of(planned)? {
                Ok(snapshot) => session::trial(site.lab, snapshot, planned, files),
                Err(why) => Ok(Finished::invalid(why)),
            },
            Ground::Device(device) => {
                let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
                device.trial(site.lab, planned, files)
            }
        }
    }
}

/// Which processes talk to a variant's subject, seen in one short trial that is kept nowhere.
///
/// # Errors
///
/// [`Error`]; [`Error::Machine`] where the trial could not be done.
pub fn peers(
    lab: &Lab,
    target: &Target,
    file: &StudyFile,
    variant: &Variant,
) -> Result<Vec<Peer>, Error> {
    let outcome = match target {
        Target::Vm => ground::peers(lab, file, variant)?,
        Target::Device(named) => device::peers(lab, named, file, variant)?,
    };
    match outcome {
        None => Ok(Vec::new()),
        Some(Outcome::Measured(recording)) => Ok(recording.peers),
        Some(Outcome::Invalid { why, .. }) => Err(Failure::Clients(why).into()),
    }
}
