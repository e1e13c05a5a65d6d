//! What trials on virtual access points start from: the image, one snapshot for every client count and mode, and the
//! programs that the run brings.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
    sync::Mutex,
};

use model::{
    name::VariantName,
    perturbation::Perturbation,
    run::{LabIdentity, Run},
    study::{Mode, Study, Variant},
    trial::{Outcome, PlannedTrial, Purpose},
    verdict::{Difference, Versus},
    wire::Order,
};

use super::{ClientTrials, Ground};
use crate::{
    Error, Lab,
    comparison::{self, Builds},
    functions::{self, Found, SymbolSources},
    image::{self, Image},
    plan::{self, Start},
    procedure::{Prepared, TrialFiles},
    run_folder::RunFolder,
    runner::{same_lab, side_by_side, take_all},
    session,
    study_file::StudyFile,
    uploads::UploadedPrograms,
    vm::{
        self, Machine, Shape,
        snapshot::{self, Snapshot},
    },
};

#[derive(Debug)]
pub struct Virtual {
    image: Image,
    /// Radios of every access point.
    radios: u32,
    /// The variant's image, where images are compared.
    other: Option<(String, Image)>,
    /// The study's own programs, and both builds of one that is compared.
    pub(super) brought: UploadedPrograms,
    /// The question, with what is known of both sides.
    versus: Option<Versus>,
    /// The other build of the image, where the run asks for that state.
    rebuilt: Option<Image>,
    /// One for each start, and for the variant whose own it is.
    raised: Vec<Raised>,
}

/// An access point that trials start from.
#[derive(Debug)]
struct Raised {
    /// The variant whose own it is, where images are compared.
    variant: Option<VariantName>,
    start: Start,
    /// Its snapshot; where a perturbed state cannot be raised, why.
    snapshot: Result<Snapshot, String>,
}

/// A new run.
pub(super) fn prepare<'a>(
    trials: &ClientTrials<'a>,
    lab: &Lab,
    file: &StudyFile,
) -> Result<Prepared<ClientTrials<'a>>, Error> {
    let ground = Virtual::of(trials, lab, file)?;
    let plan = trials.plan_of(file, &ground.probes(trials, lab, file)?);
    let mut study = file.study.clone();
    // What the command line added is the run's as well: to go on with it, the same image is made.
    study.access_point.packages = lab.settings.packages_with(&study.access_point.packages);
    Ok(Prepared {
        study,
        lab: ground.identity(lab, &plan),
        plan,
        versus: ground.versus.clone(),
        ground: Ground::Virtual(Box::new(ground)),
    })
}

/// A run that is gone on with.
pub(super) fn again(lab: &Lab, folder: &RunFolder, run: &Run) -> Result<Virtual, Error> {
    let image = image::obtain(lab, &run.study.access_point.packages)?;
    let ground = Virtual::again(lab, image, folder, run)?;
    same_lab(folder.path(), &run.lab, &ground.identity(lab, &run.plan))?;
    Ok(ground)
}

impl Virtual {
    /// What a run that is gone on with started from.
    fn again(lab: &Lab, image: Image, folder: &RunFolder, run: &Run) -> Result<Self, Error> {
        let versus = run.versus.clone();
        let difference = versus.as_ref().map(|versus| &versus.difference);
        if let Some(Difference::Image { variant, .. }) = difference {
            return Err(Error::Changed {
                path: folder.path().to_owned(),
                what: "variant's image",
                then: variant.clone(),
                now: "not named by --resume".to_owned(),
            });
        }
        let objects = folder.objects()?;
        let mut sums = run.lab.programs.clone();
        sums.extend(difference.map(comparison::sums).unwrap_or_default());
        let brought = UploadedPrograms::kept(&objects, sums)?;
        let rebuilt = rebuilt(lab, &image, &run.study)?;
        let radios = run.study.access_point.radios;
        let (other, raised) = (None, Vec::new());
        Ok(Self { image, radios, other, brought, versus, rebuilt, raised })
    }

    /// What the access points of these trials are made of, with what is different in perturbed states.
    fn identity(&self, lab: &Lab, plan: &[PlannedTrial]) -> LabIdentity {
        let states: BTreeSet<Perturbation> =
            plan.iter().filter_map(|trial| trial.id.perturbed).collect();
        let of = |state: Perturbation| match state {
            Perturbation::Image => self.rebuilt.as_ref().map(|image| image.id.clone()),
            other => vm::difference(lab.settings.arch, other),
        };
        let perturbed =
            states.into_iter().filter_map(|state| Some((state.to_string(), of(state)?)));
        LabIdentity {
            perturbed: perturbed.collect(),
            programs: self.brought.own(),
            ..identity(lab, plan.iter().map(|trial| trial.mode), &self.image)
        }
    }

    /// What a study names, with nothing to compare.
    fn plain(lab: &Lab, file: &StudyFile) -> Result<Self, Error> {
        let access_point = &file.study.access_point;
        let image = image::obtain(lab, &access_point.packages)?;
        let rebuilt = rebuilt(lab, &image, &file.study)?;
        let (processor, folders) = (lab.settings.arch.processor(), &lab.settings.device);
        let brought = UploadedPrograms::read(&access_point.programs, Some(processor), folders)?;
        let radios = access_point.radios;
        let (other, versus, raised) = (None, None, Vec::new());
        Ok(Self { image, radios, other, brought, versus, rebuilt, raised })
    }

    fn of(trials: &ClientTrials<'_>, lab: &Lab, file: &StudyFile) -> Result<Self, Error> {
        let mut ground = Self::plain(lab, file)?;
        let Some(comparing) = trials.comparing else { return Ok(ground) };
        let packages = &file.study.access_point.packages;
        let mut versus = comparing.versus.clone();
        let other = comparing.other.map(|lab| image::obtain(lab, packages)).transpose()?;
        if let Some(other) = &other {
            let (base, variant) = (ground.image.id.clone(), other.id.clone());
            versus.difference = Difference::Image { base, variant };
        }
        ground.other = other.map(|image| (versus.variant.clone(), image));
        if let Some(program) = &comparing.program {
            let (clients, mode) = (versus.clients, file.study.access_point.mode);
            let wanted = Start { clients, mode, perturbed: None };
            let folder = scratch()?;
            let mut machine = ground.machine(lab, wanted, folder.path())?;
            let builds = Builds::of(lab, &mut machine, program)?;
            versus.difference = builds.difference();
            ground.brought.extend(builds.brought());
        }
        ground.versus = Some(versus);
        Ok(ground)
    }

    /// An access point of this shape that has been greeted.
    fn machine(&self, lab: &Lab, wanted: Start, folder: &Path) -> Result<Machine, Error> {
        let shape = shape_of(lab, &self.image, self.radios, wanted);
        let snapshot = self.snapshot(lab, &self.image, &shape)?;
        let mut machine = snapshot.restore(lab, &folder.join("console.log"))?;
        machine.begin(&Order::Introduce { subject: None })?;
        Ok(machine)
    }

    /// The snapshot that trials of this shape start from, with what the run brings.
    fn snapshot(&self, lab: &Lab, image: &Image, shape: &Shape) -> Result<Snapshot, Error> {
        let snapshot = snapshot::obtain(lab, image, shape)?;
        let Some(key) = self.brought.key() else { return Ok(snapshot) };
        snapshot::after(lab, &snapshot, &key, |machine| self.brought.put(machine))
    }

    /// Makes every snapshot that these trials need. That a perturbed state cannot be raised is its trials' failure.
    pub(super) fn raise(&mut self, lab: &Lab, rest: &[PlannedTrial]) -> Result<(), Error> {
        let of_other = |trial: &PlannedTrial| {
            self.other.as_ref().is_some_and(|(variant, _)| *variant == trial.id.variant)
        };
        let (theirs, ours): (Vec<_>, Vec<_>) = rest.iter().cloned().partition(of_other);
        let variant = theirs.first().map(|trial| &trial.id.variant);
        let ours = plan::snapshots(&ours).into_iter().map(|start| (None, start));
        let theirs = plan::snapshots(&theirs).into_iter().map(|start| (variant.cloned(), start));
        let is_raised = |(variant, start): &(Option<VariantName>, Start)| {
            self.raised.iter().any(|one| one.variant == *variant && one.start == *start)
        };
        let wanted: VecDeque<_> = ours.chain(theirs).filter(|one| !is_raised(one)).collect();
        let workers = lab.settings.workers.min(wanted.len());
        let queue = Mutex::new(wanted);
        let this = &*self;
        let make = |(variant, start): (Option<VariantName>, Start)| {
            let snapshot = match (this.start(lab, variant.as_ref(), start), start.perturbed) {
                (Err(Error::Machine(why)), Some(_)) => {
                    Err(format!("this state cannot be raised: {why}"))
                }
                (snapshot, _) => Ok(snapshot?),
            };
            Ok(Raised { variant, start, snapshot })
        };
        let made = side_by_side(workers, || take_all(&queue, make))?;
        self.raised.extend(made.into_iter().flatten());
        Ok(())
    }

    /// The snapshot of a start.
    fn start(
        &self,
        lab: &Lab,
        variant: Option<&VariantName>,
        start: Start,
    ) -> Result<Snapshot, Error> {
        let other = self.other.as_ref().filter(|_| variant.is_some()).map(|(_, image)| image);
        let image = match (other, start.perturbed) {
            (Some(other), Some(Perturbation::Image)) => &image::rebuilt::of(lab, other)?,
            (Some(other), _) => other,
            (None, Some(Perturbation::Image)) => self.rebuilt.as_ref().unwrap_or(&self.image),
            (None, _) => &self.image,
        };
        self.snapshot(lab, image, &shape_of(lab, image, self.radios, start))
    }

    /// The places of the functions that a study counts, asked of an access point with the fewest clients. The others come
    /// up when its variants have been seen to work.
    fn probes(
        &self,
        trials: &ClientTrials<'_>,
        lab: &Lab,
        file: &StudyFile,
    ) -> Result<Found, Error> {
        let study = &file.study;
        let fewest = study.access_point.clients.iter().min();
        let counts = study.count.is_some() && file.takes(Purpose::Counts);
        let Some(clients) = fewest.filter(|_| counts) else { return Ok(Found::default()) };
        let mode = study.access_point.mode;
        let folder = scratch()?;
        let start = Start { clients: *clients, mode, perturbed: None };
        let mut machine = self.machine(lab, start, folder.path())?;
        let symbols = SymbolSources { symbols: trials.symbols, brought: &self.brought };
        functions::find(lab, &mut machine, file, symbols)
    }

    /// The snapshot that a trial starts from, or why its state cannot be raised.
    pub(super) fn snapshot_of(
        &self,
        planned: &PlannedTrial,
    ) -> Result<Result<&Snapshot, &str>, Error> {
        let start = Start::of(planned);
        let of = |variant: Option<&VariantName>| {
            let mut all = self.raised.iter();
            all.find(|one| one.start == start && one.variant.as_ref() == variant)
        };
        let lost = || vm::Failure::Clients(format!("no snapshot for {}", planned.id));
        let raised = of(Some(&planned.id.variant)).or_else(|| of(None)).ok_or_else(lost)?;
        Ok(raised.snapshot.as_ref().map_err(String::as_str))
    }
}

/// The other build of the image, where a study asks for that state.
fn rebuilt(lab: &Lab, image: &Image, study: &Study) -> Result<Option<Image>, Error> {
    let is_asked = study.compare.perturb.contains(&Perturbation::Image);
    is_asked.then(|| image::rebuilt::of(lab, image)).transpose()
}

fn scratch() -> Result<tempfile::TempDir, Error> {
    tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))
}

/// The one trial that sees who talks to a variant's subject; `None` where there is nothing to see.
pub(super) fn peers(
    lab: &Lab,
    file: &StudyFile,
    variant: &Variant,
) -> Result<Option<Outcome>, Error> {
    let Some(planned) = plan::peers(&file.study, variant) else { return Ok(None) };
    let snapshot = Virtual::plain(lab, file)?.start(lab, None, Start::of(&planned))?;
    let folder = scratch()?;
    let files = TrialFiles::below(folder.path());
    Ok(Some(session::trial(lab, &snapshot, &planned, &files)?.outcome))
}

/// What virtual access points in these modes are made of.
pub(crate) fn identity(
    lab: &Lab,
    mut modes: impl Iterator<Item = Mode>,
    image: &Image,
) -> LabIdentity {
    let real_time = modes.any(|mode| mode == Mode::RealTime);
    LabIdentity {
        image: image.id.clone(),
        kernel: image.release.clone(),
        packages: image.packages.clone(),
        agent: image.agent.clone(),
        qemu: lab.qemu.clone(),
        counted_arguments: vm::counted_arguments(lab.settings.arch),
        firmware: image.firmware.clone(),
        programs: BTreeMap::new(),
        accelerator: real_time
            .then(|| vm::accelerator(lab, image, Mode::RealTime).name().to_owned()),
        perturbed: BTreeMap::new(),
        device: None,
    }
}

fn shape_of(lab: &Lab, image: &Image, radios: u32, wanted: Start) -> Shape {
    let (arch, Start { clients, mode, perturbed }) = (lab.settings.arch, wanted);
    let accelerator = vm::accelerator(lab, image, mode);
    let (shell, wan, memory) = (false, false, lab.settings.counts_memory);
    let (forward, root_mib) = (None, 0);
    Shape {
        arch,
        mode,
        accelerator,
        radios,
        clients,
        shell,
        wan,
        memory,
        forward,
        root_mib,
        perturbed,
    }
}
