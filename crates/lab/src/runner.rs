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
    run::{FORMAT, LabIdentity, Run},
    study::Mode,
    trial::{Outcome, PlannedTrial, Purpose, Trial, TrialId},
    wire::Order,
};

use crate::{
    Error, Lab, host,
    image::{self, Image},
    plan::{self, Batch},
    run_folder::{Recorded, RunFolder},
    scout::{self, Found, Symbols},
    session::{self, Places},
    study_file::StudyFile,
    vm::{
        self, Accelerator, Shape,
        snapshot::{self, Snapshot},
    },
};

/// Executes a study from its beginning.
///
/// # Errors
///
/// [`Error`]; what was finished before it is in the folder.
pub fn run(
    lab: &Lab,
    file: &StudyFile,
    path: &Path,
    symbols: &dyn Symbols,
) -> Result<RunFolder, Error> {
    // Whoever chose a folder that is taken is told before the image is made.
    RunFolder::check_free(path)?;
    let image = image::obtain(lab)?;
    let mut trials = plan::trials(&file.study, &probes(lab, &image, file, symbols)?);
    trials.retain(|trial| file.takes(trial.id.purpose));
    let run = describe(lab, file, trials, &image);
    let folder = RunFolder::create(path, &run, &file.text)?;
    execute(
        lab,
        &folder,
        Recorded { path: path.to_owned(), run, trials: Vec::new(), study_text: file.text.clone() },
        &image,
    )?;
    Ok(folder)
}

/// The places of the functions that a study counts, asked of an access point with the fewest clients.
fn probes(
    lab: &Lab,
    image: &Image,
    file: &StudyFile,
    symbols: &dyn Symbols,
) -> Result<Found, Error> {
    let study = &file.study;
    let fewest = study.access_point.clients.iter().min();
    let counts = study.count.is_some() && file.takes(Purpose::Counts);
    let Some(clients) = fewest.filter(|_| counts) else { return Ok(Found::default()) };
    let shape = shape_of(image, study.access_point.radios, (*clients, study.access_point.mode));
    let snapshot = snapshot::obtain(lab, image, &shape)?;
    let folder = tempfile::tempdir().map_err(Error::file("make", std::env::temp_dir()))?;
    let mut machine = session::restore(lab, &snapshot, &folder.path().join("console.log"))?;
    machine.begin(&Order::Introduce { subject: None }, shape.mode)?;
    scout::find(lab, &mut machine, file, symbols)
}

/// Goes on with a run that was interrupted.
///
/// # Errors
///
/// [`Error::Changed`] when the lab is not what it was; else as [`run`].
pub fn resume(lab: &Lab, path: &Path) -> Result<RunFolder, Error> {
    let (folder, mut recorded) = RunFolder::resume(path)?;
    // What could not be measured then is measured again now.
    recorded.trials.retain(|trial| matches!(trial.outcome, Outcome::Measured(_)));
    let image = image::obtain(lab)?;
    let now = identity(lab, &recorded.run.plan, &image);
    same(path, "image", &recorded.run.lab.image, &now.image)?;
    same(path, "QEMU", &recorded.run.lab.qemu, &now.qemu)?;
    execute(lab, &folder, recorded, &image)?;
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
    Run {
        format: FORMAT,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix: session::unix_now(),
        lab: identity(lab, &plan, image),
        study: file.study.clone(),
        overrides: file.overrides.clone(),
        study_name: file.name.clone(),
        study_sha256: file.sha256.clone(),
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
        accelerator: real_time.then(|| vm::accelerator(image).name().to_owned()),
    }
}

fn execute(lab: &Lab, folder: &RunFolder, recorded: Recorded, image: &Image) -> Result<(), Error> {
    let radios = recorded.run.study.access_point.radios;
    let done: BTreeSet<_> = recorded.trials.iter().map(|trial| trial.planned.id.clone()).collect();
    let rest: Vec<_> =
        recorded.run.plan.into_iter().filter(|trial| !done.contains(&trial.id)).collect();
    let kept = Kept { lab, folder, counts: Mutex::new(Counts::of(&recorded.trials)) };
    kept.tell(Event::RunStarted {
        folder: folder.path().display().to_string(),
        trials: (done.len() + rest.len()) as u32,
        done: done.len() as u32,
    });
    let result = all_snapshots(lab, image, radios, &rest).and_then(|snapshots| {
        let floor = Floor { kept: &kept, snapshots: &snapshots };
        plan::batches(rest).into_iter().try_for_each(|batch| floor.batch(batch))
    });
    let Counts { done, invalid } = *kept.counts();
    let interrupted = matches!(result, Err(Error::Interrupted));
    kept.tell(Event::RunEnded { done, invalid, interrupted });
    result
}

fn all_snapshots(
    lab: &Lab,
    image: &Image,
    radios: u32,
    rest: &[PlannedTrial],
) -> Result<Vec<Snapshot>, Error> {
    let shapes: Vec<Shape> =
        plan::snapshots(rest).into_iter().map(|wanted| shape_of(image, radios, wanted)).collect();
    let queue = Mutex::new(shapes.iter().collect::<VecDeque<_>>());
    let made = side_by_side(lab.settings.workers.min(shapes.len()), || {
        take_all(&queue, |shape| snapshot::obtain(lab, image, shape))
    })?;
    Ok(made.into_iter().flatten().collect())
}

fn shape_of(image: &Image, radios: u32, (clients, mode): (u32, Mode)) -> Shape {
    let accelerator = match mode {
        Mode::Counted => Accelerator::Tcg,
        Mode::RealTime => vm::accelerator(image),
    };
    Shape { mode, accelerator, radios, clients, shell: false, forward: None }
}

/// Works a queue off until it is empty or something fails.
fn take_all<T, R>(
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
fn side_by_side<R: Send>(
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
struct Kept<'a> {
    lab: &'a Lab,
    folder: &'a RunFolder,
    counts: Mutex<Counts>,
}

impl Kept<'_> {
    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: Event) {
        self.folder.log(&event);
        self.lab.emit(event);
    }
}

/// Where the trials are done.
struct Floor<'a> {
    kept: &'a Kept<'a>,
    snapshots: &'a [Snapshot],
}

impl Floor<'_> {
    fn batch(&self, batch: Batch) -> Result<(), Error> {
        let workers = batch.at_once.unwrap_or(self.kept.lab.settings.workers);
        let _stress = batch.stress.then(Stress::start).transpose()?;
        let threads = workers.min(batch.trials.len());
        let queue = Mutex::new(VecDeque::from(batch.trials));
        side_by_side(threads, || take_all(&queue, |trial| self.trial(&trial))).map(drop)
    }

    fn trial(&self, planned: &PlannedTrial) -> Result<(), Error> {
        let Kept { lab, folder, .. } = self.kept;
        lab.cancel.check()?;
        self.kept.tell(Event::TrialStarted { id: planned.id.clone() });
        let began = Instant::now();
        let trial =
            session::trial(lab, self.snapshot(planned)?, planned, &places(folder, &planned.id))?;
        folder.keep(&trial)?;
        self.kept.counts().add(&trial);
        self.kept.tell(Event::TrialEnded {
            id: planned.id.clone(),
            took_ms: began.elapsed().as_millis() as u64,
            invalid: match &trial.outcome {
                Outcome::Measured(_) => None,
                Outcome::Invalid { why, .. } => Some(why.clone()),
            },
        });
        Ok(())
    }

    fn snapshot(&self, planned: &PlannedTrial) -> Result<&Snapshot, Error> {
        let fits = |snapshot: &&Snapshot| {
            snapshot.shape.clients == planned.id.clients && snapshot.shape.mode == planned.mode
        };
        let lost = || vm::Failure::Clients(format!("no snapshot for {}", planned.id));
        Ok(self.snapshots.iter().find(fits).ok_or_else(lost)?)
    }
}

pub(crate) fn places(folder: &RunFolder, id: &TrialId) -> Places {
    Places { console_log: folder.console(id), stacks: folder.stacks(id), objects: folder.objects() }
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
