//! The application: stress-ng in the trial's group, and what it got done.
//!
//! It is ended by SIGINT, on which it says what it has done; its operations are read from the file that it
//! then writes. A swap ends one stressor and starts the other; operations of both are added up, so that a
//! swapped application's work is better read from its CPU time.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use linux::{place::Place, system, system::monotonic_ns};
use model::{
    traffic::{Application as Ordered, Work},
    wire::Refusal,
};
use rustix::process::Signal;

use super::{group::Group, refused, start_program};
use crate::companions::Companion;

/// The application at work. Dropping it ends it, by its group.
#[derive(Debug)]
pub(super) struct Application {
    ordered: Ordered,
    folder: PathBuf,
    groups: Vec<PathBuf>,
    running: Option<Stressor>,
    began_ns: u64,
    /// Its group's CPU time then.
    began_used_ns: u64,
    swapped: bool,
    next_swap_ns: u64,
    /// Those that have been asked to end.
    ended: Vec<Stressor>,
    starts: u32,
}

#[derive(Debug)]
struct Stressor {
    program: Companion,
    figures: PathBuf,
}

impl Application {
    pub(super) fn start(ordered: &Ordered, group: &Group, folder: &Path) -> Result<Self, Refusal> {
        let began_ns = monotonic_ns();
        let every = ordered.swap.as_ref().map(|(_, every)| every.as_nanos().max(1_000_000));
        let mut application = Self {
            ordered: ordered.clone(),
            folder: folder.to_owned(),
            groups: group.folders().to_vec(),
            running: None,
            began_ns,
            began_used_ns: group.used_ns().unwrap_or_default(),
            swapped: false,
            next_swap_ns: every.map_or(u64::MAX, |every| began_ns + every),
            ended: Vec::new(),
            starts: 0,
        };
        application.begin()?;
        Ok(application)
    }

    pub(super) fn began_ns(&self) -> u64 {
        self.began_ns
    }

    pub(super) fn due_ns(&self) -> u64 {
        self.next_swap_ns
    }

    pub(super) fn advance(&mut self, now: u64) -> Result<(), Refusal> {
        if now < self.next_swap_ns {
            return Ok(());
        }
        if let Some((_, every)) = &self.ordered.swap {
            self.next_swap_ns += every.as_nanos().max(1_000_000);
        }
        self.swapped = !self.swapped;
        self.ask_to_end();
        self.begin()
    }

    fn begin(&mut self) -> Result<(), Refusal> {
        let stressor = match (&self.ordered.swap, self.swapped) {
            (Some((other, _)), true) => other.clone(),
            _ => self.ordered.stressor.clone(),
        };
        if stressor.is_empty() {
            return Ok(());
        }
        self.starts += 1;
        let figures = self.folder.join(format!("figures.{}", self.starts));
        let workers = u64::from(self.ordered.workers) * system::cpus_online();
        let mut words = vec![stressor, workers.to_string()];
        words.extend(self.ordered.words.iter().cloned());
        words.extend(["--metrics", "--temp-path", ".", "--yaml"].map(str::to_owned));
        words.push(figures.display().to_string());
        self.running = Some(Stressor::start(&words, &self.groups, &self.folder, figures)?);
        Ok(())
    }

    fn ask_to_end(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.program.signal(Signal::INT);
        self.ended.push(running);
    }

    /// Refuses where it has ended by itself.
    pub(super) fn look(&mut self) -> Result<(), Refusal> {
        let look = |running: &mut Stressor| running.program.look("the application");
        self.running.as_mut().map_or(Ok(()), look)
    }

    /// Asks it to end; [`Application::is_over`] says when it has.
    pub(super) fn wind_up(&mut self) {
        self.next_swap_ns = u64::MAX;
        self.ask_to_end();
    }

    pub(super) fn is_over(&mut self) -> bool {
        self.ended.iter_mut().all(Stressor::has_ended) && self.running.is_none()
    }

    /// What it got done in its life, once it is over.
    pub(super) fn work(&self, group: &Group) -> Work {
        let used_ns = group.used_ns().unwrap_or_default();
        Work {
            operations: self.ended.iter().map(Stressor::operations).fold(0.0, |sum, one| sum + one),
            life_ns: monotonic_ns().saturating_sub(self.began_ns),
            life_ran_ns: used_ns.saturating_sub(self.began_used_ns),
            ..Work::default()
        }
    }
}

impl Stressor {
    fn start(
        words: &[String],
        groups: &[PathBuf],
        folder: &Path,
        figures: PathBuf,
    ) -> Result<Self, Refusal> {
        let mut command = Command::new("stress-ng");
        command.current_dir(folder);
        let what = format!("cannot start `stress-ng {}`", words.join(" "));
        let place = Place::default().groups(groups).map_err(refused(what))?.ends_with_us();
        Ok(Self { program: start_program(command, words, place)?, figures })
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.program.child.try_wait(), Ok(Some(_)))
    }

    fn operations(&self) -> f64 {
        fs::read_to_string(&self.figures).map_or(0.0, |text| operations(&text))
    }
}

/// Operations of all stressors, from what `stress-ng --yaml` writes.
fn operations(text: &str) -> f64 {
    let values = text.lines().filter_map(|line| line.trim().strip_prefix("bogo-ops:"));
    values.filter_map(|value| value.trim().parse::<f64>().ok()).fold(0.0, |sum, value| sum + value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_those_of_all_stressors_and_no_rate() {
        let text = "\
metrics:
    - stressor: stream
      bogo-ops: 7
      bogo-ops-per-second-real-time: 3.097888
    - stressor: vm
      bogo-ops: 30
";
        assert!((operations(text) - 37.0).abs() < 1e-9);
        assert!(operations("").abs() < 1e-9);
    }
}
