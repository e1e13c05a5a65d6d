//! A run: image, snapshots, then all trials of the plan on all cores, each kept as soon as it ends.
//!
//! Trials of one batch run at the same time; batches run one after the other. The first failure of
//! the host stops the run; what is finished is kept and `--resume` goes on.

use std::{
    collections::{BTreeSet, VecDeque},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use model::{
    event::Event,
    name::VariantName,
    pause::Peer,
    run::{FORMAT, LabIdentity, Run},
    study::{Mode, Variant},
    trial::{Outcome, PlannedTrial, Purpose, Trial, TrialId},
    verdict::{Difference, Versus},
    wire::Order,
};

use crate::{
    Error, Lab,
    comparison::{Builds, Comparing, Decided},
    hopes::Hopes,
    host,
    image::{self, Image},
    plan::{self, Batch},
    run_folder::{OBJECTS, Recorded, RunFolder},
    scout::{self, Found, Symbols},
    session::{self, Places},
    study_file::StudyFile,
    vm::{
        self, Machine, Shape,
        snapshot::{self, Snapshot},
    },
};

/// A study that is to be carried out, and where.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The study.
    pub file: &'a StudyFile,
    /// The run's folder.
    pub path: &'a Path,
    /// Who knows where functions begin.
    pub symbols: &'a dyn Symbols,
    /// What is compared, where the run is a comparison.
    pub comparing: Option<&'a Comparing<'a>>,
    /// Whether a comparison is decided.
    pub decided: &'a Decided,
}

/// Executes a study from its beginning.
///
/// # Errors
///
/// [`Error`]; what was finished before it is in the folder.
pub fn run(lab: &Lab, task: Task<'_>) -> Result<RunFolder, Error> {
    // Whoever chose a folder that is taken is told before the image is made.
    RunFolder::check_free(task.path)?;
    let stock = Stock::of(lab, task)?;
    let found = probes(lab, &stock, task)?;
    let mut run = describe(lab, task.file, plan_of(task, &found), &stock.image);
    run.versus = stock.versus.clone();
    let folder = RunFolder::create(task.path, &run, &task.file.text)?;
    if let Some(builds) = &stock.builds {
        builds.keep(&folder.objects()?)?;
    }
    let text = task.file.text.clone();
    let recorded = Recorded::begun(task.path, run, text);
    execute(Kept::new(lab, &folder, &recorded, task.decided), recorded, &stock)?;
    Ok(folder)
}

/// The trials of a task.
pub(crate) fn plan_of(task: Task<'_>, found: &Found) -> Vec<PlannedTrial> {
    let study = &task.file.study;
    match task.comparing {
        Some(comparing) => plan::comparison(study, &comparing.versus, found),
        None => {
            let mut trials = plan::trials(study, found);
            trials.retain(|trial| task.file.takes(trial.id.purpose));
            trials
        }
    }
}

/// What trials start from.
struct Stock {
    image: Image,
    /// The variant's image, where images are compared.
    other: Option<(String, Image)>,
    /// Both builds of a program that is compared.
    builds: Option<Builds>,
    /// The question, with what is known of both sides.
    versus: Option<Versus>,
}

impl Stock {
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
        Ok(Self { image, other: None, builds, versus })
    }

    fn of(lab: &Lab, task: Task<'_>) -> Result<Self, Error> {
        let packages = &task.file.study.access_point.packages;
        let image = image::obtain(lab, packages)?;
        let Some(comparing) = task.comparing else {
            return Ok(Self { image, other: None, builds: None, versus: None });
        };
        let mut versus = comparing.versus.clone();
        let other = comparing.other.map(|lab| image::obtain(lab, packages)).transpose()?;
        if let Some(other) = &other {
            let (base, variant) = (image.id.clone(), other.id.clone());
            versus.difference = Difference::Image { base, variant };
        }
        let other = other.map(|image| (versus.variant.clone(), image));
        let mut stock = Self { image, other, builds: None, versus: None };
        if let Some(program) = &comparing.program {
            let wanted = (versus.clients, task.file.study.access_point.mode);
            let folder = scratch()?;
            let mut machine = stock.machine(lab, task.file, (wanted, folder.path()))?;
            let builds = Builds::of(lab, &mut machine, program)?;
            versus.difference = builds.difference();
            stock.builds = Some(builds);
        }
        stock.versus = Some(versus);
        Ok(stock)
    }

    /// An access point of this shape that has been greeted.
    fn machine(
        &self,
        lab: &Lab,
        file: &StudyFile,
        (wanted, folder): ((u32, Mode), &Path),
    ) -> Result<Machine, Error> {
        let shape = shape_of(lab, &self.image, file.study.access_point.radios, wanted);
        let snapshot = self.snapshot(lab, &self.image, &shape)?;
        let mut machine = session::restore(lab, &snapshot, &folder.join("console.log"))?;
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

    /// Every snapshot that these trials need, with the variant whose own it is.
    fn all_snapshots(
        &self,
        lab: &Lab,
        radios: u32,
        rest: &[PlannedTrial],
    ) -> Result<Vec<(Option<VariantName>, Snapshot)>, Error> {
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
        let made = side_by_side(workers, || {
            take_all(&queue, |(variant, image, shape)| {
                Ok((variant, self.snapshot(lab, image, &shape)?))
            })
        })?;
        Ok(made.into_iter().flatten().collect())
    }
}

fn scratch() -> Result<tempfile::TempDir, Error> {
    tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))
}

/// The places of the functions that a study counts, asked of an access point with the fewest clients.
fn probes(lab: &Lab, stock: &Stock, task: Task<'_>) -> Result<Found, Error> {
    let study = &task.file.study;
    let fewest = study.access_point.clients.iter().min();
    let counts = study.count.is_some() && task.file.takes(Purpose::Counts);
    let Some(clients) = fewest.filter(|_| counts) else { return Ok(Found::default()) };
    let folder = scratch()?;
    let wanted = (*clients, study.access_point.mode);
    let mut machine = stock.machine(lab, task.file, (wanted, folder.path()))?;
    scout::find(lab, &mut machine, task.file, task.symbols)
}

/// Who talks to a variant's subject, seen in one short trial that is kept nowhere.
///
/// # Errors
///
/// [`Error`]; [`Error::Machine`] where the trial could not be done.
pub fn peers(lab: &Lab, file: &StudyFile, variant: &Variant) -> Result<Vec<Peer>, Error> {
    let Some(planned) = plan::peers(&file.study, variant) else { return Ok(Vec::new()) };
    let image = image::obtain(lab, &file.study.access_point.packages)?;
    let wanted = (planned.id.clients, planned.mode);
    let shape = shape_of(lab, &image, file.study.access_point.radios, wanted);
    let snapshot = snapshot::obtain(lab, &image, &shape)?;
    let folder = scratch()?;
    let places = Places::below(folder.path());
    let trial = session::trial(lab, &snapshot, &planned, &places)?;
    seen(trial.outcome)
}

/// The peers that a trial saw.
pub(crate) fn seen(outcome: Outcome) -> Result<Vec<Peer>, Error> {
    match outcome {
        Outcome::Measured(recording) => Ok(recording.peers),
        Outcome::Invalid { why, .. } => Err(vm::Failure::Clients(why).into()),
    }
}

/// Goes on with a run that was interrupted.
///
/// # Errors
///
/// [`Error::Changed`] when the lab is not what it was; else as [`run`].
pub fn resume(lab: &Lab, path: &Path, decided: &Decided) -> Result<RunFolder, Error> {
    let (folder, mut recorded) = RunFolder::resume(path)?;
    // What could not be measured then is measured again now.
    recorded.trials.retain(|trial| matches!(trial.outcome, Outcome::Measured(_)));
    let image = image::obtain(lab, &recorded.run.study.access_point.packages)?;
    let now = identity(lab, &recorded.run.plan, &image);
    same(path, "image", &recorded.run.lab.image, &now.image)?;
    same(path, "QEMU", &recorded.run.lab.qemu, &now.qemu)?;
    let stock = Stock::again(image, &folder, &recorded.run)?;
    execute(Kept::new(lab, &folder, &recorded, decided), recorded, &stock)?;
    Ok(folder)
}

fn same(path: &Path, what: &'static str, then: &str, now: &str) -> Result<(), Error> {
    if then == now {
        return Ok(());
    }
    let (then, now) = (then.to_owned(), now.to_owned());
    Err(Error::Changed { path: path.to_owned(), what, then, now })
}

fn describe(lab: &Lab, file: &StudyFile, plan: Vec<PlannedTrial>, image: &Image) -> Run {
    let mut study = file.study.clone();
    // What the command line added is the run's as well: whoever goes on with it makes the same image.
    study.access_point.packages = lab.settings.packages_with(&study.access_point.packages);
    Run {
        format: FORMAT,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix: session::unix_now(),
        lab: identity(lab, &plan, image),
        study,
        overrides: file.overrides.clone(),
        study_name: file.name.clone(),
        study_sha256: file.sha256.to_string(),
        plan,
        host: host::describe(),
        versus: None,
    }
}

fn identity(lab: &Lab, plan: &[PlannedTrial], image: &Image) -> LabIdentity {
    let real_time = plan.iter().any(|trial| trial.mode == Mode::RealTime);
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

fn execute(kept: Kept<'_>, recorded: Recorded, stock: &Stock) -> Result<(), Error> {
    let lab = kept.lab;
    let radios = recorded.run.study.access_point.radios;
    let done: BTreeSet<_> = recorded.trials.iter().map(|trial| trial.planned.id.clone()).collect();
    let rest: Vec<_> =
        recorded.run.plan.iter().filter(|trial| !done.contains(&trial.id)).cloned().collect();
    kept.tell(Event::RunStarted {
        folder: kept.folder.path().display().to_string(),
        trials: (done.len() + rest.len()) as u32,
        done: done.len() as u32,
    });
    let result = stock.all_snapshots(lab, radios, &rest).and_then(|snapshots| {
        let floor = Floor { kept: &kept, snapshots: &snapshots };
        floor.all(recorded.run, rest)
    });
    let Counts { done, invalid } = *kept.counts();
    let interrupted = matches!(result, Err(Error::Interrupted));
    kept.tell(Event::RunEnded { done, invalid, interrupted });
    result
}

fn shape_of(lab: &Lab, image: &Image, radios: u32, (clients, mode): (u32, Mode)) -> Shape {
    let accelerator = vm::accelerator(lab, image, mode);
    Shape { mode, accelerator, radios, clients, shell: false, wan: false, forward: None }
}

/// Works a queue off until it is empty or something fails.
pub(crate) fn take_all<T, R>(
    queue: &Mutex<VecDeque<T>>,
    mut work: impl FnMut(T) -> Result<R, Error>,
) -> Result<Vec<R>, Error> {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let mut results = Vec::new();
    while let Some(item) = next() {
        match work(item) {
            Ok(result) => results.push(result),
            Err(error) => {
                // The others finish what they have and find nothing more to do.
                queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                return Err(error);
            }
        }
    }
    Ok(results)
}

/// Runs the same work on so many threads; the first failure is the one that is told.
pub(crate) fn side_by_side<R: Send>(
    threads: usize,
    work: impl Fn() -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        let results: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        results.into_iter().collect()
    })
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    done: u32,
    invalid: u32,
}

impl Counts {
    fn of(trials: &[Trial]) -> Self {
        let mut counts = Self::default();
        trials.iter().for_each(|trial| counts.add(trial));
        counts
    }

    fn add(&mut self, trial: &Trial) {
        self.done += 1;
        self.invalid += u32::from(matches!(trial.outcome, Outcome::Invalid { .. }));
    }
}

/// What is on disk so far.
pub(crate) struct Kept<'a> {
    lab: &'a Lab,
    folder: &'a RunFolder,
    counts: Mutex<Counts>,
    /// After how many pairs a comparison is looked at; none where the run is none.
    looks: Vec<u32>,
    /// Its trials, for whoever says when it is decided.
    pairs: Mutex<Vec<Trial>>,
    decided: &'a Decided,
    hopes: Mutex<Hopes>,
}

impl<'a> Kept<'a> {
    pub(crate) fn new(
        lab: &'a Lab,
        folder: &'a RunFolder,
        recorded: &Recorded,
        decided: &'a Decided,
    ) -> Self {
        let counts = Mutex::new(Counts::of(&recorded.trials));
        let versus = recorded.run.versus.as_ref();
        let looks = versus.map(|versus| versus.pairs.looks()).unwrap_or_default();
        let pairs = if looks.is_empty() { Vec::new() } else { recorded.trials.clone() };
        let hopes = Mutex::default();
        Self { lab, folder, counts, looks, pairs: Mutex::new(pairs), decided, hopes }
    }

    /// One trial from its beginning to the disk, and its wall time told.
    pub(crate) fn trial(
        &self,
        planned: &PlannedTrial,
        measured: impl FnOnce(&Places) -> Result<Trial, Error>,
    ) -> Result<(), Error> {
        self.lab.cancel.check()?;
        if self.hopes().is_lost(&planned.id.variant) {
            return Ok(());
        }
        self.tell(Event::TrialStarted { id: planned.id.clone() });
        let began = Instant::now();
        let trial = measured(&places(self.folder, &planned.id))?;
        self.folder.keep(&trial)?;
        self.counts().add(&trial);
        let invalid = match &trial.outcome {
            Outcome::Measured(_) => None,
            Outcome::Invalid { why, .. } => Some(why.clone()),
        };
        let took_ms = began.elapsed().as_millis() as u64;
        let doubt = self.hopes().see(&planned.id.variant, invalid.as_deref());
        self.tell(Event::TrialEnded { id: planned.id.clone(), took_ms, invalid });
        if let Some(text) = doubt {
            self.tell(Event::Doubt { text });
        }
        if !self.looks.is_empty() {
            self.pairs.lock().unwrap_or_else(PoisonError::into_inner).push(trial);
        }
        Ok(())
    }

    /// Whether the comparison is decided by what there is.
    pub(crate) fn is_decided(&self, run: &Run) -> bool {
        let trials = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        !self.looks.is_empty() && (self.decided)(run, &trials)
    }

    /// The plan in parts: a comparison is looked at after each.
    pub(crate) fn parts(&self, rest: Vec<PlannedTrial>) -> Vec<Vec<PlannedTrial>> {
        let looks = &self.looks;
        let part_of = |trial: &PlannedTrial| {
            looks.iter().position(|look| trial.id.repetition <= *look).unwrap_or(looks.len())
        };
        let mut parts: Vec<Vec<PlannedTrial>> = vec![Vec::new(); looks.len() + 1];
        rest.into_iter().for_each(|trial| parts[part_of(&trial)].push(trial));
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// A comparison that was decided early: its plan is what was done.
    pub(crate) fn close(&self, mut run: Run, left: &[PlannedTrial]) -> Result<(), Error> {
        if left.is_empty() {
            return Ok(());
        }
        run.plan.retain(|trial| !left.iter().any(|undone| undone.id == trial.id));
        self.folder.plan_again(&run)
    }

    /// How many trials are on disk, and how many of them are invalid.
    pub(crate) fn tally(&self) -> (u32, u32) {
        let counts = self.counts();
        (counts.done, counts.invalid)
    }

    fn hopes(&self) -> std::sync::MutexGuard<'_, Hopes> {
        self.hopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lab.
    pub(crate) fn lab(&self) -> &'a Lab {
        self.lab
    }

    pub(crate) fn tell(&self, event: Event) {
        self.folder.log(&event);
        self.lab.emit(event);
    }
}

/// Where the trials are done.
struct Floor<'a> {
    kept: &'a Kept<'a>,
    snapshots: &'a [(Option<VariantName>, Snapshot)],
}

impl Floor<'_> {
    fn all(&self, run: Run, rest: Vec<PlannedTrial>) -> Result<(), Error> {
        let mut parts = VecDeque::from(self.kept.parts(rest));
        while let Some(part) = parts.pop_front() {
            plan::batches(part).into_iter().try_for_each(|batch| self.batch(batch))?;
            if self.kept.is_decided(&run) {
                break;
            }
        }
        let left: Vec<PlannedTrial> = parts.into_iter().flatten().collect();
        self.kept.close(run, &left)
    }

    fn batch(&self, batch: Batch) -> Result<(), Error> {
        let workers = batch.at_once.unwrap_or(self.kept.lab.settings.workers);
        let _stress = batch.stress.then(Stress::start).transpose()?;
        let threads = workers.min(batch.trials.len());
        let queue = Mutex::new(VecDeque::from(batch.trials));
        side_by_side(threads, || take_all(&queue, |trial| self.trial(&trial))).map(drop)
    }

    fn trial(&self, planned: &PlannedTrial) -> Result<(), Error> {
        self.kept.trial(planned, |places| {
            session::trial(self.kept.lab, self.snapshot(planned)?, planned, places)
        })
    }

    fn snapshot(&self, planned: &PlannedTrial) -> Result<&Snapshot, Error> {
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

fn places(folder: &RunFolder, id: &TrialId) -> Places {
    let objects = folder.path().join(OBJECTS);
    Places { console_log: folder.console(id), stacks: folder.stacks(id), objects }
}

/// stress-ng on the host, as long as this lives.
struct Stress(Child);

impl Stress {
    fn start() -> Result<Self, Error> {
        host::require("stress-ng", "stress-ng")?;
        let workers = (2 * host::cores()).to_string();
        let child = host::bound("TERM")
            .args(["stress-ng", "--quiet", "--cpu", &workers])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::file("start", "stress-ng"))?;
        // Its workers need a moment before they load the host.
        thread::sleep(std::time::Duration::from_millis(300));
        Ok(Self(child))
    }
}

impl Drop for Stress {
    fn drop(&mut self) {
        // stress-ng ends its workers itself when it is asked to; a kill would leave them.
        host::ask_to_end(&mut self.0);
    }
}
