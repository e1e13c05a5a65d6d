//! What differs between kinds of experiment in the lab: what trials start from, what must be measured before they can
//! be planned, and how one is made. What is the same of all is [`crate::runner`]'s.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use linux::folder::Folder;
use model::{
    experiment::{Experiment, RunOf, TrialOf},
    name::VariantName,
    run::LabIdentity,
    share::Share,
    trial::{HostCost, Outcome},
    verdict::Versus,
};

use crate::{
    Error, Lab,
    run_folder::{OBJECTS, RunFolder},
    study_file::StudyFile,
};

/// How trials of a kind are made.
pub trait Procedure: Sync {
    type Kind: Experiment;
    /// What its trials start from: image and snapshots, or a device.
    type Ground: Sync;

    /// Gets ready what a new run starts from, and plans its trials as far as that is possible before its folder is
    /// there.
    ///
    /// # Errors
    ///
    /// [`Error`] of the study, of the host, or of the device.
    fn prepare(&self, lab: &Lab, file: &FileOf<Self>) -> Result<Prepared<Self>, Error>;

    /// Gets ready what a run that is gone on with started from.
    ///
    /// # Errors
    ///
    /// [`Error::Changed`] where that is not what it was; else as [`Procedure::prepare`].
    fn prepare_again(
        &self,
        lab: &Lab,
        folder: &RunFolder,
        run: &RunOf<Self::Kind>,
    ) -> Result<Self::Ground, Error>;

    /// Keeps with a new run what it must have to be gone on with.
    fn keep(&self, _ground: &Self::Ground, _folder: &RunFolder) -> Result<(), Error> {
        Ok(())
    }

    /// Measures what is not known yet of what the plan needs, and keeps it as it comes.
    ///
    /// # Errors
    ///
    /// [`Error`] of the host. What cannot be measured stays unknown, and is no error.
    fn calibrate(
        &self,
        _site: &Site<'_, Self>,
        known: CalibrationOf<Self>,
    ) -> Result<CalibrationOf<Self>, Error> {
        Ok(known)
    }

    /// The plan, where it depends on what was measured; `None` where [`Procedure::prepare`] has it.
    fn plan(
        &self,
        _study: &StudyOf<Self>,
        _calibration: &CalibrationOf<Self>,
    ) -> Option<Vec<PlannedOf<Self>>> {
        None
    }

    /// Trials that need not be made, each with the one that would end the same, instruction for instruction.
    fn same(&self, _run: &RunOf<Self::Kind>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Trials that say whether each variant works, before what the others start from is raised: in turns, of which a later
    /// one is for those whose trials failed. None where nothing is gained by that.
    fn first(&self, _rest: &[PlannedOf<Self>]) -> Vec<Vec<PlannedOf<Self>>> {
        Vec::new()
    }

    /// Raises what these trials start from.
    fn raise(
        &self,
        _lab: &Lab,
        _ground: &mut Self::Ground,
        _rest: &[PlannedOf<Self>],
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Gives back what trials were made on, after the last one; answers what is not as it was before the run.
    fn give_back(&self, _lab: &Lab, _ground: &mut Self::Ground) -> Vec<String> {
        Vec::new()
    }

    /// The rest of the plan in parts; after each it is asked whether the run is decided.
    fn parts(
        &self,
        _run: &RunOf<Self::Kind>,
        rest: Vec<PlannedOf<Self>>,
    ) -> Vec<Vec<PlannedOf<Self>>> {
        vec![rest]
    }

    /// Whether the trials so far decide what the run asks, so that the rest of its plan is left out.
    fn is_decided(&self, _run: &RunOf<Self::Kind>, _trials: &[TrialOf<Self::Kind>]) -> bool {
        false
    }

    /// Which trials run at the same time, in the order of the plan.
    fn batches(
        &self,
        site: &Site<'_, Self>,
        part: Vec<PlannedOf<Self>>,
    ) -> Vec<Batch<PlannedOf<Self>>>;

    /// The variant that a trial is of, where a variant whose first trials all fail is measured no further.
    fn variant<'a>(&self, _planned: &'a PlannedOf<Self>) -> Option<&'a VariantName> {
        None
    }

    /// Makes one trial. What goes wrong with the access point makes the trial invalid, and is no error.
    ///
    /// # Errors
    ///
    /// [`Error`] of the host: interrupted, a full disk, no QEMU.
    fn trial(
        &self,
        site: &Site<'_, Self>,
        planned: &PlannedOf<Self>,
        files: &TrialFiles,
    ) -> Result<Finished, Error>;
}

/// A procedure's study file.
pub type FileOf<P> = StudyFile<StudyOf<P>>;
/// A procedure's study.
pub type StudyOf<P> = <<P as Procedure>::Kind as Experiment>::Study;
/// A procedure's planned trials.
pub type PlannedOf<P> = <<P as Procedure>::Kind as Experiment>::Planned;
/// What a procedure measures before it can plan.
pub type CalibrationOf<P> = <<P as Procedure>::Kind as Experiment>::Calibration;

/// A run that can begin.
#[derive(Debug)]
pub struct Prepared<P: Procedure + ?Sized> {
    /// What its trials start from.
    pub ground: P::Ground,
    /// The study as it is carried out there.
    pub study: StudyOf<P>,
    /// The plan; empty where it needs a calibration.
    pub plan: Vec<PlannedOf<P>>,
    /// What the access point is made of.
    pub lab: LabIdentity,
    /// What is decided, where the run is a comparison.
    pub versus: Option<Versus>,
}

/// Where trials are made.
pub struct Site<'a, P: Procedure + ?Sized> {
    pub lab: &'a Lab,
    /// The run's folder.
    pub folder: &'a RunFolder,
    /// The run; its plan is empty until it is calibrated.
    pub run: &'a RunOf<P::Kind>,
    pub ground: &'a P::Ground,
}

#[derive(Clone, Debug)]
pub struct Finished {
    pub outcome: Outcome,
    /// What the host took for it.
    pub cost: HostCost,
    /// How idle the machine was before it, where its time is real and the machine is shared.
    pub idle_before: Option<Share>,
}

impl Finished {
    /// It was not made.
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self { outcome: Outcome::invalid(why), cost: HostCost::default(), idle_before: None }
    }
}

/// Where what a trial says is kept, with its reading.
#[derive(Clone, Debug)]
pub struct TrialFiles {
    /// The console's log.
    pub console_log: PathBuf,
    /// The stacks, where the trial records them.
    pub stacks: PathBuf,
    /// The folder of files that explain them.
    pub objects: PathBuf,
}

impl TrialFiles {
    /// Those of a trial of a run; `id` is the stem of its file's name.
    pub(crate) fn of(folder: &RunFolder, id: &str) -> Self {
        Self {
            console_log: folder.console(id),
            stacks: folder.stacks(id),
            objects: folder.path().join(OBJECTS),
        }
    }

    /// Files in a folder that is thrown away.
    pub(crate) fn below(folder: &Path) -> Self {
        Self {
            console_log: folder.join("console.log"),
            stacks: folder.join("stacks.perf.data"),
            objects: folder.to_owned(),
        }
    }

    /// The folder of files that explain stacks, to write to.
    pub(crate) fn objects(&self) -> Result<Folder, Error> {
        Folder::open(&self.objects).map_err(Error::file("open", &self.objects))
    }
}

/// Trials that run at the same time, and what else the host does meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<P> {
    /// The trials, in the order in which they start.
    pub trials: Vec<P>,
    /// How many of them at a time; `None` is as many as there are cores.
    pub at_once: Option<usize>,
    /// Whether stress-ng oversubscribes the host meanwhile.
    pub stress: bool,
}

/// Counted trials, which share the cores and do not feel each other; then the others, each with the host for itself.
pub(crate) fn counted_first<P>(part: Vec<P>, is_alone: impl Fn(&P) -> bool) -> Vec<Batch<P>> {
    let (alone, together): (Vec<P>, Vec<P>) = part.into_iter().partition(is_alone);
    let batch = |trials, at_once| Batch { trials, at_once, stress: false };
    [batch(together, None), batch(alone, Some(1))].into()
}
