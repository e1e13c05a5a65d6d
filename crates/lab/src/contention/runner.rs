//! A contention run: image, snapshots and rates first, then every bout of the plan, each kept as soon as it ends.
//!
//! Counted bouts share the cores; then come those in real time, one after the other, each after its gate. A bout
//! that fails is kept as failed and stops nobody. The first failure of the host stops the run; what is finished
//! is kept and `--resume` goes on.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use model::{
    contention::{Bout, FORMAT, Fought, Machine, Outcome, Place, Run, Study},
    event::Event,
    study::Mode,
};

use super::{
    fight::{Bouted, fight},
    folder::{self, ContentionFolder, Recorded},
    pace,
    plan::{self, PlannedBout},
    study::StudyFile,
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

/// The virtual access point: the second radio is the wide one of 5 GHz that traffic goes over, and on another channel
/// than the first, which so hears none of it; each has one client.
const WANTED: Wanted = Wanted { radios: 2, clients: 2 };

/// So long a bout waits for the machine to be idle; then it goes on, and says how idle it was.
const PATIENCE: Duration = Duration::from_secs(60);

/// A study that is to be carried out, and where.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The study.
    pub file: &'a StudyFile,
    /// The run's folder.
    pub path: &'a Path,
}

/// Whether a study's cells need virtual access points.
pub fn needs_vm(study: &Study) -> bool {
    fought_at(study).any(|place| place.on == Machine::Vm)
}

/// Places that cells are at.
fn fought_at(study: &Study) -> impl Iterator<Item = &Place> {
    study.cells.iter().filter_map(|cell| plan::place_of(study, cell))
}

/// The machines of those places, and how time passes there.
fn machines(study: &Study) -> impl Iterator<Item = (Machine, Mode)> {
    fought_at(study).map(|place| (place.on, plan::mode_of(place)))
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
    ContentionFolder::check_free(task.path)?;
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
    let folder = ContentionFolder::create(task.path, &run, &task.file.text)?;
    let recorded = Recorded {
        path: task.path.to_owned(),
        run,
        fought: Vec::new(),
        edited: Vec::new(),
        paces: Vec::new(),
        study_text: task.file.text.clone(),
    };
    execute(lab, (&folder, recorded), image.as_ref())
}

/// Goes on with a run that was interrupted. Bouts that failed are fought again.
///
/// # Errors
///
/// [`Error::Changed`] when the image is not what it was; else as [`run`].
pub fn resume(lab: &Lab, path: &Path) -> Result<Recorded, Error> {
    let (folder, mut recorded) = ContentionFolder::resume(path)?;
    recorded.fought.retain(|(_, fought)| matches!(fought.outcome, Outcome::Fought(_)));
    let image = places::image(lab, needs_vm(&recorded.run.study))?;
    places::unchanged(path, recorded.run.image.as_ref(), image.as_ref())?;
    execute(lab, (&folder, recorded), image.as_ref())
}

fn execute(
    lab: &Lab,
    (folder, recorded): (&ContentionFolder, Recorded),
    image: Option<&Image>,
) -> Result<Recorded, Error> {
    let run = recorded.run;
    let snapshots = WANTED.snapshots(lab, image, machines(&run.study))?;
    let idle_gate = run.study.contention.idle_gate;
    let ground = Ground { lab, snapshots, idle_gate, patience: PATIENCE };
    let floor = Floor { folder, run: &run, ground };
    let paces = pace::find(&floor, folder, &run, recorded.paces)?;
    let plan = plan::bouts(&run.study, &pace::rates(&paces));
    let work = Work::of(&run.study, plan, recorded.fought);
    let tally = Tally::of(work.all, work.done.len() as u32);
    floor.tell(tally.started(folder.path()));
    let result = floor.all(work, &tally);
    floor.tell(tally.ended(&result));
    result?;
    folder::read(folder.path())
}

/// What is to be fought, and what was before.
struct Work {
    /// Bouts of the plan.
    all: u32,
    /// Bouts that are on disk.
    done: BTreeMap<u32, Fought>,
    /// Bouts that are not, each with those behind it that repeat it.
    rest: Vec<(PlannedBout, Vec<PlannedBout>)>,
}

impl Work {
    fn of(study: &Study, plan: Vec<PlannedBout>, fought: Vec<(u32, Fought)>) -> Self {
        let repeats = plan::repeats(study, &plan);
        let all = plan.len() as u32;
        // A bout whose order changed, as after a rate was found again, is another one; one that could not be fought
        // is fought again.
        let mut done: BTreeMap<u32, Fought> = fought.into_iter().collect();
        done.retain(|_, fought| matches!(fought.outcome, Outcome::Fought(_)));
        done.retain(|number, fought| {
            plan.iter().any(|one| one.number == *number && one.bout == fought.bout)
        });
        let mut again: BTreeMap<u32, Vec<PlannedBout>> = BTreeMap::new();
        let mut firsts = Vec::new();
        for planned in plan {
            match repeats.get(&planned.number) {
                _ if done.contains_key(&planned.number)
                    && repeats.contains_key(&planned.number) => {}
                Some(first) => again.entry(*first).or_default().push(planned),
                None => firsts.push(planned),
            }
        }
        let rest = firsts.into_iter().filter_map(|first| {
            let again = again.remove(&first.number).unwrap_or_default();
            let is_done = done.contains_key(&first.number) && again.is_empty();
            (!is_done).then_some((first, again))
        });
        Self { all, rest: rest.collect(), done }
    }
}

/// Where bouts are fought.
pub(super) struct Floor<'a> {
    folder: &'a ContentionFolder,
    run: &'a Run,
    ground: Ground<'a>,
}

impl Floor<'_> {
    fn all(&self, work: Work, tally: &Tally) -> Result<(), Error> {
        let study = &self.run.study;
        let (alone, beside): (Vec<_>, Vec<_>) =
            work.rest.into_iter().partition(|(planned, _)| plan::is_alone(study, planned));
        let threads = self.ground.lab.settings.workers.min(beside.len());
        let queue = Mutex::new(VecDeque::from(beside));
        let fight = |(planned, again): &(PlannedBout, Vec<PlannedBout>)| {
            let fought = match work.done.get(&planned.number) {
                Some(fought) => fought.clone(),
                None => self.fight(planned, tally)?,
            };
            again.iter().try_for_each(|repeat| {
                let PlannedBout { cell, arm, block, turn, .. } = repeat.clone();
                self.keep(
                    repeat,
                    &Fought { cell, arm, block, turn, wall_s: 0.0, ..fought.clone() },
                    tally,
                )
            })
        };
        side_by_side(threads, || take_all(&queue, |item| fight(&item)))?;
        alone.iter().try_for_each(fight)
    }

    /// One bout from its beginning to the disk.
    fn fight(&self, planned: &PlannedBout, tally: &Tally) -> Result<Fought, Error> {
        self.ground.lab.cancel.check()?;
        let began = Instant::now();
        let cell = &self.run.study.cells[planned.cell as usize];
        let bouted = if is_unpaced(&planned.bout) {
            let why = "its pace is unknown: the traffic alone at full rate could not be measured";
            Bouted::refused(why)
        } else {
            self.bout(&cell.place, &planned.bout, &format!("{:04}", planned.number))?
        };
        let Bouted { outcome, caches, idle_before } = bouted;
        let wall_s = began.elapsed().as_secs_f64();
        let PlannedBout { cell, arm, block, turn, bout, .. } = planned.clone();
        let fought = Fought { cell, arm, block, turn, bout, outcome, caches, idle_before, wall_s };
        self.keep(planned, &fought, tally)?;
        Ok(fought)
    }

    /// A bout to the disk, and told.
    fn keep(&self, planned: &PlannedBout, fought: &Fought, tally: &Tally) -> Result<(), Error> {
        self.folder.keep(planned.number, fought)?;
        let failed = match &fought.outcome {
            Outcome::Fought(_) => None,
            Outcome::Failed(why) => Some(why.clone()),
        };
        tally.add(failed.is_some());
        let (number, took_ms) = (planned.number, (fought.wall_s * 1e3) as u64);
        self.tell(Event::BoutEnded { number, name: planned.name(), took_ms, failed });
        Ok(())
    }

    /// One bout at a place; `name` is its console's.
    pub(super) fn bout(&self, place: &str, bout: &Bout, name: &str) -> Result<Bouted, Error> {
        let study = &self.run.study;
        let Some(place) = study.places.iter().find(|one| one.name == place) else {
            return Ok(Bouted::refused(format!("no place is named `{place}`")));
        };
        fight(&self.ground, (place, bout), study.caches, &self.folder.console(name))
    }

    fn tell(&self, event: Event) {
        self.folder.log(&event);
        self.ground.lab.emit(event);
    }
}

/// Whether a bout's traffic has a share of a rate that nobody found.
fn is_unpaced(bout: &Bout) -> bool {
    bout.traffic.as_ref().is_some_and(|traffic| traffic.paced.is_some())
}
