//! The tables for those who check: threads, what lies beyond CPU time, single trials, identity.
//!
//! Reads an [`Analysis`], gives [`Table`]s, as [`crate::tables`] does for those who read on.

use analysis::{
    Analysis, Cell, host_load_name,
    quantity::{ABSENT, Unit},
};
use model::{run::Run, study::Subject};

use crate::{
    table::{
        Kind::{Head, Number, Quiet, Text},
        Table,
    },
    tables::{bracket, mean, part_name, plain},
};

/// The subject's threads.
pub(crate) fn threads(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "The subject's threads",
        &[
            (Head, "variant", ""),
            (Number, "clients", ""),
            (Text, "thread", ""),
            (Number, "CPU", "µs/s"),
            (Quiet, "95 % interval", "µs/s"),
            (Number, "switches asked for", "per s"),
            (Number, "switches suffered", "per s"),
        ],
    );
    for cell in &analysis.cells {
        for thread in &cell.threads {
            table.push(vec![
                cell.variant.clone(),
                cell.clients.to_string(),
                format!("{} #{}", thread.name, thread.ordinal),
                mean(Unit::MICROS, thread.cpu.as_ref()),
                bracket(Unit::MICROS, thread.cpu.as_ref()),
                Unit::ONE.plain(thread.voluntary_per_second),
                Unit::ONE.plain(thread.involuntary_per_second),
            ]);
        }
    }
    table
}

/// The subject's memory, IO and switches.
pub(crate) fn beyond(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "The subject beyond CPU time, means",
        &[
            (Head, "variant", ""),
            (Number, "clients", ""),
            (Number, "RSS", "KiB, start"),
            (Number, "growth", "KiB a window"),
            (Number, "PSS", "KiB, end"),
            (Number, "IO calls", "per s"),
            (Number, "read", "B/s"),
            (Number, "written", "B/s"),
            (Number, "switches asked for", "per s"),
            (Number, "suffered", "per s"),
            (Number, "rounds", "in a window"),
            (Number, "instructions", "million/s"),
            (Number, "machine busy", "%"),
        ],
    );
    for cell in analysis.cells.iter().filter(|cell| cell.valid > 0) {
        table.push(beyond_row(cell));
    }
    table
}

fn beyond_row(cell: &Cell) -> Vec<String> {
    let beyond = &cell.beyond;
    let whole = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.0}"));
    let tenth = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.1}"));
    vec![
        cell.variant.clone(),
        cell.clients.to_string(),
        whole(beyond.rss_start_kib),
        tenth(beyond.rss_growth_kib),
        whole(beyond.pss_end_kib),
        tenth(beyond.io_calls_per_second),
        whole(beyond.read_bytes_per_second),
        whole(beyond.write_bytes_per_second),
        tenth(beyond.voluntary_per_second),
        tenth(beyond.involuntary_per_second),
        tenth(beyond.rounds_ended),
        plain(Unit::MILLIONTH, beyond.subject_instructions_per_second),
        plain(Unit::PER_CENT, beyond.machine_busy),
    ]
}

/// Every valid trial.
pub(crate) fn trials(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "Every valid trial",
        &[
            (Head, "trial", ""),
            (Number, "window", "s"),
            (Number, "subject", "µs"),
            (Number, "load", "µs"),
            (Number, "others", "µs"),
            (Number, "agent", "µs"),
            (Number, "sum", "µs/s"),
            (Text, "counter", ""),
            (Number, "schedstat", "µs/s"),
            (Number, "utime + stime", "µs/s"),
            (Number, "rounds", ""),
            (Number, "speed", "× real time"),
        ],
    );
    for trial in &analysis.trials {
        table.push(trial_row(trial));
    }
    table
}

fn trial_row(trial: &analysis::TrialFigures) -> Vec<String> {
    let spent = |cpu: Option<&analysis::Cpu>| {
        cpu.map_or(ABSENT.to_owned(), |cpu| {
            format!("{}.{:03}", cpu.spent_ns / 1000, cpu.spent_ns % 1000)
        })
    };
    vec![
        trial.id.to_string(),
        format!("{:.6}", trial.window_s),
        spent(Some(&trial.subject)),
        spent(trial.load.as_ref()),
        spent(trial.others_sum.as_ref()),
        spent(trial.agent.as_ref()),
        trial.sum.map_or(ABSENT.to_owned(), |sum| format!("{:.3}", sum.us_per_second)),
        trial.subject.source.name().to_owned(),
        trial.readings.schedstat.map_or(ABSENT.to_owned(), |value| format!("{value:.3}")),
        trial.readings.ticks.map_or(ABSENT.to_owned(), |value| format!("{value:.0}")),
        Some(trial.rounds.ended)
            .filter(|ended| *ended > 0)
            .map_or(ABSENT.to_owned(), |ended| ended.to_string()),
        plain(Unit::ONE, trial.speed),
    ]
}

/// The variants as the study has them.
pub(crate) fn variants(run: &Run, analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "Variants",
        &[
            (Head, "variant", ""),
            (Text, "subject", ""),
            (Text, "load", ""),
            (Text, "mode", ""),
            (Text, "host load", ""),
            (Text, "about", ""),
        ],
    );
    for (variant, curve) in run.study.variants.iter().zip(&analysis.curves) {
        table.push(vec![
            variant.name.to_string(),
            subject_words(run.study.subject_of(variant)),
            curve.load.as_deref().unwrap_or("none").replace('`', ""),
            curve.mode.name().to_owned(),
            host_load_name(variant.host_load).to_owned(),
            variant.about.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn subject_words(subject: &Subject) -> String {
    let start = subject.start.as_ref().map(|start| format!(", started for each trial: {start}"));
    let others = match subject.others.as_slice() {
        [] => String::new(),
        others => format!("; counted alongside it: {}", others.join(", ")),
    };
    format!("{}{}{others}", subject.process, start.unwrap_or_default())
}

/// The programs that the figures speak of, by their content.
pub(crate) fn programs(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "Programs on the access point",
        &[(Head, "path", ""), (Text, "as", ""), (Text, "in", ""), (Text, "SHA-256", "")],
    );
    let variants = analysis.curves.len();
    for program in &analysis.programs {
        let parts: Vec<_> = program.parts.iter().map(|part| part_name(*part)).collect();
        let seen = program.variants.len();
        table.push(vec![
            program.path.clone(),
            if parts.is_empty() { ABSENT.to_owned() } else { parts.join(", ") },
            if seen == variants { "all variants".to_owned() } else { program.variants.join(", ") },
            program.sha256.to_string(),
        ]);
    }
    table
}
