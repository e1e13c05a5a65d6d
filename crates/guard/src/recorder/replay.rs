//! A recording through the same function again: does it decide the same, and what would another policy have
//! decided on the same readings.

use std::{
    io::{self, BufRead, Read},
    path::Path,
};

use linux::file;

use super::{Line, Tick, VERSION, older};
use crate::{
    decide::{Decision, State, decide},
    policy::Policy,
    status::words,
};

/// Differences that are kept; the rest is counted.
const MOST_KEPT: usize = 200;
/// A reading of hundreds of applications has some KiB, bytes.
const LONGEST_LINE: u64 = 4 << 20;
/// Figures that differ by less are the same: other processors round the last digit otherwise.
const SAME: f64 = 1e-9;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Ticks that were decided again.
    pub ticks: u64,
    /// Ticks that could not be, for no state is known: the beginning of a file was lost.
    pub unknown: u64,
    /// Times that ticks had been left out or lost before one.
    pub gaps: u64,
    /// Ticks that were decided otherwise.
    pub different: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// What the policies that it was decided with keep for applications, in words, each once.
    pub floors: Vec<String>,
    /// Lines that could not be used.
    pub faults: Vec<Fault>,
}

/// A tick that was decided otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The tick, ns of the boot's clock.
    pub at_ns: u64,
    pub recorded: Decision,
    /// The one of the replay.
    pub replayed: Decision,
}

/// A line that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {why}; skipped")]
pub struct Fault {
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Report {
    /// Whether every tick was decided again as it had been.
    pub fn is_same(&self) -> bool {
        self.different == 0
    }
}

/// Decides a recording again with the policies that it holds.
///
/// # Errors
///
/// Neither file of the ring can be read.
pub fn replay(path: &Path) -> io::Result<Report> {
    Replay::default().through(path)
}

/// Decides a recording's readings with another policy. The readings stay those that the recorded bounds led to;
/// what the other policy would have led to, no one has seen.
pub fn replay_with(path: &Path, policy: &Policy) -> io::Result<Report> {
    Replay { other: Some(policy.clone()), ..Replay::default() }.through(path)
}

#[derive(Debug, Default)]
struct Replay {
    other: Option<Policy>,
    policy: Option<Policy>,
    state: Option<State>,
    report: Report,
}

impl Replay {
    fn through(mut self, path: &Path) -> io::Result<Report> {
        let old = older(path);
        if old.exists() {
            self.file(&old)?;
        }
        self.file(path)?;
        Ok(self.report)
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        let mut reader = io::BufReader::new(file::open(path)?);
        let mut bytes = Vec::new();
        for at in 0.. {
            bytes.clear();
            if reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            let is_torn = bytes.pop_if(|byte| *byte == b'\n').is_none();
            if bytes.is_empty() {
                continue;
            }
            if bytes.len() as u64 == LONGEST_LINE || self.report.faults.len() == MOST_KEPT {
                self.fault(path, at, "no recording of guard; the rest was not read".to_owned());
                break;
            }
            match serde_json::from_slice(&bytes) {
                Ok(line) => self.line(line).unwrap_or_else(|why| self.fault(path, at, why)),
                Err(_) if is_torn => {
                    self.fault(path, at, "the last line is torn, as by a loss of power".to_owned());
                }
                Err(error) => {
                    // What follows belongs to a state that this line would have led to.
                    self.state = None;
                    self.fault(path, at, format!("no line of a recording ({error})"));
                }
            }
        }
        Ok(())
    }

    fn fault(&mut self, path: &Path, at: usize, why: String) {
        let file = path.display().to_string();
        self.report.faults.push(Fault { file, line: at + 1, why });
    }

    fn line(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Head(head) if head.version == VERSION => self.policy = Some(head.policy),
            Line::Head(head) => {
                (self.policy, self.state) = (None, None);
                return Err(format!(
                    "version {}; this guard replays version {VERSION}",
                    head.version
                ));
            }
            Line::Tick(tick) => self.tick(*tick),
        }
        Ok(())
    }

    fn tick(&mut self, tick: Tick) {
        if let Some(recorded) = tick.state {
            self.report.gaps += u64::from(self.state.as_ref().is_some_and(|own| *own != recorded));
            // Another policy goes on with what it remembers itself.
            if self.other.is_none() || self.state.is_none() {
                self.state = Some(recorded);
            }
        }
        let policy = self.other.as_ref().or(self.policy.as_ref());
        let (Some(policy), Some(state)) = (policy, &self.state) else {
            self.report.unknown += 1;
            return;
        };
        for floor in words::floors(policy) {
            if !self.report.floors.contains(&floor) {
                self.report.floors.push(floor);
            }
        }
        let (next, replayed) = decide(policy, state, &tick.reading, &tick.outcome);
        self.state = Some(next);
        self.report.ticks += 1;
        if !are_same(&tick.decision, &replayed) {
            self.report.different += 1;
            if self.report.differences.len() < MOST_KEPT {
                let at_ns = tick.reading.at_ns;
                let recorded = tick.decision;
                self.report.differences.push(Difference { at_ns, recorded, replayed });
            }
        }
    }
}

/// Whether two decisions are the same; their words may differ.
fn are_same(one: &Decision, other: &Decision) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= SAME;
    let kept = match (one.kept, other.kept) {
        (Some(a), Some(b)) => near(a, b),
        (a, b) => a == b,
    };
    let offenders = one.offenders.len() == other.offenders.len()
        && one.offenders.iter().zip(&other.offenders).all(|(a, b)| a.0 == b.0 && near(a.1, b.1));
    kept && offenders
        && near(one.target, other.target)
        && (one.condition, &one.bounds, &one.placement, one.changed)
            == (other.condition, &other.bounds, &other.placement, other.changed)
}
