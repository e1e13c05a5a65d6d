//! Gate 0: is there harm, is it Wi-Fi's and not its endpoints', and which mechanism does it.
//!
//! A loss that is only starved endpoints looks like lost Wi-Fi. So a cell counts only where the sender waited
//! for a CPU no more than alone. What it offered is no sign: a sender feels the road's back-pressure, and so
//! offers less where less is forwarded. A receiver that waits behind the sender alone already is none either.

use model::{figure::Figure, trial::NONE};

use super::{Cell, Harm, blocks::Block, seconds};
use crate::stats::Estimate;

/// Harm: Wi-Fi kept is at most this, by its upper bound.
pub const KEPT: f64 = 0.75;
/// Harm: the 99th percentile of round trips is at least this many times that of traffic alone, by its lower
/// bound.
const SLOWER: f64 = 1.5;
/// A sender that waited for so much more of the window than alone may have starved.
const WAITED: f64 = 0.05;

const SENDER: &str = "sender";

/// The gate; `None` without traffic, application or a trial without control.
pub(super) fn of(cell: &Cell, blocks: &[Block<'_>]) -> Option<Harm> {
    let arm = cell.arm(NONE)?;
    let kept = &arm.of(Figure::Kept)?;
    cell.shape.application.as_ref()?;
    let p99 = arm.of(Figure::P99Ratio);
    let sender = |name: &str| name == SENDER;
    let endpoints_waited = mean(blocks, |block| seconds::waited(block.under(NONE)?, sender));
    let waited_alone = mean(blocks, |block| seconds::waited(block.alone.first()?.1, sender));
    let offered = mean(blocks, |block| block.ratio(NONE, seconds::offered_packets));
    let more = endpoints_waited.zip(waited_alone).map(|(loaded, alone)| loaded - alone);
    let fair = more.is_none_or(|more| more <= WAITED);
    let lost = upper(kept).is_some_and(|upper| upper <= KEPT);
    let slower = p99.as_ref().and_then(lower).is_some_and(|lower| lower >= SLOWER);
    let keeps = lower(kept).is_some_and(|lower| lower > KEPT);
    let as_quick = p99.as_ref().is_none_or(|p99| upper(p99).is_some_and(|one| one < SLOWER));
    let shown = match (lost || slower, keeps && as_quick) {
        (true, _) => fair.then_some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let why = match (lost || slower, fair) {
        (true, true) => harmed(kept, p99.as_ref()),
        (true, false) => format!(
            "what is lost may be the endpoints': the sender waited {} of the window for a CPU, alone {}",
            share(endpoints_waited),
            share(waited_alone)
        ),
        (false, _) => format!(
            "{}: {} of Wi-Fi kept (a harm cell keeps at most 75 % by its bound), p99 {} of alone's (at least 1.5 ×)",
            if shown.is_some() { "no harm" } else { undecided(cell.blocks) },
            share(Some(kept.mean)),
            p99.as_ref().map_or("–".to_owned(), |ratio| format!("{:.2} ×", ratio.mean)),
        ),
    };
    Some(Harm {
        shown,
        endpoints_waited,
        endpoints_waited_alone: waited_alone,
        offered,
        mechanism: mechanism(blocks),
        why,
    })
}

fn harmed(kept: &Estimate, slower: Option<&Estimate>) -> String {
    let slower = slower.map_or(String::new(), |ratio| format!(", p99 {:.2} × alone's", ratio.mean));
    format!("{} of Wi-Fi kept without control{slower}", share(Some(kept.mean)))
}

const fn undecided(blocks: u32) -> &'static str {
    if blocks < 2 {
        "not decided: one block has no interval"
    } else {
        "not decided, more blocks are needed"
    }
}

/// The upper bound; the mean of one block is no bound.
fn upper(estimate: &Estimate) -> Option<f64> {
    estimate.interval.map(|interval| interval.high)
}

fn lower(estimate: &Estimate) -> Option<f64> {
    estimate.interval.map(|interval| interval.low)
}

fn mean(blocks: &[Block<'_>], of: impl Fn(&Block<'_>) -> Option<f64>) -> Option<f64> {
    Estimate::of(&blocks.iter().filter_map(of).collect::<Vec<_>>()).map(|estimate| estimate.mean)
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{:.1} %", 100.0 * value))
}

/// Who waited, in a sentence: the thread that carries packets, or no one.
fn mechanism(blocks: &[Block<'_>]) -> String {
    let carriers = ["ksoftirqd", "napi", "driver", "kworker"];
    let waits = carriers.map(|carrier| {
        let is = move |name: &str| name.starts_with(carrier);
        let waited = mean(blocks, |block| seconds::waited(block.under(NONE)?, is)).unwrap_or(0.0);
        let ran = mean(blocks, |block| Some(seconds::ran(block.under(NONE)?, is))).unwrap_or(0.0);
        let alone = mean(blocks, |block| Some(seconds::ran(block.alone.first()?.1, is)));
        (carrier, waited, ran, alone.unwrap_or(0.0))
    });
    let worst = waits.into_iter().max_by(|left, right| left.1.total_cmp(&right.1));
    match worst.filter(|(_, waited, ..)| *waited >= 0.02) {
        Some((carrier, waited, ran, alone)) => format!(
            "packet work in {carrier} waits for the CPU that the application has: it waited {} of the window and \
             ran {} (alone {})",
            share(Some(waited)),
            share(Some(ran)),
            share(Some(alone)),
        ),
        None => inline(blocks),
    }
}

/// No one waited: the work was done in interrupts, dearer or later than alone.
fn inline(blocks: &[Block<'_>]) -> String {
    let dropped = |record: &model::traffic::TrafficReading| {
        Some(record.cpus.iter().map(|cpu| cpu.dropped).sum::<u64>() as f64)
    };
    let without = mean(blocks, |block| dropped(block.under(NONE)?)).unwrap_or(0.0);
    let alone = mean(blocks, |block| dropped(block.alone.first()?.1)).unwrap_or(0.0);
    let softirq = |record: &model::traffic::TrafficReading| {
        let packets = seconds::received_packets(record)?;
        let time: u64 = record.cpus.iter().map(|cpu| cpu.softirq_ns + cpu.irq_ns).sum();
        let ns = time as f64 / (packets * record.window_ns as f64 / 1e9);
        ns.is_finite().then_some(ns)
    };
    let dearer = mean(blocks, |block| softirq(block.under(NONE)?));
    let cheap = mean(blocks, |block| softirq(block.alone.first()?.1));
    match (dearer, cheap) {
        (Some(with), Some(alone_ns)) if alone_ns > 0.0 => format!(
            "no packet thread waits; a packet takes {:.2} µs of interrupt time, {:.2} alone; the backlog dropped \
             {without:.0} packets, {alone:.0} alone",
            with / 1e3,
            alone_ns / 1e3,
        ),
        _ => format!(
            "no packet thread waits; the backlog dropped {without:.0} packets, {alone:.0} alone"
        ),
    }
}
