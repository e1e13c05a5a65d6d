//! The report's tables of clients and subjects: which figure stands in which column.
//!
//! One unit of CPU time holds for a whole page, so that columns can be compared; digits follow each figure's interval.

use analysis::{
    Analysis, Cell, Cpu, Curve, Estimate, Full, Other, Part, Slope, host_load_name,
    quantity::{self, ABSENT, Unit, count},
    verdicts::Corrected,
};
use model::{run::Run, study::Subject};

use crate::table::{Table, fixed, percent, plain};

/// The unit of CPU time that suits the largest figure of the run.
pub(crate) fn unit_of(analysis: &Analysis) -> Unit {
    let sums = analysis.cells.iter().filter_map(|cell| cell.cpu.sum);
    quantity::cpu_unit(sums.map(|sum| sum.mean).fold(0.0, f64::max))
}

fn bare(percent: String) -> String {
    percent.trim_end_matches(" %").to_owned()
}

/// Whether some variant has an idle one that its cost can be held against.
pub(crate) fn has_idle(analysis: &Analysis) -> bool {
    analysis.cells.iter().any(|cell| cell.minus_idle.is_some())
}

/// What stands with subject and load in sums, as words.
pub(crate) fn summed(analysis: &Analysis) -> String {
    match analysis.others.as_slice() {
        [] => "subject and load".to_owned(),
        [one] => format!("subject, load and {one}"),
        [first @ .., last] => format!("subject, load, {} and {last}", first.join(", ")),
    }
}

/// One row a cell: what most readers want. On a terminal trials and CV make room for other processes.
pub(crate) fn summary(analysis: &Analysis, is_terminal: bool) -> Table {
    let whole = !is_terminal || analysis.others.is_empty();
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let caption = format!("CPU of {} by variant and clients", summed(analysis));
    let cells = analysis.cells.iter().filter(|cell| cell.planned > 0 || cell.valid > 0);
    let stages = &analysis.stages;
    let stage = |cell: &&Cell| stages.rows.iter().find(|row| row.variant == cell.variant);
    let mut rows = Table::of(&caption, cells)
        .head("variant", "", |cell| cell.variant.clone())
        .number("clients", "", |cell| cell.clients.to_string());
    if stages.asked && !is_terminal {
        let subject = |cell: &&Cell| stage(cell).map_or(String::new(), |row| row.subject.clone());
        rows = rows.text("process", "the subject", subject);
    }
    if whole {
        rows = rows.number("trials", "valid", |cell| cell.valid.to_string());
    }
    rows = match is_terminal {
        true => rows.mean(["subject", &name], unit, |cell| cell.cpu.subject),
        false => rows.estimate(["subject", &name], unit, |cell| cell.cpu.subject),
    };
    rows = rows.mean(["load", &name], unit, |cell| cell.cpu.load);
    for process in &analysis.others {
        rows = rows.mean([process, &name], unit, |cell| other(&cell.others, process));
    }
    rows = rows.estimate(["sum", &name], unit, |cell| cell.cpu.sum).mean(
        ["of a core", "%"],
        Unit::CORE,
        |cell| cell.cpu.sum,
    );
    if whole {
        rows = rows.number("CV", "%", |cell| percent(cell.cpu.sum.and_then(|sum| sum.cv)));
    }
    if has_idle(analysis) {
        rows = rows.mean(["above idle", &name], unit, |cell| cell.minus_idle.as_ref()?.sum);
    }
    if stages.rows.iter().any(|row| row.published.is_some()) && !is_terminal {
        // Of another core, so no mark on our scale.
        rows = rows.quiet("published", "% of another core", |cell| {
            let at_most = stage(cell).filter(|_| cell.clients == stages.clients);
            at_most.and_then(|row| row.published.as_ref()).map_or(ABSENT.to_owned(), |one| {
                let before = one.before.map(|before| format!("{before} → ")).unwrap_or_default();
                format!("{before}{} at {}", one.percent_of_core, count(one.clients, "client"))
            })
        });
    }
    rows.table()
}

/// The figure of one process with subject and load.
pub(crate) fn other(others: &[Other], name: &str) -> Option<Estimate> {
    others.iter().find(|other| other.name == name)?.cpu
}

/// Why there is no slope at all, where one reason holds for every variant.
pub(crate) fn why_no_slope(analysis: &Analysis) -> Option<&str> {
    let first = analysis.curves.first()?.why_none.as_deref()?;
    let same = |curve: &Curve| curve.why_none.as_deref() == Some(first);
    analysis.curves.iter().all(same).then_some(first)
}

/// Slope, segments and the full core, by variant and part; without rows where [`why_no_slope`] says it all. On a
/// terminal only of the sums.
pub(crate) fn slopes(analysis: &Analysis, is_terminal: bool) -> Table {
    // A curve without slopes has one row, which says why.
    let curves = analysis.curves.iter().filter(|_| why_no_slope(analysis).is_none());
    let rows = curves.flat_map(|curve| {
        let slopes = match (&curve.why_none, is_terminal) {
            (Some(_), _) => vec![None],
            (None, true) => vec![curve.slope(Part::Sum)],
            (None, false) => slopes_of(curve).map(Some).collect(),
        };
        slopes.into_iter().map(move |slope| (curve, slope))
    });
    let of =
        |slope: &Option<&Slope>, show: fn(&Slope) -> String| slope.map_or(ABSENT.to_owned(), show);
    let caption = match is_terminal {
        true => format!("What each client costs ({} together)", summed(analysis)),
        false => "What each client costs".to_owned(),
    };
    let rows = Table::of(&caption, rows)
        .head("variant", "", |(curve, _)| curve.variant.clone())
        .text("part", "", |(curve, slope)| match (slope, analysis.others.as_slice()) {
            (None, _) => curve.why_none.clone().unwrap_or_default(),
            (Some(Slope { part: Part::Others, .. }), [name]) => name.clone(),
            (Some(slope), _) => part_name(slope.part).to_owned(),
        })
        .estimate(["per client", "µs/s"], Unit::MICROS, |(_, slope)| {
            Some(slope.as_ref()?.per_client)
        })
        .number("core full at", "clients", |(_, slope)| of(slope, full_at));
    if is_terminal {
        return rows.table();
    }
    rows.quiet("95 % interval", "clients", |(_, slope)| of(slope, full_between))
        .text("by segment", "µs/s per client", |(_, slope)| of(slope, segments))
        .mean(["at 0 clients", "µs/s"], Unit::MICROS, |(_, slope)| Some(slope.as_ref()?.intercept))
        .number("n", "", |(_, slope)| of(slope, |slope| slope.per_client.n.to_string()))
        .table()
}

/// Where the subject works alone the sum is the subject, and is not said twice.
fn slopes_of(curve: &Curve) -> impl Iterator<Item = &Slope> {
    let alone = curve.load.is_none() && curve.slope(Part::Others).is_none();
    curve.slopes.iter().filter(move |slope| !alone || slope.part != Part::Sum)
}

fn segments(slope: &Slope) -> String {
    let words = slope.segments.iter().map(|segment| {
        format!("{}–{}: {}", segment.from, segment.to, Unit::MICROS.mean(&segment.per_client))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn full_at(slope: &Slope) -> String {
    match &slope.full {
        Full::At { clients, .. } => Unit::WHOLE.mean(clients),
        Full::NotRising => ABSENT.to_owned(),
    }
}

fn full_between(slope: &Slope) -> String {
    match &slope.full {
        Full::At { clients, .. } => Unit::WHOLE.bracket(clients),
        Full::NotRising => "slope includes 0".to_owned(),
    }
}

pub(crate) const fn part_name(part: Part) -> &'static str {
    match part {
        Part::Subject => "subject",
        Part::Load => "load",
        Part::Others => "others",
        Part::Agent => "agent",
        Part::Sum => "sum",
    }
}

/// The lab measured by itself; without rows where no one asked.
pub(crate) fn lab(analysis: &Analysis) -> Table {
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let rows = analysis.lab.rows.iter().filter(|_| analysis.lab.asked);
    Table::of("The lab itself", rows)
        .head("variant", "", |row| row.variant.clone())
        .text("mode", "", |row| row.mode.name().to_owned())
        .text("host load", "", |row| host_load_name(row.host_load).to_owned())
        .number("clients", "", |row| row.clients.to_string())
        .number("n", "", |row| row.sum.n.to_string())
        .mean(["mean", &name], unit, |row| Some(row.sum))
        .number("CV", "%", |row| percent(row.sum.cv))
        .number("range", "%", |row| percent(row.range))
        .number("shift", "%", |row| {
            let shift = row.shift.map(|shift| bare(quantity::signed_percent(shift.mean)));
            shift.unwrap_or(ABSENT.to_owned())
        })
        .quiet("95 % interval", "%", |row| {
            let interval = row.shift.and_then(|shift| shift.interval).map(|interval| {
                let ends = [interval.low, interval.high];
                let [low, high] = ends.map(quantity::signed_percent).map(bare);
                format!("[{low}, {high}]")
            });
            interval.unwrap_or(ABSENT.to_owned())
        })
        .number("results", "different", |row| row.distinct.to_string())
        .number("speed", "× real", |row| plain(Unit::ONE, row.speed.map(|speed| speed.mean)))
        .number("restore", "ms", |row| fixed(row.restore_ms.map(|ms| ms.mean), 0))
        .table()
}

/// The subject's threads.
pub(crate) fn threads(analysis: &Analysis) -> Table {
    let rows =
        analysis.cells.iter().flat_map(|cell| cell.threads.iter().map(move |one| (cell, one)));
    Table::of("The subject’s threads", rows)
        .head("variant", "", |(cell, _)| cell.variant.clone())
        .number("clients", "", |(cell, _)| cell.clients.to_string())
        .text("thread", "", |(_, thread)| format!("{} #{}", thread.name, thread.ordinal))
        .estimate(["CPU", "µs/s"], Unit::MICROS, |(_, thread)| thread.cpu)
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
    let columns = [
        ("RSS", "KiB, start", "rss_start_kib", 0),
        ("growth", "KiB a window", "rss_growth_kib", 1),
        ("PSS", "KiB, end", "pss_end_kib", 0),
        ("IO calls", "per s", "io_calls_per_second", 1),
        ("read", "B/s", "read_bytes_per_second", 0),
        ("written", "B/s", "write_bytes_per_second", 0),
        ("switches asked for", "per s", "voluntary_per_second", 1),
        ("suffered", "per s", "involuntary_per_second", 1),
        ("rounds", "in a window", "rounds_ended", 1),
    ];
    let cells = analysis.cells.iter().filter(|cell| cell.valid > 0);
    let mut rows = Table::of("The subject beyond CPU time, means", cells)
        .head("variant", "", |cell| cell.variant.clone())
        .number("clients", "", |cell| cell.clients.to_string());
    for (title, unit, name, decimals) in columns {
        rows = rows.number(title, unit, |cell| fixed(cell.beyond(name), decimals));
    }
    rows.number("instructions", "million/s", |cell| {
        plain(Unit::MILLIONTH, cell.beyond("subject_instructions_per_second"))
    })
    .number("machine busy", "%", |cell| plain(Unit::PER_CENT, cell.beyond("machine_busy")))
    .table()
}

/// Every valid trial.
pub(crate) fn trials(analysis: &Analysis) -> Table {
    let spent = |cpu: Option<&Cpu>| {
        cpu.map_or(ABSENT.to_owned(), |cpu| {
            format!("{}.{:03}", cpu.spent_ns / 1000, cpu.spent_ns % 1000)
        })
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

/// What had to be repaired. The same correction before many trials is one row.
pub(crate) fn corrections(analysis: &Analysis) -> Table {
    let all = &analysis.corrections;
    let is_first = |(at, one): &(usize, &Corrected)| {
        all.iter().position(|other| other.correction == one.correction) == Some(*at)
    };
    let rows = all.iter().enumerate().filter(is_first);
    Table::of("Repaired on the access point before a trial", rows)
        .head("what", "", |(_, one)| one.correction.what.clone())
        .text("it", "", |(_, one)| one.correction.was.clone())
        .text("done", "", |(_, one)| one.correction.done.clone())
        .number("trials", "", |(_, one)| {
            all.iter().filter(|other| other.correction == one.correction).count().to_string()
        })
        .text("first before", "", |(_, one)| one.trial.to_string())
        .table()
}
