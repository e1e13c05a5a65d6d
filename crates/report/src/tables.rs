//! The report's tables: which figure stands in which column.
//!
//! Reads an [`Analysis`], gives [`Table`]s. One unit of CPU time holds for a whole page, so that columns
//! can be compared; digits follow each figure's interval.

use crate::table::Table;
use analysis::{
    Analysis, Cell, Comparison, Curve, Estimate, Full, Other, Slope, host_load_name,
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
        [one] => format!("subject, load and {one}"),
        [first @ .., last] => format!("subject, load, {} and {last}", first.join(", ")),
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
    let cells = analysis.cells.iter().filter(|cell| cell.planned > 0 || cell.valid > 0);
    let mut rows = Table::of(&caption, cells)
        .head("variant", "", |cell| cell.variant.clone())
        .number("clients", "", |cell| cell.clients.to_string());
    if whole {
        rows = rows.number("trials", "valid", |cell| cell.valid.to_string());
    }
    rows = rows.number("subject", &name, |cell| mean(unit, cell.cpu.subject.as_ref())).number(
        "load",
        &name,
        |cell| mean(unit, cell.cpu.load.as_ref()),
    );
    for process in &analysis.others {
        rows = rows.number(process, &name, |cell| other(unit, &cell.others, process));
    }
    rows = rows
        .number("sum", &name, |cell| mean(unit, cell.cpu.sum.as_ref()))
        .quiet("95 % interval", &name, |cell| bracket(unit, cell.cpu.sum.as_ref()))
        .number("of a core", "%", |cell| mean(Unit::CORE, cell.cpu.sum.as_ref()));
    if whole {
        rows = rows.number("CV", "%", |cell| percent(cell.cpu.sum.and_then(|sum| sum.cv)));
    }
    if has_idle(analysis) {
        rows = rows.number("above idle", &name, |cell| {
            mean(unit, cell.minus_idle.as_ref().and_then(|parts| parts.sum.as_ref()))
        });
    }
    rows.table()
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
    // A curve without slopes has one row, which says why.
    let rows = curves_with_slopes(analysis).flat_map(|curve| {
        let slopes = match &curve.why_none {
            Some(_) => vec![None],
            None => slopes_of(curve).map(Some).collect(),
        };
        slopes.into_iter().map(move |slope| (curve, slope))
    });
    let of =
        |slope: &Option<&Slope>, show: fn(&Slope) -> String| slope.map_or(ABSENT.to_owned(), show);
    Table::of("What each client costs", rows)
        .head("variant", "", |(curve, _)| curve.variant.clone())
        .text("part", "", |(curve, slope)| match (slope, analysis.others.as_slice()) {
            (None, _) => curve.why_none.clone().unwrap_or_default(),
            (Some(Slope { part: analysis::Part::Others, .. }), [name]) => name.clone(),
            (Some(slope), _) => part_name(slope.part).to_owned(),
        })
        .number("per client", "µs/s", |(_, slope)| {
            of(slope, |slope| Unit::MICROS.mean(&slope.per_client))
        })
        .quiet("95 % interval", "µs/s", |(_, slope)| {
            of(slope, |slope| Unit::MICROS.bracket(&slope.per_client))
        })
        .text("by segment", "µs/s per client", |(_, slope)| of(slope, segments))
        .number("at 0 clients", "µs/s", |(_, slope)| {
            of(slope, |slope| Unit::MICROS.mean(&slope.intercept))
        })
        .number("core full at", "clients", |(_, slope)| of(slope, full_at))
        .quiet("95 % interval", "clients", |(_, slope)| {
            of(slope, |slope| match &slope.full {
                Full::At { clients, .. } => Unit::WHOLE.bracket(clients),
                Full::NotRising => "slope includes 0".to_owned(),
            })
        })
        .number("n", "", |(_, slope)| of(slope, |slope| slope.per_client.n.to_string()))
        .table()
}

/// The variants' curves; none where [`why_no_slope`] says it all.
fn curves_with_slopes(analysis: &Analysis) -> impl Iterator<Item = &Curve> {
    analysis.curves.iter().filter(|_| why_no_slope(analysis).is_none())
}

/// The slopes of the sums only, for a terminal.
pub(crate) fn slopes_short(analysis: &Analysis) -> Table {
    let rows = curves_with_slopes(analysis).map(|curve| (curve, curve.slope(analysis::Part::Sum)));
    Table::of(&format!("What each client costs ({} together)", summed(analysis)), rows)
        .head("variant", "", |(curve, _)| curve.variant.clone())
        .number("per client", "µs/s", |(_, slope)| {
            slope.map_or(ABSENT.to_owned(), |slope| Unit::MICROS.mean(&slope.per_client))
        })
        .quiet("95 % interval", "µs/s", |(curve, slope)| match slope {
            Some(slope) => Unit::MICROS.bracket(&slope.per_client),
            None => curve.why_none.clone().unwrap_or_default(),
        })
        .number("core full at", "clients", |(_, slope)| slope.map_or(ABSENT.to_owned(), full_at))
        .table()
}

/// Where the subject works alone the sum is the subject, and is not said twice.
fn slopes_of(curve: &Curve) -> impl Iterator<Item = &Slope> {
    let alone = curve.load.is_none() && curve.slope(analysis::Part::Others).is_none();
    let is_shown = move |slope: &&Slope| !alone || slope.part != analysis::Part::Sum;
    curve.slopes.iter().filter(is_shown)
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
    let both = |each: &'_ Comparison| [("sum", each.sum), ("subject", Some(each.subject))];
    let rows = analysis.comparisons.iter().flat_map(|each| {
        both(each).into_iter().filter_map(move |(part, of)| Some((each, part, of?)))
    });
    Table::of("Variants against each other, paired by repetition", rows)
        .head("variant", "", |(each, ..)| each.variant.clone())
        .text("against", "", |(each, ..)| each.base.clone())
        .number("clients", "", |(each, ..)| each.clients.to_string())
        .text("part", "", |(each, part, _)| match *part {
            "subject" => subjects(each),
            part => part.to_owned(),
        })
        .number("difference", &name, |(.., of)| unit.mean(&of.difference))
        .quiet("95 % interval", &name, |(.., of)| unit.bracket(&of.difference))
        .number("ratio", "", |(.., of)| mean(Unit::ONE, of.ratio.as_ref()))
        .quiet("95 % interval", "", |(.., of)| bracket(Unit::ONE, of.ratio.as_ref()))
        .number("pairs", "", |(.., of)| of.difference.n.to_string())
        .table()
}

/// Whose CPU is compared; both names where they differ.
pub(crate) fn subjects(each: &Comparison) -> String {
    if each.same_subject() {
        return format!("subject {}", each.variant_subject);
    }
    format!("subjects {} and {}", each.variant_subject, each.base_subject)
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
