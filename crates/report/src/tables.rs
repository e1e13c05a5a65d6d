//! The report's tables: which figure stands in which column.
//!
//! Reads an [`Analysis`], gives [`Table`]s. One unit of CPU time holds for a whole page, so that columns
//! can be compared; digits follow each figure's interval.

use crate::table::{
    Kind::{Head, Number, Quiet, Text},
    Table,
};
use analysis::{
    Analysis, Cell, Comparison, Contrast, Curve, Estimate, Full, Other, Slope, host_load_name,
    quantity::{self, ABSENT, Unit},
};

/// The unit of CPU time that suits the largest figure of the run.
pub(crate) fn unit_of(analysis: &Analysis) -> Unit {
    let sums = analysis.cells.iter().filter_map(|cell| cell.cpu.sum);
    quantity::cpu_unit(sums.map(|sum| sum.mean).fold(0.0, f64::max))
}

pub(crate) fn mean(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.mean(estimate))
}

pub(crate) fn bracket(unit: Unit, estimate: Option<&Estimate>) -> String {
    estimate.map_or(ABSENT.to_owned(), |estimate| unit.bracket(estimate))
}

pub(crate) fn plain(unit: Unit, value: Option<f64>) -> String {
    value.map_or(ABSENT.to_owned(), |value| unit.plain(value))
}

/// A share as per cent, without the sign: that is in the column's head.
pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or(ABSENT.to_owned(), |share| bare(quantity::percent(share)))
}

fn bare(percent: String) -> String {
    percent.trim_end_matches(" %").to_owned()
}

/// Whether some variant has an idle one that its cost can be held against.
pub(crate) fn has_idle(analysis: &Analysis) -> bool {
    analysis.cells.iter().any(|cell| cell.minus_idle.is_some())
}

/// What stands alongside subject and load in sums, as words.
pub(crate) fn summed(analysis: &Analysis) -> String {
    match analysis.others.as_slice() {
        [] => "subject and load".to_owned(),
        others => format!("subject, load and {}", others.join(", ")),
    }
}

/// One row a cell: what most readers want.
pub(crate) fn summary(analysis: &Analysis) -> Table {
    summary_of(analysis, true)
}

/// The same for a terminal: where other processes need columns, trials and CV make room.
pub(crate) fn summary_short(analysis: &Analysis) -> Table {
    summary_of(analysis, analysis.others.is_empty())
}

fn summary_of(analysis: &Analysis, whole: bool) -> Table {
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let caption = format!("CPU of {} by variant and clients", summed(analysis));
    let mut columns = vec![(Head, "variant", ""), (Number, "clients", "")];
    columns.extend(whole.then_some((Number, "trials", "valid")));
    columns.extend([(Number, "subject", &*name), (Number, "load", &name)]);
    columns.extend(analysis.others.iter().map(|other| (Number, &**other, &*name)));
    columns.extend([(Number, "sum", &*name), (Quiet, "95 % interval", &name)]);
    columns.push((Number, "of a core", "%"));
    columns.extend(whole.then_some((Number, "CV", "%")));
    columns.extend(has_idle(analysis).then_some((Number, "above idle", &*name)));
    let mut table = Table::new(&caption, &columns);
    for cell in analysis.cells.iter().filter(|cell| cell.planned > 0 || cell.valid > 0) {
        table.push(summary_row(analysis, cell, whole));
    }
    table
}

fn summary_row(analysis: &Analysis, cell: &Cell, whole: bool) -> Vec<String> {
    let unit = unit_of(analysis);
    let above = cell.minus_idle.as_ref().and_then(|parts| parts.sum.as_ref());
    let mut row = vec![cell.variant.clone(), cell.clients.to_string()];
    row.extend(whole.then(|| cell.valid.to_string()));
    row.extend([&cell.cpu.subject, &cell.cpu.load].map(|part| mean(unit, part.as_ref())));
    row.extend(analysis.others.iter().map(|name| other(unit, &cell.others, name)));
    row.push(mean(unit, cell.cpu.sum.as_ref()));
    row.push(bracket(unit, cell.cpu.sum.as_ref()));
    row.push(mean(Unit::CORE, cell.cpu.sum.as_ref()));
    row.extend(whole.then(|| percent(cell.cpu.sum.and_then(|sum| sum.cv))));
    row.extend(has_idle(analysis).then(|| mean(unit, above)));
    row
}

/// The figure of one process alongside subject and load.
pub(crate) fn other(unit: Unit, others: &[Other], name: &str) -> String {
    let found = others.iter().find(|other| other.name == name);
    mean(unit, found.and_then(|other| other.cpu.as_ref()))
}

/// Every part of every cell with all its statistics.
pub(crate) fn full(analysis: &Analysis) -> Table {
    let unit = unit_of(analysis);
    let name = format!("{}/s", unit.name);
    let cells = analysis.cells.iter().filter(|cell| cell.valid > 0);
    let rows = cells.flat_map(|cell| {
        parts(cell).into_iter().map(move |(part, estimate)| (cell, part, estimate))
    });
    Table::of("Every part of every cell", rows)
        .head("variant", "", |(cell, ..)| cell.variant.clone())
        .head("clients", "", |(cell, ..)| cell.clients.to_string())
        .text("part", "", |(_, part, _)| (*part).to_owned())
        .number("n", "", |(.., estimate)| estimate.n.to_string())
        .number("mean", &name, |(.., estimate)| unit.mean(estimate))
        .quiet("95 % interval", &name, |(.., estimate)| unit.bracket(estimate))
        .number("SD", &name, |(.., estimate)| plain(unit, estimate.sd))
        .number("CV", "%", |(.., estimate)| percent(estimate.cv))
        .number("smallest", &name, |(.., estimate)| unit.among(estimate.min, estimate))
        .number("largest", &name, |(.., estimate)| unit.among(estimate.max, estimate))
        .number("of a core", "%", |(.., estimate)| Unit::CORE.mean(estimate))
        .table()
}

/// Where the subject works alone the sum is the subject, and is not said twice.
fn parts(cell: &Cell) -> Vec<(&str, &Estimate)> {
    let cpu = &cell.cpu;
    let alone = !cell.has_load && cell.others.is_empty();
    let others = cell.others.iter().map(|other| (&*other.name, &other.cpu));
    [("subject", &cpu.subject), ("load", &cpu.load)]
        .into_iter()
        .chain(others)
        .chain([("sum", &cpu.sum), ("agent", &cpu.agent)])
        .filter(|(name, _)| !alone || *name != "sum")
        .filter_map(|(name, estimate)| Some((name, estimate.as_ref()?)))
        .collect()
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
            None => slopes_of(curve)
                .for_each(|slope| table.push(slope_row(curve, slope, &analysis.others))),
        }
    }
    table
}

/// The slopes of the sums only, for a terminal.
pub(crate) fn slopes_short(analysis: &Analysis) -> Table {
    let mut table = Table::new(
        &format!("What each client costs ({} together)", summed(analysis)),
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
                let row = slope_row(curve, slope, &analysis.others);
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

/// Where the subject works alone the sum is the subject, and is not said twice.
fn slopes_of(curve: &Curve) -> impl Iterator<Item = &Slope> {
    let alone = curve.load.is_none() && curve.slope(analysis::Part::Others).is_none();
    let is_shown = move |slope: &&Slope| !alone || slope.part != analysis::Part::Sum;
    curve.slopes.iter().filter(is_shown)
}

fn slope_row(curve: &Curve, slope: &Slope, others: &[String]) -> Vec<String> {
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
        match (slope.part, others) {
            (analysis::Part::Others, [name]) => name.clone(),
            (part, _) => part_name(part).to_owned(),
        },
        Unit::MICROS.mean(&slope.per_client),
        Unit::MICROS.bracket(&slope.per_client),
        segments.join(", "),
        Unit::MICROS.mean(&slope.intercept),
        full,
        interval,
        slope.per_client.n.to_string(),
    ]
}

pub(crate) const fn part_name(part: analysis::Part) -> &'static str {
    match part {
        analysis::Part::Subject => "subject",
        analysis::Part::Load => "load",
        analysis::Part::Others => "others",
        analysis::Part::Agent => "agent",
        analysis::Part::Sum => "sum",
    }
}

/// What the access point takes without a load.
pub(crate) fn idle(analysis: &Analysis) -> Table {
    Table::of(
        "Idle baseline: no load",
        analysis.cells.iter().filter(|cell| cell.idle && cell.valid > 0),
    )
    .head("variant", "", |cell| cell.variant.clone())
    .number("clients", "", |cell| cell.clients.to_string())
    .number("subject", "µs/s", |cell| mean(Unit::MICROS, cell.cpu.subject.as_ref()))
    .quiet("95 % interval", "µs/s", |cell| bracket(Unit::MICROS, cell.cpu.subject.as_ref()))
    .number("of a core", "%", |cell| mean(Unit::CORE, cell.cpu.subject.as_ref()))
    .number("machine busy", "%", |cell| plain(Unit::PER_CENT, cell.beyond.machine_busy))
    .number("agent", "µs/s", |cell| mean(Unit::MICROS, cell.cpu.agent.as_ref()))
    .table()
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
        let both = [("sum", each.sum.as_ref()), ("subject", Some(&each.subject))];
        for (part, contrast) in both.into_iter().filter_map(|(part, of)| Some((part, of?))) {
            let names = [each.variant.clone(), each.base.clone(), each.clients.to_string()];
            let mut row = names.to_vec();
            row.push(if part == "subject" { subjects(each) } else { part.to_owned() });
            row.extend(contrast_cells(contrast, unit));
            table.push(row);
        }
    }
    table
}

/// Whose CPU is compared; both names where they differ.
pub(crate) fn subjects(each: &Comparison) -> String {
    if each.same_subject() {
        return format!("subject {}", each.variant_subject);
    }
    format!("subjects {} and {}", each.variant_subject, each.base_subject)
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
    Table::of("The lab itself", &analysis.lab.rows)
        .head("variant", "", |row| row.variant.clone())
        .text("mode", "", |row| row.mode.name().to_owned())
        .text("host load", "", |row| host_load_name(row.host_load).to_owned())
        .number("clients", "", |row| row.clients.to_string())
        .number("n", "", |row| row.sum.n.to_string())
        .number("mean", &name, |row| unit.mean(&row.sum))
        .number("CV", "%", |row| percent(row.sum.cv))
        .number("range", "%", |row| percent(row.range))
        .number("shift", "%", |row| {
            let shift = row.shift.map(|shift| bare(quantity::signed_percent(shift.mean)));
            shift.unwrap_or(ABSENT.to_owned())
        })
        .quiet("95 % interval", "%", |row| {
            let interval = row.shift.and_then(|shift| shift.interval).map(|interval| {
                let [low, high] =
                    [interval.low, interval.high].map(quantity::signed_percent).map(bare);
                format!("[{low}, {high}]")
            });
            interval.unwrap_or(ABSENT.to_owned())
        })
        .number("results", "different", |row| row.distinct.to_string())
        .number("speed", "× real", |row| plain(Unit::ONE, row.speed.map(|speed| speed.mean)))
        .number("restore", "ms", |row| {
            row.restore_ms.map_or(ABSENT.to_owned(), |ms| format!("{:.0}", ms.mean))
        })
        .table()
}
