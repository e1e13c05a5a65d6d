//! What one trial's record says by itself: rates, round trips, shares of the CPU. No comparison.

use model::traffic::{Second, TrafficReading};

use crate::stats::nearest_rank;

/// Probes before this moment of a window, ms, are not counted: the agent has just read all counters, above
/// everything else, which takes the virtual access point's core 30 ms and is the longest wait of the window.
const OPENING_MS: u32 = 100;
/// A probe that did not come back within a second took at least so long, µs.
const LOST_US: f64 = 1e6;

/// The seconds in which traffic was on; all of them where it never pauses, or never is on for a whole one.
pub(super) fn busy(record: &TrafficReading) -> impl Iterator<Item = &Second> {
    let pauses = record.seconds.iter().any(|second| second.busy);
    record.seconds.iter().filter(move |second| second.busy || !pauses)
}

fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value as f64, n + 1.0));
    (n > 0.0).then(|| sum / n)
}

/// Bytes that arrived in a second of the window; `None` for a trial without seconds. Pauses are in it: what comes
/// later under a control is not lost, and a window has whole rounds of bursts.
pub(super) fn received(record: &TrafficReading) -> Option<f64> {
    mean(record.seconds.iter().map(|second| second.received_bytes))
}

/// Packets that arrived in a second of the window.
pub(super) fn received_packets(record: &TrafficReading) -> Option<f64> {
    mean(record.seconds.iter().map(|second| second.received_packets))
}

/// Packets that were offered in a second of the window.
pub(super) fn offered_packets(record: &TrafficReading) -> Option<f64> {
    mean(record.seconds.iter().map(|second| second.offered_packets))
}

/// A quantile of the round trips, µs, by the nearest rank; `None` where nothing was probed.
pub(super) fn round_trip(record: &TrafficReading, quantile: f64) -> Option<f64> {
    let took = |trip: &model::traffic::RoundTrip| trip.took_us.map_or(LOST_US, f64::from);
    let counted = record.round_trips.iter().filter(|trip| trip.at_ms >= OPENING_MS);
    let all: Vec<f64> = counted.map(took).collect();
    nearest_rank(all, quantile)
}

/// The share of all CPUs that was in use.
pub(super) fn cpu_used(record: &TrafficReading) -> Option<f64> {
    let (used, all) = record.cpus.iter().fold((0.0, 0.0), |(used, all), cpu| {
        let busy = cpu.user_ns + cpu.system_ns + cpu.irq_ns + cpu.softirq_ns;
        (used + busy as f64, all + (busy + cpu.idle_ns + cpu.steal_ns) as f64)
    });
    (all > 0.0).then(|| used / all)
}

/// The share of all CPUs that the hypervisor took away.
pub(super) fn stolen(record: &TrafficReading) -> f64 {
    let steal: u64 = record.cpus.iter().map(|cpu| cpu.steal_ns).sum();
    steal as f64 / (record.window_ns as f64 * record.cpus.len() as f64).max(1.0)
}

/// Operations of the application in a second of the window: its operations over its life, as far as it ran in
/// the window. stress-ng tells its operations at its end only.
pub(super) fn operations(record: &TrafficReading) -> Option<f64> {
    let work = record.application.as_ref()?;
    let ran = work.ran_ns as f64 / work.life_ran_ns as f64;
    let a_second = work.operations * ran / (record.window_ns as f64 / 1e9);
    a_second.is_finite().then_some(a_second)
}

/// An application that counts fewer operations than this in its life alone says nothing about a window in which
/// it gets a hundredth of them.
const FINE: f64 = 10_000.0;

/// Whether the application's own count of operations can be compared.
pub(super) fn counts_finely(alone: &TrafficReading) -> bool {
    alone.application.as_ref().is_some_and(|work| work.operations >= FINE)
}

/// CPU time of the application in a second of the window, seconds.
pub(super) fn application_ran(record: &TrafficReading) -> Option<f64> {
    let work = record.application.as_ref()?;
    Some(work.ran_ns as f64 / record.window_ns.max(1) as f64)
}

/// The share of the window that the threads of these names waited.
pub(super) fn waited(record: &TrafficReading, names: impl Fn(&str) -> bool) -> Option<f64> {
    let waited = record.threads.iter().filter(|thread| names(&thread.name));
    let known: Vec<u64> = waited.filter_map(|thread| thread.waited_ns).collect();
    let all: u64 = known.iter().sum();
    (!known.is_empty()).then(|| all as f64 / record.window_ns.max(1) as f64)
}

/// The share of the window that the threads of these names ran.
pub(super) fn ran(record: &TrafficReading, names: impl Fn(&str) -> bool) -> f64 {
    let ran = record.threads.iter().filter(|thread| names(&thread.name));
    ran.map(|thread| thread.ran_ns).sum::<u64>() as f64 / record.window_ns.max(1) as f64
}
