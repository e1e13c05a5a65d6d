//! A run of any kind: what its trials start from, then all trials of the plan on all cores, each kept as soon as it
//! ends.
//!
//! Trials of one batch run at the same time; batches run one after the other. A trial that fails is kept as invalid
//! and stops no other. The first failure of the host stops the run; what is finished is kept and `--resume` goes on.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Instant,
};

use model::{
    event::Event,
    experiment::{Experiment, Planned, RunOf, TrialOf},
    name::VariantName,
    run::{FORMAT, LabIdentity, Run},
    shard::Part,
    trial::Trial,
};

use crate::{
    Error, Lab,
    failures::FailureStreaks,
    host,
    procedure::{
        Batch, FileOf, Finished, PlannedOf, Prepared, Procedure, Site, StudyOf, TrialFiles,
    },
    run_folder::{self, Recorded, RunFolder},
    shard::{self, Dealt},
};

/// Executes a study from its beginning.
///
/// # Errors
///
/// [`Error`]; what was finished before it is in the folder.
pub fn run<P: Procedure<Kind: Dealt>>(
    lab: &Lab,
    procedure: &P,
    file: &FileOf<P>,
    path: &Path,
) -> Result<Recorded<P::Kind>, Error> {
    // A folder that is taken is refused before the image is made.
    RunFolder::check_free(path)?;
    let Prepared { ground, study, plan, lab: identity, versus } = procedure.prepare(lab, file)?;
    let part = file.shard.map(|shard| Part { shard, whole: plan.clone() });
    let plan = shard::own::<P::Kind>(&study, plan, file.shard);
    let run = Run {
        format: FORMAT,
        kind: P::Kind::KIND,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix: host::unix_now(),
        study,
        overrides: file.overrides.iter().cloned().chain(lab.settings.change()).collect(),
        study_name: file.name.clone(),
        study_sha256: file.sha256.to_string(),
        plan,
        lab: identity,
        host: host::describe(),
        part,
        versus,
        left: Vec::new(),
    };
    let folder = RunFolder::create(path, &run, &file.text)?;
    procedure.keep(&ground, &folder)?;
    let recorded = Recorded::begun(path, run, file.text.clone());
    Begun { folder, ground, recorded }.execute(lab, procedure)
}

/// Goes on with a run that was interrupted. What could not be measured then is measured again.
///
/// # Errors
///
/// [`Error::Changed`] when the lab is not what it was; else as [`run`].
pub fn resume<P: Procedure<Kind: Dealt>>(
    lab: &Lab,
    procedure: &P,
    path: &Path,
) -> Result<Recorded<P::Kind>, Error> {
    let (folder, recorded) = RunFolder::resume::<P::Kind>(path)?;
    let ground = procedure.prepare_again(lab, &folder, &recorded.run)?;
    Begun { folder, ground, recorded }.execute(lab, procedure)
}

/// Refuses to go on with a run whose lab is not what it was.
pub(crate) fn unchanged(
    path: &Path,
    what: &'static str,
    then: &str,
    now: &str,
) -> Result<(), Error> {
    if then == now {
        return Ok(());
    }
    let words = |text: &str| if text.is_empty() { "none".to_owned() } else { text.to_owned() };
    Err(Error::Changed { path: path.to_owned(), what, then: words(then), now: words(now) })
}

/// Refuses to go on with a run whose image is not what it was, or what counts.
pub(crate) fn same_lab(path: &Path, then: &LabIdentity, now: &LabIdentity) -> Result<(), Error> {
    unchanged(path, "image", &then.image, &now.image)?;
    for ((what, then), now) in then.counted_by().iter().zip(now.counted_by().values()) {
        unchanged(path, what, then, now)?;
    }
    let states = then.perturbed.keys().chain(now.perturbed.keys());
    states.into_iter().try_for_each(|state| {
        let of = |lab: &LabIdentity| lab.perturbed.get(state).cloned().unwrap_or_default();
        unchanged(path, "perturbed state", &of(then), &of(now))
    })
}

/// A run that has its folder, and what it starts from.
struct Begun<P: Procedure> {
    folder: RunFolder,
    ground: P::Ground,
    recorded: Recorded<P::Kind>,
}

impl<P: Procedure<Kind: Dealt>> Begun<P> {
    /// Makes what is not there yet.
    fn execute(self, lab: &Lab, procedure: &P) -> Result<Recorded<P::Kind>, Error> {
        let Self { folder, mut ground, recorded } = self;
        let Recorded { mut run, trials, calibration, .. } = recorded;
        let site = Site { lab, folder: &folder, run: &run, ground: &ground };
        let calibration = procedure.calibrate(&site, calibration)?;
        if let Some(whole) = procedure.plan(&run.study, &calibration) {
            let shard = run.part.as_ref().map(|part| part.shard);
            let plan = shard::own::<P::Kind>(&run.study, whole.clone(), shard);
            if plan != run.plan {
                run.part = shard.map(|shard| Part { shard, whole });
                run.plan = plan;
                folder.plan_again(&run)?;
            }
        }
        let work = Work::of(procedure, &run, trials);
        let crew = Crew::of(lab, procedure, &folder, work.done);
        crew.report(Event::RunStarted {
            folder: folder.path().display().to_string(),
            trials: run.plan.len() as u32,
            done: crew.done().len() as u32,
        });
        lab.show(folder.path());
        let Work { mut rest, copies, .. } = work;
        let mut make = || {
            crew.copy_what_is_done(&run.study, &copies)?;
            for mut first in procedure.first(&rest) {
                first.retain(|planned| {
                    crew.streak_of(planned, FailureStreaks::has_succeeded) == Some(false)
                });
                procedure.raise(lab, &mut ground, &first)?;
                rest.retain(|planned| !first.contains(planned));
                let site = Site { lab, folder: &folder, run: &run, ground: &ground };
                crew.one_by_one(&site, first, &copies)?;
            }
            rest.retain(|planned| {
                crew.streak_of(planned, FailureStreaks::is_given_up) != Some(true)
            });
            procedure.raise(lab, &mut ground, &rest)?;
            let site = Site { lab, folder: &folder, run: &run, ground: &ground };
            crew.all(&site, std::mem::take(&mut rest), &copies)
        };
        let result = make();
        let left = procedure.give_back(lab, &mut ground);
        for what in &left {
            let text =
                format!("could not confirm that everything on the device was restored: {what}");
            crew.report(Event::Doubt { text });
        }
        crew.report(crew.ended(&result));
        drop(crew);
        let mut recorded = run_folder::read::<P::Kind>(folder.path());
        if let (Ok(recorded), false) = (&mut recorded, left.is_empty()) {
            recorded.run.left.extend(left);
            folder.plan_again(&recorded.run)?;
        }
        result?;
        recorded
    }
}

/// Whether a trial needs not be made again. One whose order changed, as after a calibration that was made again, is
/// another one.
fn is_done<K: Experiment>(run: &RunOf<K>, trial: &TrialOf<K>) -> bool {
    trial.reading().is_some() && run.plan.contains(&trial.planned)
}

/// What is left of a run's plan, as far as it is known before its calibration.
pub fn left<K: Experiment>(recorded: &Recorded<K>) -> Vec<K::Planned> {
    let Recorded { run, trials, .. } = recorded;
    let done = trials.iter().filter(|trial| is_done::<K>(run, trial));
    let done: BTreeSet<String> = done.map(|trial| Planned::id(&trial.planned)).collect();
    run.plan.iter().filter(|planned| !done.contains(&planned.id())).cloned().collect()
}

/// Trials by the stem of their file's name.
type ById<T> = BTreeMap<String, T>;

/// What is to be done, and what was before.
struct Work<K: Experiment> {
    done: ById<TrialOf<K>>,
    rest: Vec<K::Planned>,
    /// Trials that are not made, behind the one that each would end the same as.
    copies: ById<Vec<K::Planned>>,
}

impl<K: Experiment> Work<K> {
    fn of<P: Procedure<Kind = K>>(procedure: &P, run: &RunOf<K>, trials: Vec<TrialOf<K>>) -> Self {
        let done: ById<TrialOf<K>> = trials
            .into_iter()
            .filter(|trial| is_done::<K>(run, trial))
            .map(|trial| (Planned::id(&trial.planned), trial))
            .collect();
        let same = procedure.same(run);
        let mut work = Self { done, rest: Vec::new(), copies: BTreeMap::new() };
        for planned in &run.plan {
            let id = planned.id();
            match same.get(&id) {
                _ if work.done.contains_key(&id) => {}
                Some(first) => work.copies.entry(first.clone()).or_default().push(planned.clone()),
                None => work.rest.push(planned.clone()),
            }
        }
        work
    }
}

/// How long a trial took, ms.
#[derive(Clone, Copy, Debug, Default)]
struct Took {
    took_ms: u64,
    /// On the access point.
    device_ms: u64,
}

/// Those who make the trials, and what they have made.
struct Crew<'a, P: Procedure> {
    lab: &'a Lab,
    procedure: &'a P,
    folder: &'a RunFolder,
    done: Mutex<ById<TrialOf<P::Kind>>>,
    streaks: Mutex<FailureStreaks>,
}

impl<'a, P: Procedure> Crew<'a, P> {
    fn of(
        lab: &'a Lab,
        procedure: &'a P,
        folder: &'a RunFolder,
        done: ById<TrialOf<P::Kind>>,
    ) -> Self {
        Self { lab, procedure, folder, done: Mutex::new(done), streaks: Mutex::default() }
    }

    /// Trials that were on disk and whose copies are not.
    fn copy_what_is_done(
        &self,
        study: &StudyOf<P>,
        copies: &ById<Vec<PlannedOf<P>>>,
    ) -> Result<(), Error> {
        let firsts: Vec<_> = {
            let done = self.done();
            copies.keys().filter_map(|id| done.get(id).cloned()).collect()
        };
        firsts.iter().try_for_each(|first| self.copy(study, first, copies))
    }

    fn all(
        &self,
        site: &Site<'_, P>,
        rest: Vec<PlannedOf<P>>,
        copies: &ById<Vec<PlannedOf<P>>>,
    ) -> Result<(), Error> {
        let run = site.run;
        let mut parts = VecDeque::from(self.procedure.parts(run, rest));
        while let Some(part) = parts.pop_front() {
            self.one_by_one(site, part, copies)?;
            let trials: Vec<_> = self.done().values().cloned().collect();
            if self.procedure.is_decided(run, &trials) {
                break;
            }
        }
        self.close(run, parts.into_iter().flatten().collect())
    }

    /// The batches of a part, one after the other.
    fn one_by_one(
        &self,
        site: &Site<'_, P>,
        part: Vec<PlannedOf<P>>,
        copies: &ById<Vec<PlannedOf<P>>>,
    ) -> Result<(), Error> {
        let mut batches = self.procedure.batches(site, part).into_iter();
        batches.try_for_each(|batch| self.batch(site, batch, copies))
    }

    /// A run that was decided early: its plan is what was done.
    fn close(&self, run: &RunOf<P::Kind>, left: Vec<PlannedOf<P>>) -> Result<(), Error> {
        if left.is_empty() {
            return Ok(());
        }
        let mut run = run.clone();
        run.plan.retain(|planned| !left.contains(planned));
        self.folder.plan_again(&run)
    }

    fn batch(
        &self,
        site: &Site<'_, P>,
        batch: Batch<PlannedOf<P>>,
        copies: &ById<Vec<PlannedOf<P>>>,
    ) -> Result<(), Error> {
        let workers = batch.at_once.unwrap_or(self.lab.settings.workers);
        let _stress = batch.stress.then(Stress::start).transpose()?;
        let threads = workers.min(batch.trials.len());
        let queue = Mutex::new(VecDeque::from(batch.trials));
        // Others of a batch that is not free would feel what an onlooker does.
        let nobody_feels = batch.at_once.is_none() || threads == 1;
        let make = |planned: PlannedOf<P>| {
            if let Some(trial) = self.trial(site, &planned)? {
                self.copy(&site.run.study, &trial, copies)?;
            }
            if nobody_feels {
                self.lab.show(self.folder.path());
            }
            Ok(())
        };
        side_by_side(threads, || take_all(&queue, make))?;
        self.lab.show(self.folder.path());
        Ok(())
    }

    /// One trial from its beginning to the disk; `None` where its variant is measured no further.
    fn trial(
        &self,
        site: &Site<'_, P>,
        planned: &PlannedOf<P>,
    ) -> Result<Option<TrialOf<P::Kind>>, Error> {
        self.lab.cancel.check()?;
        if self.streak_of(planned, FailureStreaks::is_given_up) == Some(true) {
            return Ok(None);
        }
        let variant = self.procedure.variant(planned);
        let id = planned.id();
        self.report(Event::TrialStarted { id: id.clone() });
        let (began_unix, began) = (host::unix_now(), Instant::now());
        let files = TrialFiles::of(self.folder, &id);
        let Finished { outcome, cost, idle_before } =
            self.procedure.trial(site, planned, &files)?;
        let same_as = None;
        let trial =
            Trial { planned: planned.clone(), began_unix, cost, idle_before, same_as, outcome };
        let took_ms = began.elapsed().as_millis() as u64;
        let device_ms = planned.passes().as_millis() as u64;
        self.keep(&site.run.study, &trial, Took { took_ms, device_ms })?;
        let doubt = variant.and_then(|variant| self.streaks().record(variant, trial.why_invalid()));
        if let Some(text) = doubt {
            self.report(Event::Doubt { text });
        }
        Ok(Some(trial))
    }

    /// The trials that would end the same, as this one did.
    fn copy(
        &self,
        study: &StudyOf<P>,
        first: &TrialOf<P::Kind>,
        copies: &ById<Vec<PlannedOf<P>>>,
    ) -> Result<(), Error> {
        let id = first.planned.id();
        for planned in copies.get(&id).into_iter().flatten() {
            let same_as = Some(id.clone());
            let trial = Trial { planned: planned.clone(), same_as, ..first.clone() };
            self.keep(study, &trial, Took::default())?;
        }
        Ok(())
    }

    /// A trial to the disk, and said.
    fn keep(
        &self,
        study: &StudyOf<P>,
        trial: &TrialOf<P::Kind>,
        Took { took_ms, device_ms }: Took,
    ) -> Result<(), Error> {
        self.folder.keep(trial)?;
        let id = trial.planned.id();
        let (name, invalid) = (trial.planned.name(study), trial.why_invalid().map(str::to_owned));
        self.report(Event::TrialEnded { id: id.clone(), name, took_ms, device_ms, invalid });
        self.done().insert(id, trial.clone());
        Ok(())
    }

    fn ended(&self, result: &Result<(), Error>) -> Event {
        let done = self.done();
        let invalid = done.values().filter(|trial| trial.reading().is_none()).count() as u32;
        let interrupted = matches!(result, Err(Error::Interrupted));
        Event::RunEnded { done: done.len() as u32, invalid, interrupted }
    }

    /// What is known of a trial's variant; `None` where nothing is.
    fn streak_of(
        &self,
        planned: &PlannedOf<P>,
        of: impl Fn(&FailureStreaks, &VariantName) -> bool,
    ) -> Option<bool> {
        self.procedure.variant(planned).map(|variant| of(&self.streaks(), variant))
    }

    fn done(&self) -> MutexGuard<'_, ById<TrialOf<P::Kind>>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streaks(&self) -> MutexGuard<'_, FailureStreaks> {
        self.streaks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, event: Event) {
        self.folder.log(&event);
        self.lab.emit(event);
    }
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

/// Runs the same work on so many threads; the first failure is the one that is reported.
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
