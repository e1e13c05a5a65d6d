//! Figures in lines for people.

use std::fmt::Write;

use model::card::{CardReading, Command};

/// A trial, in a few lines, and its commands in a table.
pub fn measured(measured: &CardReading) -> String {
    let mut text = String::new();
    let window = measured.window_ns.max(1) as f64;
    let share = |ns: u64| 100.0 * ns as f64 / window;
    let per = |ns: u64| ns as f64 / 1e3 / measured.sent.max(1) as f64;
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "frames    {} offered, {} accepted, {} sent ({:.0}/s), {} queued",
        measured.offered,
        measured.accepted,
        measured.sent,
        measured.sent as f64 * 1e9 / window,
        measured.queued
    );
    for (reason, count) in &measured.dropped {
        let _ = writeln!(text, "dropped   {count} {reason}");
    }
    let _ = writeln!(
        text,
        "driver    {:.2} % of a CPU, {:.1} µs a frame; {:.2} % spun, {:.2} % with interrupts masked",
        share(measured.driver_ns),
        per(measured.driver_ns),
        share(measured.spun_ns),
        share(measured.masked_ns)
    );
    let _ = writeln!(
        text,
        "beside    {:.2} % for the air (the model's), {:.2} % for the source; {} interrupts",
        share(measured.air_ns),
        share(measured.source_ns),
        measured.interrupts
    );
    if let Some(latency) = measured.latency {
        let _ = writeln!(
            text,
            "latency   half within {:.1} µs, 99 % within {:.1} µs, all within {:.1} µs",
            latency.p50_ns as f64 / 1e3,
            latency.p99_ns as f64 / 1e3,
            latency.longest_ns as f64 / 1e3
        );
    }
    if let (Some(wall), Some(ran), Some(rounds)) =
        (measured.task_wall_ns, measured.task_ran_ns, measured.task_rounds)
    {
        let _ = writeln!(
            text,
            "task      {rounds} rounds in {:.3} s, {:.3} s of them on a CPU",
            wall as f64 / 1e9,
            ran as f64 / 1e9
        );
    }
    let wrong = [measured.duplicated, measured.reordered, measured.damaged, measured.missing];
    let _ = writeln!(
        text,
        "sound     {} duplicated, {} reordered, {} damaged, {} missing; {} time-outs, {} resets",
        wrong[0], wrong[1], wrong[2], wrong[3], measured.timeouts, measured.resets
    );
    text.push_str(&commands(&measured.commands));
    text
}

/// Commands, in a table; nothing where there are none.
fn commands(commands: &[Command]) -> String {
    if commands.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{:<12} {:>9} {:>7} {:>12} {:>12} {:>12}\n",
        "command", "count", "failed", "mean µs", "least µs", "most µs"
    );
    let us = |ns: u64| ns as f64 / 1e3;
    for command in commands {
        let timed = command.count - command.deferred;
        let mean = us(command.total_ns) / timed.max(1) as f64;
        let _ = writeln!(
            text,
            "{:<12} {:>9} {:>7} {:>12.2} {:>12.2} {:>12.2}",
            command.name,
            command.count,
            command.failed,
            mean,
            us(command.least_ns),
            us(command.most_ns)
        );
    }
    text
}
