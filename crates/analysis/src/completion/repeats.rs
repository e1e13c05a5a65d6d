//! Whether counted time repeats: trials that were made twice, figure by figure.

use model::{
    card::CardReading,
    trial::{Trial, TrialId, Turn},
};

use super::Repeat;

/// Two trials are the same where no figure differs by more than this share.
pub const SAME: f64 = 0.001;

pub(super) fn all(trials: &[Trial]) -> Vec<Repeat> {
    let pair = |again: &Trial| {
        let id = &again.planned.id;
        let of = TrialId { turn: Turn::Only, ..id.clone() };
        let first = trials.iter().find(|trial| id.turn == Turn::Again && trial.planned.id == of)?;
        let (figure, difference) =
            furthest(first.reading()?.card.as_deref()?, again.reading()?.card.as_deref()?);
        Some(Repeat { name: of.to_string(), figure: figure.to_owned(), difference })
    };
    trials.iter().filter_map(pair).collect()
}

/// The figure that differs most, and by which share. Waiting is a part of the path's CPU and is held against all of
/// it: of a strategy that hardly waits it would be next to nothing, against next to nothing.
fn furthest(first: &CardReading, again: &CardReading) -> (&'static str, f64) {
    type Figure = fn(&CardReading) -> u64;
    let path: Figure = |one| one.driver_ns;
    let median: Figure = |one| one.latency.map_or(0, |latency| latency.p50_ns);
    let task: Figure = |one| one.task_wall_ns.unwrap_or_default();
    let figures: [(&'static str, Figure, Figure); 7] = [
        ("window", |one| one.window_ns, |one| one.window_ns),
        ("CPU of the transmit path", path, path),
        ("waiting", |one| one.spun_ns, path),
        ("frames sent", |one| one.sent, |one| one.sent),
        ("CPU of the source", |one| one.source_ns, |one| one.source_ns),
        ("median latency", median, median),
        ("time of the task", task, task),
    ];
    let each = figures.map(|(name, of, whole)| {
        (name, of(again).abs_diff(of(first)) as f64 / whole(first).max(1) as f64)
    });
    each.into_iter().max_by(|one, two| one.1.total_cmp(&two.1)).unwrap_or(("window", 0.0))
}
