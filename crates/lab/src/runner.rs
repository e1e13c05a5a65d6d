//! Carries a run out: what its trials start from, then all trials of the plan on all cores, each kept as soon as it
//! ends.
//!
//! Trials of one batch run at the same time; batches run one after the other. A trial that fails is kept as invalid
//! and stops no other. The first failure of the host stops the run; what is finished is kept and `--resume` goes on.

mod workers;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use linux::folder::Folder;
use model::{
    calibration::{Calibrated, Calibration, value_of},
    event::Event,
    name::{CellName, VariantName},
    run::{FORMAT, LabIdentity, Run},
    shard::Part,
    share::Share,
    study::{HostLoad, Study},
    trial::{HostCost, Outcome, PlannedTrial, Trial, TrialId},
};

use self::workers::Stress;
pub(crate) use self::workers::{side_by_side, take_all};
use crate::{
    Error, Lab,
    device_file::On,
    failures::{self, FailureStreaks},
    host, on_device,
    plan::{
        self, Known,
        calibration::{self, Next},
    },
    run_folder::{self, OBJECTS, Recorded, RunFolder},
    setup::{Execution, Prepared, RunContext, Setup},
    shard,
    study_file::StudyFile,
};

/// Executes a study from its beginning. What was finished before a failure is in the folder.
pub fn run(
    lab: &Lab,
    how: &Execution<'_>,
    file: &StudyFile,
    path: &Path,
) -> Result<Recorded, Error> {
    // A folder that is taken is refused before the image is made.
    RunFolder::check_free(path)?;
    let Prepared { setup, study, found, versus } = Setup::prepare(lab, how, file)?;
    let known = Known { probes: &found, calibrated: &[] };
    let mut whole = plan::plan(&study, versus.as_ref(), known);
    whole.retain(|trial| versus.is_some() || file.takes(trial.id.purpose));
    refuse_nothing(file, &whole)?;
    let part = file.shard.map(|shard| Part { shard, whole: whole.clone() });
    let plan = shard::own(&study, whole, file.shard);
    let run = Run {
        format: FORMAT,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        began_unix: host::unix_now(),
        lab: setup.identity(lab, &plan),
        study,
        overrides: file.overrides.iter().cloned().chain(lab.settings.change()).collect(),
        study_name: file.name.clone(),
        study_sha256: file.sha256.to_string(),
        plan,
        host: host::describe(),
        part,
        versus,
        left: Vec::new(),
    };
    let folder = RunFolder::create(path, &run, &file.text)?;
    setup.keep(&folder)?;
    let recorded = Recorded::begun(path, run, file.text.clone());
    Begun { folder, setup, recorded }.execute(lab, how)
}

/// Refuses a plan without a trial: its run would have nothing that could fail.
pub fn refuse_nothing(file: &StudyFile, plan: &[PlannedTrial]) -> Result<(), Error> {
    if !plan.is_empty() {
        return Ok(());
    }
    let (name, changes) = (&file.name, file.overrides.join(" and "));
    Err(Error::Usage(if changes.is_empty() {
        format!("the study `{name}` has no trial: no variant is measured in any of its cells")
    } else {
        format!(
            "no trial of the study `{name}` is left with {changes}; leave one of these out, or choose others"
        )
    }))
}

/// Resumes a run that was interrupted, if the lab is what it was. What could not be measured then is measured again.
pub fn resume(lab: &Lab, how: &Execution<'_>, path: &Path) -> Result<Recorded, Error> {
    let (folder, recorded) = RunFolder::resume(path)?;
    let setup = Setup::again(lab, how, &folder, &recorded.run)?;
    Begun { folder, setup, recorded }.execute(lab, how)
}

#[derive(Clone, Debug)]
pub struct Finished {
    pub outcome: Outcome,
    pub cost: HostCost,
    /// How idle the machine was before it, where its time is real and the machine is shared.
    pub idle_before: Option<Share>,
}

impl Finished {
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self { outcome: Outcome::invalid(why), cost: HostCost::default(), idle_before: None }
    }
}

#[derive(Clone, Debug)]
pub struct TrialFiles {
    pub console_log: PathBuf,
    pub stacks: PathBuf,
    pub objects: PathBuf,
}

impl TrialFiles {
    pub(crate) fn of(folder: &RunFolder, id: &str) -> Self {
        Self {
            console_log: folder.console(id),
            stacks: folder.stacks(id),
            objects: folder.path().join(OBJECTS),
        }
    }

    pub(crate) fn below(folder: &Path) -> Self {
        Self {
            console_log: folder.join("console.log"),
            stacks: folder.join("stacks.perf.data"),
            objects: folder.to_owned(),
        }
    }

    pub(crate) fn objects(&self) -> Result<Folder, Error> {
        Folder::open(&self.objects).map_err(Error::file("open", &self.objects))
    }
}

/// Trials that run at the same time, and what else the host does meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    pub trials: Vec<PlannedTrial>,
    /// How many of them at a time; `None` is as many as there are cores.
    pub at_once: Option<usize>,
    /// Whether stress-ng oversubscribes the host meanwhile.
    pub stress: bool,
}

/// Refuses to go on with a run whose lab is not what it was.
pub(crate) fn unchanged(path: &Path, what: &str, then: &str, now: &str) -> Result<(), Error> {
    if then == now {
        return Ok(());
    }
    let [then, now] = [then, now].map(|text| if text.is_empty() { "none" } else { text });
    Err(Error::changed(path, what, then, now))
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
struct Begun {
    folder: RunFolder,
    setup: Setup,
    recorded: Recorded,
}

impl Begun {
    fn execute(self, lab: &Lab, how: &Execution<'_>) -> Result<Recorded, Error> {
        let Self { folder, mut setup, recorded } = self.calibrated(lab, how)?;
        let Recorded { run, trials, .. } = recorded;
        let work = Work::of(&run, trials);
        let scheduler = Scheduler {
            lab,
            how,
            folder: &folder,
            run: &run,
            done: Mutex::new(work.done),
            streaks: Mutex::default(),
            copies: work.copies,
        };
        scheduler.report(Event::RunStarted {
            folder: folder.path().display().to_string(),
            trials: run.plan.len() as u32,
            done: scheduler.done().len() as u32,
        });
        lab.show(folder.path());
        let mut rest = work.rest;
        let mut make = || {
            scheduler.copy_what_is_done()?;
            for mut first in first(how, &rest) {
                first.retain(|planned| {
                    scheduler.streak_of(planned, FailureStreaks::has_succeeded) == Some(false)
                });
                setup.raise(lab, how, &first)?;
                rest.retain(|planned| !first.contains(planned));
                scheduler.one_by_one(&setup, first)?;
            }
            rest.retain(|planned| {
                scheduler.streak_of(planned, FailureStreaks::is_given_up) != Some(true)
            });
            setup.raise(lab, how, &rest)?;
            scheduler.all(&setup, std::mem::take(&mut rest))
        };
        let result = make();
        let left = setup.give_back(lab);
        for what in &left {
            let text =
                format!("could not confirm that everything on the device was restored: {what}");
            scheduler.report(Event::Doubt { text });
        }
        scheduler.report(scheduler.ended(&result));
        drop(scheduler);
        let mut recorded = run_folder::read(folder.path());
        if let (Ok(recorded), false) = (&mut recorded, left.is_empty()) {
            recorded.run.left.extend(left);
            folder.plan_again(&recorded.run)?;
        }
        result?;
        recorded
    }

    /// Measures what is not known yet of what the plan needs, keeps it as it comes, and plans with it. What cannot be measured
    /// stays unknown, and is no error; it is tried again by `--resume`.
    fn calibrated(mut self, lab: &Lab, how: &Execution<'_>) -> Result<Self, Error> {
        let needs = calibration::needs(&self.recorded.run.study);
        if needs.is_empty() {
            return Ok(self);
        }
        let mut known = std::mem::take(&mut self.recorded.calibration);
        known.retain(|one| one.value.is_some());
        let is_unknown = |what: &Calibration| value_of(&known, what).is_none();
        let unknown: Vec<_> = needs.into_iter().filter(is_unknown).collect();
        let study = &self.recorded.run.study;
        let own: Vec<_> = unknown.iter().filter_map(|what| attempt(study, what, &[])).collect();
        self.setup.raise(lab, how, &own)?;
        for what in unknown {
            known.push(self.found(lab, what)?);
            self.folder.keep_calibration(&known)?;
        }
        let run = &mut self.recorded.run;
        let known = Known { probes: &Default::default(), calibrated: &known };
        let whole = plan::plan(&run.study, run.versus.as_ref(), known);
        let shard = run.part.as_ref().map(|part| part.shard);
        let plan = shard::own(&run.study, whole.clone(), shard);
        if plan != run.plan {
            run.part = shard.map(|shard| Part { shard, whole });
            run.plan = plan;
            self.folder.plan_again(run)?;
        }
        Ok(self)
    }

    fn found(&self, lab: &Lab, what: Calibration) -> Result<Calibrated, Error> {
        let study = &self.recorded.run.study;
        let mut outcomes = Vec::new();
        while let Some(planned) = attempt(study, &what, &outcomes) {
            lab.cancel.check()?;
            let files = TrialFiles::of(&self.folder, &planned.id.to_string());
            outcomes.push(self.setup.trial(RunContext { lab, study }, &planned, &files)?.outcome);
        }
        let (value, why) = match calibration::next(study, &what, &outcomes) {
            Next::Found(value) => (Some(value), None),
            Next::Failed(why) => (None, Some(why)),
            Next::Try(_) => (None, None),
        };
        Ok(Calibrated { what, value, why, outcomes })
    }
}

/// The next trial that a value is looked for with; `None` where no more is needed.
fn attempt(study: &Study, what: &Calibration, outcomes: &[Outcome]) -> Option<PlannedTrial> {
    let Next::Try(order) = calibration::next(study, what, outcomes) else { return None };
    let (target, mode, name) = calibration::place(what);
    let clients = study.cells().iter().find(|cell| cell.target == *target)?.clients;
    let id = TrialId {
        cell: CellName::of(&format!("{name}+{}", mode.name())),
        ..TrialId::at(VariantName::literal("calibration"), clients, outcomes.len() as u32 + 1)
    };
    let (target, host_load) = (target.clone(), HostLoad::Nothing);
    Some(PlannedTrial { id, target, mode, host_load, turn: 0, order: *order })
}

/// Trials that show whether each variant works, before what the others start from is raised: in turns, of which a later
/// one is for variants whose trials failed. A comparison has one access point, and so has a device.
fn first(how: &Execution<'_>, rest: &[PlannedTrial]) -> Vec<Vec<PlannedTrial>> {
    match (how.on, how.comparing) {
        (On::Vm, None) => plan::first(rest, failures::GIVE_UP_AFTER),
        _ => Vec::new(),
    }
}

/// The rest of a plan in parts; after each of a comparison's the run may be decided.
fn parts(run: &Run, rest: Vec<PlannedTrial>) -> Vec<Vec<PlannedTrial>> {
    let looks = run.versus.as_ref().map(|versus| versus.pairs.looks()).unwrap_or_default();
    let part_of = |trial: &PlannedTrial| {
        looks.iter().position(|look| trial.id.repetition <= *look).unwrap_or(looks.len())
    };
    let mut parts: Vec<Vec<PlannedTrial>> = vec![Vec::new(); looks.len() + 1];
    rest.into_iter().for_each(|trial| parts[part_of(&trial)].push(trial));
    parts.retain(|part| !part.is_empty());
    parts
}

/// Trials that run at the same time, in the order of the plan. There is one device.
fn batches(setup: &Setup, study: &Study, part: Vec<PlannedTrial>) -> Vec<Batch> {
    match setup {
        Setup::Device(_) => {
            let trials = if study.names_images() { on_device::in_turns(part) } else { part };
            vec![Batch { trials, at_once: Some(1), stress: false }]
        }
        _ => plan::batches(part),
    }
}

/// Whether a trial needs not be made again. One whose order changed, as after a calibration that was made again, is
/// another one.
fn is_done(run: &Run, trial: &Trial) -> bool {
    trial.reading().is_some() && run.plan.contains(&trial.planned)
}

/// What is left of a run's plan, as far as it is known before its calibration.
pub fn left(recorded: &Recorded) -> Vec<PlannedTrial> {
    let Recorded { run, trials, .. } = recorded;
    let done = trials.iter().filter(|trial| is_done(run, trial));
    let done: BTreeSet<&TrialId> = done.map(|trial| &trial.planned.id).collect();
    run.plan.iter().filter(|planned| !done.contains(&planned.id)).cloned().collect()
}

type Trials = BTreeMap<TrialId, Trial>;

struct Work {
    done: Trials,
    rest: Vec<PlannedTrial>,
    /// Trials that are not made, behind the one that each would end the same as.
    copies: BTreeMap<TrialId, Vec<PlannedTrial>>,
}

impl Work {
    fn of(run: &Run, trials: Vec<Trial>) -> Self {
        let done = trials.into_iter().filter(|trial| is_done(run, trial));
        let done = done.map(|trial| (trial.planned.id.clone(), trial)).collect();
        let same = plan::copies(&run.plan);
        let mut work = Self { done, rest: Vec::new(), copies: BTreeMap::new() };
        for planned in &run.plan {
            match same.get(&planned.id) {
                _ if work.done.contains_key(&planned.id) => {}
                Some(first) => work.copies.entry(first.clone()).or_default().push(planned.clone()),
                None => work.rest.push(planned.clone()),
            }
        }
        work
    }
}

struct Scheduler<'a> {
    lab: &'a Lab,
    how: &'a Execution<'a>,
    folder: &'a RunFolder,
    run: &'a Run,
    done: Mutex<Trials>,
    streaks: Mutex<FailureStreaks>,
    copies: BTreeMap<TrialId, Vec<PlannedTrial>>,
}

impl Scheduler<'_> {
    /// Trials that were on disk and whose copies are not.
    fn copy_what_is_done(&self) -> Result<(), Error> {
        let firsts: Vec<_> = {
            let done = self.done();
            self.copies.keys().filter_map(|id| done.get(id).cloned()).collect()
        };
        firsts.iter().try_for_each(|first| self.copy(first))
    }

    fn all(&self, setup: &Setup, rest: Vec<PlannedTrial>) -> Result<(), Error> {
        let mut parts = VecDeque::from(parts(self.run, rest));
        while let Some(part) = parts.pop_front() {
            self.one_by_one(setup, part)?;
            let trials: Vec<_> = self.done().values().cloned().collect();
            if self.run.versus.is_some() && (self.how.decided)(self.run, &trials) {
                break;
            }
        }
        self.close(parts.into_iter().flatten().collect())
    }

    fn one_by_one(&self, setup: &Setup, part: Vec<PlannedTrial>) -> Result<(), Error> {
        let batches = batches(setup, &self.run.study, part);
        batches.into_iter().try_for_each(|batch| self.batch(setup, batch))
    }

    /// A run that was decided early: its plan is what was done.
    fn close(&self, left: Vec<PlannedTrial>) -> Result<(), Error> {
        if left.is_empty() {
            return Ok(());
        }
        let mut run = self.run.clone();
        run.plan.retain(|planned| !left.contains(planned));
        self.folder.plan_again(&run)
    }

    fn batch(&self, setup: &Setup, batch: Batch) -> Result<(), Error> {
        let workers = batch.at_once.unwrap_or(self.lab.settings.workers);
        let _stress = batch.stress.then(Stress::start).transpose()?;
        let threads = workers.min(batch.trials.len());
        let queue = Mutex::new(VecDeque::from(batch.trials));
        // Others of a batch that is not free would feel what an onlooker does.
        let nobody_feels = batch.at_once.is_none() || threads == 1;
        let make = |planned: PlannedTrial| {
            if let Some(trial) = self.trial(setup, &planned)? {
                self.copy(&trial)?;
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
    fn trial(&self, setup: &Setup, planned: &PlannedTrial) -> Result<Option<Trial>, Error> {
        self.lab.cancel.check()?;
        if self.streak_of(planned, FailureStreaks::is_given_up) == Some(true) {
            return Ok(None);
        }
        let id = planned.id.to_string();
        self.report(Event::TrialStarted { id: id.clone() });
        let (began_unix, began) = (host::unix_now(), Instant::now());
        let files = TrialFiles::of(self.folder, &id);
        let finished =
            setup.trial(RunContext { lab: self.lab, study: &self.run.study }, planned, &files)?;
        let Finished { outcome, cost, idle_before } = finished;
        let (planned, same_as) = (planned.clone(), None);
        let trial = Trial { planned, began_unix, cost, idle_before, same_as, outcome };
        let took_ms = began.elapsed().as_millis() as u64;
        let device_ms = trial.planned.passes().as_millis() as u64;
        self.keep(&trial, took_ms, device_ms)?;
        let doubt = variant(&trial.planned)
            .and_then(|name| self.streaks().record(name, trial.why_invalid()));
        if let Some(text) = doubt {
            self.report(Event::Doubt { text });
        }
        Ok(Some(trial))
    }

    fn copy(&self, first: &Trial) -> Result<(), Error> {
        for planned in self.copies.get(&first.planned.id).into_iter().flatten() {
            let same_as = Some(first.planned.id.clone());
            let trial = Trial { planned: planned.clone(), same_as, ..first.clone() };
            self.keep(&trial, 0, 0)?;
        }
        Ok(())
    }

    fn keep(&self, trial: &Trial, took_ms: u64, device_ms: u64) -> Result<(), Error> {
        self.folder.keep(trial)?;
        let id = trial.planned.id.to_string();
        let invalid = trial.why_invalid().map(str::to_owned);
        self.report(Event::TrialEnded { id, took_ms, device_ms, invalid });
        self.done().insert(trial.planned.id.clone(), trial.clone());
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
        planned: &PlannedTrial,
        of: impl Fn(&FailureStreaks, &VariantName) -> bool,
    ) -> Option<bool> {
        variant(planned).map(|variant| of(&self.streaks(), variant))
    }

    fn done(&self) -> MutexGuard<'_, Trials> {
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

/// The variant that a trial is of, where a variant whose first trials all fail is measured no further. That all trials
/// fail in one perturbed state, or without a subject on this machine alone, tells nothing of the others.
fn variant(planned: &PlannedTrial) -> Option<&VariantName> {
    let counts = planned.id.perturbed.is_none() && planned.order.subject.is_some();
    counts.then_some(&planned.id.variant)
}
