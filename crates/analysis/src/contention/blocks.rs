//! Bouts of a cell in blocks: what counts, and the baseline that a bout's turn has.
//!
//! Figures are ratios inside a block. A block whose two baselines differ says that the machine changed
//! meanwhile, and is left out whole.

use std::collections::BTreeMap;

use model::contention::{Arm, Fought, Machine, Outcome, Record, Run};
use model::study::Mode;

use super::{LeftOut, seconds};

/// The most that the baselines of a real-time block may differ, of their mean.
const DRIFT: f64 = 0.05;
/// The most that the hypervisor may take in a bout of real time.
const STOLEN: f64 = 0.02;

/// A block: its bouts by arm, and its baselines.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// Traffic alone, by turn.
    pub(super) alone: Vec<(u32, &'a Record)>,
    /// The application alone.
    pub(super) application: Option<&'a Record>,
    /// Both, by control, with the turn.
    pub(super) controlled: BTreeMap<&'a str, (u32, &'a Record)>,
}

impl<'a> Block<'a> {
    /// Both under a control.
    pub(super) fn under(&self, control: &str) -> Option<&'a Record> {
        self.controlled.get(control).map(|(_, record)| *record)
    }

    /// What a quantity of traffic alone would have been at this turn: on the line between the baselines around
    /// it.
    pub(super) fn baseline(&self, turn: u32, of: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
        let value = |at: &(u32, &Record)| of(at.1).map(|value| (f64::from(at.0), value));
        let (first, last) = (value(self.alone.first()?)?, value(self.alone.last()?)?);
        let width = last.0 - first.0;
        let along = if width > 0.0 { (f64::from(turn) - first.0) / width } else { 0.0 };
        Some(first.1 + (last.1 - first.1) * along.clamp(0.0, 1.0))
    }

    /// A quantity under a control against the baseline at its turn.
    pub(super) fn ratio(&self, control: &str, of: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
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

/// The blocks of a cell that count, and the bouts that do not.
pub(super) fn of<'a>(
    run: &Run,
    fought: &'a [Fought],
    number: usize,
    name: &str,
) -> (Vec<Block<'a>>, Vec<LeftOut>) {
    let real_time = is_real_time(run, number);
    let mut left_out = Vec::new();
    let mut blocks: BTreeMap<u32, Vec<(&Fought, &Record)>> = BTreeMap::new();
    let plain = |bout: &&Fought| bout.cell as usize == number && bout.caches.is_none();
    for bout in fought.iter().filter(plain) {
        let why = match &bout.outcome {
            Outcome::Failed(why) => Some(why.clone()),
            Outcome::Fought(record) => disturbed(record, real_time),
        };
        match (&bout.outcome, why) {
            (Outcome::Fought(record), None) => {
                blocks.entry(bout.block).or_default().push((bout, record.as_ref()));
            }
            (_, why) => left_out.push(left(name, bout, why.unwrap_or_default())),
        }
    }
    let mut whole = Vec::new();
    for mut bouts in blocks.into_values() {
        bouts.sort_by_key(|(bout, _)| bout.turn);
        let block = gathered(&bouts);
        match drifted(&block).filter(|_| real_time) {
            Some(why) => {
                left_out.extend(bouts.iter().map(|(bout, _)| left(name, bout, why.clone())))
            }
            None => whole.push(block),
        }
    }
    (whole, left_out)
}

fn is_real_time(run: &Run, number: usize) -> bool {
    let place = &run.study.cells[number].place;
    let place = run.study.places.iter().find(|known| known.name == *place);
    place.is_none_or(|place| place.on == Machine::Host || place.mode == Mode::RealTime)
}

fn gathered<'a>(bouts: &[(&'a Fought, &'a Record)]) -> Block<'a> {
    let mut block = Block { alone: Vec::new(), application: None, controlled: BTreeMap::new() };
    for (bout, record) in bouts.iter().copied() {
        match &bout.arm {
            Arm::Alone => block.alone.push((bout.turn, record)),
            Arm::Application => block.application = Some(record),
            Arm::Control(name) => {
                block.controlled.insert(name, (bout.turn, record));
            }
        }
    }
    block
}

/// Why a bout of real time does not count.
fn disturbed(record: &Record, real_time: bool) -> Option<String> {
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

fn left(name: &str, bout: &Fought, why: String) -> LeftOut {
    let arm = match &bout.arm {
        Arm::Alone => "alone",
        Arm::Application => "application",
        Arm::Control(name) => name,
    };
    LeftOut { cell: name.to_owned(), arm: arm.to_owned(), block: bout.block, why }
}
