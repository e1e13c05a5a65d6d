//! One figure over the runs of one study: a line a variant, with intervals; runs stand in the order of time.
//!
//! The axis below is of runs and not of hours: what changed is between them. Each is named by its day and its
//! image.

use std::fmt::Write as _;

use analysis::{Estimate, Interval, metrics::Measure, quantity};
use model::plural::count;

use super::{Entry, short};
use crate::{
    identity, marks,
    svg::{Scale, decade_ticks, escape, level, tick_label, ticks},
};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 48.0;
/// Names of runs that fit below the picture.
const MOST_NAMES: usize = 8;
/// As for curves: values so far apart get a scale of decades.
const FAR_APART: f64 = 20.0;

/// Marks of more runs than the picture is wide lie upon each other, and a page of them opens slowly: then the line is drawn alone.
const MOST_MARKED: usize = (WIDTH - LEFT - RIGHT) as usize;

/// Whether each run has its mark.
pub(super) fn marks_each(runs: &[&Entry]) -> bool {
    runs.len() <= MOST_MARKED
}

/// Lines that can still be told from each other; a person asks for fewer with a variant or a place.
const MOST_LINES: usize = 12;

/// The lines of all runs in the order in which they come, and how many more there are.
pub(super) fn lines<'a>(runs: &[&'a Entry]) -> (Vec<&'a str>, usize) {
    let mut names: Vec<&str> = Vec::new();
    for figure in runs.iter().flat_map(|run| &run.figures) {
        if !names.contains(&&*figure.line) {
            names.push(&figure.line);
        }
    }
    let left = names.len().saturating_sub(MOST_LINES);
    names.truncate(MOST_LINES);
    (names, left)
}

/// From values to pixels.
struct Plot {
    x: Scale,
    y: Scale,
    decades: bool,
    unit: quantity::Unit,
    per: &'static str,
    ticks: Vec<f64>,
}

impl Plot {
    fn of(runs: &[&Entry]) -> Self {
        let means = || {
            let figures = runs.iter().flat_map(|run| &run.figures);
            figures.map(|figure| figure.estimate.mean)
        };
        let measure = runs.iter().flat_map(|run| &run.figures).map(|figure| figure.unit).next();
        let measure = measure.unwrap_or(Measure::Count);
        let most = means().fold(0.0, f64::max);
        let least = means().filter(|mean| *mean > 0.0).fold(most, f64::min);
        let lowest = means().fold(0.0, f64::min);
        let unit = measure.unit(most.max(-lowest));
        let decades = lowest == 0.0 && most > FAR_APART * least;
        let (low, high) = (unit.scale(least), unit.scale(most));
        let ticks =
            if decades { decade_ticks(low, high) } else { signed_ticks(unit.scale(lowest), high) };
        let place = |tick: Option<&f64>| {
            let tick = tick.copied().unwrap_or(1.0);
            if decades { tick.log10() } else { tick }
        };
        let ends = place(ticks.first())..place(ticks.last());
        let last = runs.len().saturating_sub(1).max(1) as f64;
        Self {
            x: Scale::new(0.0..last, LEFT + 14.0..WIDTH - RIGHT),
            y: Scale::new(ends, HEIGHT - BOTTOM..TOP),
            decades,
            unit,
            per: measure.per(),
            ticks,
        }
    }

    fn of_tick(&self, value: f64) -> f64 {
        let floor = HEIGHT - BOTTOM;
        match (self.decades, value > 0.0) {
            (false, _) => self.y.at(value).min(floor),
            (true, true) => self.y.at(value.log10()).min(floor),
            (true, false) => floor,
        }
    }

    fn y_of(&self, value: f64) -> f64 {
        self.of_tick(self.unit.scale(value))
    }
}

/// Round values from at or below the lowest, which is 0 or negative, to at or above the highest.
fn signed_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let above = ticks(highest.max(-lowest), 5);
    if lowest == 0.0 {
        return above;
    }
    let below = above.iter().skip(1).map(|tick| -tick).rev();
    let all: Vec<f64> = below.chain(above.iter().copied()).collect();
    let from = all.iter().rposition(|tick| *tick <= lowest).unwrap_or(0);
    let to = all.iter().position(|tick| *tick >= highest).unwrap_or(all.len() - 1);
    all[from..=to].to_vec()
}

pub(super) fn draw(runs: &[&Entry], names: &[&str]) -> String {
    let plot = Plot::of(runs);
    let lines: String =
        names.iter().enumerate().map(|(at, name)| line(runs, at, name, &plot)).collect();
    format!(
        r#"<svg class="history" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">{}<text class="axis" x="0" y="12">{}{}</text>{}{lines}</svg>"#,
        escape(&format!("{} over {}", names.join(", "), count(runs.len(), "run"))),
        grid(&plot),
        plot.unit.name,
        plot.per,
        runs_below(runs, &plot),
    )
}

fn grid(plot: &Plot) -> String {
    let step = plot.ticks.get(1).copied().unwrap_or(1.0);
    let line_at = |tick: &f64| {
        let label = if plot.decades { format!("{tick}") } else { tick_label(*tick, step) };
        level(plot.of_tick(*tick), &(LEFT..WIDTH - RIGHT + 14.0), &label, 8.0)
    };
    plot.ticks.iter().map(line_at).collect()
}

/// Days and images, as many as have room.
fn runs_below(runs: &[&Entry], plot: &Plot) -> String {
    let every = runs.len().div_ceil(MOST_NAMES);
    let named = runs.iter().enumerate().filter(|(at, _)| at % every == 0);
    let name = |(at, run): (usize, &&Entry)| {
        let x = plot.x.at(at as f64);
        let day: String = identity::utc(run.began_unix).chars().skip(5).take(11).collect();
        format!(
            r#"<text class="axis mid" x="{x:.1}" y="{}">{day}</text><text class="axis mid" x="{x:.1}" y="{}">{}</text>"#,
            HEIGHT - 26.0,
            HEIGHT - 10.0,
            escape(&short(&run.image))
        )
    };
    named.map(name).collect()
}

fn line(runs: &[&Entry], at: usize, name: &str, plot: &Plot) -> String {
    let (mut path, mut drawn) = (String::new(), String::new());
    let (marked, escaped) = (marks_each(runs), escape(name));
    for (place, run) in runs.iter().enumerate() {
        let Some(figure) = run.figures.iter().find(|figure| figure.line == name) else {
            continue;
        };
        let (x, y) = (plot.x.at(place as f64), plot.y_of(figure.estimate.mean));
        let verb = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{verb}{x:.1} {y:.1}");
        if marked {
            drawn += &whisker(&figure.estimate, x, plot);
            let began = identity::utc(run.began_unix);
            let value = figure.unit.unit(figure.estimate.mean).with_interval(&figure.estimate);
            let marker = marks::marker(at, x, y);
            let per = plot.per;
            let _ = write!(drawn, "<g>{marker}<title>{escaped}, {began}: {value}{per}</title></g>");
        }
    }
    let dash = marks::dash(at);
    format!(
        r#"<g class="{}"><path class="line" stroke-dasharray="{dash}" d="{path}"/>{drawn}</g>"#,
        marks::class(at)
    )
}

/// An interval, where there is one.
fn whisker(estimate: &Estimate, x: f64, plot: &Plot) -> String {
    let drawn = |interval: Interval| {
        let (low, high) = (plot.y_of(interval.low), plot.y_of(interval.high));
        format!(r#"<path class="whisker" d="M{x:.1} {low:.1}V{high:.1}"/>"#)
    };
    estimate.interval.map(drawn).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_holds_what_is_below_nothing() {
        assert_eq!(signed_ticks(0.0, 23.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(signed_ticks(-3.0, 8.0), [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(signed_ticks(-0.9, 0.0).last(), Some(&0.0));
    }
}
