//! Trials of a cell in blocks: what counts, and the baseline that a trial's turn has.
//!
//! Figures are ratios inside a block. A block whose two baselines differ says that the machine changed
//! meanwhile, and is left out whole.

use std::collections::BTreeMap;

use model::{
    cell::Cell,
    traffic::TrafficReading,
    trial::{ALONE, APPLICATION, Purpose, Trial},
};

use super::seconds;
use crate::limited::LeftOut;

/// The most that the baselines of a real-time block may differ, of their mean.
const DRIFT: f64 = 0.05;
/// The most that the hypervisor may take in a trial of real time.
const STOLEN: f64 = 0.02;

/// A block: its trials by arm, and its baselines.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// Traffic alone, by turn.
    pub(super) alone: Vec<(u32, &'a TrafficReading)>,
    pub(super) application: Option<&'a TrafficReading>,
    /// Both, by control, with the turn.
    pub(super) controlled: BTreeMap<&'a str, (u32, &'a TrafficReading)>,
}

impl<'a> Block<'a> {
    pub(super) fn under(&self, control: &str) -> Option<&'a TrafficReading> {
        self.controlled.get(control).map(|(_, record)| *record)
    }

    /// What a quantity of traffic alone would have been at this turn: on the line between the baselines around
    /// it.
    pub(super) fn baseline(
        &self,
        turn: u32,
        of: impl Fn(&TrafficReading) -> Option<f64>,
    ) -> Option<f64> {
        let value = |at: &(u32, &TrafficReading)| of(at.1).map(|value| (f64::from(at.0), value));
        let (first, last) = (value(self.alone.first()?)?, value(self.alone.last()?)?);
        let width = last.0 - first.0;
        let along = if width > 0.0 { (f64::from(turn) - first.0) / width } else { 0.0 };
        Some(first.1 + (last.1 - first.1) * along.clamp(0.0, 1.0))
    }

    /// A quantity under a control against the baseline at its turn.
    pub(super) fn ratio(
        &self,
        control: &str,
        of: impl Fn(&TrafficReading) -> Option<f64>,
    ) -> Option<f64> {
        let (turn, record) = self.controlled.get(control)?;
        let ratio = of(record)? / self.baseline(*turn, &of)?;
        ratio.is_finite().then_some(ratio)
    }

    /// Application work under a control against the application alone: its operations, or its CPU time where
    /// it counts too coarsely for a window.
    pub(super) fn work(&self, control: &str) -> Option<f64> {
        let alone = self.application?;
        let of = if seconds::counts_finely(alone) {
            seconds::operations
        } else {
            seconds::application_ran
        };
        let ratio = of(self.under(control)?)? / of(alone)?;
        ratio.is_finite().then_some(ratio)
    }
}

/// The blocks of a cell that count, and the trials that do not.
pub(super) fn of<'a>(
    cell: &Cell,
    trials: &'a [Trial],
    name: &str,
) -> (Vec<Block<'a>>, Vec<LeftOut>) {
    let real_time = !cell.is_counted();
    let mut left_out = Vec::new();
    let mut blocks: BTreeMap<u32, Vec<(&Trial, &TrafficReading)>> = BTreeMap::new();
    let here = |trial: &&Trial| {
        let id = &trial.planned.id;
        id.cell == cell.name && id.purpose != Purpose::Stacks && !is_modelled(trial)
    };
    for trial in trials.iter().filter(here) {
        let record = trial.reading().and_then(|reading| reading.traffic.as_deref());
        let Some(record) = record else { continue };
        match disturbed(record, real_time) {
            None => {
                blocks.entry(trial.planned.id.repetition - 1).or_default().push((trial, record));
            }
            Some(why) => left_out.push(LeftOut::of(name, trial, why)),
        }
    }
    let mut whole = Vec::new();
    for mut trials in blocks.into_values() {
        trials.sort_by_key(|(trial, _)| trial.planned.turn);
        let block = gathered(&trials);
        match drifted(&block).filter(|_| real_time) {
            Some(why) => left_out
                .extend(trials.iter().map(|(trial, _)| LeftOut::of(name, trial, why.clone()))),
            None => whole.push(block),
        }
    }
    (whole, left_out)
}

/// Whether a trial ran in modelled caches: it counts accesses and says nothing of time.
pub(super) fn is_modelled(trial: &Trial) -> bool {
    trial.reading().is_some_and(|reading| reading.caches.is_some())
}

fn gathered<'a>(trials: &[(&'a Trial, &'a TrafficReading)]) -> Block<'a> {
    let mut block = Block { alone: Vec::new(), application: None, controlled: BTreeMap::new() };
    for (trial, record) in trials.iter().copied() {
        match trial.planned.id.variant.as_str() {
            ALONE => block.alone.push((trial.planned.turn, record)),
            APPLICATION => block.application = Some(record),
            name => {
                block.controlled.insert(name, (trial.planned.turn, record));
            }
        }
    }
    block
}

/// Why a trial of real time does not count.
fn disturbed(record: &TrafficReading, real_time: bool) -> Option<String> {
    let stolen = seconds::stolen(record);
    (real_time && stolen > STOLEN)
        .then(|| format!("the hypervisor took {:.1} % of the CPUs meanwhile", 100.0 * stolen))
}

/// Why a block of real time does not count.
fn drifted(block: &Block<'_>) -> Option<String> {
    let (first, last) = (block.alone.first()?, block.alone.last()?);
    let (first, last) = (seconds::received(first.1)?, seconds::received(last.1)?);
    let apart = (first - last).abs() / ((first + last) / 2.0);
    (apart > DRIFT).then(|| {
        format!("traffic alone differed by {:.1} % between the block's two ends", 100.0 * apart)
    })
}
