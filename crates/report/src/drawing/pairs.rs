//! The picture of a comparison: a dot for each pair around zero, the effect's interval, and the margin.
//!
//! Everything is µs of CPU a second; the margin is the study's share of the base's mean. One size: it is as
//! narrow as a telephone.

use std::ops::Range;

use analysis::{quantity, verdicts::Judgement};

use super::svg::{self, Scale, escape};

const WIDTH: f64 = 358.0;
const HEIGHT: f64 = 92.0;
/// Where zero, the dots and the interval stand.
const AXIS: f64 = 66.0;
const DOTS: Range<f64> = 16.0..40.0;
const INTERVAL: f64 = 52.0;
/// A label keeps this far from the edge.
const EDGE: f64 = 4.0;

/// The picture; empty where there is no pair.
pub(crate) fn draw(judgement: &Judgement) -> String {
    let Some(margin) = margin(judgement).filter(|_| !judgement.differences.is_empty()) else {
        return String::new();
    };
    let interval = judgement.absolute.and_then(|effect| effect.interval);
    let ends = interval.into_iter().flat_map(|interval| [interval.low, interval.high]);
    let all =
        || judgement.differences.iter().copied().chain(ends.clone()).chain([-margin, margin, 0.0]);
    let (least, most) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
    let x = Scale::new(least..most, 14.0..WIDTH - 14.0);
    let unit = quantity::cpu_unit(least.abs().max(most));
    format!(
        r#"<svg class="pairs" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}"><rect class="margin" x="{:.1}" y="6" width="{:.1}" height="{:.1}"/>{}{}{}{}</svg>"#,
        escape(&description(judgement)),
        x.at(-margin),
        (x.at(margin) - x.at(-margin)).max(1.0),
        AXIS - 6.0,
        axis(x),
        judgement
            .differences
            .iter()
            .enumerate()
            .map(|(at, value)| dot(judgement, at, *value, x))
            .collect::<String>(),
        whisker(judgement, x),
        labels(least..most, x, unit),
    )
}

/// The margin, µs of CPU a second.
fn margin(judgement: &Judgement) -> Option<f64> {
    judgement.before.map(|before| judgement.margin * before.mean)
}

fn axis(x: Scale) -> String {
    format!(
        r#"<path class="grid" d="M4 {AXIS}H{:.1}"/><path class="base" d="M{zero:.1} 4V{:.1}"/>"#,
        WIDTH - 4.0,
        AXIS + 4.0,
        zero = x.at(0.0)
    )
}

/// Repetitions stand below each other, so that equal pairs are all seen.
fn dot(judgement: &Judgement, at: usize, value: f64, x: Scale) -> String {
    let last = judgement.differences.len().saturating_sub(1).max(1);
    let y = Scale::new(0.0..last as f64, DOTS).at(at as f64);
    format!(r#"<circle class="dot" cx="{:.1}" cy="{y:.1}" r="3.2"/>"#, x.at(value))
}

fn whisker(judgement: &Judgement, x: Scale) -> String {
    let Some(effect) = &judgement.absolute else { return String::new() };
    let interval = effect
        .interval
        .map(|interval| svg::whisker("whisker", x.at(interval.low)..x.at(interval.high), INTERVAL));
    format!(
        r#"{}<path class="mark" transform="translate({:.1} {INTERVAL})" d="M0 -5.6L5 0L0 5.6L-5 0z"/>"#,
        interval.unwrap_or_default(),
        x.at(effect.mean)
    )
}

/// The ends of the scale and zero, as far as they do not stand in each other.
fn labels(ends: Range<f64>, x: Scale, unit: quantity::Unit) -> String {
    let y = AXIS + 18.0;
    let zero = x.at(0.0);
    let mut labels = svg::text("axis mid", zero.clamp(8.0, WIDTH - 8.0), y, "0");
    let end = |value: f64| format!("{} {}/s", unit.plain(value), unit.name);
    if zero > 90.0 {
        labels += &svg::text("axis", EDGE, y, &end(ends.start));
    }
    if zero < WIDTH - 90.0 {
        labels += &svg::text("axis end", WIDTH - EDGE, y, &end(ends.end));
    }
    labels
}

/// The picture in words.
fn description(judgement: &Judgement) -> String {
    let unit = quantity::cpu_unit(judgement.absolute.map_or(0.0, |effect| effect.mean));
    let each: Vec<_> = judgement.differences.iter().map(|value| unit.plain(*value)).collect();
    format!(
        "{} minus {}, {}/s of CPU, pair by pair: {}; differences within {} of the base do not matter",
        judgement.variant,
        judgement.base,
        unit.name,
        each.join(", "),
        quantity::percent(judgement.margin)
    )
}
