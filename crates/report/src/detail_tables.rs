//! The tables for those who check: threads, what lies beyond CPU time, single trials, identity.
//!
//! Reads an [`Analysis`], gives [`Table`]s, as [`crate::tables`] does for those who read on.

use analysis::{
    Analysis, host_load_name,
    quantity::{ABSENT, Unit},
};
use model::{run::Run, study::Subject};

use crate::{
    table::Table,
    tables::{bracket, mean, part_name, plain},
};

/// The subject's threads.
pub(crate) fn threads(analysis: &Analysis) -> Table {
    Table::of(
        "The subject's threads",
        analysis
            .cells
            .iter()
            .flat_map(|cell| cell.threads.iter().map(move |thread| (cell, thread))),
    )
    .head("variant", "", |(cell, _)| cell.variant.clone())
    .number("clients", "", |(cell, _)| cell.clients.to_string())
    .text("thread", "", |(_, thread)| format!("{} #{}", thread.name, thread.ordinal))
    .number("CPU", "µs/s", |(_, thread)| mean(Unit::MICROS, thread.cpu.as_ref()))
    .quiet("95 % interval", "µs/s", |(_, thread)| bracket(Unit::MICROS, thread.cpu.as_ref()))
    .number("switches asked for", "per s", |(_, thread)| {
        Unit::ONE.plain(thread.voluntary_per_second)
    })
    .number("switches suffered", "per s", |(_, thread)| {
        Unit::ONE.plain(thread.involuntary_per_second)
    })
    .table()
}

/// The subject's memory, IO and switches.
pub(crate) fn beyond(analysis: &Analysis) -> Table {
    let whole = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.0}"));
    let tenth = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.1}"));
    let cells = analysis.cells.iter().filter(|cell| cell.valid > 0);
    let rows = cells.map(|cell| (cell, &cell.beyond));
    Table::of("The subject beyond CPU time, means", rows)
        .head("variant", "", |(cell, _)| cell.variant.clone())
        .number("clients", "", |(cell, _)| cell.clients.to_string())
        .number("RSS", "KiB, start", |(_, beyond)| whole(beyond.rss_start_kib))
        .number("growth", "KiB a window", |(_, beyond)| tenth(beyond.rss_growth_kib))
        .number("PSS", "KiB, end", |(_, beyond)| whole(beyond.pss_end_kib))
        .number("IO calls", "per s", |(_, beyond)| tenth(beyond.io_calls_per_second))
        .number("read", "B/s", |(_, beyond)| whole(beyond.read_bytes_per_second))
        .number("written", "B/s", |(_, beyond)| whole(beyond.write_bytes_per_second))
        .number("switches asked for", "per s", |(_, beyond)| tenth(beyond.voluntary_per_second))
        .number("suffered", "per s", |(_, beyond)| tenth(beyond.involuntary_per_second))
        .number("rounds", "in a window", |(_, beyond)| tenth(beyond.rounds_ended))
        .number("instructions", "million/s", |(_, beyond)| {
            plain(Unit::MILLIONTH, beyond.subject_instructions_per_second)
        })
        .number("machine busy", "%", |(_, beyond)| plain(Unit::PER_CENT, beyond.machine_busy))
        .table()
}

/// Every valid trial.
pub(crate) fn trials(analysis: &Analysis) -> Table {
    let spent = |cpu: Option<&analysis::Cpu>| {
        cpu.map_or(ABSENT.to_owned(), |cpu| {
            format!("{}.{:03}", cpu.spent_ns / 1000, cpu.spent_ns % 1000)
        })
    };
    let fixed = |value: Option<f64>, digits: usize| {
        value.map_or(ABSENT.to_owned(), |value| format!("{value:.digits$}"))
    };
    Table::of("Every valid trial", &analysis.trials)
        .head("trial", "", |trial| trial.id.to_string())
        .number("window", "s", |trial| format!("{:.6}", trial.window_s))
        .number("subject", "µs", |trial| spent(Some(&trial.subject)))
        .number("load", "µs", |trial| spent(trial.load.as_ref()))
        .number("others", "µs", |trial| spent(trial.others_sum.as_ref()))
        .number("agent", "µs", |trial| spent(trial.agent.as_ref()))
        .number("sum", "µs/s", |trial| fixed(trial.sum.map(|sum| sum.us_per_second), 3))
        .text("counter", "", |trial| trial.subject.source.name().to_owned())
        .number("schedstat", "µs/s", |trial| fixed(trial.readings.schedstat, 3))
        .number("utime + stime", "µs/s", |trial| fixed(trial.readings.ticks, 0))
        .number("rounds", "", |trial| match trial.rounds.ended {
            0 => ABSENT.to_owned(),
            ended => ended.to_string(),
        })
        .number("speed", "× real time", |trial| plain(Unit::ONE, trial.speed))
        .table()
}

/// The variants as the study has them.
pub(crate) fn variants(run: &Run, analysis: &Analysis) -> Table {
    Table::of("Variants", run.study.variants.iter().zip(&analysis.curves))
        .head("variant", "", |(variant, _)| variant.name.to_string())
        .text("subject", "", |(variant, _)| subject_words(run.study.subject_of(variant)))
        .text("load", "", |(_, curve)| curve.load.as_deref().unwrap_or("none").replace('`', ""))
        .text("mode", "", |(_, curve)| curve.mode.name().to_owned())
        .text("host load", "", |(variant, _)| host_load_name(variant.host_load).to_owned())
        .text("about", "", |(variant, _)| variant.about.clone().unwrap_or_default())
        .table()
}

fn subject_words(subject: &Subject) -> String {
    let start = subject.start.as_ref().map(|start| format!(", started for each trial: {start}"));
    let others = match subject.others.as_slice() {
        [] => String::new(),
        others => format!("; also counted: {}", others.join(", ")),
    };
    format!("{}{}{others}", subject.process, start.unwrap_or_default())
}

/// The programs that the figures speak of, by their content.
pub(crate) fn programs(analysis: &Analysis) -> Table {
    let variants = analysis.curves.len();
    Table::of("Programs on the access point", &analysis.programs)
        .head("path", "", |program| program.path.clone())
        .text("as", "", |program| {
            let parts: Vec<_> = program.parts.iter().map(|part| part_name(*part)).collect();
            if parts.is_empty() { ABSENT.to_owned() } else { parts.join(", ") }
        })
        .text("in", "", |program| {
            let is_in_all = program.variants.len() == variants;
            if is_in_all { "all variants".to_owned() } else { program.variants.join(", ") }
        })
        .text("SHA-256", "", |program| program.sha256.to_string())
        .table()
}
