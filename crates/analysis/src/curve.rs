//! CPU against clients: the straight line through each repetition, and what repetitions say of it.
//!
//! # Why by repetition
//!
//! A repetition (all client counts once, each from its own start) is what is replicated; the counts are
//! not: 18, 60 and 114 clients are fixed, chosen points. One least-squares line is therefore fitted
//! within each repetition, and slope and intercept are the mean of these with Student's t interval over
//! repetitions. Residuals about one pooled line would mix two things: the noise of repetitions, and the
//! amount by which the true curve is not straight. The second is no noise and does not shrink with
//! repetitions, so it is shown by itself: as the slope of each segment, and as `curvature`.
//! **The interval of the slope excludes curvature.**
//!
//! Sources: NIST/SEMATECH e-Handbook §4.1.4.1 (least squares); D. J. Hand and M. Crowder, "Practical
//! Longitudinal Data Analysis" (1996), ch. 2, and Matthews et al., BMJ 300:230 (1990), for the
//! summary-measures method: one statistic for each unit, then ordinary inference over units.

use model::study::{Load, Mode, Variant};
use serde::Serialize;

use crate::{
    figures::{Part, TrialFigures},
    measured::Measured,
    stats::{Estimate, Line},
};

/// A full core, µs of CPU a second.
const CORE: f64 = 1e6;

/// The line of one part of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slope {
    pub part: Part,
    /// µs of CPU for each client and second.
    pub per_client: Estimate,
    /// µs of CPU a second that the straight line gives for no client; an extrapolation.
    pub intercept: Estimate,
    /// Slopes between neighbouring counts.
    pub segments: Vec<Segment>,
    /// Last segment's slope over the first one's, minus 1; with three counts or more, where the first is
    /// above 0. 0.1 is “the last client costs a tenth more than the first ones”.
    pub curvature: Option<f64>,
    /// Clients until one core is full.
    pub full: Full,
}

/// The slope between two neighbouring client counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Segment {
    pub from: u32,
    pub to: u32,
    /// µs of CPU for each client and second.
    pub per_client: Estimate,
}

/// Clients until one core is full: `(1e6 − intercept) / slope`, by repetition.
///
/// Always an extrapolation of a straight line, and only of the counted part's own CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Full {
    /// A count, far outside of what was measured unless `beyond` is below 1.
    At {
        clients: Estimate,
        /// The count over the largest measured count.
        beyond: f64,
    },
    /// The slope's interval includes 0, or a repetition falls: more clients do not fill the core.
    NotRising,
}

/// One variant's curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    pub variant: String,
    /// What the study says of it.
    pub about: Option<String>,
    pub subject: String,
    /// Its load, as text; `None` where it has none.
    pub load: Option<String>,
    /// Whether nothing was made to work: no load, and a subject that runs anyway.
    pub idle: bool,
    pub mode: Mode,
    /// The counts that the lines go through.
    pub counts: Vec<u32>,
    /// Repetitions that have a valid trial at every one of these counts; lines are fitted to these.
    pub repetitions: u32,
    /// The lines; empty where there is no line, and then `why_none` says why.
    pub slopes: Vec<Slope>,
    pub why_none: Option<String>,
    pub points: Vec<Point>,
}

/// One trial's sum in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    pub clients: u32,
    pub repetition: u32,
    /// Subject, load and others, µs/s.
    pub sum: f64,
}

impl Curve {
    pub fn slope(&self, part: Part) -> Option<&Slope> {
        self.slopes.iter().find(|slope| slope.part == part)
    }
}

/// Every variant's curve, in the study's order.
pub(crate) fn all(measured: &Measured) -> Vec<Curve> {
    measured.variants().iter().map(|variant| curve(measured, variant)).collect()
}

fn curve(measured: &Measured, variant: &Variant) -> Curve {
    let by_count: Vec<_> = measured
        .counts()
        .into_iter()
        .map(|clients| (clients, measured.cell(&variant.name, clients)))
        .filter(|(_, trials)| !trials.is_empty())
        .collect();
    let rows = complete_rows(&by_count);
    let why_none = why_none(&by_count, &rows);
    let parts = [Part::Subject, Part::Load, Part::Others, Part::Sum];
    let slopes = parts.into_iter().filter_map(|part| slope(&rows, part));
    Curve {
        variant: variant.name.to_string(),
        about: variant.about.clone(),
        subject: measured.subject(variant).process.clone(),
        load: measured.run.study.load_of(variant).map(load_words),
        idle: measured.is_idle(variant),
        mode: measured.mode(variant),
        counts: by_count.iter().map(|(clients, _)| *clients).collect(),
        repetitions: rows.len() as u32,
        slopes: if why_none.is_none() { slopes.collect() } else { Vec::new() },
        why_none,
        points: by_count.iter().flat_map(|(_, all)| all).filter_map(|one| point(one)).collect(),
    }
}

fn load_words(load: &Load) -> String {
    if load.long_running {
        format!("`{}` runs all the time, period {}", load.run, load.every)
    } else {
        format!("`{}` every {}", load.run, load.every)
    }
}

fn point(trial: &TrialFigures) -> Option<Point> {
    Some(Point {
        clients: trial.id.clients,
        repetition: trial.id.repetition,
        sum: trial.part(Part::Sum)?,
    })
}

/// One repetition: a trial for each count, rising.
type Row<'a> = Vec<&'a TrialFigures>;

/// The repetitions that have every count. A line through other counts would be another quantity
/// wherever the curve is not straight.
fn complete_rows<'a>(by_count: &[(u32, Vec<&'a TrialFigures>)]) -> Vec<Row<'a>> {
    let Some((_, first)) = by_count.first() else { return Vec::new() };
    let of = |repetition: u32| {
        let here = |trial: &&&TrialFigures| trial.id.repetition == repetition;
        by_count.iter().map(|(_, trials)| trials.iter().find(here).copied()).collect()
    };
    first.iter().filter_map(|trial| of(trial.id.repetition)).collect()
}

fn why_none(by_count: &[(u32, Vec<&TrialFigures>)], rows: &[Row]) -> Option<String> {
    match by_count {
        [] => Some("no valid trial yet".to_owned()),
        [(clients, _)] => Some(format!("one client count only ({clients}): a slope needs two")),
        _ if rows.is_empty() => {
            Some("no repetition has a valid trial at every client count".to_owned())
        }
        _ => None,
    }
}

fn slope(rows: &[Row], part: Part) -> Option<Slope> {
    let lines: Vec<_> = rows.iter().map(|row| line(row, part)).collect::<Option<_>>()?;
    let per_client = estimate(&lines, |line| Some(line.slope))?;
    let segments = segments(rows, part)?;
    Some(Slope {
        part,
        per_client,
        intercept: estimate(&lines, |line| Some(line.intercept))?,
        curvature: curvature(&segments),
        segments,
        full: full(&lines, &per_client, rows),
    })
}

fn line(row: &Row, part: Part) -> Option<Line> {
    let points: Option<Vec<_>> =
        row.iter().map(|trial| Some((f64::from(trial.id.clients), trial.part(part)?))).collect();
    Line::through(&points?)
}

fn estimate(lines: &[Line], of: impl Fn(&Line) -> Option<f64>) -> Option<Estimate> {
    Estimate::of(&lines.iter().map(of).collect::<Option<Vec<_>>>()?)
}

fn segments(rows: &[Row], part: Part) -> Option<Vec<Segment>> {
    let steps = rows.first()?.len().saturating_sub(1);
    (0..steps).map(|step| segment(rows, step, part)).collect()
}

fn segment(rows: &[Row], step: usize, part: Part) -> Option<Segment> {
    let slopes: Option<Vec<_>> =
        rows.iter().map(|row| Some(line(&row[step..step + 2].to_vec(), part)?.slope)).collect();
    let ends = &rows.first()?[step..step + 2];
    Some(Segment {
        from: ends[0].id.clients,
        to: ends[1].id.clients,
        per_client: Estimate::of(&slopes?)?,
    })
}

fn curvature(segments: &[Segment]) -> Option<f64> {
    let [first, .., last] = segments else { return None };
    // A ratio of two slopes means something only where both are above their noise.
    let both_rise = first.per_client.differs_from_zero() && last.per_client.differs_from_zero();
    let ratio = last.per_client.mean / first.per_client.mean - 1.0;
    (both_rise && first.per_client.mean > 0.0 && ratio.is_finite()).then_some(ratio)
}

fn full(lines: &[Line], per_client: &Estimate, rows: &[Row]) -> Full {
    // One repetition has no interval to judge by; its number stands, without one.
    let rises = per_client.interval.is_none() || per_client.differs_from_zero();
    let count = |line: &Line| (line.slope > 0.0).then(|| (CORE - line.intercept) / line.slope);
    let largest = rows.iter().flatten().map(|trial| trial.id.clients).max().unwrap_or(0);
    match estimate(lines, count) {
        Some(clients) if rises && largest > 0 => {
            Full::At { clients, beyond: clients.mean / f64::from(largest) }
        }
        _ => Full::NotRising,
    }
}

#[cfg(test)]
mod tests {
    use model::trial::Trial;

    use super::*;
    use crate::{Analysis, analyse, fixture};

    fn analysed(keep: impl Fn(&Trial) -> bool) -> Analysis {
        let run = fixture::run();
        let trials: Vec<_> =
            fixture::trials(&run).into_iter().filter(|trial| keep(trial)).collect();
        analyse(&run, &trials)
    }

    fn curve<'a>(analysis: &'a Analysis, variant: &str) -> &'a Curve {
        analysis.curves.iter().find(|curve| curve.variant == variant).unwrap()
    }

    #[test]
    fn the_slope_is_the_one_that_the_fixture_was_made_with() {
        let analysis = analysed(|_| true);
        let slope = curve(&analysis, "iw-dump").slope(Part::Sum).unwrap();
        assert!((slope.per_client.mean - fixture::IW_DUMP_SLOPE).abs() < 0.5, "{slope:?}");
        assert_eq!(slope.per_client.n, 6);
        assert_eq!(slope.segments.len(), 2);
        let Full::At { clients, beyond } = slope.full else { panic!("{slope:?}") };
        assert!((clients.mean - (1e6 - slope.intercept.mean) / slope.per_client.mean).abs() < 1.0);
        assert!(beyond > 1.0);
    }

    #[test]
    fn a_flat_curve_fills_no_core() {
        let analysis = analysed(|_| true);
        let slope = curve(&analysis, "idle").slope(Part::Subject).unwrap();
        assert_eq!(slope.full, Full::NotRising);
        assert!(curve(&analysis, "idle").slope(Part::Load).is_none());
    }

    #[test]
    fn one_count_has_no_slope_and_says_so() {
        let analysis = analysed(|trial| trial.planned.id.clients == 60);
        let curve = curve(&analysis, "iw-dump");
        assert!(curve.slopes.is_empty());
        assert_eq!(
            curve.why_none.as_deref(),
            Some("one client count only (60): a slope needs two")
        );
    }

    #[test]
    fn an_incomplete_repetition_is_left_out_of_the_line() {
        let analysis =
            analysed(|trial| trial.planned.id.clients != 114 || trial.planned.id.repetition != 3);
        assert_eq!(curve(&analysis, "iw-dump").repetitions, 5);
    }
}
