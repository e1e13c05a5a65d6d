//! The report's tables: which figure stands in which column.
//!
//! Reads an [`Analysis`], gives [`Table`]s. One unit of CPU time holds for a whole page, so that columns
//! can be compared; digits follow each figure's interval.

use analysis::{
    Analysis, Cell, Contrast, Curve, Estimate, Full, Parts, Slope, beside_name,
    quantity::{self, ABSENT, Unit},
};
use model::run::Run;

use crate::table::{
    Kind::{Head, Number, Quiet, Text},
    Table,
};

/// The unit of CPU time that suits the largest figure of the run.
pub(crate) fn unit_of(analysis: &Analysis) -> Unit {
    let sums = analysis.cells.iter().filter_map(|cell| cell.cpu.sum);
    quantity::cpu_unit(sums.map(|sum| sum.mean).fold(0.0, f64::max))
}

fn mean(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.mean(estimate))
}

fn bracket(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.bracket(estimate))
}

fn plain(unit: Unit, value: Option<f64>) -> String {
    value.map_or(ABSENT.to_owned(), |value| unit.plain(value))
}

/// A share as per cent, without the sign: that is in the column's head.
fn percent(share: Option<f64>) -> String {
    share.map_or(ABSENT.to_owned(), |share| bare(quantity::percent(share)))
}

fn bare(percent: String) -> String {
    percent.trim_end_matches(" %").to_owned()
}

/// One row a cell: what most readers want.
pub(crate) fn summary(analysis: &Analysis) -> Table {
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let mut table = Table::new(
        "CPU of subject and load by variant and clients",
        &[
            (Head, "variant", ""),
            (Number, "clients", ""),
            (Number, "trials", "valid"),
            (Number, "subject", &name),
            (Number, "load", &name),
            (Number, "sum", &name),
            (Quiet, "95 % interval", &name),
            (Number, "of a core", "%"),
            (Number, "CV", "%"),
            (Number, "above idle", &name),
        ],
    );
    for cell in analysis.cells.iter().filter(|cell| cell.planned > 0 || cell.valid > 0) {
        let above = cell.minus_idle.as_ref().and_then(|parts| parts.sum.as_ref());
        table.push(vec![
            cell.variant.clone(),
            cell.clients.to_string(),
            cell.valid.to_string(),
            mean(unit, cell.cpu.subject.as_ref()),
            mean(unit, cell.cpu.load.as_ref()),
            mean(unit, cell.cpu.sum.as_ref()),
            bracket(unit, cell.cpu.sum.as_ref()),
            mean(Unit::CORE, cell.cpu.sum.as_ref()),
            percent(cell.cpu.sum.and_then(|sum| sum.cv)),
            mean(unit, above),
        ]);
    }
    table
}

/// Every part of every cell with all its statistics.
pub(crate) fn full(analysis: &Analysis) -> Table {
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let mut table = Table::new(
        "Every part of every cell",
        &[
            (Head, "variant", ""),
            (Head, "clients", ""),
            (Text, "part", ""),
            (Number, "n", ""),
            (Number, "mean", &name),
            (Quiet, "95 % interval", &name),
            (Number, "SD", &name),
            (Number, "CV", "%"),
            (Number, "smallest", &name),
            (Number, "largest", &name),
            (Number, "of a core", "%"),
        ],
    );
    for cell in analysis.cells.iter().filter(|cell| cell.valid > 0) {
        for (part, estimate) in parts(&cell.cpu, cell.has_load) {
            table.push(full_row(cell, part, (unit, estimate)));
        }
    }
    table
}

/// Without a load the sum is the subject, and is not said twice.
fn parts(parts: &Parts, has_load: bool) -> Vec<(&'static str, &Estimate)> {
    [
        ("subject", &parts.subject),
        ("load", &parts.load),
        ("sum", &parts.sum),
        ("agent", &parts.agent),
    ]
    .into_iter()
    .filter(|(name, _)| has_load || *name != "sum")
    .filter_map(|(name, estimate)| Some((name, estimate.as_ref()?)))
    .collect()
}

fn full_row(cell: &Cell, part: &str, (unit, estimate): (Unit, &Estimate)) -> Vec<String> {
    vec![
        cell.variant.clone(),
        cell.clients.to_string(),
        part.to_owned(),
        estimate.n.to_string(),
        unit.mean(estimate),
        unit.bracket(estimate),
        plain(unit, estimate.sd),
        percent(estimate.cv),
        unit.among(estimate.min, estimate),
        unit.among(estimate.max, estimate),
        Unit::CORE.mean(estimate),
    ]
}

/// Why there is no slope at all, where one reason holds for every variant.
pub(crate) fn why_no_slope(analysis: &Analysis) -> Option<&str> {
    let first = analysis.curves.first()?.why_none.as_deref()?;
    let same = |curve: &Curve| curve.why_none.as_deref() == Some(first);
    analysis.curves.iter().all(same).then_some(first)
}

/// Slope, segments and the full core, by variant and part; without rows where [`why_no_slope`] says it
/// all.
pub(crate) fn slopes(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "What each client costs",
        &[
            (Head, "variant", ""),
            (Text, "part", ""),
            (Number, "per client", "µs/s"),
            (Quiet, "95 % interval", "µs/s"),
            (Text, "by segment", "µs/s per client"),
            (Number, "at 0 clients", "µs/s"),
            (Number, "core full at", "clients"),
            (Quiet, "95 % interval", "clients"),
            (Number, "n", ""),
        ],
    );
    if why_no_slope(analysis).is_some() {
        return table;
    }
    for curve in &analysis.curves {
        match &curve.why_none {
            Some(why) => table.push(no_slope(curve, why)),
            None => told(curve).for_each(|slope| table.push(slope_row(curve, slope))),
        }
    }
    table
}

/// The slopes of the sums only, for a terminal.
pub(crate) fn slopes_short(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "What each client costs (subject and load together)",
        &[
            (Head, "variant", ""),
            (Number, "per client", "µs/s"),
            (Quiet, "95 % interval", "µs/s"),
            (Number, "core full at", "clients"),
        ],
    );
    if why_no_slope(analysis).is_some() {
        return table;
    }
    for curve in &analysis.curves {
        let cells = match (curve.slope(analysis::Part::Sum), &curve.why_none) {
            (Some(slope), _) => {
                let row = slope_row(curve, slope);
                [row[2].clone(), row[3].clone(), row[6].clone()]
            }
            (None, why) => {
                let why = why.clone().unwrap_or_default();
                [ABSENT.to_owned(), why, ABSENT.to_owned()]
            }
        };
        table.push(std::iter::once(curve.variant.clone()).chain(cells).collect());
    }
    table
}

fn no_slope(curve: &Curve, why: &str) -> Vec<String> {
    let mut row = vec![curve.variant.clone(), why.to_owned()];
    row.extend(std::iter::repeat_n(ABSENT.to_owned(), 7));
    row
}

/// Without a load the sum is the subject, and is not said twice.
fn told(curve: &Curve) -> impl Iterator<Item = &Slope> {
    let is_told = |slope: &&Slope| curve.load.is_some() || slope.part != analysis::Part::Sum;
    curve.slopes.iter().filter(is_told)
}

fn slope_row(curve: &Curve, slope: &Slope) -> Vec<String> {
    let segments: Vec<_> = slope
        .segments
        .iter()
        .map(|segment| {
            format!("{}–{}: {}", segment.from, segment.to, Unit::MICROS.mean(&segment.per_client))
        })
        .collect();
    let (full, interval) = match &slope.full {
        Full::At { clients, .. } => (Unit::WHOLE.mean(clients), Unit::WHOLE.bracket(clients)),
        Full::NotRising => (ABSENT.to_owned(), "slope includes 0".to_owned()),
    };
    vec![
        curve.variant.clone(),
        part_name(slope.part).to_owned(),
        Unit::MICROS.mean(&slope.per_client),
        Unit::MICROS.bracket(&slope.per_client),
        segments.join(", "),
        Unit::MICROS.mean(&slope.intercept),
        full,
        interval,
        slope.per_client.n.to_string(),
    ]
}

const fn part_name(part: analysis::Part) -> &'static str {
    match part {
        analysis::Part::Subject => "subject",
        analysis::Part::Load => "load",
        analysis::Part::Agent => "agent",
        analysis::Part::Sum => "sum",
    }
}

/// What the access point takes without a load.
pub(crate) fn idle(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "Idle baseline: no load",
        &[
            (Head, "variant", ""),
            (Number, "clients", ""),
            (Number, "subject", "µs/s"),
            (Quiet, "95 % interval", "µs/s"),
            (Number, "of a core", "%"),
            (Number, "machine busy", "%"),
            (Number, "agent", "µs/s"),
        ],
    );
    for cell in analysis.cells.iter().filter(|cell| !cell.has_load && cell.valid > 0) {
        table.push(vec![
            cell.variant.clone(),
            cell.clients.to_string(),
            mean(Unit::MICROS, cell.cpu.subject.as_ref()),
            bracket(Unit::MICROS, cell.cpu.subject.as_ref()),
            mean(Unit::CORE, cell.cpu.subject.as_ref()),
            plain(Unit::PER_CENT, cell.beyond.machine_busy),
            mean(Unit::MICROS, cell.cpu.agent.as_ref()),
        ]);
    }
    table
}

/// Variants against each other.
pub(crate) fn comparisons(analysis: &Analysis) -> Table {
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let mut table = Table::new(
        "Variants against each other, paired by repetition",
        &[
            (Head, "variant", ""),
            (Text, "against", ""),
            (Number, "clients", ""),
            (Text, "part", ""),
            (Number, "difference", &name),
            (Quiet, "95 % interval", &name),
            (Number, "ratio", ""),
            (Quiet, "95 % interval", ""),
            (Number, "pairs", ""),
        ],
    );
    for each in &analysis.comparisons {
        let both = [("sum", &each.sum), ("subject", &each.subject)];
        for (part, contrast) in both {
            let names = [each.variant.clone(), each.base.clone(), each.clients.to_string()];
            let mut row = names.to_vec();
            row.push(part.to_owned());
            row.extend(contrast_cells(contrast, unit));
            table.push(row);
        }
    }
    table
}

fn contrast_cells(contrast: &Contrast, unit: Unit) -> [String; 5] {
    [
        unit.mean(&contrast.difference),
        unit.bracket(&contrast.difference),
        mean(Unit::ONE, contrast.ratio.as_ref()),
        bracket(Unit::ONE, contrast.ratio.as_ref()),
        contrast.difference.n.to_string(),
    ]
}

/// The lab measured by itself.
pub(crate) fn lab(analysis: &Analysis) -> Table {
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let mut table = Table::new(
        "The lab itself",
        &[
            (Head, "variant", ""),
            (Text, "mode", ""),
            (Text, "beside it", ""),
            (Number, "clients", ""),
            (Number, "n", ""),
            (Number, "mean", &name),
            (Number, "CV", "%"),
            (Number, "range", "%"),
            (Number, "shift", "%"),
            (Quiet, "95 % interval", "%"),
            (Number, "results", "different"),
            (Number, "speed", "× real"),
            (Number, "restore", "ms"),
        ],
    );
    for row in &analysis.lab.rows {
        table.push(lab_row(row, unit));
    }
    table
}

fn lab_row(row: &analysis::Row, unit: Unit) -> Vec<String> {
    let shift = row.shift.map(|shift| bare(quantity::signed_percent(shift.mean)));
    let interval = row.shift.and_then(|shift| shift.interval).map(|interval| {
        let [low, high] = [interval.low, interval.high].map(quantity::signed_percent).map(bare);
        format!("[{low}, {high}]")
    });
    vec![
        row.variant.clone(),
        row.mode.name().to_owned(),
        beside_name(row.beside).to_owned(),
        row.clients.to_string(),
        row.sum.n.to_string(),
        unit.mean(&row.sum),
        percent(row.sum.cv),
        percent(row.range),
        shift.unwrap_or(ABSENT.to_owned()),
        interval.unwrap_or(ABSENT.to_owned()),
        row.distinct.to_string(),
        plain(Unit::ONE, row.speed.map(|speed| speed.mean)),
        row.restore_ms.map_or(ABSENT.to_owned(), |ms| format!("{:.0}", ms.mean)),
    ]
}

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
        spent(trial.agent.as_ref()),
        format!("{:.3}", trial.sum.us_per_second),
        trial.subject.source.name().to_owned(),
        trial.readings.schedstat.map_or(ABSENT.to_owned(), |value| format!("{value:.3}")),
        trial.readings.ticks.map_or(ABSENT.to_owned(), |value| format!("{value:.0}")),
        trial.rounds.ended.to_string(),
        plain(Unit::ONE, trial.speed),
    ]
}

/// The variants as the study has them.
pub(crate) fn variants(run: &Run, analysis: &Analysis) -> Table {
    let mut table = Table::new(
        "Variants",
        &[
            (Head, "variant", ""),
            (Text, "load", ""),
            (Text, "mode", ""),
            (Text, "beside it", ""),
            (Text, "about", ""),
        ],
    );
    for (variant, curve) in run.study.variants.iter().zip(&analysis.curves) {
        table.push(vec![
            variant.name.clone(),
            curve.load.as_deref().unwrap_or("none").replace('`', ""),
            curve.mode.name().to_owned(),
            beside_name(variant.beside).to_owned(),
            variant.about.clone().unwrap_or_default(),
        ]);
    }
    table
}
