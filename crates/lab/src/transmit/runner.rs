//! A completion run: image, snapshots and the work of tasks first, then every trial of the plan, each kept as soon
//! as it ends.
//!
//! Counted trials share the cores; then come those in real time, one after the other, each after its gate. A trial
//! that fails is kept as failed and stops nobody. The first failure of the host stops the run; what is finished is
//! kept and `--resume` goes on.

use std::{
    collections::VecDeque,
    path::Path,
    sync::Mutex,
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
    errand::Ground,
    host,
    image::Image,
    places::{self, Tally, Wanted},
    runner::{side_by_side, take_all},
    vm::Shape,
};

/// The virtual access point: the smallest that is one. No frame of a trial crosses the air.
const WANTED: Wanted = Wanted { radios: 1, clients: 1 };

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

/// The machines of a study's places, and how time passes there.
fn machines(study: &Study) -> impl Iterator<Item = (Machine, Mode)> {
    study.places.iter().map(|place| (place.on, plan::mode_of(place)))
}

/// The virtual access points that a study needs.
pub(crate) fn access_points(study: &Study) -> Vec<Shape> {
    WANTED.shapes(machines(study))
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
    let image = places::image(lab, needs_vm(study))?;
    let run = Run {
        format: FORMAT,
        headroom: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.clone(),
        overrides: task.file.overrides.clone(),
        image: places::id(image.as_ref()),
        host: host::in_words(),
        started_ms: host::unix_ms(),
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
    let image = places::image(lab, needs_vm(&recorded.run.study))?;
    places::unchanged(path, recorded.run.image.as_ref(), image.as_ref())?;
    execute(lab, (&folder, recorded), image.as_ref())
}

fn execute(
    lab: &Lab,
    (folder, recorded): (&TransmitFolder, Recorded),
    image: Option<&Image>,
) -> Result<Recorded, Error> {
    let run = recorded.run;
    let snapshots = WANTED.snapshots(lab, image, machines(&run.study))?;
    let idle_gate = run.study.completion.idle_gate;
    let ground = Ground { lab, snapshots, idle_gate, patience: PATIENCE };
    let floor = Floor { folder, run: &run, ground };
    let rounds = rounds::find(&floor, folder, &run, recorded.rounds)?;
    let plan = plan::trials(&run.study, &rounds);
    let all = plan.len() as u32;
    let rest = rest(plan, &recorded.trials);
    let tally = Tally::of(all, all - rest.len() as u32);
    floor.tell(tally.started(folder.path()));
    let result = floor.all(rest, &tally);
    floor.tell(tally.ended(&result));
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

/// Where trials are made.
pub(super) struct Floor<'a> {
    folder: &'a TransmitFolder,
    run: &'a Run,
    ground: Ground<'a>,
}

impl Floor<'_> {
    fn all(&self, rest: Vec<PlannedTrial>, tally: &Tally) -> Result<(), Error> {
        let is_alone = |planned: &PlannedTrial| plan::is_alone(&self.run.study, planned);
        let (alone, beside): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_alone);
        let threads = self.ground.lab.settings.workers.min(beside.len());
        let queue = Mutex::new(VecDeque::from(beside));
        side_by_side(threads, || take_all(&queue, |planned| self.make(&planned, tally)))?;
        alone.iter().try_for_each(|planned| self.make(planned, tally))
    }

    /// One trial from its beginning to the disk.
    fn make(&self, planned: &PlannedTrial, tally: &Tally) -> Result<(), Error> {
        self.ground.lab.cancel.check()?;
        let began = Instant::now();
        let (outcome, idle_before) = if planned.lacks_rounds(&self.run.study) {
            let why = "its task's work is unknown: the task alone could not be measured";
            (Outcome::Failed(why.to_owned()), None)
        } else {
            self.trial(planned.place, &planned.order, &format!("{:04}", planned.number))?
        };
        let wall_s = began.elapsed().as_secs_f64();
        let trial = Trial { idle_before, ..planned.clone().became(outcome, wall_s) };
        self.folder.keep(&trial)?;
        let failed = match trial.outcome {
            Outcome::Measured(_) => None,
            Outcome::Failed(why) => Some(why),
        };
        tally.add(failed.is_some());
        let (name, took_ms) = (planned.name(&self.run.study), (wall_s * 1e3) as u64);
        let number = planned.number;
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
        let Some(place) = self.run.study.places.get(place) else {
            return Ok((Outcome::Failed("the study has no such place".to_owned()), None));
        };
        let at = (place.on, plan::mode_of(place));
        let ran = self.ground.run(at, order, (&self.folder.console(name), None))?;
        Ok((trial::outcome(ran.answer), ran.idle_before))
    }

    fn tell(&self, event: Event) {
        self.folder.log(&event);
        self.ground.lab.emit(event);
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

    #[test]
    fn a_run_goes_on_with_what_is_not_measured_yet_and_with_what_failed() {
        let plan = planned(7);
        let all = plan.len();
        let measured =
            |one: PlannedTrial| one.became(Outcome::Measured(Box::<Measured>::default()), 1.0);
        let mut trials: Vec<Trial> = plan.iter().take(3).cloned().map(measured).collect();
        trials[1].outcome = Outcome::Failed("the machine was silent".to_owned());
        let left: Vec<u32> =
            rest(plan.clone(), &trials).iter().map(|planned| planned.number).collect();
        assert_eq!(left, [vec![2], (4..=all as u32).collect()].concat());
        assert_eq!(rest(planned(8), &trials).len(), all, "other work is another trial");
    }
}
