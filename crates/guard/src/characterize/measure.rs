//! Drives senses and actuator through the blocks, and gives what was measured.
//!
//! The actuator is the loop's: its journal and its watchdog put everything back, however this ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{IsTerminal, Write},
};

use linux::{error::chain, system::boottime_ns};

use super::{
    blocks::{Setting, Turn, order},
    curve::{NOTHING, Sample},
};
use crate::{
    bounds::Bounds,
    decide::{self, Decision, Outcome, State},
    failure::Failure,
    flags,
    groups::{Applications, Hierarchies},
    policy::Policy,
    reading::Reading,
    run::{actuator::Actuator, guard::watched, signals::Signals},
    sense::{self, Senses},
    status::words::span,
};

/// A change of bounds takes so long to show, ns: queues drain, and schedulers forget.
const SETTLE_NS: u64 = 600_000_000;

/// Everything that one measurement needs.
#[derive(Debug)]
pub struct Measure<'a> {
    policy: Policy,
    ladder: &'a [Setting],
    applications: Applications,
    senses: Senses,
    actuator: Actuator,
    signals: Signals,
    span_ns: u64,
    /// Why settings were left out, and which.
    left_out: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Measure<'a> {
    /// Opens the senses and takes the state folder.
    ///
    /// # Errors
    ///
    /// As those of `guard run`.
    pub fn open(
        flags: &flags::Characterize,
        policy: &Policy,
        ladder: &'a [Setting],
        signals: Signals,
    ) -> Result<Self, Failure> {
        // The knob's own law is not asked here; the share kept is measured in its plain form.
        let mut policy = policy.clone();
        policy.protect.target = None;
        let applications =
            Applications::find(&policy, &Hierarchies::find()).map_err(|refusal| {
                Failure::usage(format!("{}: {}", flags.policy.display(), chain(&refusal)))
            })?;
        let absent = applications.unmatched();
        if !absent.is_empty() && absent.len() == applications.list().len() {
            return Err(Failure::invalid(
                "none of the policy's applications is here: start them, or let --stressor stand in",
            ));
        }
        let (actuator, _) = Actuator::take(&flags.place.state, applications.hierarchies(), false)?;
        let senses = Senses::open(&policy, sense::Sources::live())
            .map_err(|error| Failure::environment(&error))?;
        let span_ns = flags.span.as_nanos();
        Ok(Self {
            policy,
            ladder,
            applications,
            senses,
            actuator,
            signals,
            span_ns,
            left_out: BTreeMap::new(),
        })
    }

    /// Measures all blocks; what was measured, and what was left out and why. Everything is put back.
    ///
    /// # Errors
    ///
    /// Where a signal came, or the senses fail.
    pub fn blocks(
        mut self,
        blocks: u32,
        seed: u64,
        progress: &mut Progress,
    ) -> Result<(Vec<Sample>, Vec<String>), Failure> {
        let measured = self.all(blocks, seed, progress);
        let report = self.actuator.restore();
        progress.end();
        if !report.failed.is_empty() {
            return Err(Failure::invalid(format!("not everything could be put back:\n{report}")));
        }
        let left_out = self.left_out.iter().map(|(why, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("left out at least once: {}: {why}", names.join(", "))
        });
        Ok((measured?, left_out.collect()))
    }

    fn all(
        &mut self,
        blocks: u32,
        seed: u64,
        progress: &mut Progress,
    ) -> Result<Vec<Sample>, Failure> {
        let mut samples = Vec::new();
        let each = (self.ladder.len() + 2) as u64;
        let turn_ns = self.span_ns + SETTLE_NS;
        let mut left = each * u64::from(blocks);
        for block in 0..blocks {
            for turn in order(self.ladder.len(), block, seed) {
                progress.show(block + 1, self.name(turn), left * turn_ns);
                left -= 1;
                if self.set(turn) {
                    let tally = self.tally()?;
                    samples.push(tally.sample(block, turn));
                }
            }
        }
        Ok(samples)
    }

    fn name(&self, turn: Turn) -> &'a str {
        match turn {
            Turn::Baseline => NOTHING,
            Turn::Setting(nth) => &self.ladder[nth].name,
        }
    }

    /// Bounds every application so; whether the device takes it.
    fn set(&mut self, turn: Turn) -> bool {
        self.applications.refresh();
        let bounds = match turn {
            Turn::Baseline => Bounds::default(),
            Turn::Setting(nth) => self.ladder[nth].bounds.clone(),
        };
        let bounds = vec![bounds; self.applications.list().len()];
        let decision = Decision { bounds, ..Decision::default() };
        let Outcome { refused, overruled, .. } =
            self.actuator.apply(&self.applications, &decision, &Reading::default());
        let why = refused.first().map(|(_, _, why)| why).or(overruled.first());
        if let Some(why) = why {
            let name = self.name(turn).to_owned();
            self.left_out.entry(why.clone()).or_default().insert(name);
        }
        why.is_none()
    }

    /// Waits until the setting shows, then measures for the span.
    fn tally(&mut self) -> Result<Tally, Failure> {
        let mut tally = Tally::default();
        let begin = boottime_ns() + SETTLE_NS;
        while boottime_ns() < begin {
            self.tick()?;
        }
        let end = boottime_ns() + self.span_ns;
        while boottime_ns() < end {
            let reading = self.tick()?;
            tally.take(&self.policy, &reading);
        }
        Ok(tally)
    }

    fn tick(&mut self) -> Result<Reading, Failure> {
        let woken = self.senses.wait(true, &self.signals.descriptors()[..1]);
        woken.map_err(|error| Failure::environment(&error))?;
        if self.signals.stops() {
            return Err(Failure::interrupted());
        }
        // What the watchdog has to say shows in the figures' doubts: a setting that was lost is refused next.
        let _ = self.actuator.beat();
        Ok(self.senses.read(&watched(&self.applications)))
    }
}

/// Ticks of one measurement, added up.
#[derive(Debug, Default)]
struct Tally {
    span_ns: u64,
    bytes: u64,
    ran_ns: u64,
    kept: f64,
    /// Ticks with demand.
    asked: u32,
}

impl Tally {
    fn take(&mut self, policy: &Policy, reading: &Reading) {
        self.span_ns += reading.span_ns;
        self.bytes += reading.interfaces.iter().map(|one| one.rx_bytes + one.tx_bytes).sum::<u64>();
        self.ran_ns += reading.applications.iter().map(|one| one.ran_ns).sum::<u64>();
        if let Some(kept) = kept(policy, reading) {
            self.kept += kept;
            self.asked += 1;
        }
    }

    fn sample(&self, block: u32, turn: Turn) -> Sample {
        let span = self.span_ns.max(1) as f64;
        Sample {
            block,
            turn,
            wifi_kept: (self.asked > 0).then(|| self.kept / f64::from(self.asked)),
            rate_bps: self.bytes as f64 * 8e9 / span,
            application_cpus: self.ran_ns as f64 / span,
        }
    }
}

/// The share of Wi-Fi's work that was kept in this tick alone, by the decision's own measure: that of a tick
/// which follows one like it.
fn kept(policy: &Policy, reading: &Reading) -> Option<f64> {
    let at_ns = reading.at_ns.saturating_sub(reading.span_ns);
    let state = State { at_ns, span_ns: reading.span_ns, ..State::default() };
    decide::decide(policy, &state, reading, &Outcome::default()).1.kept
}

/// Where the measurement is, for the one that waits: a line that is written over on a terminal, a line for each block
/// elsewhere.
#[derive(Debug)]
pub struct Progress {
    name: String,
    terminal: bool,
    blocks: u32,
    block: u32,
}

impl Progress {
    /// For a program of this name, and this many blocks.
    pub fn new(name: &str, blocks: u32) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { name: name.to_owned(), terminal, blocks, block: 0 }
    }

    fn show(&mut self, block: u32, what: &str, left_ns: u64) {
        let blocks = self.blocks;
        let left = span(left_ns as f64 / 1e9);
        let mut err = std::io::stderr();
        // No one is left to be told where this fails.
        let _ = match (self.terminal, self.block == block) {
            (true, _) => write!(
                err,
                "\r\x1b[K{}: block {block} of {blocks}, {what}, about {left} left",
                self.name
            ),
            (false, true) => Ok(()),
            (false, false) => {
                writeln!(err, "{}: block {block} of {blocks}, about {left} left", self.name)
            }
        };
        let _ = err.flush();
        self.block = block;
    }

    fn end(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
