//! A completion run: image, snapshots and the work of tasks first, then every trial of the plan, each kept as soon
//! as it ends.
//!
//! Counted trials share the cores; then come those in real time, one after the other, each after its gate. A trial
//! that fails is kept as failed and stops nobody. The first failure of the host stops the run; what is finished is
//! kept and `--resume` goes on.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use model::{
    contention::Machine,
    event::Event,
    share::Share,
    study::Mode,
    transmit::{FORMAT, Order, Outcome, Run, Study, Trial},
};

use super::{
    folder::{self, Recorded, TransmitFolder},
    plan::{self, PlannedTrial},
    rounds::{self, Rounds},
    study::StudyFile,
    trial,
};
use crate::{
    Error, Lab,
    contention::{
        idle,
        runner::{this_machine, unix_ms},
    },
    image::{self, Image},
    runner::{side_by_side, take_all},
    vm::{
        self, Accelerator, Shape,
        snapshot::{self, Snapshot},
    },
};

/// Radios and clients of the virtual access point: the smallest that is one. No frame of a trial crosses the air.
const RADIOS: u32 = 1;
const CLIENTS: u32 = 1;

/// So long a trial in real time waits for the machine to be idle; it is short itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// A study that is to be carried out, and where.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The study.
    pub file: &'a StudyFile,
    /// The run's folder.
    pub path: &'a Path,
}

/// Whether a study needs virtual access points.
pub fn needs_vm(study: &Study) -> bool {
    study.places.iter().any(|place| place.on == Machine::Vm)
}

/// Executes a study from its beginning.
///
/// # Errors
///
/// [`Error`]; what was finished before it is in the folder.
pub fn run(lab: &Lab, task: Task<'_>) -> Result<Recorded, Error> {
    // Whoever chose a folder that is taken is told before the image is made.
    TransmitFolder::check_free(task.path)?;
    let study = &task.file.study;
    let image = needs_vm(study).then(|| image::obtain(lab)).transpose()?;
    let run = Run {
        format: FORMAT,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.clone(),
        image: image.as_ref().map(|image| image.id.clone()),
        host: this_machine(),
        started_ms: unix_ms(),
    };
    let folder = TransmitFolder::create(task.path, &run, &task.file.text)?;
    let recorded = Recorded {
        path: task.path.to_owned(),
        run,
        trials: Vec::new(),
        edited: Vec::new(),
        rounds: Rounds::default(),
        study_text: task.file.text.clone(),
    };
    execute(lab, (&folder, recorded), image.as_ref())
}

/// Goes on with a run that was interrupted. Trials that failed are made again.
///
/// # Errors
///
/// [`Error::Changed`] when the image is not what it was; else as [`run`].
pub fn resume(lab: &Lab, path: &Path) -> Result<Recorded, Error> {
    let (folder, recorded) = TransmitFolder::resume(path)?;
    let image = needs_vm(&recorded.run.study).then(|| image::obtain(lab)).transpose()?;
    let now = image.as_ref().map(|image| image.id.clone());
    if recorded.run.image != now {
        let told = |image: &Option<String>| image.clone().unwrap_or_else(|| "none".to_owned());
        return Err(Error::Changed {
            path: path.to_owned(),
            what: "image",
            then: told(&recorded.run.image),
            now: told(&now),
        });
    }
    execute(lab, (&folder, recorded), image.as_ref())
}

fn execute(
    lab: &Lab,
    (folder, recorded): (&TransmitFolder, Recorded),
    image: Option<&Image>,
) -> Result<Recorded, Error> {
    let run = recorded.run;
    let snapshots = snapshots(lab, &run.study, image)?;
    let floor = Floor { lab, folder, run: &run, snapshots };
    let rounds = rounds::find(&floor, folder, &run, recorded.rounds)?;
    let plan = plan::trials(&run.study, &rounds);
    let all = plan.len() as u32;
    let rest = rest(plan, &recorded.trials);
    let before = all - rest.len() as u32;
    floor.tell(Event::RunStarted {
        folder: folder.path().display().to_string(),
        trials: all,
        done: before,
    });
    let tally = Tally { done: AtomicU32::new(before), failed: AtomicU32::new(0) };
    let result = floor.all(rest, &tally);
    floor.tell(Event::RunEnded {
        done: tally.done.load(Ordering::Relaxed),
        invalid: tally.failed.load(Ordering::Relaxed),
        interrupted: matches!(result, Err(Error::Interrupted)),
    });
    result?;
    folder::read(folder.path())
}

/// What of the plan is not on disk. A trial whose order changed, as after a task's work was found again, is another
/// one; one that could not be made is made again.
fn rest(plan: Vec<PlannedTrial>, trials: &[Trial]) -> Vec<PlannedTrial> {
    let is_done = |planned: &PlannedTrial| {
        let measured = |trial: &&Trial| matches!(trial.outcome, Outcome::Measured(_));
        trials.iter().filter(measured).any(|trial| planned.is(trial))
    };
    plan.into_iter().filter(|planned| !is_done(planned)).collect()
}

/// One snapshot for each way in which time passes.
fn snapshots(lab: &Lab, study: &Study, image: Option<&Image>) -> Result<Vec<Snapshot>, Error> {
    let Some(image) = image else { return Ok(Vec::new()) };
    let mut modes: Vec<Mode> = Vec::new();
    for place in study.places.iter().filter(|place| place.on == Machine::Vm) {
        if !modes.contains(&plan::mode_of(place)) {
            modes.push(plan::mode_of(place));
        }
    }
    modes.into_iter().map(|mode| snapshot::obtain(lab, image, &shape(image, mode))).collect()
}

/// A machine with a WAN side: only such a one has the kernel's TAP interfaces.
fn shape(image: &Image, mode: Mode) -> Shape {
    let accelerator = match mode {
        Mode::Counted => Accelerator::Tcg,
        Mode::RealTime => vm::accelerator(image),
    };
    Shape {
        mode,
        accelerator,
        radios: RADIOS,
        clients: CLIENTS,
        shell: false,
        wan: true,
        forward: None,
    }
}

/// What has been done so far.
struct Tally {
    done: AtomicU32,
    failed: AtomicU32,
}

/// Where trials are made.
pub(super) struct Floor<'a> {
    lab: &'a Lab,
    folder: &'a TransmitFolder,
    run: &'a Run,
    snapshots: Vec<Snapshot>,
}

impl Floor<'_> {
    fn all(&self, rest: Vec<PlannedTrial>, tally: &Tally) -> Result<(), Error> {
        let is_alone = |planned: &PlannedTrial| plan::is_alone(&self.run.study, planned);
        let (alone, beside): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_alone);
        let threads = self.lab.settings.workers.min(beside.len());
        let queue = Mutex::new(VecDeque::from(beside));
        side_by_side(threads, || take_all(&queue, |planned| self.make(&planned, tally)))?;
        alone.iter().try_for_each(|planned| self.make(planned, tally))
    }

    /// One trial from its beginning to the disk.
    fn make(&self, planned: &PlannedTrial, tally: &Tally) -> Result<(), Error> {
        self.lab.cancel.check()?;
        let began = Instant::now();
        let (outcome, idle_before) = if planned.lacks_rounds(&self.run.study) {
            let why = "its task's work is unknown: the task alone could not be measured";
            (Outcome::Failed(why.to_owned()), None)
        } else {
            self.trial(planned.place, &planned.order, &format!("{:04}", planned.number))?
        };
        let PlannedTrial { number, repeats, place, load, block, order } = planned.clone();
        let wall_s = began.elapsed().as_secs_f64();
        let trial =
            Trial { number, repeats, idle_before, place, load, block, order, outcome, wall_s };
        self.folder.keep(&trial)?;
        let failed = match trial.outcome {
            Outcome::Measured(_) => None,
            Outcome::Failed(why) => Some(why),
        };
        tally.done.fetch_add(1, Ordering::Relaxed);
        tally.failed.fetch_add(u32::from(failed.is_some()), Ordering::Relaxed);
        let (name, took_ms) = (planned.name(&self.run.study), (wall_s * 1e3) as u64);
        self.tell(Event::TransmitEnded { number, name, took_ms, failed });
        Ok(())
    }

    /// One trial at a place, and how idle the machine was before it; `name` is its console's.
    pub(super) fn trial(
        &self,
        place: usize,
        order: &Order,
        name: &str,
    ) -> Result<(Outcome, Option<Share>), Error> {
        let study = &self.run.study;
        let failed = |why: &str| Ok((Outcome::Failed(why.to_owned()), None));
        let Some(place) = study.places.get(place) else {
            return failed("the study has no such place");
        };
        if place.on == Machine::Host
            && let Some(why) = trial::host_refuses()
        {
            return failed(why);
        }
        let mode = plan::mode_of(place);
        let gate = || idle::gate(study.completion.idle_gate, PATIENCE, &self.lab.cancel);
        let idle_before = if mode == Mode::RealTime { gate()? } else { None };
        let outcome = match place.on {
            Machine::Host => trial::on_host(self.lab, order)?,
            Machine::Vm => {
                let snapshot = self.snapshots.iter().find(|one| one.shape.mode == mode);
                let Some(snapshot) = snapshot else {
                    return failed("there is no snapshot of its place");
                };
                trial::on_vm(self.lab, snapshot, order, &self.folder.console(name))?
            }
        };
        Ok((outcome, idle_before))
    }

    fn tell(&self, event: Event) {
        self.folder.log(&event);
        self.lab.emit(event);
    }
}

#[cfg(test)]
mod tests {
    use model::transmit::Measured;

    use super::*;
    use crate::transmit::study::parse;

    const STUDY: &str = "question = \"?\"\n[completion]\nblocks = 1\n[[place]]\nname = \"ap\"\n\
        on = \"vm\"\n[[load]]\nname = \"task\"\nrates = [990]\nbytes = 66\ntask-ms = 1000\n";

    fn planned(work: u64) -> Vec<PlannedTrial> {
        let why = None;
        let work = rounds::Work { place: "ap".to_owned(), ms: 1000, rounds: Some(work), why };
        plan::trials(&parse(STUDY).unwrap(), &Rounds(vec![work]))
    }

    fn made(planned: PlannedTrial, outcome: Outcome) -> Trial {
        let PlannedTrial { number, repeats, place, load, block, order } = planned;
        Trial {
            number,
            repeats,
            idle_before: None,
            place,
            load,
            block,
            order,
            outcome,
            wall_s: 1.0,
        }
    }

    #[test]
    fn a_run_goes_on_with_what_is_not_measured_yet_and_with_what_failed() {
        let plan = planned(7);
        let all = plan.len();
        let measured = |one: PlannedTrial| made(one, Outcome::Measured(Box::<Measured>::default()));
        let mut trials: Vec<Trial> = plan.iter().take(3).cloned().map(measured).collect();
        trials[1].outcome = Outcome::Failed("the machine was silent".to_owned());
        let left: Vec<u32> =
            rest(plan.clone(), &trials).iter().map(|planned| planned.number).collect();
        assert_eq!(left, [vec![2], (4..=all as u32).collect()].concat());
        assert_eq!(rest(planned(8), &trials).len(), all, "other work is another trial");
    }
}
