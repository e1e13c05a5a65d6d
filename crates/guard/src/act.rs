//! Bounds to the kernel: one lever at a time, old value journalled first, verified by reading back.
//!
//! [`Levers::apply`] is told the whole wanted state and writes only what differs from it, so that applying the
//! same again writes nothing. A lever that takes two writes is pulled whole or not at all. What a bound does
//! not name is as it was before guard: a bound never loosens what a person had set.
//!
//! | file | what |
//! | --- | --- |
//! | `bounding` | which file gets which text, for one application |
//! | `housing` | groups of guard's own, and controllers for them |
//! | `placing` | Wi-Fi's threads |
//! | `cache` | resctrl |
//! | `limiter` | this many writes a second |

mod bounding;
mod cache;
#[cfg(test)]
mod device;
mod housing;
#[cfg(test)]
mod kill;
mod limiter;
mod placing;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    bounds::{Bounds, Placement},
    decide::{Decision, Lever, Outcome},
    groups::{Application, Applications, Hierarchies},
    journal::{Disk, Error, Failure, Files, Journal, Knob, Report, Set},
    reading::{Interface, Worker},
    watchdog::{Health, Watchdog},
};
use limiter::Limiter;

/// Where guard keeps its journal and its lock: in memory on every device, so that a restart forgets it.
pub const DEFAULT_STATE: &str = "/run/headroom/guard";

/// A wanted state that does not change is compared with the kernel's at every this many calls only, to see
/// whether a person has changed something.
const CHECKS_EVERY: u32 = 10;

/// A lever that the kernel refused is not pulled again for so long, ns.
const RETRY_NS: u64 = 60_000_000_000;

/// What a pull of a lever needs to know.
const WIFI: &str = "wifi";

#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of the journal and the lock.
    pub state: PathBuf,
    /// The most writes in a second; processes that are moved are not counted.
    pub writes_per_second: u32,
    /// Whether a process of its own watches, and restores when guard cannot.
    pub watchdog: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { state: DEFAULT_STATE.into(), writes_per_second: 20, watchdog: true }
    }
}

/// What the decision is about.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    pub applications: &'a Applications,
    /// Wi-Fi's threads, of the last reading.
    pub workers: &'a [Worker],
    /// The protected interfaces, of the last reading.
    pub interfaces: &'a [Interface],
}

/// How it is with the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    Fine,
    /// It was gone, and another watches now.
    Renewed,
    /// It has restored everything, because we were stuck. Drop these levers and open others.
    TakenOver,
}

/// One value that is to be, for a lever.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    path: PathBuf,
    knob: Knob,
    wanted: String,
}

impl Step {
    fn new(path: PathBuf, knob: Knob, wanted: impl Into<String>) -> Self {
        Self { path, knob, wanted: wanted.into() }
    }
}

/// The wanted state of before, and what it was wanted of.
#[derive(Debug, PartialEq)]
struct Wanted {
    bounds: Vec<Bounds>,
    placement: Placement,
    applications: Vec<Application>,
    threads: Vec<u32>,
    interfaces: Vec<String>,
}

/// The levers: everything that guard changes, they change. Dropping them puts everything back.
#[derive(Debug)]
pub struct Levers {
    journal: Journal,
    hierarchies: Hierarchies,
    state: PathBuf,
    watchdog: Option<Watchdog>,
    limiter: Limiter,
    /// What the kernel refused, and until when it is not tried again.
    refused: BTreeMap<(String, Lever), (String, u64)>,
    wanted: Option<Wanted>,
    outcome: Outcome,
    checks: u32,
    taken: bool,
}

impl Levers {
    /// Takes the state folder, puts back what an earlier guard left, and starts the watchdog.
    /// Fails with [`Error`]: another guard runs, or the folder or the watchdog cannot be had.
    pub fn open(hierarchies: Hierarchies, options: Options) -> Result<(Self, Report), Error> {
        let files = Box::new(Disk::at(hierarchies.root()));
        let watch = options.watchdog;
        let (mut levers, report) = Self::with(files, hierarchies, options)?;
        if watch {
            levers.watchdog = Some(levers.new_watchdog()?);
        }
        Ok((levers, report))
    }

    /// The same with another world, and without a watchdog, which could not follow there.
    pub fn with(
        files: Box<dyn Files>,
        hierarchies: Hierarchies,
        options: Options,
    ) -> Result<(Self, Report), Error> {
        let (journal, report) = Journal::open(files, &options.state)?;
        let levers = Self {
            journal,
            hierarchies,
            state: options.state,
            watchdog: None,
            limiter: Limiter::of(options.writes_per_second),
            refused: BTreeMap::new(),
            wanted: None,
            outcome: Outcome::default(),
            checks: 0,
            taken: false,
        };
        Ok((levers, report))
    }

    fn new_watchdog(&self) -> Result<Watchdog, Error> {
        let root = self.hierarchies.root();
        Watchdog::start(&self.state, root).map_err(|source| Error::Watchdog { source })
    }

    /// Makes the kernel be as the decision says, as far as it lets us.
    pub fn apply(&mut self, decision: &Decision, targets: &Targets<'_>) -> Outcome {
        if self.taken {
            return Outcome::default();
        }
        let wanted = Wanted {
            bounds: decision.bounds.clone(),
            placement: decision.placement.clone(),
            applications: targets.applications.list().to_vec(),
            threads: targets.workers.iter().map(|worker| worker.tid).collect(),
            interfaces: targets.interfaces.iter().map(|one| one.name.clone()).collect(),
        };
        self.checks += 1;
        if self.checks < CHECKS_EVERY && self.wanted.as_ref() == Some(&wanted) {
            return Outcome { writes: 0, ..self.outcome.clone() };
        }
        (self.checks, self.outcome) = (0, Outcome::default());
        self.limiter.at(self.journal.files().now_ns());
        for (application, bounds) in targets.applications.list().iter().zip(&decision.bounds) {
            self.bound(application, bounds);
        }
        self.crown(targets.applications, &decision.bounds);
        self.share_cache(targets.applications.list(), &decision.bounds);
        self.place(&decision.placement, targets);
        // What had to wait for the limiter is tried at the next call.
        self.wanted = (!self.limiter.was_short()).then_some(wanted);
        self.outcome.clone()
    }

    /// Tells the watchdog that guard is not stuck. At least once a second.
    pub fn beat(&mut self) -> Beat {
        let Some(watchdog) = &mut self.watchdog else {
            return if self.taken { Beat::TakenOver } else { Beat::Fine };
        };
        match watchdog.beat() {
            Health::Fine => Beat::Fine,
            Health::TookOver => {
                self.taken = true;
                Beat::TakenOver
            }
            Health::Gone => {
                self.watchdog = self.new_watchdog().ok();
                Beat::Renewed
            }
        }
    }

    /// The watchdog's process: its CPU time is guard's.
    pub fn watchdog_pid(&self) -> Option<u32> {
        self.watchdog.as_ref().map(Watchdog::pid)
    }

    /// Every value that differs now from before guard: file, text before, text now.
    pub fn bounded(&self) -> Vec<(String, String, String)> {
        let differs = self.journal.values().filter(|one| one.original.trim() != one.last.trim());
        let lines = differs.map(|one| {
            let (before, now) = (one.original.trim(), one.last.trim());
            (one.path.display().to_string(), before.to_owned(), now.to_owned())
        });
        lines.collect()
    }

    /// Puts everything back, and lets the watchdog go. Doing it twice does nothing the second time.
    pub fn restore(&mut self) -> Report {
        let report = if self.taken { Report::default() } else { self.journal.restore() };
        (self.wanted, self.outcome) = (None, Outcome::default());
        if report.failed.is_empty()
            && let Some(watchdog) = self.watchdog.take()
        {
            watchdog.dismiss();
        }
        report
    }

    /// Pulls a lever whole: every step, or none.
    fn pull(&mut self, who: &str, lever: Lever, steps: &[Step]) {
        let mut done: Vec<(&Step, String)> = Vec::new();
        for step in steps {
            match self.set(step, &mut done) {
                Ok(true) => {}
                Ok(false) => return,
                Err(failure) => {
                    for (step, before) in done.iter().rev() {
                        // What cannot be taken back either is still in the journal.
                        let _ = self.journal.set(&step.path, step.knob, before);
                    }
                    self.fail(who, lever, failure);
                    return;
                }
            }
        }
    }

    /// One step; false where it has to wait for the limiter.
    fn set<'a>(
        &mut self,
        step: &'a Step,
        done: &mut Vec<(&'a Step, String)>,
    ) -> Result<bool, Failure> {
        let before = self.journal.look(&step.path, step.knob)?;
        if step.knob.holds(&step.wanted, &before) {
            return Ok(true);
        }
        // The rest of a lever that is begun is never held back.
        if done.is_empty() && !self.limiter.take() {
            return Ok(false);
        }
        if self.journal.set(&step.path, step.knob, &step.wanted)? == Set::Written {
            self.outcome.writes += 1;
            done.push((step, before));
        }
        Ok(true)
    }

    /// Remembers why a lever could not be moved.
    fn fail(&mut self, who: &str, lever: Lever, failure: Failure) {
        match failure {
            Failure::Overruled(line) => {
                if !self.outcome.overruled.contains(&line) {
                    self.outcome.overruled.push(line);
                }
            }
            Failure::Refused(line, errno) => {
                // What is gone may be back with the next look at the applications; the rest will not change soon.
                let gone = errno == Some(rustix::io::Errno::NOENT.raw_os_error());
                let wait = if gone { 0 } else { RETRY_NS };
                let until = self.journal.files().now_ns() + wait;
                self.refused.insert((who.to_owned(), lever), (line.clone(), until));
                self.outcome.refused.push((who.to_owned(), lever, line));
            }
            Failure::TakenOver => self.taken = true,
        }
    }

    /// Whether a lever was refused a short while ago; it is told again then.
    fn was_refused(&mut self, who: &str, lever: Lever) -> bool {
        let now = self.journal.files().now_ns();
        let Some((line, until)) = self.refused.get(&(who.to_owned(), lever)) else { return false };
        if *until <= now {
            return false;
        }
        self.outcome.refused.push((who.to_owned(), lever, line.clone()));
        true
    }

    /// Whether guard has changed a file and holds it.
    fn holds(&self, path: &Path) -> bool {
        self.journal.original(path).is_some()
    }

    /// What a file was before guard, or is, where guard has not changed it.
    fn original(&self, path: &Path) -> Option<String> {
        match self.journal.original(path) {
            Some(text) => Some(text.to_owned()),
            None => self.journal.files().read(path).ok(),
        }
    }
}

impl Drop for Levers {
    fn drop(&mut self) {
        self.restore();
    }
}
