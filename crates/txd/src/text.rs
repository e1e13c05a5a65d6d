//! Figures in lines for people.

use model::card::{CardReading, Command};

/// A trial, in a few lines, and its commands in a table.
pub fn measured(measured: &CardReading) -> String {
    let window = measured.window_ns.max(1) as f64;
    let share = |ns: u64| format!("{:.2} %", 100.0 * ns as f64 / window);
    let CardReading { offered, accepted, sent, queued, interrupts, .. } = measured;
    let a_second = *sent as f64 * 1e9 / window;
    let a_frame = us(measured.driver_ns) / (*sent).max(1) as f64;
    let dropped =
        measured.dropped.iter().map(|(reason, count)| format!("dropped   {count} {reason}\n"));
    let latency = measured.latency.map(|latency| {
        let [half, most, all] = [latency.p50_ns, latency.p99_ns, latency.longest_ns].map(us);
        format!(
            "latency   half within {half:.1} µs, 99 % within {most:.1} µs, all within {all:.1} µs\n"
        )
    });
    let task = measured.task_rounds.zip(measured.task_wall_ns).zip(measured.task_ran_ns);
    let task = task.map(|((rounds, wall), ran)| {
        let [wall, ran] = [wall, ran].map(|ns| ns as f64 / 1e9);
        format!("task      {rounds} rounds in {wall:.3} s, {ran:.3} s of them on a CPU\n")
    });
    let CardReading { duplicated, reordered, damaged, missing, timeouts, resets, .. } = measured;
    [
        format!(
            "frames    {offered} offered, {accepted} accepted, {sent} sent ({a_second:.0}/s), {queued} queued\n"
        ),
        dropped.collect(),
        format!(
            "driver    {} of a CPU, {a_frame:.1} µs a frame; {} spun, {} with interrupts masked\n",
            share(measured.driver_ns),
            share(measured.spun_ns),
            share(measured.masked_ns)
        ),
        format!(
            "beside    {} for the air (the model's), {} for the source; {interrupts} interrupts\n",
            share(measured.air_ns),
            share(measured.source_ns)
        ),
        latency.unwrap_or_default(),
        task.unwrap_or_default(),
        format!(
            "sound     {duplicated} duplicated, {reordered} reordered, {damaged} damaged, {missing} missing; \
             {timeouts} time-outs, {resets} resets\n"
        ),
        commands(&measured.commands),
    ]
    .concat()
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn commands(commands: &[Command]) -> String {
    if commands.is_empty() {
        return String::new();
    }
    let head = format!(
        "{:<12} {:>9} {:>7} {:>12} {:>12} {:>12}\n",
        "command", "count", "failed", "mean µs", "least µs", "most µs"
    );
    let row = |command: &Command| {
        let Command { name, count, failed, .. } = command;
        let mean = us(command.total_ns) / (count - command.deferred).max(1) as f64;
        let [least, most] = [command.least_ns, command.most_ns].map(us);
        format!("{name:<12} {count:>9} {failed:>7} {mean:>12.2} {least:>12.2} {most:>12.2}\n")
    };
    head + &commands.iter().map(row).collect::<String>()
}
