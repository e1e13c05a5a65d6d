//! What became of Wi-Fi and application under each control, from ratios inside blocks.

use model::{
    figure::Figure,
    run::Run,
    study::Variant,
    traffic::{Control, TrafficReading},
    trial::NONE,
};

use super::{Arm, Level, blocks::Block, seconds};
use crate::{
    metrics::{Metric, Point},
    stats::{Estimate, nearest_rank},
};

/// The figures of every control, block by block.
const FIGURES: [Figure; 9] = [
    Figure::Kept,
    Figure::KeptUncapped,
    Figure::Restored,
    Figure::P50,
    Figure::P99,
    Figure::P99Ratio,
    Figure::Work,
    Figure::CpuUse,
    Figure::Received,
];

/// Traffic alone, over the baselines of all blocks.
pub(super) fn alone(blocks: &[Block<'_>]) -> Option<Level> {
    let records = || blocks.iter().flat_map(|block| block.alone.iter().map(|(_, record)| *record));
    let each = |figure| {
        let values = records().filter_map(|record| of_record(figure, record));
        Estimate::of(&values.collect::<Vec<f64>>())
    };
    Some(Level { received: each(Figure::Received)?, p99: each(Figure::P99) })
}

/// Every control that was tried: `none` first, then in the study's order.
pub(super) fn all(run: &Run, blocks: &[Block<'_>], at: &Point) -> Vec<Arm> {
    let controls = &run.study.variants;
    let cure = controls.iter().find(|one| is_guard(one)).map(|one| one.name.as_str());
    let was_tried = |name: &str| blocks.iter().any(|block| block.under(name).is_some());
    let none = was_tried(NONE).then(|| arm(NONE, blocks, at));
    let named = controls.iter().filter(|one| one.name != *NONE && was_tried(&one.name));
    let named = named.map(|one| Arm {
        reported: one.reported,
        is_guard: is_guard(one),
        is_cure: cure == Some(&*one.name),
        ..arm(&one.name, blocks, at)
    });
    none.into_iter().chain(named).collect()
}

fn is_guard(control: &Variant) -> bool {
    matches!(control.control, Control::Guard(_))
}

fn arm(control: &str, blocks: &[Block<'_>], at: &Point) -> Arm {
    let at = Point { variant: control.to_owned(), ..at.clone() };
    let seconds = kept_seconds(control, blocks);
    let of = |figure| {
        let values = blocks.iter().filter_map(|block| of_block(figure, block, control));
        Metric::of_values(&at, figure, values.collect())
    };
    let worst = nearest_rank(seconds.clone(), 0.01);
    let mut rows: Vec<Metric> = FIGURES.into_iter().map(of).collect();
    rows.push(Metric::exact(&at, Figure::KeptP01, worst));
    let records = blocks.iter().filter_map(|block| block.under(control));
    let guard: Vec<_> = records.filter_map(|record| record.guard.clone()).collect();
    if let Some(first) = guard.first() {
        rows.extend([of(Figure::GuardCpu), of(Figure::GuardWrites)]);
        let most = guard.iter().map(|guard| guard.resident_kib).max();
        rows.push(Metric::exact(&at, Figure::GuardMemory, most.map(|kib| kib as f64)));
        let seconds = |ms: Option<u64>| ms.map_or(f64::INFINITY, |ms| ms as f64 / 1e3);
        let protect: Vec<f64> = guard.iter().map(|guard| seconds(guard.protect_ms)).collect();
        let held: Vec<f64> = protect.iter().copied().filter(|one| one.is_finite()).collect();
        // Where it never was held there is no mean, and its values say so.
        let mean = Estimate::of(if held.is_empty() { &[f64::MAX] } else { &held });
        rows.push(Metric::over(&at, Figure::Protect, mean).with_values(protect));
        let restored = guard.iter().filter(|guard| guard.restored).count() as f64;
        let restored = Some(restored / guard.len() as f64);
        rows.push(Metric::exact(&at, Figure::GuardRestored, restored));
        let decided = Some(first.decisions.len() as f64);
        let why = first.decisions.first().map(|(at, reason)| {
            format!("after {} s: {reason}", *at as f64 / 1e3).replace("after -", "after −")
        });
        rows.push(Metric::exact(&at, Figure::GuardDecisions, decided).because(why));
    }
    let (reported, is_guard, is_cure) = Default::default();
    Arm { control: control.to_owned(), reported, is_guard, is_cure, rows, seconds, guard }
}

/// A figure of one block under a control.
fn of_block(figure: Figure, block: &Block<'_>, control: &str) -> Option<f64> {
    match figure {
        Figure::Kept => Some(kept(block, control)?.min(1.0)),
        Figure::KeptUncapped => kept(block, control),
        Figure::Restored => restored(block, control).filter(|_| control != NONE),
        Figure::P99Ratio => block.ratio(control, |record| seconds::round_trip(record, 0.99)),
        Figure::Work => block.work(control),
        figure => of_record(figure, block.under(control)?),
    }
}

/// A figure of one trial by itself.
fn of_record(figure: Figure, record: &TrafficReading) -> Option<f64> {
    let (guard, window_ns) = (record.guard.as_ref(), record.window_ns.max(1) as f64);
    match figure {
        Figure::Received => seconds::received(record).map(|bytes| bytes * 8.0),
        Figure::P50 => seconds::round_trip(record, 0.5).map(|us| us / 1e6),
        Figure::P99 => seconds::round_trip(record, 0.99).map(|us| us / 1e6),
        Figure::CpuUse => seconds::cpu_used(record),
        Figure::GuardCpu => Some(guard?.ran_ns as f64 / window_ns),
        Figure::GuardWrites => Some(guard?.writes as f64 / (window_ns / 60e9)),
        _ => None,
    }
}

/// Wi-Fi kept in one block, as it was.
fn kept(block: &Block<'_>, control: &str) -> Option<f64> {
    block.ratio(control, seconds::received)
}

/// Every busy second's share of the baseline.
fn kept_seconds(control: &str, blocks: &[Block<'_>]) -> Vec<f64> {
    let of_block = |block: &Block<'_>| {
        let (turn, record) = block.controlled.get(control).copied()?;
        let alone = block.baseline(turn, seconds::received).filter(|alone| *alone > 0.0)?;
        let shares = seconds::busy(record).map(move |second| second.received_bytes as f64 / alone);
        Some(shares.collect::<Vec<f64>>())
    };
    blocks.iter().filter_map(of_block).flatten().collect()
}

/// The share of the block's loss without control that came back: `(W − W_none) / (1 − W_none)`.
fn restored(block: &Block<'_>, control: &str) -> Option<f64> {
    let without = kept(block, NONE)?;
    let with = kept(block, control)?.min(1.0);
    // A loss of less than a hundredth is noise, and its share means nothing.
    (without < 0.99).then(|| (with - without) / (1.0 - without))
}
