//! Controls against each other, second by second: which one keeps more Wi-Fi, decided as `headroom compare` decides.
//!
//! Both sides of a pair are of one block and start in one state. What is judged is what arrived, so more is better; a
//! second in which a side carried far less than its pair's others is an event of that side.

use model::{cell::Cell, run::Run, traffic::TrafficReading, trial::NONE};

use super::{blocks::Block, seconds};
use crate::{
    judge::{self, InStep, Question},
    limited::Versus,
    steady::Periods,
    verdicts::{Judgement, NoPeriods, Quantity},
};

/// Samples are a second apart.
const SECOND_NS: u64 = 1_000_000_000;
/// Bursts of which so many rounds are no whole number of seconds are in no step with samples.
const MOST_ROUNDS: u64 = 10;

/// The study's question, or every control against none.
pub(super) fn all(run: &Run, blocks: &[Block<'_>], cell: &Cell, name: &str) -> Vec<Versus> {
    let asked = run.versus.as_ref();
    let controls = run.study.variants.iter().map(|control| control.name.as_str());
    let sides: Vec<[&str; 2]> = match asked {
        Some(asked) => vec![[&asked.base, &asked.variant]],
        None => controls.filter(|name| *name != NONE).map(|name| [NONE, name]).collect(),
    };
    let of = |sides: [&str; 2]| {
        let pairs = blocks.iter().filter_map(|block| {
            let [base, variant] = sides.map(|side| block.under(side));
            Some([base?, variant?])
        });
        let pairs: Vec<[&TrafficReading; 2]> = pairs.collect();
        let versus =
            || Versus { cell: name.to_owned(), judgement: versus(run, cell, sides, &pairs) };
        (!pairs.is_empty() || asked.is_some()).then(versus)
    };
    sides.into_iter().filter_map(of).collect()
}

fn versus(run: &Run, cell: &Cell, sides: [&str; 2], pairs: &[[&TrafficReading; 2]]) -> Judgement {
    let question = Question::of_sides(&run.study, sides, "Wi-Fi");
    let rate = |record: &TrafficReading| seconds::received(record).map(kilobits);
    judge::of_pairs(&question, (Quantity::Wifi, rate), pairs, |pairs| in_step(run, cell, pairs))
}

fn kilobits(bytes: f64) -> f64 {
    bytes * 8.0 / 1e3
}

/// The pairs second by second, or round by round of bursts; or why they are compared whole. Periods are of what did not
/// arrive, so that less is better.
fn in_step(run: &Run, cell: &Cell, pairs: &[[&TrafficReading; 2]]) -> Result<InStep, NoPeriods> {
    if !cell.is_counted() {
        return Err(NoPeriods::RealTime);
    }
    let steps = steps(run, cell).ok_or(NoPeriods::OutOfStep)?;
    let cut = |[base, variant]: &[&TrafficReading; 2]| {
        let periods = |record: &TrafficReading| -> Vec<f64> {
            let period = |seconds: &[model::traffic::Second]| {
                let bytes: u64 = seconds.iter().map(|second| second.received_bytes).sum();
                -kilobits(bytes as f64 / seconds.len() as f64)
            };
            record.seconds.chunks_exact(steps).map(period).collect()
        };
        let [of_base, of_variant] = [base, variant].map(|record| periods(record));
        let total = kilobits(seconds::received(base)?) - kilobits(seconds::received(variant)?);
        let each = of_variant.into_iter().zip(of_base).collect();
        (base.seconds.len() == variant.seconds.len()).then_some(Periods { each, total })
    };
    InStep::of(pairs, steps as f64, cut)
}

/// Seconds that are whole rounds of the cell's bursts; one where traffic has none. `None` where there are none.
fn steps(run: &Run, cell: &Cell) -> Option<usize> {
    let Some((on, off)) = run.study.traffic_of(cell)?.bursts else { return Some(1) };
    let round_ns = on.as_nanos() + off.as_nanos();
    let whole = (1..=MOST_ROUNDS).map(|rounds| rounds * round_ns);
    let whole = whole.into_iter().find(|ns| ns.is_multiple_of(SECOND_NS))?;
    usize::try_from(whole / SECOND_NS).ok().filter(|steps| *steps > 0)
}
