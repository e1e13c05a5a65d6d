//! What became of Wi-Fi and application under each control, from ratios inside blocks.

use model::{
    run::Run,
    study::Variant,
    traffic::{Control, TrafficReading},
};

use super::{Arm, Guarding, Level, blocks::Block, seconds};
use crate::stats::{Estimate, nearest_rank};

pub(super) use model::trial::NONE;

/// Traffic alone, over the baselines of all blocks.
pub(super) fn alone(blocks: &[Block<'_>]) -> Option<Level> {
    let records: Vec<&TrafficReading> =
        blocks.iter().flat_map(|block| block.alone.iter().map(|(_, record)| *record)).collect();
    let each = |of: &dyn Fn(&TrafficReading) -> Option<f64>| {
        let values: Vec<f64> = records.iter().filter_map(|record| of(record)).collect();
        Estimate::of(&values)
    };
    Some(Level {
        megabits: each(&|record| seconds::received(record).map(megabits))?,
        packets: each(&seconds::received_packets)?,
        p50_us: each(&|record| seconds::round_trip(record, 0.5)),
        p99_us: each(&|record| seconds::round_trip(record, 0.99)),
        cpu: each(&seconds::cpu_used)?,
    })
}

fn megabits(bytes: f64) -> f64 {
    bytes * 8.0 / 1e6
}

/// The application alone, operations in a second.
pub(super) fn application_alone(blocks: &[Block<'_>]) -> Option<Estimate> {
    let each = blocks.iter().filter_map(|block| seconds::operations(block.application?));
    Estimate::of(&each.collect::<Vec<_>>())
}

/// Every control that was tried: `none` first, then in the study's order.
pub(super) fn all(run: &Run, blocks: &[Block<'_>]) -> Vec<Arm> {
    let controls = &run.study.variants;
    let cure = controls.iter().find(|one| is_guard(one)).map(|one| one.name.as_str());
    let was_tried = |name: &str| blocks.iter().any(|block| block.under(name).is_some());
    let none = was_tried(NONE).then(|| arm(NONE, blocks));
    let named = controls.iter().filter(|one| one.name != *NONE && was_tried(&one.name));
    let named = named.map(|one| Arm {
        fixed: one.candidate,
        reported: one.reported,
        is_guard: is_guard(one),
        is_cure: cure == Some(&*one.name),
        ..arm(&one.name, blocks)
    });
    none.into_iter().chain(named).collect()
}

pub(super) fn is_guard(control: &Variant) -> bool {
    matches!(control.control, Control::Guard(_))
}

fn arm(control: &str, blocks: &[Block<'_>]) -> Arm {
    let each = |of: &dyn Fn(&Block<'_>) -> Option<f64>| {
        Estimate::of(&blocks.iter().filter_map(of).collect::<Vec<_>>())
    };
    let of_record = |of: &dyn Fn(&TrafficReading) -> Option<f64>| {
        each(&|block: &Block<'_>| of(block.under(control)?))
    };
    let seconds = kept_seconds(control, blocks);
    Arm {
        control: control.to_owned(),
        fixed: false,
        reported: false,
        is_guard: false,
        is_cure: false,
        megabits: of_record(&|record| seconds::received(record).map(megabits)),
        kept: each(&|block: &Block<'_>| kept(block, control).map(|kept| kept.min(1.0))),
        kept_uncapped: each(&|block: &Block<'_>| kept(block, control)),
        kept_p01: nearest_rank(seconds.clone(), 0.01),
        seconds,
        restored: each(&|block: &Block<'_>| restored(block, control)).filter(|_| control != NONE),
        p50_us: of_record(&|record| seconds::round_trip(record, 0.5)),
        p99_us: of_record(&|record| seconds::round_trip(record, 0.99)),
        p99_ratio: each(&|block: &Block<'_>| {
            block.ratio(control, |record| seconds::round_trip(record, 0.99))
        }),
        work: each(&|block: &Block<'_>| block.work(control)),
        cpu: of_record(&seconds::cpu_used),
        guard: guarding(control, blocks),
    }
}

/// Wi-Fi kept in one block, as it was.
pub(super) fn kept(block: &Block<'_>, control: &str) -> Option<f64> {
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

fn guarding(control: &str, blocks: &[Block<'_>]) -> Option<Guarding> {
    let records: Vec<&TrafficReading> =
        blocks.iter().filter_map(|block| block.under(control)).collect();
    let of: Vec<_> =
        records.iter().filter_map(|record| Some((record, record.guard.as_ref()?))).collect();
    let each = |value: &dyn Fn(&TrafficReading, &model::traffic::Guarding) -> f64| {
        Estimate::of(&of.iter().map(|(record, guard)| value(record, guard)).collect::<Vec<_>>())
    };
    let minutes = |record: &TrafficReading| record.window_ns.max(1) as f64 / 60e9;
    Some(Guarding {
        core: each(&|record, guard| guard.ran_ns as f64 / record.window_ns.max(1) as f64)?,
        resident_kib: of.iter().map(|(_, guard)| guard.resident_kib).max()?,
        writes_a_minute: each(&|record, guard| guard.writes as f64 / minutes(record))?,
        protect_ms: of.iter().map(|(_, guard)| guard.protect_ms).collect(),
        decisions: of.first()?.1.decisions.clone(),
        restored: of.iter().filter(|(_, guard)| guard.restored).count() as u32,
        trials: of.len() as u32,
    })
}
