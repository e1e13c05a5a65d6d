//! What the trials of a run start from: the image, one snapshot for every client count and mode, the programs that the
//! run brings, or a device that is there already. Which of them a trial needs is its target's to say.

use std::{
    collections::{BTreeSet, VecDeque},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{
    name::VariantName,
    pause::Peer,
    perturbation::Perturbation,
    run::{LabIdentity, Run},
    share::Share,
    study::{Mode, Study, Variant},
    target::Target,
    trial::{Outcome, PlannedTrial, Purpose, Trial},
    verdict::{Difference, Versus},
    wire::Order,
};

use crate::{
    Error, Lab,
    cache_model::Attached,
    comparison::{Builds, Comparing, Decided},
    device_file::On,
    functions::{self, Found, SymbolSources, Symbols},
    host, idle,
    image::{self, Image},
    on_device::{self, OnDevice},
    plan::{self, Start},
    run_folder::{self, RunFolder},
    runner::{Finished, TrialFiles, same_lab, side_by_side, take_all},
    session::{self, Restore},
    study_file::StudyFile,
    uploads::UploadedPrograms,
    vm::{
        self, Failure, Machine, Shape,
        snapshot::{self, Snapshot},
    },
};

#[derive(Clone, Copy)]
pub struct Execution<'a> {
    /// What trials are made on that are made on an access point.
    pub on: &'a On,
    pub symbols: &'a dyn Symbols,
    pub comparing: Option<&'a Comparing<'a>>,
    pub decided: &'a Decided,
    /// What a device's noise lets a run see, told before it starts.
    pub foretell: &'a Foretell,
}

/// What is to be said of a short trial before the first one counts, where anything is.
pub type Foretell = dyn Fn(&Trial) -> Option<String> + Sync;

/// What a trial is made with, whichever it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunContext<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) study: &'a Study,
}

#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) setup: Setup,
    pub(crate) study: Study,
    pub(crate) found: Found,
    pub(crate) versus: Option<Versus>,
}

#[derive(Debug)]
pub enum Setup {
    /// No trial is made on an access point.
    Host,
    Virtual(Box<Virtual>),
    Device(Box<Mutex<OnDevice>>),
}

impl Setup {
    pub(crate) fn prepare(
        lab: &Lab,
        how: &Execution<'_>,
        file: &StudyFile,
    ) -> Result<Prepared, Error> {
        let versus = || how.comparing.map(|comparing| comparing.versus.clone());
        match how.on {
            On::Device(named) => on_device::prepare(how, lab, named, file),
            On::Vm if file.study.names_images() => {
                let why = "images of variants are for devices: name one that takes them with --on";
                Err(Error::Usage(why.to_owned()))
            }
            On::Vm if !needs_vm(&file.study) => {
                let (study, found) = (file.study.clone(), Found::default());
                Ok(Prepared { setup: Self::Host, study, found, versus: versus() })
            }
            On::Vm => Virtual::prepare(how, lab, file),
        }
    }

    /// Gets ready what a run that is resumed started from.
    pub(crate) fn again(
        lab: &Lab,
        how: &Execution<'_>,
        folder: &RunFolder,
        run: &Run,
    ) -> Result<Self, Error> {
        let changed =
            |then: &str, now: &str| Error::changed(folder.path(), "access point", then, now);
        match (&run.study.access_point.kind, how.on) {
            (Target::Device(_), On::Device(named)) => on_device::again(lab, named, folder, run),
            // A folder may come from anywhere: no address in it is called.
            (Target::Device(then), On::Vm) => {
                Err(changed(then, "none: name the device again with --on"))
            }
            (_, On::Device(named)) => Err(changed("the virtual one", &named.name)),
            (_, On::Vm) if !needs_vm(&run.study) => Ok(Self::Host),
            (_, On::Vm) => {
                let image = image::obtain(lab, &run.study.access_point.packages)?;
                let setup = Virtual::again(image, folder, run)?;
                same_lab(folder.path(), &run.lab, &setup.identity(lab, &run.plan))?;
                Ok(Self::Virtual(Box::new(setup)))
            }
        }
    }

    pub(crate) fn identity(&self, lab: &Lab, plan: &[PlannedTrial]) -> LabIdentity {
        match self {
            Self::Host => LabIdentity::default(),
            Self::Virtual(setup) => setup.identity(lab, plan),
            Self::Device(device) => locked(device).identity(),
        }
    }

    /// Keeps with a new run what it must have to be resumed.
    pub(crate) fn keep(&self, folder: &RunFolder) -> Result<(), Error> {
        let keep = |brought: &UploadedPrograms| match brought.is_empty() {
            true => Ok(()),
            false => brought.keep(&folder.objects()?),
        };
        match self {
            Self::Host => Ok(()),
            Self::Virtual(setup) => keep(&setup.brought),
            Self::Device(device) => keep(&locked(device).brought),
        }
    }

    pub(crate) fn raise(
        &mut self,
        lab: &Lab,
        how: &Execution<'_>,
        rest: &[PlannedTrial],
    ) -> Result<(), Error> {
        match self {
            Self::Host => Ok(()),
            Self::Virtual(setup) => setup.raise(lab, rest),
            Self::Device(_) if rest.is_empty() => Ok(()),
            Self::Device(device) => {
                let mut device = locked(device);
                device.set(lab)?;
                device.foretell(lab, rest, how.foretell)
            }
        }
    }

    /// Gives back what trials were made on, after the last one; answers what is not as it was before the run.
    pub(crate) fn give_back(&mut self, lab: &Lab) -> Vec<String> {
        match self {
            Self::Host | Self::Virtual(_) => Vec::new(),
            Self::Device(device) => locked(device).give_back(lab),
        }
    }

    /// Makes one trial. What goes wrong with the access point makes the trial invalid, and is no error.
    pub(crate) fn trial(
        &self,
        context: RunContext<'_>,
        planned: &PlannedTrial,
        files: &TrialFiles,
    ) -> Result<Finished, Error> {
        let lab = context.lab;
        if let Some(why) = plan::lacks(context.study, planned) {
            return Ok(Finished::invalid(why));
        }
        match (&planned.target, self) {
            (Target::Host, _) if !rustix::process::geteuid().is_root() => {
                const WHY: &str = "a trial makes namespaces and control groups on this machine: run headroom as root";
                Ok(Finished::invalid(WHY))
            }
            (Target::Host, _) => {
                let idle_before = idle_before(context, planned)?;
                Ok(Finished { idle_before, ..session::on_host(lab, planned, files)? })
            }
            (_, Self::Device(device)) => locked(device).trial(lab, planned, files),
            (_, Self::Virtual(setup)) => match setup.snapshot_of(planned)? {
                Ok(snapshot) => {
                    let idle_before = idle_before(context, planned)?;
                    let model = model(context, planned, files)?;
                    let finished =
                        session::trial(lab, &Restore { snapshot, model }, planned, files)?;
                    Ok(Finished { idle_before, ..finished })
                }
                Err(why) => Ok(Finished::invalid(why)),
            },
            (_, Self::Host) => Ok(Finished::invalid("there is no access point to measure")),
        }
    }
}

fn locked(device: &Mutex<OnDevice>) -> MutexGuard<'_, OnDevice> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn needs_vm(study: &Study) -> bool {
    study.cells().iter().any(|cell| cell.target.is_vm())
}

/// How idle this machine was before a trial in real time that is to find it so; it is waited for, but not for ever.
fn idle_before(
    RunContext { lab, study }: RunContext<'_>,
    planned: &PlannedTrial,
) -> Result<Option<Share>, Error> {
    if !planned.order.contends() || planned.mode == Mode::Counted {
        return Ok(None);
    }
    let patience = if planned.order.card.is_some() { 5 } else { 60 };
    idle::gate(study.idle_gate(), Duration::from_secs(patience), &lab.cancel)
}

/// The caches that are modelled in a trial whose order says so, or a counter of all that the machine executes where a witness
/// stands beside the window. The counter is absent where nothing here compiles it, and in real time, whose figures are no
/// instructions.
fn model(
    RunContext { lab, study }: RunContext<'_>,
    planned: &PlannedTrial,
    files: &TrialFiles,
) -> Result<Option<Attached>, Error> {
    let counts = |ending: &str| files.console_log.with_extension(ending);
    let order = &planned.order;
    if let Some(caches) = study.access_point.caches.filter(|_| order.marks) {
        let model = Attached::new(lab, caches, &counts("caches"))?;
        // The plugin opens its file by name: what is there must be its own.
        run_folder::new_file(model.counts())?;
        return Ok(Some(model));
    }
    if order.witness.is_none() || planned.mode != Mode::Counted {
        return Ok(None);
    }
    match Attached::counter(lab, &counts("counts")) {
        Ok(counter) => Ok(Some(counter)),
        Err(Error::MissingProgram { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The processes that talk to a variant's subject, seen in one short trial that is kept nowhere.
pub fn peers(lab: &Lab, on: &On, file: &StudyFile, variant: &Variant) -> Result<Vec<Peer>, Error> {
    let outcome = match on {
        On::Vm => virtual_peers(lab, file, variant)?,
        On::Device(named) => on_device::peers(lab, named, file, variant)?,
    };
    match outcome {
        None => Ok(Vec::new()),
        Some(Outcome::Measured(reading)) => Ok(reading.peers),
        Some(Outcome::Invalid { why, .. }) => Err(Failure::Clients(why).into()),
    }
}

#[derive(Debug)]
pub struct Virtual {
    image: Image,
    radios: u32,
    /// The variant's image, where images are compared.
    other: Option<(String, Image)>,
    /// The study's own programs, and both builds of one that is compared.
    brought: UploadedPrograms,
    /// The question, with what is known of both sides.
    versus: Option<Versus>,
    /// One for each start, and for the variant whose own it is.
    raised: Vec<Raised>,
}

#[derive(Debug)]
struct Raised {
    /// The variant whose own it is, where images are compared.
    variant: Option<VariantName>,
    start: Start,
    /// Its snapshot; where a perturbed state cannot be raised, why.
    snapshot: Result<Snapshot, String>,
}

impl Virtual {
    fn prepare(how: &Execution<'_>, lab: &Lab, file: &StudyFile) -> Result<Prepared, Error> {
        let setup = Self::of(how, lab, file)?;
        let found = setup.probes(how, lab, file)?;
        let mut study = file.study.clone();
        // What the command line added is the run's as well: to resume it, the same image is made.
        study.access_point.packages = lab.settings.packages_with(&study.access_point.packages);
        let versus = setup.versus.clone();
        Ok(Prepared { setup: Setup::Virtual(Box::new(setup)), study, found, versus })
    }

    fn again(image: Image, folder: &RunFolder, run: &Run) -> Result<Self, Error> {
        let versus = run.versus.clone();
        let difference = versus.as_ref().map(|versus| &versus.difference);
        if let Some(Difference::Image { variant, .. }) = difference {
            let now = "not named by --resume";
            return Err(Error::changed(folder.path(), "variant's image", variant, now));
        }
        let brought = UploadedPrograms::kept(folder, run)?;
        let radios = run.study.access_point.radios;
        Ok(Self { image, radios, other: None, brought, versus, raised: Vec::new() })
    }

    /// What the access points of these trials are made of, with what is different in perturbed states.
    fn identity(&self, lab: &Lab, plan: &[PlannedTrial]) -> LabIdentity {
        let (image, arch) = (&self.image, lab.settings.arch);
        let states: BTreeSet<Perturbation> =
            plan.iter().filter_map(|trial| trial.id.perturbed).collect();
        let difference =
            |state: Perturbation| Some((state.to_string(), vm::difference(arch, state)?));
        let is_real = |trial: &PlannedTrial| trial.mode == Mode::RealTime && trial.target.is_vm();
        let accelerator = || vm::accelerator(lab, image, Mode::RealTime).name().to_owned();
        LabIdentity {
            image: image.id.clone(),
            kernel: image.release.clone(),
            packages: image.packages.clone(),
            agent: image.agent.clone(),
            qemu: lab.qemu.clone(),
            counted_arguments: vm::counted_arguments(arch),
            firmware: image.firmware.clone(),
            programs: self.brought.own(),
            accelerator: plan.iter().any(is_real).then(accelerator),
            perturbed: states.into_iter().filter_map(difference).collect(),
            device: None,
        }
    }

    fn plain(lab: &Lab, file: &StudyFile) -> Result<Self, Error> {
        let access_point = &file.study.access_point;
        let image = image::obtain(lab, &access_point.packages)?;
        let (processor, folders) = (lab.settings.arch.processor(), &lab.settings.device);
        let brought = UploadedPrograms::read(&access_point.programs, Some(processor), folders)?;
        let radios = access_point.radios;
        let (other, versus, raised) = (None, None, Vec::new());
        Ok(Self { image, radios, other, brought, versus, raised })
    }

    fn of(how: &Execution<'_>, lab: &Lab, file: &StudyFile) -> Result<Self, Error> {
        let mut setup = Self::plain(lab, file)?;
        let Some(comparing) = how.comparing else { return Ok(setup) };
        let packages = &file.study.access_point.packages;
        let mut versus = comparing.versus.clone();
        let other = comparing.other.map(|lab| image::obtain(lab, packages)).transpose()?;
        if let Some(other) = &other {
            let (base, variant) = (setup.image.id.clone(), other.id.clone());
            versus.difference = Difference::Image { base, variant };
        }
        setup.other = other.map(|image| (versus.variant.clone(), image));
        if let Some(program) = &comparing.program {
            let (clients, mode) = (versus.clients, file.study.access_point.mode);
            let wanted = Start { clients, mode, wan: false, perturbed: None };
            let folder = host::scratch()?;
            let mut machine = setup.machine(lab, wanted, folder.path())?;
            let builds = Builds::of(lab, &mut machine, program)?;
            versus.difference = builds.difference();
            setup.brought.extend(builds.brought());
        }
        setup.versus = Some(versus);
        Ok(setup)
    }

    /// An access point of this shape that has been greeted.
    fn machine(&self, lab: &Lab, wanted: Start, folder: &Path) -> Result<Machine, Error> {
        let shape = shape_of(lab, &self.image, self.radios, wanted);
        let snapshot = self.snapshot(lab, &self.image, &shape)?;
        let mut machine = snapshot.restore(lab, &folder.join("console.log"), None)?;
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
    fn raise(&mut self, lab: &Lab, rest: &[PlannedTrial]) -> Result<(), Error> {
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

    fn start(
        &self,
        lab: &Lab,
        variant: Option<&VariantName>,
        start: Start,
    ) -> Result<Snapshot, Error> {
        let other = self.other.as_ref().filter(|_| variant.is_some()).map(|(_, image)| image);
        let image = other.unwrap_or(&self.image);
        self.snapshot(lab, image, &shape_of(lab, image, self.radios, start))
    }

    /// The places of the functions that a study counts, asked of an access point with the fewest clients. The others come
    /// up when its variants have been seen to work.
    fn probes(&self, how: &Execution<'_>, lab: &Lab, file: &StudyFile) -> Result<Found, Error> {
        let study = &file.study;
        let fewest = study.access_point.clients.iter().min();
        let counts = study.count.is_some() && file.takes(Purpose::Counts);
        let Some(clients) = fewest.filter(|_| counts) else { return Ok(Found::default()) };
        let mode = study.access_point.mode;
        let folder = host::scratch()?;
        let start = Start { clients: *clients, mode, wan: false, perturbed: None };
        let mut machine = self.machine(lab, start, folder.path())?;
        let symbols = SymbolSources { symbols: how.symbols, brought: &self.brought };
        functions::find(lab, &mut machine, file, symbols)
    }

    /// The snapshot that a trial starts from, or why its state cannot be raised.
    fn snapshot_of(&self, planned: &PlannedTrial) -> Result<Result<&Snapshot, &str>, Error> {
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

/// The one trial that sees which processes talk to a variant's subject; `None` where there is nothing to see.
fn virtual_peers(lab: &Lab, file: &StudyFile, variant: &Variant) -> Result<Option<Outcome>, Error> {
    let Some(planned) = plan::peers(&file.study, variant) else { return Ok(None) };
    let snapshot = Virtual::plain(lab, file)?.start(lab, None, Start::of(&planned))?;
    let folder = host::scratch()?;
    let files = TrialFiles::below(folder.path());
    Ok(Some(
        session::trial(lab, &Restore { snapshot: &snapshot, model: None }, &planned, &files)?
            .outcome,
    ))
}

fn shape_of(lab: &Lab, image: &Image, radios: u32, wanted: Start) -> Shape {
    let memory = lab.settings.counts_memory && !wanted.wan;
    let accelerator = vm::accelerator(lab, image, wanted.mode);
    Shape { accelerator, memory, ..Shape::of(lab.settings.arch, radios, wanted) }
}
