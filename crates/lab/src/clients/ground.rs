//! What trials on virtual access points start from: the image, one snapshot for every client count and mode, and both
//! builds of a program where builds are compared.

use std::{collections::VecDeque, path::Path, sync::Mutex};

use model::{
    name::VariantName,
    run::{LabIdentity, Run},
    study::{Mode, Variant},
    trial::{Outcome, PlannedTrial, Purpose},
    verdict::{Difference, Versus},
    wire::Order,
};

use super::{ClientTrials, Ground};
use crate::{
    Error, Lab,
    comparison::Builds,
    functions::{self, Found},
    image::{self, Image},
    plan,
    procedure::{Prepared, TrialFiles},
    run_folder::RunFolder,
    runner::{same_lab, side_by_side, take_all},
    session,
    study_file::StudyFile,
    vm::{
        self, Machine, Shape,
        snapshot::{self, Snapshot},
    },
};

/// What trials start from.
#[derive(Debug)]
pub struct Virtual {
    image: Image,
    /// Radios of every access point.
    radios: u32,
    /// The variant's image, where images are compared.
    other: Option<(String, Image)>,
    /// Both builds of a program that is compared.
    pub(super) builds: Option<Builds>,
    /// The question, with what is known of both sides.
    versus: Option<Versus>,
    /// One for each client count and mode, with the variant whose own it is.
    snapshots: Vec<(Option<VariantName>, Snapshot)>,
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
        lab: identity(lab, plan.iter().map(|trial| trial.mode), &ground.image),
        plan,
        versus: ground.versus.clone(),
        ground: Ground::Virtual(Box::new(ground)),
    })
}

/// A run that is gone on with.
pub(super) fn again(lab: &Lab, folder: &RunFolder, run: &Run) -> Result<Virtual, Error> {
    let image = image::obtain(lab, &run.study.access_point.packages)?;
    let modes = run.plan.iter().map(|trial| trial.mode);
    same_lab(folder.path(), &run.lab, &identity(lab, modes, &image))?;
    Virtual::again(image, folder, run)
}

impl Virtual {
    /// What a run that is gone on with started from.
    fn again(image: Image, folder: &RunFolder, run: &Run) -> Result<Self, Error> {
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
        let kept = |difference| Builds::kept(&objects, difference);
        let builds = difference.map(kept).transpose()?.flatten();
        let (radios, snapshots) = (run.study.access_point.radios, Vec::new());
        Ok(Self { image, radios, other: None, builds, versus, snapshots })
    }

    fn of(trials: &ClientTrials<'_>, lab: &Lab, file: &StudyFile) -> Result<Self, Error> {
        let packages = &file.study.access_point.packages;
        let image = image::obtain(lab, packages)?;
        let radios = file.study.access_point.radios;
        let Some(comparing) = trials.comparing else {
            let (other, builds, versus, snapshots) = (None, None, None, Vec::new());
            return Ok(Self { image, radios, other, builds, versus, snapshots });
        };
        let mut versus = comparing.versus.clone();
        let other = comparing.other.map(|lab| image::obtain(lab, packages)).transpose()?;
        if let Some(other) = &other {
            let (base, variant) = (image.id.clone(), other.id.clone());
            versus.difference = Difference::Image { base, variant };
        }
        let other = other.map(|image| (versus.variant.clone(), image));
        let mut ground =
            Self { image, radios, other, builds: None, versus: None, snapshots: Vec::new() };
        if let Some(program) = &comparing.program {
            let wanted = (versus.clients, file.study.access_point.mode);
            let folder = scratch()?;
            let mut machine = ground.machine(lab, wanted, folder.path())?;
            let builds = Builds::of(lab, &mut machine, program)?;
            versus.difference = builds.difference();
            ground.builds = Some(builds);
        }
        ground.versus = Some(versus);
        Ok(ground)
    }

    /// An access point of this shape that has been greeted.
    fn machine(&self, lab: &Lab, wanted: (u32, Mode), folder: &Path) -> Result<Machine, Error> {
        let shape = shape_of(lab, &self.image, self.radios, wanted);
        let snapshot = self.snapshot(lab, &self.image, &shape)?;
        let mut machine = snapshot.restore(lab, &folder.join("console.log"))?;
        machine.begin(&Order::Introduce { subject: None }, shape.mode)?;
        Ok(machine)
    }

    /// The snapshot that trials of this shape start from, with both builds in it where builds are compared.
    fn snapshot(&self, lab: &Lab, image: &Image, shape: &Shape) -> Result<Snapshot, Error> {
        let snapshot = snapshot::obtain(lab, image, shape)?;
        match &self.builds {
            None => Ok(snapshot),
            Some(builds) => {
                snapshot::after(lab, &snapshot, &builds.key(), |machine| builds.put(machine))
            }
        }
    }

    /// Makes every snapshot that these trials need.
    pub(super) fn raise(&mut self, lab: &Lab, rest: &[PlannedTrial]) -> Result<(), Error> {
        let radios = self.radios;
        let mut wanted: Vec<(Option<VariantName>, &Image, Shape)> = Vec::new();
        let of_other = |trial: &PlannedTrial| {
            self.other.as_ref().is_some_and(|(variant, _)| *variant == trial.id.variant)
        };
        let (theirs, ours): (Vec<_>, Vec<_>) = rest.iter().cloned().partition(of_other);
        for (clients, mode) in plan::snapshots(&ours) {
            wanted.push((None, &self.image, shape_of(lab, &self.image, radios, (clients, mode))));
        }
        if let (Some((_, image)), Some(first)) = (&self.other, theirs.first()) {
            let variant = &first.id.variant;
            for pair in plan::snapshots(&theirs) {
                wanted.push((Some(variant.clone()), image, shape_of(lab, image, radios, pair)));
            }
        }
        let workers = lab.settings.workers.min(wanted.len());
        let queue = Mutex::new(VecDeque::from(wanted));
        let this = &*self;
        let made = side_by_side(workers, || {
            take_all(&queue, |(variant, image, shape)| {
                Ok((variant, this.snapshot(lab, image, &shape)?))
            })
        })?;
        self.snapshots = made.into_iter().flatten().collect();
        Ok(())
    }

    /// The places of the functions that a study counts, asked of an access point with the fewest clients.
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
        let folder = scratch()?;
        let wanted = (*clients, study.access_point.mode);
        let mut machine = self.machine(lab, wanted, folder.path())?;
        functions::find(lab, &mut machine, file, trials.symbols)
    }

    /// The snapshot that a trial starts from.
    pub(super) fn snapshot_of(&self, planned: &PlannedTrial) -> Result<&Snapshot, Error> {
        let fits = |snapshot: &Snapshot| {
            snapshot.shape.clients == planned.id.clients && snapshot.shape.mode == planned.mode
        };
        let own = |variant: &Option<VariantName>| variant.as_ref() == Some(&planned.id.variant);
        let of = |is_own: bool| {
            let mut all = self.snapshots.iter();
            all.find(|(variant, snapshot)| {
                fits(snapshot) && if is_own { own(variant) } else { variant.is_none() }
            })
        };
        let lost = || vm::Failure::Clients(format!("no snapshot for {}", planned.id));
        Ok(of(true).or_else(|| of(false)).map(|(_, snapshot)| snapshot).ok_or_else(lost)?)
    }
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
    let image = image::obtain(lab, &file.study.access_point.packages)?;
    let wanted = (planned.id.clients, planned.mode);
    let shape = shape_of(lab, &image, file.study.access_point.radios, wanted);
    let snapshot = snapshot::obtain(lab, &image, &shape)?;
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
        counted_arguments: vm::counted_arguments(),
        accelerator: real_time
            .then(|| vm::accelerator(lab, image, Mode::RealTime).name().to_owned()),
    }
}

fn shape_of(lab: &Lab, image: &Image, radios: u32, wanted: (u32, Mode)) -> Shape {
    let (clients, mode) = wanted;
    let accelerator = vm::accelerator(lab, image, mode);
    Shape { mode, accelerator, radios, clients, shell: false, wan: false, forward: None }
}
