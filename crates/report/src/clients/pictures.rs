//! The pictures of clients and subjects: the curve, the variants side by side, a chain of cures, a pause, the seconds.

use analysis::{
    Analysis, Cell, Comparison, Cures, Curve, Estimate, Stage,
    quantity::{self, Unit, count},
    verdicts::PauseFigures,
};

use crate::{
    drawing::{
        bars::{Bar, Bars},
        lines::{self, Lines, Mark, Series, Span},
        marks,
        steps::Steps,
    },
    prose::signed_whole,
    tables::summed,
};

/// Pixels between the dots of neighbouring repetitions, so that equal trials are all seen.
const DODGE: f64 = 2.6;
/// Further repetitions share the last place, or they would reach the next mean.
const MOST_DODGED: u32 = 12;
/// A study of stages whose largest value is so many times its smallest gets a scale of decades.
const FAR_APART: f64 = 20.0;

/// Whether the values of a study of stages lie so far apart that a plain scale would hide most of them.
pub(super) fn is_by_decades(analysis: &Analysis) -> bool {
    let sums = || {
        let points = analysis.curves.iter().flat_map(|curve| &curve.points);
        points.map(|point| point.sum).filter(|sum| *sum > 0.0)
    };
    let most = sums().fold(0.0, f64::max);
    let least = sums().fold(most, f64::min);
    analysis.stages.asked && most > FAR_APART * least
}

/// CPU against clients, a line a variant. Empty with fewer than two client counts: that is no curve.
pub(super) fn curve(analysis: &Analysis) -> String {
    if analysis.curves.iter().all(|curve| curve.counts.len() < 2) {
        return String::new();
    }
    let points = || analysis.curves.iter().flat_map(|curve| &curve.points);
    let unit = quantity::cpu_unit(points().map(|point| point.sum).fold(0.0, f64::max));
    let all = analysis.curves.iter().enumerate();
    let series: Vec<Series> = all.map(|(at, curve)| line(analysis, at, curve, unit)).collect();
    let ends = series.iter().filter(|one| !one.points.is_empty());
    let ends: Vec<_> = ends.map(|one| format!("{} {}", one.name, one.figure)).collect();
    let mut counts: Vec<u32> =
        analysis.curves.iter().flat_map(|curve| &curve.counts).copied().collect();
    counts.push(0);
    counts.sort_unstable();
    counts.dedup();
    let places = counts.iter().map(|clients| (f64::from(*clients), clients.to_string()));
    Lines {
        about: format!("CPU against clients, {} together: {}", summed(analysis), ends.join("; ")),
        y: format!("{}/s of CPU", unit.name),
        x: "associated clients",
        right: Some(("% of a core", unit.percent_of_core(1.0))),
        across: 0.0..f64::from(counts.last().copied().unwrap_or(1)),
        places: places.collect(),
        decades: is_by_decades(analysis),
        series,
        ..Lines::default()
    }
    .draw()
}

fn line(analysis: &Analysis, style: usize, curve: &Curve, unit: Unit) -> Series {
    let cells = curve.counts.iter().filter_map(|clients| analysis.cell(&curve.variant, *clients));
    let cells: Vec<(&Cell, Estimate)> =
        cells.filter_map(|cell| Some((cell, cell.cpu.sum?))).collect();
    let mark = |(cell, sum): &(&Cell, Estimate)| Mark {
        x: f64::from(cell.clients),
        y: unit.scale(sum.mean),
        interval: lines::interval(unit, sum),
        title: format!(
            "{}, {}: {} of CPU a second, {}",
            cell.variant,
            count(cell.clients, "client"),
            quantity::cpu_unit(sum.mean).with_interval(sum),
            count(sum.n, "valid trial")
        ),
    };
    let last = curve.counts.iter().max().copied().unwrap_or(0);
    // Beside their mean: to the right, but at the right edge to the left, where no axis label stands.
    let dot = |point: &analysis::Point| {
        let away = 7.0 + DODGE * f64::from(point.repetition.min(MOST_DODGED));
        let away = if point.clients < last { away } else { -away };
        (f64::from(point.clients), unit.scale(point.sum), away)
    };
    Series {
        style,
        name: curve.variant.clone(),
        figure: cells.last().map_or(String::new(), |(_, sum)| format!("{}/s", quantity::cpu(sum))),
        points: cells.iter().map(mark).collect(),
        dots: curve.points.iter().map(dot).collect(),
        is_joined: true,
        is_marked: true,
        above: Vec::new(),
    }
}

/// Every variant at the largest client count: subject, load and other processes. Empty for a chain of cures, which has a
/// picture of its own, and without figures.
pub(super) fn variants(analysis: &Analysis) -> String {
    let stages = &analysis.stages;
    if stages.asked && stages.cures.is_some() {
        return String::new();
    }
    let rows = stages.rows.iter().enumerate().filter_map(|(at, row)| bar(analysis, at, row));
    let about = format!("Every variant at {}", count(stages.clients, "client"));
    Bars { about, rows: rows.collect(), ..Bars::default() }.draw()
}

fn style(analysis: &Analysis, variant: &str) -> Option<usize> {
    analysis.curves.iter().position(|curve| curve.variant == variant)
}

fn bar(analysis: &Analysis, at: usize, row: &Stage) -> Option<Bar> {
    let sum = row.cpu.sum?;
    let mean = |part: Option<Estimate>| part.map(|part| part.mean);
    let parts = [("subject", row.cpu.subject), ("load", row.cpu.load), ("others", row.cpu.others)];
    let ratio = row.against.first().and_then(|each| {
        let ratio = each.sum.as_ref()?.ratio.as_ref()?;
        Some(format!("{} × {}", Unit::ONE.plain(ratio.mean), each.base))
    });
    let published = row.published.as_ref().map(|published| {
        let before = published.before.map(|before| format!("{before} → ")).unwrap_or_default();
        format!("published {before}{} %", published.percent_of_core)
    });
    Some(Bar {
        name: row.variant.clone(),
        style: style(analysis, &row.variant).unwrap_or(at),
        parts: parts.into_iter().filter_map(|(name, part)| Some((name, mean(part)?))).collect(),
        interval: sum.interval,
        figure: format!("{}/s, {} %", quantity::cpu(&sum), Unit::CORE.plain(sum.mean)),
        notes: [ratio.unwrap_or_default(), published.unwrap_or_default()],
    })
}

/// The chain of cures, a row a variant, with what each step took away.
pub(super) fn chain(analysis: &Analysis, cures: &Cures) -> String {
    let cost = |name: &str| {
        let row = analysis.stages.rows.iter().find(|row| row.variant == name)?;
        row.cpu.sum
    };
    let row = |(name, step): (&String, Option<&Comparison>)| {
        let sum = cost(name)?;
        let before = step.and_then(|step| cost(&step.base));
        let gone = before.map(|before| before.mean - sum.mean).filter(|gone| *gone > 0.0);
        let notes = step.map(|step| {
            let all = step.all();
            let unit = quantity::cpu_unit(all.difference.mean);
            let difference = signed_whole(unit, &all.difference);
            let ratio = all.ratio.map(|ratio| format!("{} ×", Unit::ONE.mean(&ratio)));
            [
                difference.replacen(unit.name, &format!("{}/s", unit.name), 1),
                ratio.unwrap_or_default(),
            ]
        });
        Some(Bar {
            name: name.clone(),
            style: if step.is_none() { 0 } else { 1 },
            parts: [Some(("subject", sum.mean)), gone.map(|gone| ("gone", gone))]
                .into_iter()
                .flatten()
                .collect(),
            interval: sum.interval,
            figure: format!("{}/s", quantity::cpu(&sum)),
            notes: notes.unwrap_or_default(),
        })
    };
    let first = std::iter::once((&cures.whole.base, None));
    let steps = cures.steps.iter().map(|step| (&step.variant, Some(step)));
    let rows = first.chain(steps).filter_map(row).collect();
    Bars { about: "What each step leaves".to_owned(), rows, ..Bars::default() }.draw()
}

/// The subject's CPU over one window, with the spans in which something was stopped.
pub(super) fn pause(pause: &PauseFigures) -> String {
    let unit = quantity::cpu_unit(pause.series.iter().map(|(_, cpu, _)| *cpu).fold(0.0, f64::max));
    let end = pause.series.last().map_or(1.0, |(at, ..)| *at);
    let spans = spans(pause);
    let said: Vec<_> = spans
        .iter()
        .map(|span| {
            format!("{} from {:.0} to {:.0} s", span.name, span.across.start, span.across.end)
        })
        .collect();
    let mut from = 0.0;
    let stair = pause.series.iter().flat_map(|(at, cpu, _)| {
        let y = unit.scale(*cpu);
        let step = [std::mem::replace(&mut from, *at), *at];
        step.map(|x| Mark { x, y, ..Mark::default() })
    });
    let points = stair.collect();
    Lines {
        about: format!(
            "CPU of {} over one window; {}: {}",
            pause.subject,
            pause.consumer,
            said.join(", ")
        ),
        y: format!("{}/s of {}’s CPU", unit.name, pause.subject),
        x: "seconds",
        across: 0.0..end,
        places: vec![(0.0, "0".to_owned()), (end, format!("{end:.0}"))],
        series: vec![Series { style: 1, points, is_joined: true, ..Series::default() }],
        spans,
        ..Lines::default()
    }
    .draw()
}

/// Neighbouring seconds in which the same was stopped, together. A second's figure stands at its end.
fn spans(pause: &PauseFigures) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::new();
    let mut from = 0.0;
    for (at, _, state) in &pause.series {
        let name = if state == "sham" { "control" } else { "stopped" };
        match all.last_mut().filter(|last| last.across.end == from && last.name == name) {
            _ if state == "runs" => {}
            Some(last) => last.across.end = *at,
            None => all.push(Span { across: from..*at, name, is_striped: state == "sham" }),
        }
        from = *at;
    }
    all
}

/// Second by second: a small picture for each cell, all repetitions in it.
pub(super) fn series(analysis: &Analysis) -> Vec<Steps> {
    let of_cell = |cell: &Cell| {
        let style = style(analysis, &cell.variant)?;
        let steps =
            || cell.series.iter().flat_map(|series| &series.steps).filter_map(|step| step.sum);
        let largest = steps().reduce(f64::max)?;
        let unit = quantity::cpu_unit(largest);
        let series = cell.series.iter().map(|series| {
            let steps = series.steps.iter().filter_map(|step| Some((step, step.sum?)));
            steps.map(|(step, sum)| (step.at_s - step.length_s, step.at_s, sum)).collect()
        });
        Some(Steps {
            class: marks::class(style),
            name: cell.variant.clone(),
            note: count(cell.clients, "client"),
            series: series.collect(),
            level: 0.0,
            top: largest,
            range: format!("0 – {} {}/s", unit.plain(largest), unit.name),
        })
    };
    analysis.cells.iter().filter_map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use model::verdict::Verdict;

    use super::*;

    fn paused(series: &[(f64, f64, &str)]) -> PauseFigures {
        let series = series.iter().map(|(at, cpu, state)| (*at, *cpu, (*state).to_owned()));
        PauseFigures {
            level: 0.05,
            variant: "found".to_owned(),
            clients: 18,
            consumer: "monitor".to_owned(),
            subject: "stationd".to_owned(),
            trials: 1,
            running: None,
            stopped: None,
            sham: None,
            share: None,
            sham_share: None,
            series: series.collect(),
            verdict: Verdict::Pass,
            sentence: String::new(),
        }
    }

    #[test]
    fn neighbouring_seconds_of_one_state_are_one_span() {
        let one =
            [(1.0, 9.0, "runs"), (2.0, 1.0, "stopped"), (3.0, 1.0, "stopped"), (4.0, 9.0, "sham")];
        let found = spans(&paused(&one));
        let found: Vec<_> = found.into_iter().map(|span| (span.across, span.name)).collect();
        assert_eq!(found, [(1.0..3.0, "stopped"), (3.0..4.0, "control")]);
        assert_eq!(pause(&paused(&[])), "", "without seconds there is no picture");
    }
}
